"""The record as it was at an instant: nothing that became known later."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from trading.ledger.rebuild import fold_until
from trading.ledger.rows import load_trip, outcome_columns
from trading.models import DecisionSnapshot, Deployment, EquityPoint, SkillVersion, Trade
from trading.record.trade_queries import get_latest_equity, utc_midnight


def list_open_at(deployment: Deployment, at: datetime) -> list[Trade]:
    """Return the trades that were open, as far as they had come, newest entry first."""
    rows = Trade.objects.filter(Q(exit_tick_at__isnull=True) | Q(exit_tick_at__gt=at), deployment=deployment)
    trades = list(rows.filter(entry_tick_at__lte=at).newest_first())
    return [trade for trade in trades if _is_as_then(deployment, trade, at) or _turn_back(deployment, trade, at)]


def _is_as_then(deployment: Deployment, trade: Trade, at: datetime) -> bool:
    if trade.exit_at is not None or (deployment.last_tick_at and at < deployment.last_tick_at):
        return False
    return not trade.state or load_trip(trade.state).last_change_at <= at


def _turn_back(deployment: Deployment, trade: Trade, at: datetime) -> bool:
    """Give a trade the numbers that it had; tell whether anything was held."""
    trip = fold_until(deployment, trade.symbol, trade.entry_at, at)
    if trip is None:
        return False
    for name, value in outcome_columns(trip).items():
        setattr(trade, name, value)
    trade.exit_kind, trade.exit_reason, trade.exit_decided_at, trade.exit_snapshot = "", "", None, None
    return True


def list_closed_at(deployment_id: UUID, at: datetime, limit: int) -> list[Trade]:
    """Return the last trades that had closed, newest first."""
    rows = Trade.objects.closed().filter(deployment=deployment_id, exit_tick_at__lte=at)
    return list(rows.newest_first().defer("state")[:limit])


def find_version_at(deployment: Deployment, at: datetime) -> SkillVersion:
    """Return the version that a deployment ran, as the nearest decision tells; else its own."""
    if deployment.last_tick_at is None or at >= deployment.last_tick_at:
        return deployment.version
    rows = DecisionSnapshot.objects.filter(deployment=deployment).order_by("tick")
    numbers = rows.values_list("skill_version", flat=True)
    number = numbers.filter(tick_at__lte=at).last() or numbers.first()
    if number is None:
        return deployment.version
    return SkillVersion.objects.get(skill=deployment.skill_id, version=number)


def was_halted_at(deployment: Deployment, at: datetime, *, halt_pct: float) -> bool:
    """Tell whether a deployment was halted; of the past, whether the account had lost the limit of the day."""
    if deployment.last_tick_at is None or at >= deployment.last_tick_at:
        return deployment.is_halted_at(at)
    begun = get_latest_equity(deployment, utc_midnight(at))
    points = EquityPoint.objects.filter(deployment=deployment, at__gt=utc_midnight(at), at__lte=at)
    lowest = points.order_by("equity_usd").values_list("equity_usd", flat=True).first()
    return begun is not None and lowest is not None and float(begun - lowest) >= float(begun) * halt_pct / 100
