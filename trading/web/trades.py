"""Reads of the trades page."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, Q

from trading.asking.table import find_first_stops
from trading.models import BacktestRun, BrokerKind, Deployment, Skill, Trade, TradeStatus, TradingRule
from trading.record.deployment_queries import (
    count_payments,
    find_backtest_of,
    find_own,
    find_trade_marks,
    knows_funding,
)
from trading.record.notes import list_lessons_of
from trading.record.remarks import find_tags, get_remark, list_tags
from trading.record.trade_queries import TradeFilter, find_simulated_symbols, get_trade, get_trade_page, list_fills
from trading.record.trade_values import TradeValues
from trading.rules.services import judge_trade
from trading.skills.form import REGIMES
from trading.web.columns import USUAL_COLUMNS, build_rows
from trading.web.trade_chart import draw_trade, list_stops

RUNS_OFFERED: Final = 50  # backtests to choose from in a filter, the newest


@dataclass(frozen=True, slots=True)
class TradeChoices:
    """The choices of the trade filter, as (id, label)."""

    skills: list[tuple[str, str]]
    deployments: list[tuple[str, str]]
    symbols: list[str]
    tags: list[str]
    runs: dict[str, tuple[str, UUID]]  # by the backtest's id: what it is called, and its deployment
    has_rules: bool


def list_trade_choices(*, run_id: UUID | None = None) -> TradeChoices:
    """Return the filter's choices: all skills, the newest backtests, `run_id`."""
    skills = list(Skill.objects.annotate(has_rules=Exists(TradingRule.objects.confirmed())).order_by("name", "id"))
    names = {skill.pk: skill.name for skill in skills}
    newest = BacktestRun.objects.order_by("-created_at", "id").values("deployment")[:RUNS_OFFERED]
    which = ~Q(broker_kind=BrokerKind.BACKTEST) | Q(pk__in=newest)
    if run_id is not None:
        which |= Q(pk__in=BacktestRun.objects.filter(pk=run_id).values("deployment"))
    rows = Deployment.objects.filter(which).select_related("backtest").order_by("-created_at", "id")
    deployments = [one for one in rows if one.broker_kind != BrokerKind.BACKTEST]
    runs = [one.backtest for one in rows if one.broker_kind == BrokerKind.BACKTEST]
    return TradeChoices(
        skills=[(str(pk), name) for pk, name in names.items()],
        deployments=[(str(one.pk), f"{names[one.skill_id]}: {one}") for one in deployments],
        tags=list_tags(),
        symbols=list(Trade.objects.order_by().values_list("symbol", flat=True).distinct()),
        runs={str(run.pk): (f"{names[run.deployment.skill_id]}: {run}", run.deployment_id) for run in runs},
        has_rules=any(skill.has_rules for skill in skills),  # without a skill there is no trade to judge
    )


def describe_trades(
    which: TradeFilter, number: int = 1, *, columns: Collection[str] = USUAL_COLUMNS, now: datetime
) -> dict[str, Any]:
    """Return a page of trades as rows; a number too high gives the last."""
    page, totals = get_trade_page(which, number)
    held = [trade for trade in page if trade.exit_at is None]
    prices = {pk: mark.price for pk, mark in find_trade_marks(held, now).items()}
    stops = {}
    if "r" in columns:
        stops = find_first_stops([trade.entry_snapshot_id for trade in page if trade.entry_snapshot_id])
    tags = find_tags([trade.pk for trade in page]) if "tags" in columns else {}
    simulated = find_simulated_symbols({trade.symbol: trade.entry_at for trade in page})
    made = [trade for trade in page if trade.symbol in simulated]
    return {
        "page": page,
        "totals": totals,
        "rows": build_rows(list(page), columns, prices=prices, stops=stops, tags=tags),
        "simulated": sorted({trade.symbol for trade in {*made} - find_own(made)}),
        "columns": columns,
    }


def describe_trade(trade_id: UUID, now: datetime) -> dict[str, object]:
    """Return what the page of a trade shows. Raises TradeNotFound."""
    trade = get_trade(trade_id)
    mark = find_trade_marks([trade], now).get(trade.pk) if trade.status == TradeStatus.OPEN else None
    fills, stops = list_fills(trade), list_stops(trade, now)
    payments = count_payments(trade) if trade.funding_usd or trade.deployment.broker_kind == BrokerKind.LIVE else 0
    of_entry: dict[UUID | None, Decimal] = {
        order.snapshot_id: order.stop_price for order in stops if order.snapshot_id and order.stop_price
    }
    chart = draw_trade(trade, fills, stops, now)
    return {
        "trade": trade,
        "fills": [(fill, abs(fill.quantity) * fill.price) for fill in fills],  # with their values, without fees
        "run": find_backtest_of(trade.deployment) if trade.deployment.broker_kind == BrokerKind.BACKTEST else None,
        "values": TradeValues(trade, mark.price if mark else None, of_entry.get(trade.entry_snapshot_id)),
        "knows_funding": bool(trade.funding_usd or payments)
        or knows_funding(trade.deployment, [trade.symbol], trade.entry_at, trade.exit_at or now),
        "payments": payments,
        "chart": chart,
        "simulated": [trade.symbol] if chart.simulated else [],
        "lessons": list_lessons_of(trade),
        "remark": get_remark(trade.pk),
        "verdicts": judge_trade(trade),
        "regime": REGIMES[trade.entry_regime_tag],
    }
