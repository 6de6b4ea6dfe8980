"""The tool that reads deployments, positions and refusals."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Final, Literal
from uuid import UUID

from pydantic import Field

from chat.tools import records
from chat.tools.base import Args, Result, ToolContext, tool
from config.lib.figures import format_count
from trading.record.deployment_queries import (
    ListedDeployment,
    OpenPosition,
    find_trade_marks,
    list_deployments,
    list_open_positions,
)
from trading.record.notes import list_active_notes
from trading.record.performance import ZERO
from trading.record.trade_queries import TradeFilter, list_last_closed

POSITIONS: Final = 20  # of one deployment, the newest; others it has are counted
REFUSALS: Final = 3  # of one deployment, the newest of the last day


class GetMyDeploymentsArgs(Args):
    deployment_id: UUID | None = None
    detail: Literal["list", "trades", "lessons", "full"] = Field("list")


def _summarise_deployments(result: Result) -> str:
    positions = sum(row["open_positions"] for row in result.get("deployments", ()))
    return records.join_counts(
        records.count_rows(result, "deployments", "deployment", or_none=True),
        format_count(positions, "position") if positions else "",
        records.count_rows(result, "trades", "closed trade"),
        records.count_rows(result, "lessons", "note"),
    )


@tool(
    "Your deployments",
    "The user's deployments (no backtests), running first: status, version, positions, last decision, risk "
    "refusals of the last day. detail adds the last 30 closed trades and reasons, or its lessons. "
    "net_pnl_usd is of closed trades, open_so_far_usd what open ones realised; all: sums of all deployments.",
    summarise=_summarise_deployments,
    untrusted=("deployments", "trades", "lessons"),
)
def get_my_deployments(context: ToolContext, args: GetMyDeploymentsArgs) -> Result:
    with_trades, with_lessons = args.detail in ("trades", "full"), args.detail in ("lessons", "full")
    listed = list_deployments(context.now, deployment_id=args.deployment_id)
    marks = find_trade_marks((trade for one in listed for trade in one.positions), context.now)
    held = [list_open_positions(one.deployment, one.positions, marks) for one in listed]
    rows = [
        _deployment_row(one, positions, context.now, with_reasons=with_trades)
        for one, positions in zip(listed, held, strict=True)
    ]
    result: Result = {"deployments": rows}
    if listed:
        result["all"] = _total_row(listed, list(chain(*held)))
    if with_trades:
        which = TradeFilter(deployment_id=args.deployment_id)
        result["trades"] = [records.trade_row(trade) for trade in list_last_closed(which, records.TRADES)]
    if with_lessons:
        notes = list_active_notes([one.deployment for one in listed])
        result["lessons"] = [records.lesson_row(note) for note in notes]
    return records.within_limits(result)


def _total_row(listed: Sequence[ListedDeployment], positions: Sequence[OpenPosition]) -> records.Row:
    """Return the sums over all deployments; null if one of their values is not known."""

    def add_up(amounts: Iterable[Decimal | None]) -> Decimal | None:
        return None if None in (known := list(amounts)) else sum(filter(None, known), ZERO)

    return records.take(
        listed,
        equity_usd=add_up(one.equity_usd for one in listed),
        net_pnl_usd=add_up(one.totals.net_usd for one in listed),
        closed_trades=sum(one.totals.closed_trades for one in listed),
        open_so_far_usd=add_up(one.totals.open_so_far_usd for one in listed),
        open_positions=len(positions),
        size_usd=add_up(one.trade.entry_size_usd for one in positions),
        notional_usd=add_up(one.notional_usd for one in positions),
        unrealised_pnl_usd=add_up(one.unrealised_usd for one in positions),
    )


def _deployment_row(
    listed: ListedDeployment, positions: Sequence[OpenPosition], now: datetime, *, with_reasons: bool
) -> records.Row:
    deployment = listed.deployment
    return {
        **records.take(deployment, "skill_id", "status", "broker_kind", deployment_id=deployment.pk),
        **records.take(listed.totals, "closed_trades", "open_so_far_usd", net_pnl_usd=listed.totals.net_usd),
        **records.take(
            listed,
            "equity_usd",
            skill_name=deployment.skill.name,
            version=deployment.version.version,
            newest_version=deployment.skill.latest_version,
            halted_until=deployment.halted_until if deployment.is_halted_at(now) else None,
            open_positions=len(listed.positions),
            last_decision_at=listed.decided_at,
        ),
        "positions": [records.position_row(position, with_reason=with_reasons) for position in positions[:POSITIONS]],
        "recent_rejections": [
            records.take(snapshot, "tick_at", code=snapshot.verdict_code, text=snapshot.verdict_text)
            for snapshot in listed.refusals[:REFUSALS]
        ],
    }
