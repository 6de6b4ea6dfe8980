"""Tools that read skills and their performance."""

from decimal import Decimal
from typing import Final, Literal
from uuid import UUID

from pydantic import Field

from chat.tools import records
from chat.tools.base import Args, Result, ToolContext, tool
from config.lib.figures import format_count
from trading.models import BacktestRun, BrokerKind
from trading.record import trade_queries
from trading.skills.queries import ListedSkill, get_skill, list_open_drafts, list_skills

_MODES: Final = {"backtest": "in backtests", "paper": "on paper", "live": "live"}


class GetSkillPerformanceArgs(Args):
    skill_id: UUID
    detail: Literal["summary", "trades", "lessons", "full"] = Field("summary")


@tool(
    "Your skills",
    "The user's skills, last changed first, with last simulation, and drafts. All tools: percents are "
    "0 to 100, money USD, times UTC.",
    summarise=lambda result: records.join_counts(
        records.count_rows(result, "skills", "skill", or_none=True), records.count_rows(result, "open_drafts", "draft")
    ),
)
def list_my_skills(context: ToolContext, args: Args) -> Result:
    skills, drafts = list_skills(), list_open_drafts()
    is_untrusted = any(one.skill.is_untrusted for one in skills) or any(one.is_untrusted for one in drafts)
    context.window.note("Your skills", is_untrusted=is_untrusted)
    open_drafts = [
        records.take(one, "updated_at", draft_id=one.pk, name=str(one), skill_id=one.base_skill_id) for one in drafts
    ]
    return records.within_limits({"skills": [_skill_row(one) for one in skills], "open_drafts": open_drafts})


def _summarise_performance(result: Result) -> str:
    counts = records.join_counts(
        *(
            f"{format_count(numbers['sample_size'], 'trade')} {_MODES[mode]}"
            for mode, numbers in result.get("summary", {}).items()
            if numbers
        ),
        records.count_rows(result, "trades", "closed trade"),
        records.count_rows(result, "lessons", "note"),
    )
    return records.join_counts(str(result.get("name", "")), counts or "nothing yet")


@tool(
    "How a skill does",
    "A skill's net PnL, Sharpe, drawdown and win rate in backtests, on paper and live, with sample sizes and 90 % "
    "intervals; null: too little to say. detail adds the last 30 closed trades or lessons; record_of: whose "
    "(deployments, else the last backtest). Trade percents are of its size, unlevered, net of fees and funding.",
    summarise=_summarise_performance,
    untrusted=("trades", "lessons"),
)
def get_skill_performance(context: ToolContext, args: GetSkillPerformanceArgs) -> Result:
    skill = get_skill(args.skill_id)
    context.window.note("Your skills", is_untrusted=skill.is_untrusted)  # the result names it
    result: Result = records.take(skill, "name", "latest_version", skill_id=skill.pk)
    if args.detail in ("summary", "full"):
        by_kind = trade_queries.get_skill_performance(skill.pk)
        result["summary"] = {
            kind.value: records.performance_row(by_kind[kind]) if kind in by_kind else None for kind in BrokerKind
        }
    if args.detail != "summary":
        record = trade_queries.get_skill_record(skill.pk, records.TRADES)
        result["record_of"] = "backtest" if record.backtest else "deployments"
        if args.detail in ("trades", "full"):
            result["trades"] = [records.trade_row(trade) for trade in record.trades]
        if args.detail in ("lessons", "full"):
            result["lessons"] = [records.lesson_row(note) for note in record.notes]
    return records.within_limits(result)


def _skill_row(listed: ListedSkill) -> records.Row:
    return {
        **records.take(listed.skill, "name", "latest_version", "trading_style", skill_id=listed.skill.pk),
        **records.take(listed, running_deployments=listed.running, last_deployed_at=listed.deployed_at),
        "last_simulation": _simulation_row(listed.backtest) if listed.backtest else None,
    }


def _simulation_row(run: BacktestRun) -> records.Row:
    numbers = run.summary  # of `backtest.summarise_run`
    drawdown, net = numbers.get("max_drawdown"), numbers.get("net_usd")
    return records.take(
        run,
        *("starts_at", "ends_at", "is_simulated"),
        run_id=run.pk,
        net_pnl_usd=None if net is None else Decimal(net),
        sharpe=numbers.get("sharpe"),
        sharpe_days=numbers.get("sharpe_days"),
        max_drawdown_pct=drawdown["fraction"] if drawdown else None,
        win_rate_pct=numbers.get("win_rate_fraction"),
        closed_trades=numbers.get("trades"),
    )
