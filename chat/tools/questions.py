"""The tool that asks the record: a measure by group, filter and period."""

from typing import Annotated, Final, Literal

from pydantic import Field, WithJsonSchema

from chat.tools.base import Args, Result, Tool, ToolContext
from config.lib.figures import format_count
from config.lib.web import find_time_zone
from trading.asking.answers import describe_answer
from trading.asking.planner import answer_question
from trading.asking.query import FILTERS, GROUPS, MEASURES, parse_query
from trading.models import Trader

_Where = Annotated[dict[str, str], WithJsonSchema({"type": "object"})]


class QueryTradesArgs(Args):
    measure: Literal[*MEASURES] = "net"  # type: ignore[valid-type]
    group: Literal[*GROUPS] | None = None
    where: _Where = Field({}, description=f"Filter to value, commas between several: {', '.join(FILTERS)}.")
    period: str = Field("", max_length=60)


def _query_trades(context: ToolContext, args: QueryTradesArgs) -> Result:
    zone = find_time_zone(Trader.objects.values_list("time_zone", flat=True).get(pk=context.user_id))
    words = {**args.where, "measure": args.measure, "group": args.group or "", "period": args.period}
    return describe_answer(answer_question(parse_query(words, zone=zone, now=context.now)))


def _summarise_answer(result: Result) -> str:
    return f"{MEASURES[result['measure']]}: {format_count(result['n'], 'trade', zero='no')}" if "n" in result else ""


QUERY_TRADES: Final = Tool(
    name="query_trades",
    label="Your record",
    description="x.",
    args=QueryTradesArgs,
    run=_query_trades,
    summarise=_summarise_answer,
)
