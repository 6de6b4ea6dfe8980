"""The journal day by day and the review of a week."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine

from chat.models import DayNote
from chat.web.journal import find_monday
from tests.factories.chat import BookmarkFactory, DayNoteFactory
from tests.factories.record import DeploymentFactory, ReflectionNoteFactory, TradeFactory, TradingRuleFactory
from tests.owners import as_owner

D = Decimal
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NOON = datetime(2026, 6, 4, 12, tzinfo=UTC)  # a Thursday; in Auckland it is Friday
JOURNAL, REVIEW, NOTE = "/journal/", "/journal/review/", "/journal/notes/"


@pytest.fixture(autouse=True)
def _june():
    with time_machine.travel(NOON, tick=False):
        yield


def read_text(response) -> str:
    assert response.status_code == 200, response.status_code
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def read_day(client, day: str) -> str:
    html = client.get(JOURNAL, {"week": day}).content.decode()
    start = html.index(f'id="day-{day}"')
    return " ".join(re.sub(r"<[^>]+>", " ", html[start : html.index("</section>", start)]).split())


@pytest.mark.parametrize(
    ("text", "monday"),
    [
        ("2026-06-04", date(2026, 6, 1)),
        ("2026-05-31", date(2026, 5, 25)),
        ("2030-01-01", date(2026, 6, 1)),
        ("0001-01-01", date(2000, 1, 3)),
        ("x", date(2026, 6, 1)),
        ("", date(2026, 6, 1)),
    ],
)
def test_find_monday_reads_a_day_of_an_address(text, monday):
    assert find_monday(text, today=NOON.date()) == monday


def test_journal_lists_the_days_of_the_week_until_today_newest_first(ann):
    html = ann.get(JOURNAL).content.decode()

    assert re.findall(r'id="day-([^"]+)"', html) == ["2026-06-04", "2026-06-03", "2026-06-02", "2026-06-01"]
    assert "?week=2026-05-25" in html
    assert 'rel="next"' not in html


def test_journal_shows_a_trade_on_the_day_it_opened_and_the_day_it_closed_in_the_zone(ann, trader):
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    entry = datetime(2026, 6, 2, 13, tzinfo=UTC)  # the third there
    as_owner(trader, lambda: TradeFactory(entry_tick_at=entry, exit_tick_at=entry + DAY, symbol="SOL"))

    assert "SOL long opened" in read_day(ann, "2026-06-03")
    closed = read_day(ann, "2026-06-04")
    assert "SOL long closed" in closed
    assert "+$19.00 of 1 closed trade" in closed
    assert "No trade opened or closed." in read_day(ann, "2026-06-02")


def test_journal_shows_rules_kept_and_broken_beside_kept_replies_and_the_note(ann, trader):
    def make():
        TradingRuleFactory()
        TradeFactory(entry_tick_at=NOON - HOUR, exit_tick_at=NOON, entry_leverage=D(9))
        TradeFactory(entry_tick_at=NOON - 2 * HOUR, exit_tick_at=NOON, entry_leverage=D(2))
        BookmarkFactory(message=None, text="Wait for the close", created_at=NOON)
        DayNoteFactory(day=NOON.date(), text="Chased one")

    as_owner(trader, make)

    day = read_day(ann, "2026-06-04")
    assert "Broken At most 5x leverage: it had 9x" in day
    assert "1 of your rules kept" in day
    assert "Chased one" in day
    assert "Wait for the close" in read_text(ann.get(JOURNAL))


def test_write_note_saves_changes_and_clears_it(ann, trader):
    for text, stored in (("  First\n", ["First"]), ("Second", ["Second"]), (" ", [])):
        response = ann.post(NOTE, {"day": "2026-06-03", "text": text})
        assert response.url == f"{JOURNAL}?week=2026-06-03#day-2026-06-03"
        assert as_owner(trader, lambda: [row.text for row in DayNote.objects.all()]) == stored


@pytest.mark.limit("chat.conversations.journal.MAX_DAY_NOTE")
def test_write_note_that_is_too_long_keeps_what_was_typed(ann, trader):
    response = ann.post(NOTE, {"day": "2026-06-03", "text": "x" * 4001})

    assert response.status_code == 422
    html = response.content.decode()
    assert "x" * 4001 in html
    assert "this one has 4001" in html
    assert not as_owner(trader, DayNote.objects.exists)


def test_write_note_of_no_day_is_not_found(ann):
    assert ann.post(NOTE, {"day": "soon", "text": "x"}).status_code == 404


def test_review_shows_the_figures_of_the_record(ann, trader):
    def make():
        TradingRuleFactory()
        own = DeploymentFactory(broker_kind="live", label="Spot")
        for number, net in enumerate((30, -10, 5, 5, 5, 5)):
            at = NOON - timedelta(hours=number + 1)
            amounts = {
                "gross_pnl_usd": net + 1,
                "mfe_usd": 60,
                "mae_usd": -60,
                "entry_leverage": D(9 if net < 0 else 2),
            }
            TradeFactory(
                deployment=own, symbol="ETH" if net < 0 else "BTC", entry_tick_at=at, exit_tick_at=at, **amounts
            )
        TradeFactory(deployment=own, entry_tick_at=NOON - 9 * DAY)  # the week before
        ReflectionNoteFactory(generated_at=NOON - HOUR, window_end=NOON - HOUR)
        DayNoteFactory(day=NOON.date(), text="Chased one")

    as_owner(trader, make)

    text = read_text(ann.get(REVIEW))
    assert "Net +$40.00 6 trades" in text
    assert "Win rate 83.3% 6 trades" in text
    assert "Fees $6.00" in text
    assert "Own trades 6 +$40.00" in text
    assert "ETH 1 -$10.00 too few to say" in text
    assert "Best: BTC long +$30.00. Worst: ETH long -$10.00." in text
    assert "At most 5x leverage 5 1 0" in text
    assert "Longs after a flush paid" in text
    assert "Chased one" in text
    html = ann.get(REVIEW).content.decode()
    link = re.search(r'href="(/trades/ask/[^"]+measure=net[^"]+)"', html)[1].replace("&amp;", "&")
    assert "+$40.00" in ann.get(link).content.decode()


def test_review_of_an_empty_week_says_what_would_be_there(ann):
    text = read_text(ann.get(REVIEW, {"week": "2026-05-20"}))

    assert "Review of 18 May to 24 May 2026" in text
    assert "No trade closed in this week" in text
    assert "Week after" in text


@pytest.mark.parametrize("address", [JOURNAL, REVIEW])
def test_journal_takes_as_many_queries_for_a_full_week(ann, trader, address, django_assert_max_num_queries):
    def fill():
        TradingRuleFactory()
        for number in range(30):
            at = NOON - number * HOUR
            TradeFactory(entry_tick_at=at - HOUR, exit_tick_at=at)
            BookmarkFactory(created_at=at)
            DayNoteFactory(day=(at - number * DAY).date())

    as_owner(trader, fill)
    ann.get(address)
    with django_assert_max_num_queries(18):  # twelve, session and user, and the four of PostgreSQL for the scope
        ann.get(address)
