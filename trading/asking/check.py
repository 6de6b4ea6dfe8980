"""Check a planned trade against rules, exposure, events and the record. It commits nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from config.lib.figures import format_count
from config.lib.words.rules import RiskPerTrade
from trading.asking.planner import take_figure
from trading.asking.query import TradeQuery
from trading.asking.sizing import Plan, Sizing, size_plan
from trading.asking.table import TradeTable
from trading.ledger.services import get_deployment
from trading.market.moves import Impact, measure_impact
from trading.market.queries import Mark, find_marks, list_events, list_past_moves
from trading.market.tape import STORED, choose_tape
from trading.models import BrokerKind, Deployment, DeploymentStatus, MarketEvent, Trade, TradeSide
from trading.record.deployment_queries import OpenPosition, find_trade_marks, list_open_positions
from trading.record.performance import MIN_TRADES, Figure
from trading.record.trade_queries import list_equity
from trading.rules.books import RoundTrip
from trading.rules.judge import Judgement, ValidRule
from trading.rules.services import judge_period, list_valid_rules
from trading.rules.trips import name_book

AHEAD: Final = timedelta(hours=72)
_IMPORTANCE: Final = 0.4
_EVENTS: Final = 3  # each kind of them costs a few queries
_POSITIONS: Final = 50
_ACCOUNTS: Final = 20


@dataclass(frozen=True, slots=True)
class ComingEvent:
    event: MarketEvent
    past: Impact  # of past events of the kind on the plan's symbol and side


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """A plan, sized and held against the record."""

    plan: Plan
    verdict: str  # fits, breaks a rule or not enough record
    why: list[str]
    price: Decimal | None
    mark: Mark | None  # None: the price was given, or there is none
    equity_usd: Decimal | None
    equity_of: str
    sizing: Sizing
    positions: list[OpenPosition]
    exposure_usd: Decimal | None  # of the open positions; None: one has no price
    rules: list[Judgement]
    events: list[ComingEvent]
    similar: TradeQuery  # closed trades of the symbol and side
    expectancy: Figure
    win_rate: Figure


def check_plan(plan: Plan, *, zone: ZoneInfo, now: datetime) -> PlanCheck:
    """Size and check a plan. Raises QueryRefused, DeploymentNotFound."""
    accounts = _list_accounts(plan)
    equity, equity_of = _find_equity(plan, accounts)
    held = Trade.objects.open().filter(deployment__in=[one.pk for one in accounts]).newest_first().defer("state")
    trades = list(held[:_POSITIONS])
    marks = find_trade_marks(trades, now)
    tape = choose_tape(accounts[0]) if accounts else STORED  # own accounts stand alone or come first
    mark = None if "price" in plan.numbers else find_marks([plan.symbol], now, tape).get(plan.symbol)
    price = plan.numbers.get("price") or (mark.price if mark else None)
    rules = [one for one in list_valid_rules() if one.holds_at(now)]
    sizing = size_plan(plan, price=price, equity_usd=equity, limit_usd=_find_limit(rules, equity))
    verdicts = _judge_plan(plan, rules, accounts, sizing, price, equity, now)
    positions = [
        position
        for account in accounts
        for position in list_open_positions(account, [one for one in trades if one.deployment_id == account.pk], marks)
    ]
    values = [value for one in positions if (value := one.notional_usd) is not None]
    similar = TradeQuery(zone, "expectancy", where={"symbol": (plan.symbol,), "side": (plan.side,)})
    nets = TradeTable(similar).list_values("expectancy")
    verdict, why = _decide(verdicts, len(nets), sizing)
    return PlanCheck(
        plan=plan,
        verdict=verdict,
        why=why,
        price=price,
        mark=mark,
        equity_usd=equity,
        equity_of=equity_of,
        sizing=sizing,
        positions=positions,
        exposure_usd=sum(values, Decimal(0)) if len(values) == len(positions) else None,
        rules=verdicts,
        events=_list_coming(plan, now, is_simulated=mark is not None and mark.bar.is_simulated),
        similar=similar,
        expectancy=take_figure("expectancy", nets)[0],
        win_rate=take_figure("win_rate", nets)[0],
    )


def _list_accounts(plan: Plan) -> list[Deployment]:
    """Return the plan's account; without one the own accounts, else the agents' that are not stopped."""
    if plan.deployment:
        return [get_deployment(UUID(plan.deployment))]
    rows = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).exclude(status=DeploymentStatus.STOPPED)
    found = list(rows.select_related("skill").order_by("-created_at", "id")[:_ACCOUNTS])
    return [one for one in found if one.broker_kind == BrokerKind.LIVE] or found


def _find_equity(plan: Plan, accounts: Sequence[Deployment]) -> tuple[Decimal | None, str]:
    """Return the equity to size by, and whose it is."""
    if "equity_usd" in plan.numbers:
        return plan.numbers["equity_usd"], "as you gave it"
    equities = list_equity([(one, None) for one in accounts])
    known = [(one, equity) for one, equity in zip(accounts, equities, strict=True) if equity is not None]
    if not known:
        return None, ""
    names = known[0][0].title if len(known) == 1 else f"{len(known)} accounts together"
    return sum((equity for _, equity in known), Decimal(0)), names


def _find_limit(rules: Sequence[ValidRule], equity: Decimal | None) -> Decimal | None:
    """Return the smallest risk of a trade that the owner's rules name."""
    limits = [one.rule for one in rules if isinstance(one.rule, RiskPerTrade)]
    known = [one.limit if one.unit == "usd" else equity and equity * one.limit / 100 for one in limits]
    return min((limit for limit in known if limit), default=None)


def _judge_plan(
    plan: Plan,
    rules: Sequence[ValidRule],
    accounts: Sequence[Deployment],
    sizing: Sizing,
    price: Decimal | None,
    equity: Decimal | None,
    now: datetime,
) -> list[Judgement]:
    """Judge the plan as a trade that opens now."""
    own = accounts[0] if accounts and (len(accounts) == 1 or accounts[0].broker_kind == BrokerKind.LIVE) else None
    trip = RoundTrip(
        id=uuid4(),
        book=name_book(own.skill_id, own.broker_kind) if own else "planned",
        deployment_id=own.pk if own else uuid4(),
        symbol=plan.symbol,
        is_long=plan.side == TradeSide.LONG,
        opened_at=now,
        closed_at=None,
        entry_price=float(price or 1),
        size_usd=float(sizing.size_usd or 0),
        leverage=_to_float(plan.numbers.get("leverage") or sizing.leverage),
        net_usd=None,
        equity_usd=_to_float(equity),
        knows_stop=True,
        stop_price=_to_float(plan.numbers.get("stop")),
    )
    is_unclear = sizing.risk_usd is None and trip.stop_price is not None
    return [
        one._replace(verdict="unknown", why="what it risks is not known")
        if is_unclear and isinstance(one.rule.rule, RiskPerTrade)
        else one
        for _, one in judge_period(rules, since=now, until=now, planned=[trip])
    ]


def _to_float(number: Decimal | None) -> float | None:
    return None if number is None else float(number)


def _list_coming(plan: Plan, now: datetime, *, is_simulated: bool) -> list[ComingEvent]:
    events = list_events(now, until=now + AHEAD, symbols=[plan.symbol], min_importance=_IMPORTANCE)
    shown = [event for event in events if is_simulated or not event.is_simulated][:_EVENTS]
    kinds = {(event.kind, plan.symbol) for event in shown}
    moves = list_past_moves(kinds, now, simulated=[plan.symbol] if is_simulated else [])
    is_long = plan.side == TradeSide.LONG
    return [ComingEvent(one, measure_impact(moves[one.kind, plan.symbol], is_long=is_long)) for one in shown]


def _decide(verdicts: Sequence[Judgement], similar: int, sizing: Sizing) -> tuple[str, list[str]]:
    """Return the verdict, and why in sentences; a plan without a size never fits."""
    why = [f"{one.reading}: {one.label}, {one.why}." for one in verdicts if one.verdict != "kept"]
    why += ["The leverage bounds the size below the risk asked for."] if sizing.is_capped else []
    if any(one.verdict == "broken" for one in verdicts):
        return "breaks a rule", why
    if sizing.size_usd is None:
        return "not enough record", [*why, "The size is not known: give it, or a stop, a risk and your equity."]
    if similar < MIN_TRADES:
        count = format_count(similar, "closed trade", zero="no")
        return "not enough record", [*why, f"{count.capitalize()} of this symbol and side, of at least {MIN_TRADES}."]
    kept = sum(one.verdict == "kept" for one in verdicts)
    return "fits", [*why, f"Keeps {format_count(kept, 'rule')}." if verdicts else "No rule is confirmed yet."]
