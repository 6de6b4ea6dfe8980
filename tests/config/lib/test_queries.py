"""Compiled queries, and columns of many rows, against those of the ORM."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db.models import OuterRef, QuerySet, Subquery

from config.lib.owned import ScopeError, owner_id, system
from config.lib.queries import Columns, compiled
from tests.factories.memory import MAY
from tests.factories.record import DeploymentFactory, TradeFactory
from tests.owners import as_owner
from trading.models import Deployment, Trade

pytestmark = pytest.mark.django_db

NAMES = ("pk", "deployment", "deployment__skill", "symbol", "entry_at", "exit_at", "realized_pnl_usd", "entry_leverage")


def make_trades(amounts):
    deployment = DeploymentFactory()
    for number, amount in enumerate(amounts):
        TradeFactory(
            deployment=deployment,
            entry_tick_at=MAY + timedelta(minutes=number, microseconds=number),
            gross_pnl_usd=Decimal(amount),
            mfe_usd=max(Decimal(amount), Decimal(0)),
            mae_usd=min(Decimal(amount), Decimal(0)),
            converted_fees={"BNB": "0.1"} if number else {},
        )


def test_columns_equal_the_values_of_the_orm(as_trader):
    make_trades(["1.000000000001", "-2500.125", "0", "123456789.123456"])
    rows = Trade.objects.order_by("entry_at")

    columns = Columns(rows, (*NAMES, "converted_fees"))

    found = list(zip(*(columns[name] for name in (*NAMES, "converted_fees")), strict=True))
    assert found == list(rows.values_list(*NAMES, "converted_fees"))


def test_keep_and_pick_name_the_rows_that_are_left(as_trader):
    make_trades(["1", "2", "3"])
    columns = Columns(Trade.objects.order_by("entry_at"), ("realized_pnl_usd", "pk"))

    columns.keep([True, False, True])

    assert list(columns["realized_pnl_usd"]) == [0, 2]
    assert columns.pick("realized_pnl_usd", [1]) == [2]


def test_columns_of_no_rows_are_empty(as_trader):
    assert list(Columns(Trade.objects.none(), ("pk", "symbol"))["symbol"]) == []
    assert list(Columns(Trade.objects.all(), ("pk", "symbol"))["symbol"]) == []


def test_columns_are_those_of_the_owner(trader, stranger):
    as_owner(stranger, lambda: make_trades(["1"]))

    assert as_owner(trader, lambda: list(Columns(Trade.objects.all(), ("symbol",))["symbol"])) == []
    with pytest.raises(ScopeError):
        Columns(Trade.objects.all(), ("symbol",))


# --- Compiled once ---


@compiled
def list_entered(symbols: list[str], since: datetime, deployment: Deployment, *, most: int) -> QuerySet[Trade]:
    same = Trade.objects.filter(deployment=OuterRef("deployment"), entry_at__gte=since)
    rows = Trade.objects.filter(symbol__in=symbols, entry_at__gte=since, deployment=deployment)
    best = Subquery(same.order_by("-realized_pnl_usd").values("realized_pnl_usd")[:1])
    return rows.select_related("skill").annotate(best=best).order_by("entry_at")[:most]


def list_all(most=9):
    deployment = Deployment.objects.get()
    rows = list_entered(["BTC", "ETH"], MAY + timedelta(minutes=1), deployment, most=most)
    return [(row, row.best, row.skill) for row in rows]


@pytest.fixture
def builds(monkeypatch):
    """The places with which a query was built, in turn."""
    found = []

    @compiled
    def list_since(since: datetime) -> QuerySet[Trade, tuple[str]]:
        found.append(since)
        return Trade.objects.filter(entry_at__gte=since).values_list("symbol")

    return list_since, found


def test_a_compiled_query_returns_what_the_orm_returns(as_trader):
    make_trades(["1.5", "-2", "7", "3"])
    trades = list(Trade.objects.order_by("entry_at"))
    best = max(row.realized_pnl_usd for row in trades)

    assert list_all() == [(row, best, row.skill) for row in trades[1:]]
    assert list_all(most=2) == list_all()[:2]
    assert list_entered(["SOL"], MAY, trades[0].deployment_id, most=9) == []


def test_a_compiled_query_is_built_once_and_bound_to_the_owner_in_scope(builds, trader, stranger):
    list_since, built = builds
    as_owner(stranger, lambda: make_trades(["1"]))

    assert as_owner(trader, lambda: list_since(MAY)) == []
    assert as_owner(stranger, lambda: list_since(MAY)) == [("BTC",)]
    assert as_owner(stranger, lambda: list_since(MAY + timedelta(days=1))) == []
    assert len(built) == 1


def test_a_compiled_query_refuses_a_scope_without_an_owner(builds, trader):
    list_since, _ = builds
    as_owner(trader, lambda: list_since(MAY))

    with pytest.raises(ScopeError):
        list_since(MAY)
    with system("test"), pytest.raises(ScopeError):
        list_since(MAY)


def test_a_compiled_query_takes_no_none_and_sees_no_owner(builds, as_trader):
    list_since, _ = builds
    list_mine = compiled(lambda: Trade.objects.filter(user=owner_id()))

    with pytest.raises(ValueError, match="no None"):
        list_since(None)
    with pytest.raises(ScopeError):
        list_mine()
