"""The tool that reads deployments, positions and refusals."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from pydantic import Field

from chat.tools import records
from chat.tools.base import Args, Result, ToolContext, make_tool
from config.lib.figures import format_count, format_instant, round_usd
from config.lib.text import prompt_line
from trading.market.queries import Mark, find_marks
from trading.models import DecisionSnapshot
from trading.record.deployment_queries import ListedDeployment, list_deployments, list_open_positions
from trading.record.notes import list_active_notes
from trading.record.trade_queries import TradeFilter, list_last_closed

POSITIONS: Final = 20  # of one deployment, the newest; others it has are counted
REFUSALS: Final = 3  # of one deployment, the newest of the last day


class GetMyDeploymentsArgs(Args):
    deployment_id: UUID | None = None
    detail: Literal["list", "trades", "lessons", "full"] = Field("list")


def _get_my_deployments(context: ToolContext, args: GetMyDeploymentsArgs) -> Result:
    with_trades, with_lessons = args.detail in ("trades", "full"), args.detail in ("lessons", "full")
    listed = list_deployments(context.now, deployment_id=args.deployment_id)
    marks = find_marks({trade.symbol for one in listed for trade in one.positions}, context.now)
    rows = [_deployment_row(one, marks, context.now, with_reasons=with_trades) for one in listed]
    result: Result = {"deployments": rows}
    if with_trades:
        which = TradeFilter(deployment_id=args.deployment_id)
        result["trades"] = [records.trade_row(trade) for trade in list_last_closed(which, records.TRADES)]
    if with_lessons:
        notes = list_active_notes([one.deployment for one in listed])
        result["lessons"] = [records.lesson_row(note) for note in notes]
    return records.within_limits(result)


def _summarise_deployments(result: Result) -> str:
    positions = sum(row["open_positions"] for row in result.get("deployments", ()))
    return records.join_counts(
        records.count_rows(result, "deployments", "deployment", or_none=True),
        format_count(positions, "position") if positions else "",
        records.count_rows(result, "trades", "closed trade"),
        records.count_rows(result, "lessons", "note"),
    )


GET_MY_DEPLOYMENTS = make_tool(
    _get_my_deployments,
    "Your deployments",
    "The user's deployments (no backtests), running first: status, version, positions, last decision, risk "
    "refusals of the last day. detail adds the last 30 closed trades and reasons, or its lessons. "
    "net_pnl_usd is of closed trades, open_so_far_usd what open ones realised.",
    summarise=_summarise_deployments,
    reads_untrusted=True,
)


def _deployment_row(
    listed: ListedDeployment, marks: Mapping[str, Mark], now: datetime, *, with_reasons: bool
) -> records.Row:
    deployment = listed.deployment
    positions = list_open_positions(deployment, listed.positions[:POSITIONS], marks)
    return {
        "deployment_id": str(deployment.pk),
        "skill_id": str(deployment.skill_id),
        "skill_name": prompt_line(deployment.skill.name),
        "version": deployment.version.version,
        "newest_version": deployment.skill.latest_version,
        "status": deployment.status,
        "halted_until": format_instant(deployment.halted_until) if deployment.is_halted_at(now) else None,
        "broker_kind": deployment.broker_kind,
        "net_pnl_usd": round_usd(listed.totals.net_usd),
        "closed_trades": listed.totals.closed_trades,
        "open_so_far_usd": round_usd(listed.totals.open_so_far_usd),
        "open_positions": len(listed.positions),
        "positions": [records.position_row(position, with_reason=with_reasons) for position in positions],
        "last_decision_at": format_instant(listed.decided_at),
        "recent_rejections": [_rejection_row(snapshot) for snapshot in listed.refusals[:REFUSALS]],
    }


def _rejection_row(snapshot: DecisionSnapshot) -> records.Row:
    return {
        "tick_at": format_instant(snapshot.tick_at),
        "code": snapshot.verdict_code,
        "text": prompt_line(snapshot.verdict_text),
    }
