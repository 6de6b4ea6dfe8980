"""Trades and decisions as JSON and CSV, in exact numbers."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeVar

from config.lib.figures import format_exact
from config.lib.text import csv_cell
from trading.models import DecisionSnapshot, Trade
from trading.record.trade_values import TradeValues

M = TypeVar("M", Trade, DecisionSnapshot)
Writer = Callable[[Iterable[M]], Iterator[str]]

TRADE_FIELDS: Final = (  # that a program gets of a trade
    *("id", "deployment", "skill", "skill_version", "exit_skill_version"),
    *("symbol", "side", "status", "quantity", "peak_quantity"),
    *("entry_decided_at", "entry_at", "entry_tick_at", "entry_price", "entry_size_usd", "entry_leverage"),
    *("entry_regime_tag", "entry_reason", "entry_snapshot"),
    *("exit_decided_at", "exit_at", "exit_tick_at", "exit_price", "exit_kind", "exit_reason", "exit_snapshot"),
    *("holding_minutes", "realized_pnl_usd", "gross_pnl_usd", "fees_usd", "funding_usd", "mfe_usd", "mae_usd"),
    *("path_minutes", "converted_fees", "unpriced_fees"),
    *("reconciled", "first_fill_id"),
)
_IDS: Final = {field.name: field.attname for field in Trade._meta.fields}  # of rows that a trade belongs to
_TRADE_COLUMNS: Final = [_IDS.get(name, name) for name in TRADE_FIELDS]
PROPOSAL_COLUMNS: Final = ("symbol", "side", "size_usd", "leverage", "stop_price", "reason")  # empty without an order
TICK_FIELDS: Final = ("tick", "tick_at", "skill_version")
VERDICT_FIELDS: Final = ("verdict", "verdict_code", "verdict_text")
COST_FIELDS: Final = ("model", "input_tokens", "output_tokens", "cost_usd")
DECISION_COLUMNS: Final = (*TICK_FIELDS, *VERDICT_FIELDS, *PROPOSAL_COLUMNS, *COST_FIELDS)


def _trade_row(trade: Trade) -> dict[str, Any]:
    values = TradeValues(trade)
    row = {name: getattr(values, name) for name in _TRADE_COLUMNS}
    coins = {name: row[name].items() for name in ("converted_fees", "unpriced_fees")}
    return row | {name: " ".join(f"{amount} {coin}" for coin, amount in of) for name, of in coins.items()}


def _decision_row(decision: DecisionSnapshot) -> dict[str, Any]:
    proposal = decision.proposal or {}
    return {
        name: proposal.get(name) if name in PROPOSAL_COLUMNS else getattr(decision, name) for name in DECISION_COLUMNS
    }


def _as_json(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    separator = "[\n"
    for row in rows:
        yield separator + json.dumps({name: _format_value(value) for name, value in row.items()}, ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _as_csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield writer.writerow(columns)
    for row in rows:
        cells = (row[name] for name in columns)
        # What is text as it is kept may be written by people, models and venues; numbers and instants are ours.
        yield writer.writerow([csv_cell(cell) if isinstance(cell, str) else _format_value(cell) for cell in cells])


class _Echo:
    """A file whose `write` returns the text, and so does `writerow`."""

    def write(self, text: str) -> str:
        return text


def _format_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format_exact(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, int | str) else str(value)


def _make_writers(columns: Sequence[str], read: Callable[[M], dict[str, Any]]) -> Mapping[str, Writer[M]]:
    return {"csv": lambda rows: _as_csv(columns, map(read, rows)), "json": lambda rows: _as_json(map(read, rows))}


# By the shape. Numbers are exact, in JSON as strings; no cell of a CSV is a formula.
TRADE_WRITERS: Final = _make_writers(_TRADE_COLUMNS, _trade_row)
DECISION_WRITERS: Final = _make_writers(DECISION_COLUMNS, _decision_row)
