from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tests.factories.memory import JUNE
from tests.factories.record import BarFactory, DeploymentFactory, MarketEventFactory, TradeFactory
from tests.trading.browsing import into, text_of

pytestmark = pytest.mark.usefixtures("in_june")

CALENDAR = "/calendar/"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def past_events(moves: list[str], *, kind: str = "fomc", symbol: str = "BTC") -> None:
    """Make events of the months before, and the bars by which the symbol moved in the hour after each."""
    for number, move in enumerate(moves, start=1):
        at = JUNE - number * 30 * DAY
        MarketEventFactory(kind=kind, starts_at=at)
        for opened_at, close in ((at - HOUR, Decimal(100)), (at, Decimal(100) * (1 + Decimal(move)))):
            BarFactory(symbol=symbol, opened_at=opened_at, open=100, high=200, low=10, close=close)


def test_calendar_groups_events_by_day_and_names_their_source(client):
    MarketEventFactory(title="FOMC statement", starts_at=JUNE + HOUR, source="Federal Reserve", importance=0.9)
    MarketEventFactory(
        title="ARB unlock", kind="token_unlock", starts_at=JUNE + 2 * DAY, symbols=["ARB"], importance=0.5
    )
    MarketEventFactory(title="Too late", starts_at=JUNE + 40 * DAY)
    MarketEventFactory(title="Over", starts_at=JUNE - 2 * DAY)

    text = text_of(client.get(CALENDAR))

    for words in (
        *("2 events from 1 Jun 2026 to 28 Jun 2026", "Monday, 1 Jun 2026 Today", "13:00", "FOMC statement"),
        *("Fed decision", "High importance, 0.90", "The whole market", "Source: Federal Reserve"),
        *("Wednesday, 3 Jun 2026", "Token unlock", "Medium importance, 0.50", "ARB"),
    ):
        assert words in text, words
    assert "Too late" not in text
    assert "Over" not in text


def test_calendar_links_each_event_to_a_chat_about_it(client):
    event = MarketEventFactory(starts_at=JUNE + HOUR)

    link = f"/chat/?event={event.pk}"

    assert f'href="{link}">Ask about this event</a>' in client.get(CALENDAR).content.decode()
    assert "About FOMC statement" in text_of(client.get(link))


def test_calendar_groups_by_the_day_of_the_readers_zone(client, trader):
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    MarketEventFactory(starts_at=datetime(2026, 6, 3, 18, tzinfo=UTC))

    response = client.get(CALENDAR)

    assert "Thursday, 4 Jun 2026" in text_of(response)
    assert 'title="2026-06-03 18:00 UTC">06:00</time>' in response.content.decode()


def test_calendar_shows_past_days_when_asked(client):
    MarketEventFactory(title="Over", starts_at=JUNE - 2 * DAY)

    text = text_of(client.get(CALENDAR, {"first_day": "2026-05-25", "last_day": "2026-05-31"}))

    assert "Over" in text
    assert "Past" in text


@pytest.mark.parametrize(
    "query", [{"kind": "cpi"}, {"importance": "0.7"}, {"symbols": "eth, sol"}, {"kind": ["cpi", "gdp"]}]
)
def test_calendar_keeps_what_fits(client, query):
    MarketEventFactory(title="Left out", kind="fomc", importance=0.2, symbols=["BTC"], starts_at=JUNE + HOUR)
    MarketEventFactory(title="Kept", kind="cpi", importance=0.8, symbols=["ETH"], starts_at=JUNE + HOUR)

    text = text_of(client.get(CALENDAR, query))

    assert "Kept" in text
    assert "Left out" not in text


@pytest.mark.parametrize(
    ("query", "words"),
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
    page = client.get(CALENDAR, query)
    piece = client.get(CALENDAR, query, headers=into("results", CALENDAR))

    assert page.status_code == piece.status_code == 200
    assert words in text_of(page)
    assert words in text_of(piece)


def test_calendar_leads_to_the_days_before_and_after(client):
    body = client.get(CALENDAR, {"first_day": "2026-06-01", "last_day": "2026-06-07"}).content.decode()

    assert "?first_day=2026-05-25&amp;last_day=2026-05-31" in body
    assert "?first_day=2026-06-08&amp;last_day=2026-06-14" in body


def test_calendar_weighs_events_against_open_positions(client, made):
    past_events(["0.01", "-0.03", "0.02"])
    MarketEventFactory(starts_at=JUNE + HOUR)
    made(lambda: TradeFactory(still_open=True, deployment__version__skill__name="Dips"))
    made(lambda: TradeFactory(still_open=True, side="short", quantity=Decimal(-2)))

    text = text_of(client.get(CALENDAR))

    assert "median move 2.0%, worst for a long -3.0%, in the hour after 3 past events" in text
    assert "median move 2.0%, worst for a short -2.0%, in the hour after 3 past events" in text
    assert "by Dips" in text


def test_calendar_weighs_no_event_that_is_past_or_of_another_symbol(client, made):
    made(lambda: TradeFactory(still_open=True))
    MarketEventFactory(starts_at=JUNE - HOUR)
    MarketEventFactory(starts_at=JUNE + HOUR, symbols=["SOL"])

    assert "too few to say" not in text_of(client.get(CALENDAR))


def test_calendar_counts_the_positions_of_a_stopped_deployment(client, made):
    MarketEventFactory(starts_at=JUNE + HOUR)
    made(lambda: TradeFactory(still_open=True, deployment=DeploymentFactory(status="stopped", stopped_at=JUNE)))

    assert "too few to say" in text_of(client.get(CALENDAR))


def test_calendar_shows_so_many_events_and_says_so(client, monkeypatch):
    monkeypatch.setattr("trading.web.calendar.EVENTS_SHOWN", 2)
    for number in range(3):
        MarketEventFactory(starts_at=JUNE + number * HOUR)

    response = client.get(CALENDAR)

    assert "2 events from" in text_of(response)
    assert "are shown. Choose fewer days or kinds" in text_of(response)


@pytest.mark.parametrize(("query", "words"), [({}, "Nothing is scheduled"), ({"kind": "cpi"}, "No event fits")])
def test_calendar_says_why_it_is_empty(client, query, words):
    assert words in text_of(client.get(CALENDAR, query))


def test_calendar_shows_titles_as_text_and_the_simulated_market_as_such(client):
    MarketEventFactory(title="<b>Bold</b>", starts_at=JUNE + HOUR, is_simulated=True)

    response = client.get(CALENDAR)

    assert "&lt;b&gt;Bold&lt;/b&gt;" in response.content.decode()
    assert "Simulated market." in text_of(response)


def test_calendar_shows_a_month_by_week_with_countdowns(client, made):
    made(lambda: TradeFactory(still_open=True))
    MarketEventFactory(title="In the month", starts_at=JUNE + 2 * DAY + 3 * HOUR)
    MarketEventFactory(title="Of July", starts_at=JUNE + 31 * DAY)

    response = client.get(CALENDAR, {"view": "month"})

    text, body = text_of(response), response.content.decode()
    assert "1 event from 1 Jun 2026 to 30 Jun 2026" in text
    assert "in 2 d 3 h" in text
    assert body.count("<tr>") == 6  # the days' names and five weeks
    assert "1 held" in text
    assert "Of July" not in text
    assert "?view=month&amp;first_day=2026-05-01" in body
    assert "?view=month&amp;first_day=2026-07-01" in body


def test_calendar_draws_the_moves_with_their_interval(client, made):
    past_events(["0.01", "-0.03", "0.02", "0.01", "-0.02"])
    MarketEventFactory(starts_at=JUNE + HOUR)
    made(lambda: TradeFactory(still_open=True))

    body = client.get(CALENDAR).content.decode()

    assert body.count("<svg") > 1
    assert "Usual move with its interval, and the worst" in body
    assert "BTC long: 2.00, 5 events" in body


def test_calendar_takes_as_many_queries_for_many_events_and_positions(client, made, django_assert_max_num_queries):
    for symbol in ("BTC", "ETH", "SOL"):
        past_events(["0.01", "-0.03", "0.02"], symbol=symbol, kind="cpi")
        made(lambda symbol=symbol: TradeFactory(still_open=True, symbol=symbol))
        MarketEventFactory(starts_at=JUNE + HOUR, kind="cpi")
        for number in range(20):
            MarketEventFactory(starts_at=JUNE + DAY + number * HOUR, kind="fomc")

    with django_assert_max_num_queries(14):  # eight, session and user, and the four of PostgreSQL for the scope
        client.get(CALENDAR)
