import json
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from config.lib.owned import owned_tx
from tests.factories.record import DeploymentFactory, TradeFactory


@pytest.fixture(autouse=True)
def _trades(trader):
    with owned_tx(trader):
        deployment = DeploymentFactory()
        for gross in (11, -5):
            TradeFactory(deployment=deployment, gross_pnl_usd=Decimal(gross))


def run(trader, *arguments):
    out = StringIO()
    call_command("query_trades", "--user", trader.email, *arguments, stdout=out)
    return out.getvalue()


def test_command_prints_the_figure_and_its_groups(trader):
    assert run(trader, "--measure", "expectancy", "--group", "side", "--where", "symbol=btc").splitlines() == [
        "all closed trades, symbol: BTC, all time",
        "Expectancy: +$2.00 of 2",
        "Long: +$2.00 of 2",
    ]
    assert run(trader, "--group", "trade").splitlines()[2:] == [
        "BTC long 2026-05-01: +$10.00",
        "BTC long 2026-05-01: -$6.00",
    ]


def test_command_prints_json_and_refuses_what_it_does_not_understand(trader):
    assert json.loads(run(trader, "--json"))["value"] == 4.0
    with pytest.raises(CommandError, match="choose among net"):
        run(trader, "--measure", "luck")
