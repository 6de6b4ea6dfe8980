import json
from datetime import timedelta
from decimal import Decimal

import pytest

from chat.tools.base import MAX_RESULT
from chat.tools.market import MARKETS
from config.lib.figures import format_instant
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DeploymentFactory,
    FundingRateFactory,
    MarketEventFactory,
    NewsItemFactory,
    TradeFactory,
)
from tests.owners import as_owner
from trading.models import Bar, Trade

HOUR = timedelta(hours=1)
D = Decimal
NOTHING = dict.fromkeys(
    (
        *("last_price", "last_price_at", "change_24h_pct", "funding_rate_pct", "funding_hours"),
        *("basis_pct", "realised_vol_pct", "regime", "is_simulated"),
    )
)


@pytest.fixture
def box(as_trader) -> Toolbox:
    return Toolbox(as_trader, "coach", "What is going on?")


def hours(count: int, *, symbol: str = "BTC") -> None:
    """Store hourly bars that climb by one and end now."""
    Bar.objects.bulk_create(
        BarFactory.build(
            symbol=symbol,
            opened_at=NOW - (count - number) * HOUR,
            open=D(1000 + number),
            high=D(1002 + number),
            low=D(999 + number),
            close=D(1001 + number),
            mark=D(1001 + number),
            index=D(1000),
            is_simulated=True,
        )
        for number in range(count)
    )


# --- get_market_overview ---


def test_overview_tells_prices_in_percent_and_that_they_are_made_up(box):
    hours(200)
    FundingRateFactory(at=NOW - HOUR, rate=D("0.000125"))

    result = box.call("get_market_overview", symbols=["btc"])

    assert result["as_of"] == "2026-06-01T12:00:00Z"
    (seen,) = result["markets"]
    assert seen == {
        "symbol": "BTC",
        "last_price": 1200.0,
        "last_price_at": "2026-06-01T12:00:00Z",
        "change_24h_pct": 2.04,
        "funding_rate_pct": 0.0125,
        "funding_hours": 8,
        "basis_pct": 20.0,
        "realised_vol_pct": seen["realised_vol_pct"],
        "regime": "trend",
        "is_simulated": True,
    }
    assert 0 <= seen["realised_vol_pct"] < 1  # it climbs evenly


def test_unknown_symbol_is_all_null(box):
    hours(2)

    markets = box.call("get_market_overview", symbols=["NOSUCH", "BTC"])["markets"]

    assert markets[0] == {"symbol": "NOSUCH", **NOTHING}
    assert (markets[1]["last_price"], markets[1]["change_24h_pct"], markets[1]["regime"]) == (1002.0, None, "unknown")


def symbols_of(result) -> list[str]:
    return [seen["symbol"] for seen in result["markets"]]


def test_overview_is_of_what_is_held_and_what_runs(box, stranger):
    DeploymentFactory(status="stopped", version__payload={"context": {"symbols": ["XRP"]}})
    deployment = DeploymentFactory()  # on BTC and ETH
    TradeFactory(deployment=deployment, still_open=True, symbol="SOL")
    TradeFactory(deployment=deployment, symbol="DOGE")
    TradeFactory(deployment=BacktestRunFactory().deployment, still_open=True, symbol="ADA")
    as_owner(stranger, lambda: TradeFactory(still_open=True, symbol="ATOM"))
    hours(1, symbol="AVAX")

    assert symbols_of(box.call("get_market_overview")) == ["SOL", "BTC", "ETH"]


def test_overview_is_of_the_sites_bars_for_who_runs_nothing(box):
    for symbol in ("ETH", "BTC", "BTC-2"):
        hours(3, symbol=symbol)

    assert symbols_of(box.call("get_market_overview")) == ["BTC", "BTC-2", "ETH"]


def test_market_overview_of_many_symbols_is_limited(box):
    DeploymentFactory(version__payload={"context": {"symbols": [f"S{number}" for number in range(MARKETS + 5)]}})
    asked = [f"S{number}" for number in range(MARKETS)]

    assert symbols_of(box.call("get_market_overview")) == asked
    assert symbols_of(box.call("get_market_overview", symbols=[*asked[:3], "s0"])) == asked[:3]
    assert "error" in box.call("get_market_overview", symbols=[*asked, "ONE"])


# --- get_recent_news ---


def test_news_are_headlines_with_source_and_sentiment_newest_first(box):
    NewsItemFactory(headline="# Rates\u202e ```rise", published_at=NOW - 2 * HOUR, symbols=["BTC"], sentiment=-0.456)
    NewsItemFactory(headline="All is well", published_at=NOW - HOUR, is_simulated=True)

    assert box.call("get_recent_news") == {
        "lookback_hours": 24,
        "news": [
            {
                "headline": "All is well",
                "source": "test",
                "published_at": "2026-06-01T11:00:00Z",
                "symbols": [],
                "sentiment": None,
                "is_simulated": True,
            },
            {
                "headline": "Rates `rise",
                "source": "test",
                "published_at": "2026-06-01T10:00:00Z",
                "symbols": ["BTC"],
                "sentiment": -0.46,
                "is_simulated": False,
            },
        ],
    }


def headlines(result) -> list[str]:
    return [item["headline"] for item in result["news"]]


def test_news_are_of_the_hours_and_symbols_that_are_asked_for(box):
    for headline, symbols, age in (("all", [], 1), ("BTC", ["BTC"], 2), ("ETH", ["ETH"], 3), ("old", [], 30)):
        NewsItemFactory(headline=headline, symbols=symbols, published_at=NOW - age * HOUR)
    NewsItemFactory(headline="tomorrow", published_at=NOW + HOUR)

    assert headlines(box.call("get_recent_news")) == ["all", "BTC", "ETH"]
    assert headlines(box.call("get_recent_news", symbols=["btc"])) == ["all", "BTC"]
    assert headlines(box.call("get_recent_news", lookbackHours=31, symbols=["ETH"])) == ["all", "ETH", "old"]
    assert headlines(box.call("get_recent_news", limit=1)) == ["all"]


# --- get_upcoming_events ---


def test_events_are_told_in_order_with_their_importance(box):
    MarketEventFactory(kind="cpi", title="US CPI\n# obey", starts_at=NOW + 2 * HOUR, importance=0.85)
    soon = MarketEventFactory(kind="token_unlock", title="Unlock", starts_at=NOW, importance=0.4, symbols=["ARB"])

    result = box.call("get_upcoming_events")

    assert result["lookahead_hours"] == 24
    assert result["events"][0] == {
        "event_id": str(soon.pk),
        "kind": "token_unlock",
        "title": "Unlock",
        "scheduled_at": "2026-06-01T12:00:00Z",
        "importance": 0.4,
        "symbols": ["ARB"],
        "is_simulated": False,
    }
    assert result["events"][1]["title"] == "US CPI obey"
    assert "your_exposure" not in result


def titles(result) -> list[str]:
    return [event["title"] for event in result["events"]]


def test_events_are_those_asked_for(box):
    MarketEventFactory(title="Fed", starts_at=NOW + 24 * HOUR)
    MarketEventFactory(title="Unlock", kind="token_unlock", starts_at=NOW + HOUR, symbols=["ARB"])
    MarketEventFactory(title="Minor", kind="other", starts_at=NOW + HOUR, importance=0.39)
    MarketEventFactory(title="Late", starts_at=NOW + 72 * HOUR)
    MarketEventFactory(title="Past", starts_at=NOW - HOUR)

    assert titles(box.call("get_upcoming_events")) == ["Unlock", "Fed"]
    assert titles(box.call("get_upcoming_events", lookaheadHours=72)) == ["Unlock", "Fed", "Late"]
    assert titles(box.call("get_upcoming_events", lookaheadHours=23)) == ["Unlock"]
    assert titles(box.call("get_upcoming_events", minImportance=0)) == ["Unlock", "Minor", "Fed"]
    assert titles(box.call("get_upcoming_events", types=["fomc", "cpi"])) == ["Fed"]
    assert titles(box.call("get_upcoming_events", symbols=["btc"])) == ["Fed"]


# --- your_exposure ---


def past_event(days: int, before: int, after: int) -> None:
    """Store a Fed decision some days ago, and the hours before and after it."""
    at = NOW - timedelta(days=days)
    MarketEventFactory(starts_at=at)
    for opened_at, close in ((at - HOUR, before), (at, after)):
        BarFactory(opened_at=opened_at, close=D(close), high=D(200), low=D(1))


@pytest.fixture
def deployment(as_trader):
    """Short 2 BTC at 100, and long ETH."""
    made = DeploymentFactory()
    TradeFactory(deployment=made, still_open=True, side="short", quantity=D(-2))
    TradeFactory(deployment=made, still_open=True, symbol="ETH")
    return made


def test_exposure_says_what_such_events_did_to_each_position(box, deployment):
    for days, after in ((30, 102), (20, 99), (10, 97)):
        past_event(days, 100, after)
    coming = MarketEventFactory(starts_at=NOW + HOUR)
    MarketEventFactory(kind="token_unlock", starts_at=NOW + HOUR, symbols=["ARB"])

    eth = Trade.objects.get(symbol="ETH")

    result = box.call("get_upcoming_events", deploymentId=str(deployment.pk))

    assert len(result["events"]) == 2
    assert result["your_exposure"] == [
        {
            "event_id": str(coming.pk),
            "symbol": "BTC",
            "position_side": "short",
            "notional_usd": 194.0,
            "price_at": format_instant(NOW - timedelta(days=10) + HOUR),
            "is_simulated": False,
            "similar_events_back": 3,
            "median_abs_move_pct": 2.0,
            "median_abs_move_usd": 3.88,
            "worst_move_pct": -2.0,
            "worst_move_usd": -3.88,
            "median_90pct_interval": None,
            "quiet_hours_back": 0,
            "quiet_median_abs_move_pct": None,
        },
        {
            "event_id": str(coming.pk),
            **{"symbol": "ETH", "position_side": "long", "notional_usd": 200.0, "is_simulated": False},
            "price_at": format_instant(eth.entry_at),
            **dict.fromkeys(("similar_events_back", "quiet_hours_back"), 0),
            **dict.fromkeys(("median_abs_move_pct", "median_abs_move_usd", "worst_move_pct", "worst_move_usd")),
            **dict.fromkeys(("median_90pct_interval", "quiet_median_abs_move_pct")),
        },
    ]


def test_exposure_is_empty_where_nothing_is_held_or_to_come(box, deployment):
    MarketEventFactory(starts_at=NOW + 30 * HOUR)
    idle = DeploymentFactory()

    of_idle = box.call("get_upcoming_events", lookaheadHours=72, deploymentId=str(idle.pk))

    assert (len(of_idle["events"]), of_idle["your_exposure"]) == (1, [])
    assert box.call("get_upcoming_events", deploymentId=str(deployment.pk))["your_exposure"] == []


def test_many_events_leave_room_and_ask_for_each_price_once(box, django_assert_max_num_queries):
    deployment = DeploymentFactory()
    for number in range(10):
        TradeFactory(deployment=deployment, still_open=True, symbol=f"S{number}")
    for number in range(40):
        MarketEventFactory(title="x" * 160, starts_at=NOW + HOUR + timedelta(minutes=number))

    with django_assert_max_num_queries(115):  # seven intervals of bars and the past events, for each of ten symbols
        result = box.call("get_upcoming_events", deploymentId=str(deployment.pk))

    assert len(result["events"]) == 40
    assert len(result["your_exposure"]) + result["left_out"]["your_exposure"] == 400
    assert len(json.dumps(result)) < MAX_RESULT * 0.6
