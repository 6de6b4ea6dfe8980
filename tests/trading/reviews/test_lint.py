from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tests.factories.memory import HOUR
from tests.factories.record import TradeFactory
from trading.agent.context import trade_line
from trading.models import Trade
from trading.reviews.lessons import LEAST_TRADES, Code, lint_lessons, list_bullets

THURSDAY = datetime(2026, 6, 4, 10, tzinfo=UTC)
AVOID = ["No trade in a shock regime", "Never average down on a losing position", "No ETH shorts over the weekend"]


def make_trade(symbol, side, entry_at, exit_at, reason=""):
    """Return a trade that was filled in its ticks."""
    times = {"entry_at": entry_at, "entry_tick_at": entry_at, "exit_at": exit_at, "exit_tick_at": exit_at}
    return Trade(symbol=symbol, side=side, entry_reason=reason, **times)


WINDOW = [
    make_trade("BTC", "long", THURSDAY, THURSDAY + 2.5 * HOUR, "breakout at 14:45 above SOL shorts"),
    make_trade("BTC", "long", THURSDAY + 3 * HOUR, THURSDAY + 4 * HOUR),
    make_trade("ETH", "short", THURSDAY + 24 * HOUR, THURSDAY + 25 * HOUR),
    make_trade("SOL/USDT", "long", THURSDAY + 26 * HOUR, THURSDAY + 27 * HOUR),
    make_trade("kPEPE", "short", THURSDAY + 26 * HOUR, THURSDAY + 27 * HOUR),
]


def findings(text, *, avoid=AVOID, trades=WINDOW, symbols=("DOGE",)):
    return lint_lessons(text, avoid=avoid, trades=trades, symbols=symbols)


def codes(text, **given):
    return [str(finding.code) for finding in findings(text, **given)]


def test_a_bullet_that_shares_two_words_with_an_avoid_rule_needs_a_no():
    for bullet, is_found in (
        ("Enter early in a shock regime", True),
        ("Shocks and their regimes paid well", True),
        ("SHOCK REGIME: double the size", True),
        ("Averaging down on losing positions worked twice", True),
        ("ETH shorts held over weekends paid", True),
        ("Do not enter in a shock regime", False),
        ("Don't enter in a shock regime", False),
        ("Don’t enter in a shock regime", False),
        ("Avoiding the shock regime saved money", False),
        ("Stay out of a shock regime", False),
        ("In a shock regime, stay flat", False),
        ("Stop averaging down on losing positions", False),
        ("Skip the shock regime", False),
        ("Wait instead of entering in a shock regime", False),
        ("Keep the stop in a shock regime", True),
        ("Notional was twice as large in a shock regime", True),
        ("Trades in a trend regime paid", False),
        ("Take the trade at the market, keep the position", False),
        ("Entries after a shock paid", False),
    ):
        assert codes(f"- {bullet}") == [Code.AGAINST_AVOID] * is_found


def test_finding_names_the_rule_and_the_bullet_for_each_rule():
    (found,) = findings("- BTC longs paid\n- Enter early in a shock regime")

    assert found.bullet == "Enter early in a shock regime"
    assert "No trade in a shock regime" in found.text
    assert codes("- Losing positions in a shock regime: average down") == [Code.AGAINST_AVOID] * 2


def test_a_bullet_may_name_only_times_at_which_a_trade_began_or_ended():
    for bullet, is_found in (
        ("The entry of 2026-06-04T10:00 was late", False),
        ("The entry of 2026-06-04 10:00 UTC was late", False),
        ("The entry of 2026-06-04T10:30 was late", True),
        ("The exit at 12:30 was good", False),
        ("The exit at 12:31 was bad", True),
        ("The exit at 12:30pm was good", False),
        ("The exit at 2 pm was good", False),
        ("The exit at 3am was bad", True),
        ("Trades of 2026-06-05 lost", False),
        ("Trades of 2026-06-06 lost", True),
        ("Trades of 2026-02-31 lost", True),
        ("Trades of June 4th lost", False),
        ("Trades of 5 June lost", False),
        ("Trades of the 7th of June lost", True),
        ("Trades of Jul 4 lost", True),
        ("Thursdays paid", False),
        ("Mondays paid", True),
        ("Entries from 09:30 to 10:30 paid", False),
        ("Entries from 05:00 to 06:00 paid", True),
        ("Entries between 22:00 and 10:00 UTC paid", False),
        ("Exits at 12:30 and 14:00 were good", False),
        ("From 2026-06-01 to 2026-06-04 all went well", False),
        ("From 2026-05-01 to 2026-05-31 all went well", True),
        ("From 2026-06-04T10:30 to 2026-06-04T12:00 all went well", True),
        ("From 2026-99-01 to 2026-06-04 all went well", False),
        ("Held 120m on 1h bars at 65,200, 24/7, with 5x; 1.5 to 2 ATR", False),
        ("One decided 3 times, and may 5 times more", False),
        ("Marginal 4 of 5, in octave 4", False),
    ):
        assert codes(f"- {bullet}") == [Code.UNKNOWN_TIME] * is_found


def test_a_bullet_may_name_only_symbols_with_a_side_that_was_traded():
    for bullet, named in (
        ("BTC longs paid", []),
        ("BTC shorts paid", ["BTC short"]),
        ("Shorts in BTC paid", ["BTC short"]),
        ("BTC longs and ETH shorts paid", []),
        ("ETH longs and BTC shorts paid", ["ETH long", "BTC short"]),
        ("Longs in BTC and ETH paid", ["ETH long"]),
        ("BTC/ETH longs paid", ["ETH long"]),
        ("A BTC-short was taken late", ["BTC short"]),
        ("SOL longs paid; SOL/USDT longs, too", []),
        ("SOL shorts lost", ["SOL short"]),
        ("kPEPE shorts paid", []),
        ("DOGE in a long squeeze", ["DOGE long"]),
        ("AVAX longs paid", ["AVAX long"]),
        ("AVAX moved while BTC longs paid", []),
        ("Do not short BTC", ["BTC short"]),
        ("BTC was held too long, as long as it fell, for the short term", []),
        ("BTC: short stops lose, in the long run", []),
        ("BTC paid; longs were larger than shorts", []),
        ("BTC longs paid, but shorts lost", []),
        ("RSI long before USD short, PNL long", []),
        ("BTC shorts and BTC shorts again", ["BTC short"]),
    ):
        found = findings(f"- {bullet}", avoid=[])

        assert [finding.text.removeprefix("Names ").partition(",")[0] for finding in found] == named
        assert {finding.code for finding in found} <= {Code.UNKNOWN_TRADE}


def test_fewer_than_five_trades_are_too_few_and_without_a_bullet_there_is_nothing_to_find():
    for count in range(LEAST_TRADES + 1):
        found = findings("- BTC longs paid", trades=WINDOW[:1] * count, symbols=())
        assert (Code.SMALL_SAMPLE in [finding.code for finding in found]) == (count < LEAST_TRADES)
    for text in ("", "\n \n", "-", "- \n* \n• "):
        assert findings(text) == []


def test_bullets_are_read_without_their_marks_and_a_quoted_reason_is_data():
    text = "- One\n* Two\n  • Three\n1. Four\n12) Five\n\n-5% was the worst\n**Six** is bold"

    assert list_bullets(text) == ["One", "Two", "Three", "Four", "Five", "-5% was the worst", "**Six** is bold"]

    assert codes('- "breakout at 14:45 above SOL shorts" paid') == []
    assert codes("- breakout at 14:45 above SOL shorts paid") == [Code.UNKNOWN_TIME, Code.UNKNOWN_TRADE]


ROWS = st.lists(
    st.builds(
        TradeFactory.build,
        deployment=st.none(),
        skill=st.none(),
        symbol=st.sampled_from(["BTC", "ETH", "SOL/USDT", "1000PEPE", "@107", "OP", "LONG"]),
        side=st.sampled_from(["long", "short"]),
        entry_tick_at=st.integers(0, 5_000_000).map(lambda minutes: THURSDAY + timedelta(minutes=minutes)),
        entry_reason=st.text(max_size=60)
        | st.sampled_from(
            ["Shock regime at 03:17, SOL shorts", 'She said "average down on losing positions" on Monday']
        ),
        realized_pnl_usd=st.decimals(-1000, 1000, places=2),
        entry_price=st.decimals(Decimal("0.001"), 100_000, places=3),
    ),
    min_size=LEAST_TRADES,
    max_size=8,
)


@given(trades=ROWS)
def test_nothing_is_found_in_text_made_of_the_windows_own_rows(trades):
    named = [
        f"- {trade.symbol} {trade.side}s such as that of {trade.entry_tick_at:%Y-%m-%dT%H:%M} paid" for trade in trades
    ]
    days = [
        f"- What began on {trade.entry_tick_at:%B} {trade.entry_tick_at.day}, a {trade.entry_tick_at:%A}"
        for trade in trades
    ]
    text = "\n".join([*map(trade_line, trades), *named, *days])

    assert findings(text, avoid=AVOID[:2], trades=trades, symbols=()) == []


@given(text=st.text(max_size=300), rule=st.text(max_size=80))
def test_any_text_can_be_linted(text, rule):
    for finding in findings(text, avoid=[rule]):
        assert finding.bullet in list_bullets(text)
