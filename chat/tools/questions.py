"""The tool that asks the record: a measure by group, filter and period."""

from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from chat.tools.base import Args, Result, Tool, ToolContext
from config.lib.figures import format_count
from config.lib.web import find_time_zone
from trading.asking.answers import describe_answer
from trading.asking.planner import answer_question
from trading.asking.query import GROUPS, MEASURES, parse_query
from trading.models import Trader

# The planner refuses other values, and says which there are.
_Measure = Annotated[str, WithJsonSchema({"type": "string", "enum": [*MEASURES]})]
_Group = Annotated[str, WithJsonSchema({"type": "string", "enum": [*GROUPS]})]
_Where = Annotated[dict[str, str], WithJsonSchema({"type": "object"})]


class QueryTradesArgs(Args):
    measure: _Measure = "net"
    group: _Group = ""
    where: _Where = Field({}, description='Group to value(s): {"symbol": "BTC,ETH", "hour": "9-17", "event": "any"}.')
    period: str = Field("", max_length=60)


def _query_trades(context: ToolContext, args: QueryTradesArgs) -> Result:
    zone = find_time_zone(Trader.objects.values_list("time_zone", flat=True).get(pk=context.user_id))
    words = {**args.where, "measure": args.measure, "group": args.group, "period": args.period}
    return describe_answer(answer_question(parse_query(words, zone=zone, now=context.now)))


def _summarise_answer(result: Result) -> str:
    return f"{MEASURES[result['measure']]}: {format_count(result['n'], 'trade', zero='no')}" if "n" in result else ""


QUERY_TRADES: Final = Tool(
    name="query_trades",
    label="Your record",
    description=(
        "Figures of the user's closed trades (record: own, agents), no backtests: a measure, by group, where filters "
        "hold, in a period of the user's zone (this week, last 30 days, 2026-03, 2026-03-01..2026-03-15). Returns n, "
        "value, 90 % interval (null: too few), best and worst trade, ids, a link. trade ranks trades; hour and weekday "
        "are of the entry, month and period of the exit."
    ),
    args=QueryTradesArgs,
    run=_query_trades,
    summarise=_summarise_answer,
)
