"""One record's figures are equal wherever they show."""

import csv
from datetime import timedelta
from decimal import Decimal
from io import StringIO

from django.test import Client

from chat.tools.base import ToolContext
from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.records import performance_row
from tests.factories.memory import JUNE
from tests.factories.record import BarFactory, DeploymentFactory, TradeFactory
from tests.owners import as_owner
from tests.trading.browsing import text_of
from trading.models import Trade
from trading.record.deployment_queries import OpenPosition, list_deployments, total_trades
from trading.record.trade_queries import TradeFilter, get_deployment_performance, get_trade_page
from trading.runs.backtest import summarise_run

D = Decimal


def make_record():
    deployment = DeploymentFactory(version__skill__name="Dips")
    for number, gross in enumerate(("20", "-15.25", "3.5", "-42.4")):
        at = JUNE + number * timedelta(days=1)
        TradeFactory(deployment=deployment, gross_pnl_usd=D(gross), entry_tick_at=at, mae_usd=D(-50))
    TradeFactory(deployment=deployment, symbol="ETH", still_open=True, fees_usd=D("3.21"), realized_pnl_usd=D("-3.21"))
    return deployment


def test_net_of_a_deployment_is_one_figure_everywhere(trader):
    deployment = as_owner(trader, make_record)
    net, so_far = D("-38.15"), D("-3.21")

    def read():
        totals = total_trades(Trade.objects.all())
        [listed] = list_deployments(JUNE)
        page = get_trade_page(TradeFilter(deployment_id=deployment.pk)).totals
        numbers = get_deployment_performance(deployment)
        return totals, listed.totals, page, numbers, summarise_run(deployment)

    totals, listed, page, numbers, summary = as_owner(trader, read)
    tool = GET_MY_DEPLOYMENTS.call(ToolContext(user_id=trader.pk, now=JUNE), "{}")
    client = Client()
    client.force_login(trader)
    exported = list(csv.DictReader(StringIO(client.get("/trades/export/").getvalue().decode())))

    assert totals == listed == page
    assert (totals.net_usd, totals.open_so_far_usd, totals.closed_trades) == (net, so_far, 4)
    assert (numbers.net_usd, numbers.fees_usd, D(summary["net_usd"])) == (net, totals.fees_usd, net)
    assert performance_row(numbers)["net_pnl_usd"] == float(net)
    [row] = tool["deployments"]
    assert (row["net_pnl_usd"], row["open_so_far_usd"], row["closed_trades"]) == (float(net), float(so_far), 4)
    assert sum(D(row["realized_pnl_usd"]) for row in exported if row["status"] == "closed") == net
    for address in ("/deployments/", f"/deployments/{deployment.pk}/", "/trades/"):
        assert "-$38.15" in text_of(client.get(address)), address


def test_best_and_worst_include_the_mark(as_trader):
    trade = TradeFactory(still_open=True, mfe_usd=D(5), mae_usd=D(-1))
    bar = BarFactory(close=104)

    class Mark:
        price = bar.close

    assert OpenPosition(trade, Mark).excursion_usd == (8, -1)
    trade.path_minutes = None
    assert OpenPosition(trade, Mark).excursion_usd is None
