"""The tool that asks the record: a measure by group, filter and period."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from chat.tools.base import Args, Result, ToolContext, tool
from config.lib.figures import format_count
from config.lib.web import find_time_zone
from trading.asking.query import GROUPS, MEASURES, parse_query
from trading.models import Trader

# The planner refuses other values, and says which there are.
_Measure = Annotated[str, WithJsonSchema({"type": "string", "enum": [*MEASURES]})]
_Group = Annotated[str, WithJsonSchema({"type": "string", "enum": [*GROUPS]})]
_CHECK: Final = (
    "Or a planned trade to size and check: {symbol, side, stop, size_usd/quantity/risk_usd/risk_pct, leverage, "
    "equity_usd, price}."
)
_Value = str | int | float | list[str | int]
_Plan = Annotated[dict[str, _Value], WithJsonSchema({"type": "object", "description": _CHECK})]
_Where = Annotated[dict[str, _Value], WithJsonSchema({"type": "object"})]


class QueryTradesArgs(Args):
    measure: _Measure = ""
    group: _Group = ""
    where: _Where = Field({}, description='Group to value(s): {"symbol": "BTC,ETH", "hour": "9-17"}.')
    period: str = ""
    check: _Plan = Field({})


def _summarise_answer(result: Result) -> str:
    if "check" in result:
        return f"{result['check']['symbol']} {result['check']['side']}: {result['check']['verdict']}"
    if "n" not in result:
        return ""
    trades = format_count(result["n"], "trade", zero="no")
    return trades if result["measure"] == "count" else f"{MEASURES[result['measure']].label}: {trades}"


@tool(
    "Your record",
    "Figures of the user's closed trades (record: own, agents), no backtests: a measure (net), by group, where "
    "filters hold, in a period of their zone (this week, 2026-03, 2026-03-01..2026-03-15). Returns n, value, 90 % "
    "interval (null: too few), best, worst, ids, link. trade ranks trades; hour, weekday: of the entry; month, "
    "period: of the exit.",
    summarise=_summarise_answer,
)
def query_trades(context: ToolContext, args: QueryTradesArgs) -> Result:
    # The planner takes a tenth of a second to import, for which no chat should wait that does not ask.
    from trading.asking.answers import describe_answer, describe_check  # noqa: PLC0415
    from trading.asking.check import check_plan  # noqa: PLC0415
    from trading.asking.planner import answer_question  # noqa: PLC0415
    from trading.asking.sizing import parse_plan  # noqa: PLC0415

    zone = find_time_zone(Trader.objects.values_list("time_zone", flat=True).get(pk=context.user_id))
    if args.check:
        plan = parse_plan(_write_words(args.check))
        return {"check": describe_check(check_plan(plan, zone=zone, now=context.now))}
    words = {**_write_words(args.where), "measure": args.measure, "group": args.group, "period": args.period}
    return describe_answer(answer_question(parse_query(words, zone=zone, now=context.now)))


def _write_words(values: Mapping[str, _Value]) -> dict[str, str]:
    """Return values as words; models send numbers and lists, too."""
    return {
        name: ",".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in values.items()
    }
