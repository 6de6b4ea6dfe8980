"""Reads of the trades page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID

from config.lib.paging import Page, get_page
from trading.market.queries import find_marks
from trading.models import BacktestRun, BrokerKind, Deployment, Fill, Skill, Trade, TradeStatus, TradingRule
from trading.record.deployment_queries import widen_excursion
from trading.record.trade_queries import (
    TradeFilter,
    TradePage,
    count_payments,
    find_simulated_symbols,
    get_trade,
    get_trade_page,
    knows_funding,
    list_fills,
    select_trades,
)

RUNS_OFFERED: Final = 50  # backtests to choose from in a filter, the newest


_EXPORTED_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class TradeChoices:
    """The choices of the trade filter, as (id, label)."""

    skills: list[tuple[str, str]]
    deployments: list[tuple[str, str]]
    symbols: list[str]
    runs: dict[str, tuple[str, UUID]]  # by the backtest's id: what it is called, and its deployment
    has_rules: bool


@dataclass(frozen=True, slots=True)
class ListedTrade:
    """A trade with what a list says of it."""

    trade: Trade
    skill_name: str
    is_backtest: bool
    net_fraction: Decimal | None  # of `entry_size_usd`, unlevered (settled 29)
    held: timedelta | None  # None: still open


@dataclass(frozen=True, slots=True)
class TradesPage:
    """One page of trades; its totals are of all that fit."""

    page: TradePage
    trades: list[ListedTrade]
    simulated: list[str]  # symbols on this page whose prices were made


def list_trade_choices(*, run_id: UUID | None = None) -> TradeChoices:
    """Return the filter's choices: all skills, the newest backtests, `run_id`."""
    names = {skill.pk: skill.name for skill in Skill.objects.order_by("name", "id")}
    deployments = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).order_by("-created_at", "id")
    runs = list(BacktestRun.objects.select_related("deployment").order_by("-created_at", "id")[:RUNS_OFFERED])
    if run_id is not None and all(run.pk != run_id for run in runs):
        runs += BacktestRun.objects.select_related("deployment").filter(pk=run_id)
    return TradeChoices(
        skills=[(str(pk), name) for pk, name in names.items()],
        deployments=[(str(one.pk), f"{names[one.skill_id]}: {one}") for one in deployments],
        symbols=list(Trade.objects.order_by().values_list("symbol", flat=True).distinct()),
        runs={str(run.pk): (f"{names[run.deployment.skill_id]}: {run}", run.deployment_id) for run in runs},
        has_rules=TradingRule.objects.confirmed().exists(),
    )


def get_trades_page(which: TradeFilter, number: int = 1) -> TradesPage:
    """Return a page of trades; a number too high gives the last."""
    page = get_trade_page(which, number)
    simulated = find_simulated_symbols({trade.symbol: trade.entry_at for trade in page.trades})
    return TradesPage(page, list_trades(page.trades), simulated)


def list_trades(trades: Sequence[Trade]) -> list[ListedTrade]:
    """Return trades with what a list says of them."""
    deployments = Deployment.objects.in_bulk({trade.deployment_id for trade in trades})
    names = Skill.objects.in_bulk({trade.skill_id for trade in trades})
    return [
        ListedTrade(
            trade,
            skill_name=names[trade.skill_id].name,
            is_backtest=deployments[trade.deployment_id].broker_kind == BrokerKind.BACKTEST,
            net_fraction=_get_net_fraction(trade),
            held=_get_holding_time(trade),
        )
        for trade in trades
    ]


def read_trades_after(which: TradeFilter, cursor: str = "") -> Page[Trade]:
    """Return the trades after a cursor, newest first. Raises CursorRefused."""
    rows = select_trades(which).defer("state")
    return get_page(rows, by=("-entry_tick_at", "-entry_at", "id"), cursor=cursor, limit=_EXPORTED_AT_ONCE)


def _get_net_fraction(trade: Trade) -> Decimal | None:
    return trade.realized_pnl_usd / trade.entry_size_usd if trade.entry_size_usd else None


def _get_holding_time(trade: Trade) -> timedelta | None:
    return None if trade.holding_minutes is None else timedelta(minutes=float(trade.holding_minutes))


@dataclass(frozen=True, slots=True)
class ValuedFill:
    fill: Fill
    value_usd: Decimal  # at its price, without its fee


@dataclass(frozen=True, slots=True)
class TradeDetails:
    """A trade with everything its page shows."""

    trade: Trade
    fills: list[ValuedFill]
    run: BacktestRun | None  # whose trade it is
    net_fraction: Decimal | None  # of `entry_size_usd`, unlevered (settled 29)
    held: timedelta | None
    simulated: list[str]  # its symbol, if its prices were made
    knows_funding: bool
    payments: int  # of funding, while it was held
    excursion_usd: tuple[Decimal, Decimal] | None  # best and worst gross, the current mark included


def get_trade_details(trade_id: UUID, now: datetime) -> TradeDetails:
    """Return a trade with its fills. Raises TradeNotFound."""
    trade = get_trade(trade_id)
    mark = find_marks([trade.symbol], now).get(trade.symbol) if trade.status == TradeStatus.OPEN else None
    return TradeDetails(
        trade,
        fills=[ValuedFill(fill, abs(fill.quantity) * fill.price) for fill in list_fills(trade)],
        run=BacktestRun.objects.filter(deployment=trade.deployment_id).first(),
        net_fraction=_get_net_fraction(trade),
        held=_get_holding_time(trade),
        simulated=find_simulated_symbols({trade.symbol: trade.entry_at}),
        knows_funding=bool(trade.funding_usd)
        or knows_funding(trade.deployment, [trade.symbol], trade.entry_at, trade.exit_at or now),
        payments=count_payments(trade),
        excursion_usd=widen_excursion(trade, mark.price if mark else None),
    )
