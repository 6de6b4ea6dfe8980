"""Columns of many rows against those of the ORM."""

from datetime import timedelta
from decimal import Decimal

import pytest

from config.lib.columns import Columns
from config.lib.owned import ScopeError
from tests.factories.memory import MAY
from tests.factories.record import DeploymentFactory, TradeFactory
from tests.owners import as_owner
from trading.models import Trade

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
