from decimal import Decimal

import pytest

from tests.factories.memory import HOUR, MAY
from tests.factories.record import BarFactory, FundingRateFactory, MarketEventFactory, TradeFactory
from trading.agent.term_values import TermView, judge, read_view, terms_section
from trading.market.regime import Candle
from trading.market.tape import STORED, ReplayTape
from trading.models import RegimeTag
from trading.skills.reading import read_draft, read_strategy
from trading.skills.schemas import parse_payload

D = Decimal
RICH = {
    "entry": (
        "Long: the close above the 20-bar high and RSI(14) above 50 and volume above its 10-bar mean and funding is"
        " above -0.5 % for two payments.\n"
        "Short: the close below the lower Bollinger band and the 4h close below its 5-bar EMA.\n"
        "Only in a trend regime."
    ),
    "exit": "Back through the 10-bar mean, or after 48 hours. Target three ATR.",
    "risk_management": "Stop at two average ranges. Risk 1 % of equity per trade.",
    "avoid": ["No trade in a chop regime", "No entry within 2 hours before FOMC or CPI", "No longs on Friday"],
}


def view(*closes, interval="", **values):
    candles = [Candle(close + 1, close - 1, close, 10) for close in closes]
    return TermView(**{"at": MAY, "bar": HOUR, "candles": {interval: candles}, **values})


def condition(text, **context):
    reading = read_draft({"strategy": {"entry": f"Buy when {text}"}, "context": context})
    assert not reading.lines[0].problem
    return reading.terms[0].conditions[0]


def test_comparison_shows_values_distance_and_truth():
    for text, closes, expected in (
        ("the close is above the 3-bar high", [1, 2, 3, 5], "close 5 above 3-bar high 4 (by +25.00%) = true"),
        ("the close is above the 3-bar high", [1, 2, 3, 4], "close 4 above 3-bar high 4 (by 0.00%) = false"),
        ("the close is above the 3-bar high", [9, 1, 2, 3, 5], "close 5 above 3-bar high 4 (by +25.00%) = true"),
        ("the close is above the 3-bar high", [2, 3, 5], "close above 3-bar high: not enough bars (3 of 4) = unknown"),
        ("price made no new 3-bar high", [1, 2, 3, 4], "close 4 not above 3-bar high 4 (by 0.00%) = true"),
        ("the close is below the 2-bar mean", [4, 6, 4], "close 4 below 2-bar mean 5 (by -20.00%) = true"),
        ("price crosses above the 2-bar mean", [6, 4, 8], "close 8 crosses above 2-bar mean 6 (by +33.33%) = true"),
        ("price crosses above the 2-bar mean", [4, 6, 8], "close 8 crosses above 2-bar mean 7 (by +14.29%) = false"),
        (
            "price crosses above the 2-bar mean",
            [4, 8],
            "close crosses above 2-bar mean: not enough bars (2 of 3) = unknown",
        ),
        (
            "the close is above the 2-bar mean for 2 bars",
            [4, 6, 8],
            "close 8 above 2-bar mean 7 for 2 (by +14.29%) = true",
        ),
        (
            "the close is above the 2-bar mean for 3 bars",
            [7, 6, 7, 8],
            "close 8 above 2-bar mean 7.5 for 3 (by +6.67%) = false",
        ),
        ("price falls more than 20 % in 2 bars", [10, 9, 7], "2-bar change -30.00% below -20% (by -10.00) = true"),
        ("RSI(2) is below 30", [9, 8, 7], "RSI(2) 0.00 below 30 (by -30.00) = true"),
    ):
        assert str(judge(condition(text), view(*closes))) == expected


def test_funding_is_compared_by_payment_or_by_year():
    for text, rates, expected in (
        ("funding is above 0.01 % for two payments", [0.02, 0.03], True),
        ("funding is above 0.01 % for two payments", [0.01, 0.03], False),
        ("funding is above 0.01 % for two payments", [0.03], None),
        ("annualised funding is above 40 %", [0.0366], True),
        ("annualised funding is above 40 %", [0.0365], False),
        ("funding is negative", [-0.01], True),
    ):
        assert judge(condition(text), view(1, funding=rates)).is_true is expected


def test_condition_without_bars_is_judged_at_the_tick():
    for text, expected in (
        ("regime is trend", True),
        ("regime is not trend", False),
        ("between 11:00 and 12:00 UTC", False),  # it is 12:00 on a Friday
        ("between 12:00 and 13:00 UTC", True),
        ("between 22:00 and 13:00 UTC", True),
        ("before 12:00 UTC", False),
        ("on Fridays", True),
        ("on weekdays", True),
        ("on weekends", False),
        ("within 3 hours before FOMC", True),
        ("within 1 hour before FOMC", False),
        ("within 3 hours after FOMC", False),
        ("within 3 hours of CPI", False),
        ("within 3 hours of a high-importance event", True),
        ("on FOMC days", True),
    ):
        event = MarketEventFactory.build(kind="fomc", starts_at=MAY + 2 * HOUR, importance=0.9)

        assert judge(condition(text), view(regime=RegimeTag.TREND, events=[event])).is_true is expected


def test_regime_that_is_unknown_makes_no_condition_true():
    assert judge(condition("regime is not shock"), view()).is_true is None


def make_market():
    for number in range(90):
        price = D(100 + (number * 7) % 13)
        BarFactory(opened_at=MAY - (90 - number) * HOUR, open=price, high=price + 2, low=price - 2, close=price)
    for number in range(12):
        BarFactory(interval="4h", opened_at=MAY - (48 - 4 * number) * HOUR, high=D(120), close=D(100 + number))
    for hours in (1, 9, 17):
        FundingRateFactory(at=MAY - hours * HOUR)
    MarketEventFactory(starts_at=MAY + HOUR)


def section_at(at, tape, **strategy):
    context = {"symbols": ["BTC"], "bars_lookback": 5, "higher_timeframes": ["4h"]}
    payload = parse_payload(
        {"name": "x", "trading_style": "day", "strategy": {"thesis": "x", **RICH, **strategy}, "context": context}
    )
    reading, trade = read_strategy(payload), TradeFactory.build(deployment=None, skill=None, still_open=True)
    return terms_section(reading, {"BTC": read_view(reading, "BTC", "1h", at, tape, RegimeTag.TREND)}, [trade])


@pytest.mark.django_db
def test_terms_are_the_same_live_and_in_a_backtest():
    make_market()
    tape = ReplayTape(MAY - 6 * HOUR)

    for hours in range(6, -1, -1):
        at = MAY - hours * HOUR
        assert section_at(at, STORED) == section_at(at, tape)


@pytest.mark.django_db
def test_terms_of_each_line_stand_in_the_section():
    make_market()

    lines = section_at(MAY, STORED)

    terms = ("entry long", "entry short", "avoid any", "avoid any", "avoid long", "stop long", "stop short")
    expected = [f"- BTC {term}" for term in (*terms, *["exit long"] * 3)]
    assert [line.split(" = ")[0] for line in lines[1:]] == ["- risk 1% of equity to the stop", *expected]
    assert "not enough bars" not in "".join(lines)


@pytest.mark.django_db
def test_lookback_longer_than_the_prompts_bars_is_computed_and_old_bars_make_no_term_true():
    make_market()

    assert "85-bar high 114" in section_at(MAY, STORED, entry="Buy a close above the 85-bar high.")[2]
    assert "not enough bars (90 of 92)" in section_at(MAY, STORED, entry="Buy a close above the 91-bar high.")[2]
    line = section_at(MAY + 2 * HOUR, STORED, entry="Buy a close above the 2-bar low.")[2]
    assert line == "- BTC entry long = unknown: close above 2-bar low: not enough bars (0 of 3) = unknown"
