"""Rows of the record in tool results.

Text of the rows is data on one line; however long the record is, a result has room for it.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

from chat.parts import Json
from chat.tools.base import Result
from config.lib.figures import format_count, format_instant, round_number, round_pct, round_price
from config.lib.text import prompt_line
from trading.models import ReflectionNote, Trade
from trading.record.deployment_queries import OpenPosition
from trading.record.performance import Performance
from trading.record.trade_values import TradeValues

TRADES: Final = 30  # closed ones, the newest (seed 000)
ROOM: Final = 60_000  # characters of JSON that the lists of a result take together, below `base.MAX_RESULT`
# What each may take of it; the first have the first choice.
LIMITS: Final[Mapping[str, int]] = {
    "lessons": 8_000,
    "trades": 33_500,
    "your_exposure": 20_000,
    "open_drafts": 4_000,
    "skills": 30_000,
    "deployments": 30_000,
    "events": 30_000,
}
Row = Json
# Of values whose name does not tell how they are rounded. Others: money, ratios and percents to two places.
_PLACES: Final = {"funding_rate_pct": 4, "basis_pct": 3, "realised_vol_pct": 1}


def take(row: object, *names: str, **values: Any) -> Row:
    """Return attributes of a row, and further values, as a model reads them: by its name each rounded, in its unit.

    Shares of one become percents where the name ends with `_pct`; text is data on one line.
    """
    told = {name: getattr(row, name) for name in names} | values
    return {name: _tell_value(name, value) for name, value in told.items()}


def _tell_value(name: str, value: Any) -> Any:
    match value:
        case datetime():
            return format_instant(value)
        case str():
            return prompt_line(value)
        case UUID():
            return str(value)
        case list() | tuple():
            return [_tell_value(name, inner) for inner in value]
        case float() | Decimal() if name.endswith("_pct"):
            return round_pct(value, _PLACES.get(name, 2))
        case float() | Decimal() if name.endswith("_minutes"):
            return round(value)
        case Decimal() if name.endswith("_price"):
            return round_price(value)
        case float() | Decimal():
            return round_number(value, 2)
    return value


def trade_row(trade: Trade) -> Row:
    """Return a closed trade; percents are of the entry size."""
    values = TradeValues(trade)
    return _entry_row(trade) | take(
        values,
        *("deployment_id", "status", "exit_at", "exit_price", "holding_minutes", "entry_reason", "exit_reason"),
        exit_kind=trade.exit_kind or None,
        net_pnl_usd=trade.realized_pnl_usd,
        net_pnl_pct=values.net_fraction,
        mfe_pct=values.mfe_fraction,
        mae_pct=values.mae_fraction,
        regime_tag=trade.entry_regime_tag,
    )


def position_row(position: OpenPosition, *, with_reason: bool) -> Row:
    """Return an open trade and its value, null without a price."""
    value = take(position, "mark_price", unrealised_pnl_usd=position.unrealised_usd)
    return _entry_row(position.trade) | value | take(position, *(("entry_reason",) if with_reason else ()))


def lesson_row(note: ReflectionNote) -> Row:
    """Return a note's lessons, as data; without a deployment the skill's."""
    return {
        **take(note, "deployment_id", "window_start", "window_end", "trades_considered", "generated_at"),
        **take(note, note_id=note.pk, record_trades=len(note.trade_ids), kept_from_note_id=note.kept_from_id),
        "lessons_text": "\n".join(map(prompt_line, note.lessons_text.splitlines())),
    }


def performance_row(numbers: Performance) -> Row:
    """Return performance figures; null without enough data."""
    return take(
        numbers,
        *("sharpe", "sharpe_days", "is_too_few", "wins", "fees_usd", "funding_usd", "profit_factor", "expectancy_usd"),
        net_pnl_usd=numbers.net_usd,
        sharpe_90pct_interval=numbers.sharpe_interval,
        max_drawdown_pct=numbers.max_drawdown and numbers.max_drawdown.fraction,
        win_rate_pct=numbers.win_rate_fraction,
        win_rate_90pct_interval_pct=numbers.win_rate_interval_fraction,
        sample_size=numbers.trades,
        gross_pnl_usd=numbers.gross_usd,
        profit_factor_90pct_interval=numbers.profit_factor_interval,
        expectancy_90pct_interval_usd=numbers.expectancy_interval_usd,
        mean_holding_minutes=numbers.mean_holding_minutes,
    )


def _entry_row(trade: Trade) -> Row:
    # Mark trades that fills do not explain completely.
    marks = () if trade.reconciled == "exact" else ("reconciled",)
    own = take(trade, "symbol", "side", "entry_at", "entry_price", *marks)
    return own | take(trade, trade_id=trade.pk, size_usd=trade.entry_size_usd)


def within_limits(result: Row) -> Row:
    """Limit the lists of a result; `left_out` counts the rest."""
    room, kept, left_out = ROOM, {}, {}
    for name, limit in LIMITS.items():
        if name not in result:
            continue
        rows: Sequence[Row] = result[name]
        ends = list(accumulate(len(json.dumps(row)) + 2 for row in rows))
        count = max(1, bisect_right(ends, min(limit, room)))
        kept[name] = rows[:count]
        room -= ends[count - 1] if rows else 0
        if count < len(rows):
            left_out[name] = len(rows) - count
    return {**result, **kept, **({"left_out": left_out} if left_out else {})}


def count_rows(result: Result, name: str, noun: str, *, or_none: bool = False) -> str:
    """Return the row count, left-out ones included; empty for zero unless `or_none`."""
    count = len(result.get(name, ())) + result.get("left_out", {}).get(name, 0)
    return format_count(count, noun, zero="no") if count or or_none else ""


def join_counts(*counts: str) -> str:
    """Join the counts that are not empty."""
    return ", ".join(count for count in counts if count)
