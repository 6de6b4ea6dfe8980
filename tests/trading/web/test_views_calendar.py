from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.factories.memory import DAY, HOUR, JUNE
from tests.factories.record import BarFactory, DeploymentFactory, MarketEventFactory, TradeFactory
from tests.tables import each_case
from tests.trading.browsing import assert_shows, into, text_of
from tests.trading.web.test_figures_of_pages import find_bare_figures

pytestmark = pytest.mark.usefixtures("in_june")

CALENDAR = "/calendar/"


def past_events(moves: list[str], *, kind: str = "fomc", symbol: str = "BTC") -> None:
    """Make events of the months before, and the bars by which the symbol moved in the hour after each."""
    for number, move in enumerate(moves, start=1):
        at = JUNE - number * 30 * DAY
        MarketEventFactory(kind=kind, starts_at=at)
        for opened_at, close in ((at - HOUR, Decimal(100)), (at, Decimal(100) * (1 + Decimal(move)))):
            BarFactory(symbol=symbol, opened_at=opened_at, open=100, high=200, low=10, close=close)


def test_calendar_groups_events_by_day_and_names_their_source(client):
    MarketEventFactory(title="<b>FOMC</b>", starts_at=JUNE + HOUR, source="Federal Reserve", is_simulated=True)
    unlock = {"kind": "token_unlock", "symbols": ["ARB"], "importance": 0.5}
    MarketEventFactory(title="ARB unlock", starts_at=JUNE + 2 * DAY, **unlock)
    MarketEventFactory(title="Too late", starts_at=JUNE + 40 * DAY)
    MarketEventFactory(title="Over", starts_at=JUNE - 2 * DAY)

    response = client.get(CALENDAR)

    assert_shows(
        response,
        *("2 events from 1 Jun 2026 to 28 Jun 2026", "Monday, 1 Jun 2026 Today", "13:00", "Simulated market."),
        *("Fed decision", "High importance, 0.90", "The whole market", "Source: Federal Reserve"),
        *("Wednesday, 3 Jun 2026", "Token unlock", "Medium importance, 0.50", "ARB"),
        lacks=("Too late", "Over"),
    )
    assert "&lt;b&gt;FOMC&lt;/b&gt;" in response.content.decode()
    past = client.get(CALENDAR, {"first_day": "2026-05-25", "last_day": "2026-05-31"})
    assert_shows(past, "Over", "Past")


def test_calendar_links_each_event_to_a_chat_about_it(client):
    event = MarketEventFactory(starts_at=JUNE + HOUR)

    link = f"/chat/?event={event.pk}"

    assert f'href="{link}">Ask about this event</a>' in client.get(CALENDAR).content.decode()
    assert "About FOMC statement" in text_of(client.get(link))


@pytest.mark.parametrize(("query", "focus"), [({"event": "7"}, {"mode": "ops", "event": "7"}), ({}, {})])
def test_chat_beside_the_calendar_is_about_its_event(client, query, focus):
    assert client.get(CALENDAR, query).context["page_focus"] == focus


def test_calendar_groups_by_the_day_of_the_readers_zone(client, trader):
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    MarketEventFactory(starts_at=datetime(2026, 6, 3, 18, tzinfo=UTC))

    response = client.get(CALENDAR)

    assert "Thursday, 4 Jun 2026" in text_of(response)
    assert 'title="2026-06-03 18:00 UTC">06:00</time>' in response.content.decode()


def test_calendar_keeps_what_fits(client):
    MarketEventFactory(title="Left out", kind="fomc", importance=0.2, symbols=["BTC"], starts_at=JUNE + HOUR)
    MarketEventFactory(title="Kept", kind="cpi", importance=0.8, symbols=["ETH"], starts_at=JUNE + HOUR)

    for query in ({"kind": "cpi"}, {"importance": "0.7"}, {"symbols": "eth, sol"}, {"kind": ["cpi", "gdp"]}):
        assert_shows(client.get(CALENDAR, query), "Kept", lacks=("Left out",))
    assert_shows(client.get(CALENDAR, {"kind": "gdp"}), "No event fits")


@pytest.mark.limit("trading.web.filters.MAX_DAYS")
@each_case(
    "query, words",
    [
        ({"first_day": "2026-06-05", "last_day": "2026-06-04"}, "The last day is before the first one."),
        ({"first_day": "2026-01-01", "last_day": "2026-12-31"}, "The calendar shows 92 days at most."),
        ({"first_day": "tomorrow"}, "Enter a valid date."),
        ({"last_day": "0001-01-01"}, "greater than or equal"),
        ({"first_day": "9999-12-31"}, "less than or equal"),
        ({"symbols": "<b>"}, "That is no symbol"),
        ({"kind": "party"}, "Select a valid choice."),
        ({"importance": "2"}, "Select a valid choice."),
    ],
)
def test_calendar_says_what_makes_no_sense_and_leaves_it_out(client, query, words):
    for headers in ({}, into("results", CALENDAR)):
        response = client.get(CALENDAR, query, headers=headers)
        assert response.status_code == 200
        assert_shows(response, words)


def test_calendar_leads_to_the_days_before_and_after_and_says_why_it_is_empty(client):
    assert_shows(client.get(CALENDAR), "Nothing is scheduled")
    response = client.get(CALENDAR, {"first_day": "2026-06-01", "last_day": "2026-06-07"})

    assert "?first_day=2026-05-25&amp;last_day=2026-05-31" in response.content.decode()
    assert "?first_day=2026-06-08&amp;last_day=2026-06-14" in response.content.decode()


@pytest.mark.parametrize(
    ("moves", "interval"),
    [("0.01 -0.03 0.02", ""), ("0.01 -0.03 0.02 0.01 -0.02", " (about 90% between 1.0% and 3.0%)")],
)
def test_calendar_weighs_events_against_open_positions(client, moves, interval):
    past_events(moves.split())
    MarketEventFactory(starts_at=JUNE + HOUR)
    TradeFactory(still_open=True, deployment__version__skill__name="Dips")
    TradeFactory(still_open=True, side="short", quantity=Decimal(-2))

    response = client.get(CALENDAR)

    median, rest = f"median move 2.0%{interval}, worst for a", f"in the hour after {len(moves.split())} past events"
    assert_shows(response, "by Dips", f"{median} long -3.0%, {rest}", f"{median} short -2.0%, {rest}")
    body = response.content.decode()
    assert body.count("<svg") > 1
    assert "Usual move with its interval, and the worst" in body
    assert ("BTC long: 2.00, 5 events" in body) is bool(interval)
    assert find_bare_figures(body) == []


def test_calendar_weighs_no_event_that_is_past_or_of_another_symbol(client):
    MarketEventFactory(starts_at=JUNE - HOUR)
    MarketEventFactory(starts_at=JUNE + HOUR, symbols=["SOL"])
    TradeFactory(still_open=True, deployment=DeploymentFactory(status="stopped", stopped_at=JUNE))
    assert_shows(client.get(CALENDAR), lacks=("too few to say",))

    MarketEventFactory(starts_at=JUNE + HOUR)
    assert_shows(client.get(CALENDAR), "too few to say")


def test_calendar_shows_so_many_events_and_says_so(client, monkeypatch):
    monkeypatch.setattr("trading.web.calendar.EVENTS_SHOWN", 2)
    for number in range(3):
        MarketEventFactory(starts_at=JUNE + number * HOUR)

    assert_shows(client.get(CALENDAR), "2 events from", "are shown. Choose fewer days or kinds")


def test_calendar_shows_a_month_by_week_with_countdowns(client):
    TradeFactory(still_open=True)
    MarketEventFactory(title="In the month", starts_at=JUNE + 2 * DAY + 3 * HOUR)
    MarketEventFactory(title="Of July", starts_at=JUNE + 31 * DAY)

    response = client.get(CALENDAR, {"view": "month"})

    body = response.content.decode()
    assert_shows(response, "1 event from 1 Jun 2026 to 30 Jun 2026", "in 2 d 3 h", "1 held", lacks=("Of July",))
    assert body.count("<tr>") == 6  # the days' names and five weeks
    assert "?view=month&amp;first_day=2026-05-01" in body
    assert "?view=month&amp;first_day=2026-07-01" in body


def test_calendar_takes_as_many_queries_for_many_events_and_positions(client, django_assert_max_num_queries):
    for symbol in ("BTC", "ETH", "SOL"):
        past_events(["0.01", "-0.03", "0.02"], symbol=symbol, kind="cpi")
        TradeFactory(still_open=True, symbol=symbol)
        MarketEventFactory(starts_at=JUNE + HOUR, kind="cpi")
        for number in range(20):
            MarketEventFactory(starts_at=JUNE + DAY + number * HOUR, kind="fomc")

    with django_assert_max_num_queries(14):  # eight, session and user, and the four of PostgreSQL for the scope
        client.get(CALENDAR)
