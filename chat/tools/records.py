"""Rows of the record in tool results.

Text of the rows is data on one line; however long the record is, a result has room for it.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Final

from chat.parts import Json
from chat.tools.base import Result
from config.lib.figures import format_count, format_instant, round_number, round_pct, round_price, round_usd
from config.lib.text import prompt_line
from trading.models import ReflectionNote, Trade
from trading.record.deployment_queries import OpenPosition
from trading.record.performance import Performance

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


def trade_row(trade: Trade) -> Row:
    """Return a closed trade; percents are of the entry size."""
    size = trade.entry_size_usd
    return {
        **_entry_row(trade),
        "deployment_id": str(trade.deployment_id),
        "status": trade.status,
        "exit_at": format_instant(trade.exit_at),
        "exit_price": round_price(trade.exit_price),
        "exit_kind": trade.exit_kind or None,
        "net_pnl_usd": round_usd(trade.realized_pnl_usd),
        "net_pnl_pct": _share_pct(trade.realized_pnl_usd, size),
        "mfe_pct": _share_pct(trade.mfe_usd, size) if trade.knows_path else None,
        "mae_pct": _share_pct(trade.mae_usd, size) if trade.knows_path else None,
        "regime_tag": trade.entry_regime_tag,
        "holding_minutes": None if trade.holding_minutes is None else round(trade.holding_minutes),
        "entry_reason": prompt_line(trade.entry_reason),
        "exit_reason": prompt_line(trade.exit_reason),
    }


def position_row(position: OpenPosition, *, with_reason: bool) -> Row:
    """Return an open trade and its value, null without a price."""
    trade, mark = position.trade, position.mark
    return {
        **_entry_row(trade),
        "mark_price": round_price(mark.price) if mark else None,
        "unrealised_pnl_usd": round_usd(position.unrealised_usd),
        **({"entry_reason": prompt_line(trade.entry_reason)} if with_reason else {}),
    }


def lesson_row(note: ReflectionNote) -> Row:
    """Return a note's lessons, as data; without a deployment the skill's."""
    return {
        "note_id": str(note.pk),
        "deployment_id": str(note.deployment_id) if note.deployment_id else None,
        "lessons_text": "\n".join(map(prompt_line, note.lessons_text.splitlines())),
        "window_start": format_instant(note.window_start),
        "window_end": format_instant(note.window_end),
        "trades_considered": note.trades_considered,
        "record_trades": len(note.trade_ids),
        "kept_from_note_id": str(note.kept_from_id) if note.kept_from_id else None,
        "generated_at": format_instant(note.generated_at),
    }


def performance_row(numbers: Performance) -> Row:
    """Return performance figures; null without enough data."""
    drawdown, interval, held = numbers.max_drawdown, numbers.expectancy_interval_usd, numbers.mean_held
    rates, factors, ratios = (
        numbers.win_rate_interval_fraction,
        numbers.profit_factor_interval,
        numbers.sharpe_interval,
    )
    return {
        "net_pnl_usd": round_usd(numbers.net_usd),
        "sharpe": round_number(numbers.sharpe, 2),
        "sharpe_days": numbers.sharpe_days,
        "sharpe_90pct_interval": [round_number(bound, 2) for bound in ratios] if ratios else None,
        "max_drawdown_pct": round_pct(drawdown.fraction) if drawdown else None,
        "win_rate_pct": round_pct(numbers.win_rate_fraction),
        "win_rate_90pct_interval_pct": [round_pct(bound) for bound in rates] if rates else None,
        "sample_size": numbers.trades,
        "is_too_few": numbers.is_too_few,
        "wins": numbers.wins,
        "gross_pnl_usd": round_usd(numbers.gross_usd),
        "fees_usd": round_usd(numbers.fees_usd),
        "funding_usd": round_usd(numbers.funding_usd),
        "profit_factor": round_number(numbers.profit_factor, 2),
        "profit_factor_90pct_interval": [round_number(bound, 2) for bound in factors] if factors else None,
        "expectancy_usd": round_usd(numbers.expectancy_usd),
        "expectancy_90pct_interval_usd": [round_usd(bound) for bound in interval] if interval else None,
        "mean_holding_minutes": round(held.total_seconds() / 60) if held is not None else None,
    }


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


def _entry_row(trade: Trade) -> Row:
    return {
        "trade_id": str(trade.pk),
        "symbol": prompt_line(trade.symbol),
        "side": trade.side,
        "size_usd": round_usd(trade.entry_size_usd),
        "entry_at": format_instant(trade.entry_at),
        "entry_price": round_price(trade.entry_price),
        # Mark trades that fills do not explain completely.
        **({} if trade.reconciled == "exact" else {"reconciled": trade.reconciled}),
    }


def _share_pct(amount: Decimal, size: Decimal) -> float | None:
    return round_pct(amount / size) if size else None


def count_rows(result: Result, name: str, noun: str, *, or_none: bool = False) -> str:
    """Return the row count, left-out ones included; empty for zero unless `or_none`."""
    count = len(result.get(name, ())) + result.get("left_out", {}).get(name, 0)
    return format_count(count, noun, zero="no") if count or or_none else ""


def join_counts(*counts: str) -> str:
    """Join the counts that are not empty."""
    return ", ".join(count for count in counts if count)
