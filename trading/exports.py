"""The ledger for other programs: trades as JSON or CSV, every number as it is kept."""

import csv
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from io import StringIO
from typing import Any, Final

from config.lib.text import csv_cell
from trading.models import Trade

COLUMNS: Final = (
    "id",
    "deployment_id",
    "skill_id",
    "skill_version",
    "exit_skill_version",
    "symbol",
    "side",
    "status",
    "quantity",
    "peak_quantity",
    "entry_tick_at",
    "entry_at",
    "entry_price",
    "entry_size_usd",
    "entry_leverage",
    "entry_regime_tag",
    "entry_reason",
    "entry_snapshot_id",
    "exit_tick_at",
    "exit_at",
    "exit_price",
    "exit_kind",
    "exit_reason",
    "exit_snapshot_id",
    "holding_minutes",
    "realized_pnl_usd",
    "gross_pnl_usd",
    "fees_usd",
    "funding_usd",
    "mfe_usd",
    "mae_usd",
    "reconciled",
    "first_fill_id",
)
_TEXTS: Final = {"symbol", "entry_reason", "exit_reason", "first_fill_id"}  # written by people, models and venues


def trades_as_json(trades: Iterable[Trade]) -> Iterator[str]:
    """Yield a JSON list, a trade a line; numbers are strings, so that none loses a digit."""
    separator = "[\n"
    for trade in trades:
        yield separator + json.dumps({name: _plain(getattr(trade, name)) for name in COLUMNS}, ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def trades_as_csv(trades: Iterable[Trade]) -> Iterator[str]:
    """Yield the lines of a CSV file; no cell of text can be read as a formula."""
    line = StringIO()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trade in trades:
        yield _taken(line)
        writer.writerow([_cell(name, getattr(trade, name)) for name in COLUMNS])
    yield _taken(line)


def _taken(line: StringIO) -> str:
    text = line.getvalue()
    line.seek(0)
    line.truncate()
    return text


def _cell(name: str, value: Any) -> Any:
    return csv_cell(value) if name in _TEXTS else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return (text.rstrip("0").rstrip(".") or "0") if "." in text else text
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, int | str) else str(value)
