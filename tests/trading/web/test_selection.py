"""The figures of the trades page are those of the planner, which chat, REST and the ask page use."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from uuid import uuid4
from zoneinfo import ZoneInfo

from tests.factories.memory import MAY
from tests.factories.record import DecisionSnapshotFactory, DeploymentFactory, OrderFactory, TradeFactory
from tests.tables import each_case
from tests.trading.browsing import assert_shows
from trading.asking.answers import describe_groups, describe_total
from trading.asking.planner import answer_question
from trading.asking.query import parse_query
from trading.models import Trade
from trading.record.remarks import write_remark
from trading.record.trade_queries import TradeFilter, select_trades
from trading.web.selection import describe_selection

ZONE = ZoneInfo("America/New_York")
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def write_ledger(count: int = 60, seed: int = 3) -> list[Trade]:
    chance, deployment = Random(seed), DeploymentFactory()
    rows = [
        TradeFactory.build(
            deployment=deployment,
            skill=deployment.skill,
            user_id=deployment.user_id,
            symbol=chance.choice(["BTC", "ETH", "SOL"]),
            side=chance.choice(["long", "short"]),
            entry_tick_at=MAY + timedelta(minutes=97 * number),
            entry_regime_tag=chance.choice(["trend", "chop", "unknown"]),
            exit_kind=chance.choice(["signal", "stop"]),
            gross_pnl_usd=(gross := Decimal(chance.randint(-9_000, 9_500)) / 100),
            mfe_usd=max(gross, Decimal(0)) + 5,
            mae_usd=min(gross, Decimal(0)) - 5,
            path_minutes=chance.choice([60, None]),
            first_fill_id=uuid4().hex,
        )
        for number in range(count)
    ]
    return Trade.objects.bulk_create(rows)


def narrow(**changes: str) -> str:
    return "&".join(f"{name}={value}" for name, value in changes.items())


def describe(shown: str = "", **which):
    return describe_selection(select_trades(TradeFilter(**which)), shown, zone=ZONE, narrow=narrow)


def ask(**words: str):
    return answer_question(parse_query(words, zone=ZONE, now=NOW))


def test_strip_is_what_a_question_answers(as_trader):
    write_ledger()

    for which in ({}, {"symbol": "ETH"}, {"side": "short", "regime": "chop"}):
        strip = describe(**which)[0]
        names = ("net", "expectancy", "win_rate", "profit_factor", "drawdown")
        assert strip == [describe_total(ask(measure=name, **which)) for name in names]


def test_groups_are_what_a_question_answers(as_trader):
    write_ledger()
    charts = describe("groups", symbol="BTC")[1]

    for group, chart in zip(("symbol", "side", "hour", "weekday", "regime", "exit"), charts, strict=True):
        lines = describe_groups(ask(group=group, symbol="BTC"))
        cells = [
            [line.label, line.value, line.mean, line.interval or "too few to say", str(line.trades)] for line in lines
        ]
        if group == "hour":
            assert [row[0].href for row in chart.table.rows] == [f"hour={line.label[:2]}" for line in lines]
        assert [[str(cell) for cell in row] for row in chart.table.rows] == cells


def test_curve_ends_at_the_net(as_trader):
    write_ledger()
    strip, charts = describe()

    (chart,) = charts
    assert str(chart.table.rows[0][1]) == strip[0].value.replace("+", "")


def test_days_are_those_of_the_reader_and_lead_to_their_trades(client, trader):
    type(trader).objects.update(time_zone="America/New_York")
    late = MAY.replace(hour=2) - timedelta(hours=2)  # 22:00 of the day before in New York once it closed
    TradeFactory(entry_tick_at=late)
    TradeFactory(entry_tick_at=late + timedelta(days=1))

    page = client.get("/trades/", {"show": "days"}).content.decode()

    assert 'href="/trades/?period=2026-04-30"' in page
    assert_shows(client.get("/trades/", {"period": "2026-04-30"}), "1 trade fits")


def test_calendar_of_years_shows_the_last_months_and_says_so(as_trader):
    TradeFactory(entry_tick_at=MAY - timedelta(days=600))
    TradeFactory()

    (chart,) = describe("days")[1]

    assert len(chart.table.rows) == 1
    assert "choose a period" in chart.note


def test_paths_know_the_multiple_of_trades_with_a_stop(as_trader):
    deployment = DeploymentFactory()
    for number in range(6):
        snapshot = DecisionSnapshotFactory(deployment=deployment)
        OrderFactory(deployment=deployment, snapshot=snapshot, stop_price=Decimal(95))
        TradeFactory(deployment=deployment, entry_snapshot=snapshot, entry_tick_at=MAY + timedelta(hours=number))
    TradeFactory(path_minutes=None)

    scatter, histogram = describe("paths")[1]

    assert (len(scatter.table.rows), "6 values" in histogram.note) == (6, True)


@each_case("shown", ["", "days", "groups", "paths"])
def test_charts_of_one_trade_and_of_none_known_do_not_fail(as_trader, shown):
    Trade.objects.all().delete()
    TradeFactory(path_minutes=None, realized_pnl_usd=Decimal(0), gross_pnl_usd=Decimal(1))

    assert describe(shown)[1]


def test_trades_are_narrowed_by_hour_weekday_period_and_tag(client):
    trade = TradeFactory()  # entered on Friday, 1 May 2026, 12:00 UTC
    write_remark(trade_id=trade.pk, tags=["news"], now=MAY)

    for query in ({"hour": "12"}, {"weekday": "fri"}, {"period": "may 2026"}, {"tag": "news"}):
        assert_shows(client.get("/trades/", query), "1 trade fits")
    for query in ({"hour": "08"}, {"weekday": "sat"}, {"period": "2026-05-02.."}, {"tag": "old"}):
        assert_shows(client.get("/trades/", query), lacks=("1 trade fits",))


def test_chips_take_one_filter_away_each(client):
    TradeFactory()

    body = client.get("/trades/", {"side": "long", "symbol": "BTC", "columns": ["r", "mfe"]}).content.decode()

    assert 'href="/trades/?symbol=BTC&amp;columns=r&amp;columns=mfe"' in body
    assert 'href="/trades/?side=long&amp;columns=r&amp;columns=mfe"' in body
    assert '<th scope="col" class="num">MFE</th>' in body
    assert '<th scope="col" class="num">Fees</th>' not in body
    assert_shows(client.get("/trades/", {"columns": "share"}), "+9.5%")
    assert_shows(client.get("/trades/", {"period": "someday"}), "is no period")


def test_trades_of_a_large_record_take_few_queries_and_little_html(client, django_assert_max_num_queries):
    write_ledger(400)

    for shown in ("", "days", "groups", "paths"):
        with django_assert_max_num_queries(18):  # twelve, session and user, and the scope on PostgreSQL
            response = client.get("/trades/", {"show": shown})
        assert len(response.content) < 150_000, shown
