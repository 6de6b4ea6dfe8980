"""One record's figures are equal wherever they show."""

import csv
import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.utils import timezone

from chat.conversations.services import start_conversation
from chat.tools.base import ToolContext
from chat.tools.deployments import get_my_deployments
from chat.tools.records import performance_row, trade_row
from config.lib.figures import format_signed_usd
from config.lib.threads import run_in_thread
from tests.chat.talk import Talk
from tests.factories.memory import DAY, JUNE
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DeploymentFactory,
    EquityPointFactory,
    FillFactory,
    FundingPaymentFactory,
    TradeFactory,
)
from tests.owners import as_owner
from tests.trading.browsing import assert_shows, browser_of_trader
from trading.models import ReflectionNote, Trade
from trading.record.deployment_queries import OpenPosition, list_deployments, total_trades
from trading.record.performance import ClosedTrade, summarise_trades
from trading.record.trade_queries import TradeFilter, get_skill_performance, get_trade_page, read_account
from trading.reviews.reflection import reflect
from trading.runs.backtest import summarise_run

__all__ = ["browser_of_trader"]

D = Decimal


def make_record():
    deployment = DeploymentFactory(version__skill__name="Dips")
    for number, gross in enumerate(("20", "-15.25", "3.5", "-42.4", "-30", "-20")):
        at = JUNE + number * timedelta(days=1)
        TradeFactory(deployment=deployment, gross_pnl_usd=D(gross), entry_tick_at=at, mae_usd=D(-50))
    TradeFactory(deployment=deployment, symbol="ETH", still_open=True, fees_usd=D("3.21"), realized_pnl_usd=D("-3.21"))
    return deployment


def test_net_of_a_deployment_is_one_figure_everywhere(client, trader):
    deployment = make_record()
    net, so_far = D("-90.15"), D("-3.21")

    totals = total_trades(Trade.objects.all())
    [listed] = list_deployments(JUNE)
    _, page = get_trade_page(TradeFilter(deployment_id=deployment.pk))
    numbers, summary = read_account(deployment).numbers, summarise_run(deployment)
    [row] = get_my_deployments.call(ToolContext(user_id=trader.pk, now=JUNE), "{}")["deployments"]
    exported = list(csv.DictReader(StringIO(client.get("/trades/export/").getvalue().decode())))

    assert totals == listed.totals == page
    assert (totals.net_usd, totals.open_so_far_usd, totals.closed_trades) == (net, so_far, 6)
    assert (numbers.net_usd, numbers.fees_usd, D(summary["net_usd"])) == (net, totals.fees_usd, net)
    assert performance_row(numbers)["net_pnl_usd"] == float(net)
    assert (row["net_pnl_usd"], row["open_so_far_usd"], row["closed_trades"]) == (float(net), float(so_far), 6)
    assert sum(D(row["realized_pnl_usd"]) for row in exported if row["status"] == "closed") == net
    for address in ("/deployments/", f"/deployments/{deployment.pk}/", "/trades/"):
        assert_shows(client.get(address), "-$90.15")


def test_best_and_worst_include_the_mark(as_trader):
    trade = TradeFactory(still_open=True, mfe_usd=D(5), mae_usd=D(-1))

    assert OpenPosition(trade, D(104)).excursion_usd == (8, -1)
    trade.path_minutes = None
    assert OpenPosition(trade, D(104)).excursion_usd is None


def test_best_and_net_so_far_of_an_open_trade_are_one_figure_on_all_pages(client):
    BarFactory(close=104, opened_at=timezone.now() - timedelta(hours=2))
    trade = TradeFactory(still_open=True, mfe_usd=D(5), mae_usd=D(-1), realized_pnl_usd=D("-3.21"))

    for address in (f"/trades/{trade.pk}/", f"/deployments/{trade.deployment_id}/", "/trades/?columns=mfe&columns=mae"):
        assert_shows(client.get(address), "+$8.00", "-$3.21", lacks=("+$5.00",))
    assert_shows(client.get(f"/deployments/{trade.deployment_id}/"), "-$3.21 realised")


def test_path_that_no_bars_tell_is_unknown_everywhere(client):
    trade = TradeFactory(path_minutes=None)

    [exported] = csv.DictReader(StringIO(client.get("/trades/export/").getvalue().decode()))
    shown, row = client.get(f"/api/trades/{trade.pk}/").json(), trade_row(trade)

    assert [exported[name] for name in ("mfe_usd", "mae_usd", "path_minutes")] == ["", "", ""]
    assert [shown[name] for name in ("mfe_usd", "mae_usd", "path_minutes")] == [None, None, None]
    assert (row["mfe_pct"], row["mae_pct"]) == (None, None)
    for address in (f"/trades/{trade.pk}/", "/trades/?columns=mfe&columns=mae"):
        assert_shows(client.get(address), lacks=tuple(map(format_signed_usd, (trade.mfe_usd, trade.mae_usd))))


def test_holding_time_of_trades_within_a_second_is_zero_for_a_model():
    assert performance_row(summarise_trades([ClosedTrade(1.0)]))["mean_holding_minutes"] == 0


STAT = re.compile(r'<div class="stat">(.*?)</div>', re.DOTALL)
STATES_N = re.compile(
    r"\b\d+\s+(closed )?(trade|day|fill|payment|position)s?\b|closed, \d+ won|<a href|no position (is|was) open"
)


def test_every_figure_of_a_record_links_to_its_rows_or_states_its_n(client):
    deployment = make_record()
    for tick in range(1, 31):
        EquityPointFactory(deployment=deployment, tick=tick, at=JUNE + tick * DAY, equity_usd=D(10_000 - tick % 7))
    run = BacktestRunFactory(done=True, deployment__version=deployment.version)
    TradeFactory.create_batch(5, deployment=run.deployment)
    bought = Trade.objects.closed().filter(deployment=deployment).latest("entry_at")
    FillFactory(deployment=deployment, fill_id=bought.first_fill_id, at=bought.entry_at)

    pages = f"/deployments/{deployment.pk}/", f"/skills/{deployment.skill_id}/", f"/backtests/{run.pk}/"
    for address in pages:
        stats = STAT.findall(client.get(address).content.decode())
        assert len(stats) >= 10, address
        figures = [stat for stat in stats if "stat__value--words" not in stat]
        assert [stat for stat in figures if not STATES_N.search(stat)] == [], address
    for address, states in {
        "/trades/": "of 6 closed trades",
        "/deployments/": f'deployment={deployment.pk}&amp;status=closed">',
        "/backtests/": f'backtests={run.pk}&amp;status=closed"',
        f"/trades/{bought.pk}/": "of 1 fill",
    }.items():
        assert states in client.get(address).content.decode(), address


def test_funding_that_one_of_several_deployments_does_not_know_is_not_known(as_trader):
    known = DeploymentFactory(broker_kind="live")

    def funding():
        return get_skill_performance(known.skill_id)["live"].funding_usd

    FundingPaymentFactory(deployment=known, symbol="BTC", at=JUNE)
    TradeFactory(deployment=known, entry_tick_at=JUNE, funding_usd=D(3))
    assert funding() == 3
    unknown = DeploymentFactory(broker_kind="live", version=known.version)
    TradeFactory(deployment=unknown, entry_tick_at=JUNE)
    assert funding() is None
    FundingPaymentFactory(deployment=unknown, symbol="BTC", at=JUNE)
    assert funding() == 3


@pytest.mark.django_db(transaction=True)
async def test_net_in_a_chat_reply_and_a_lesson_is_that_of_the_page(trader, settings):
    settings.CHAT_AGENT_MODEL, settings.CHAT_FALLBACK_MODELS = "offline/keel", []
    settings.REFLECTION_MODEL, settings.REFLECTION_FALLBACK_MODELS = "offline/keel", []
    now = JUNE + 30 * DAY

    def make():
        deployment = as_owner(trader, make_record)
        chat = as_owner(trader, lambda: start_conversation(assistant="coach", now=timezone.now()).pk)
        reflect(deployment.pk, user_id=trader.pk, now=now, clock=lambda: now, is_forced=True)
        return deployment, chat, as_owner(trader, ReflectionNote.objects.get)

    deployment, chat, note = await run_in_thread(make)
    answer = await Talk(trader.pk, chat).ask("How are my deployments doing?")
    page = await run_in_thread(lambda: as_owner(trader, lambda: read_account(deployment).numbers))

    assert format_signed_usd(page.net_usd) == "-$90.15"
    assert "-$90.15" in answer.text
    assert "-$90.15" in note.lessons_text
