"""Read fills from files: Hyperliquid's JSON and Keel's CSV."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from trading.market.imports.rows import Row, parse_flag, parse_instant, parse_number, parse_rows, read_csv, read_json
from trading.record.executions import Execution
from trading.skills.schemas import symbol_name

CSV_COLUMNS: Final = ("fill_id", "time", "symbol", "side", "quantity", "price", "fee_usd", "liquidation")


def read_fills(path: Path, *, account: str = "") -> list[Execution]:
    """Return the fills of a file: CSV or Hyperliquid's `userFills`. Raises FileRefused.

    `account` is our address: it tells our own liquidation from one in which we only took part.
    """
    if path.name.removesuffix(".gz").endswith(".csv"):
        rows = read_csv(path, set(CSV_COLUMNS) - {"fee_usd", "liquidation"})
        return _number(parse_rows(path, rows, _parse_csv_fill, what="line"))
    parse = partial(_parse_hyperliquid_fill, account=account.lower())
    return _number(parse_rows(path, reversed(read_json(path)), parse, what="fill"))


def _number(fills: Iterable[Execution]) -> list[Execution]:
    return [replace(fill, source_order=place) for place, fill in enumerate(fills, start=1)]


def _make_fill(**values: Any) -> Execution:
    fill = Execution(**values)
    if not fill.quantity or fill.price <= 0:
        raise ValueError("quantity and price must be above zero")
    return fill


def _parse_csv_fill(row: Row) -> Execution:
    sign = {"buy": 1, "sell": -1}.get(str(row["side"]).strip().lower())
    fill_id = str(row["fill_id"] or "").strip()
    if sign is None:
        raise ValueError("side is neither buy nor sell")
    if not 0 < len(fill_id) <= 120:
        raise ValueError("fill_id is empty or longer than 120 characters")
    return _make_fill(
        fill_id=fill_id,
        symbol=symbol_name(str(row["symbol"])),
        at=parse_instant(row["time"]),
        quantity=sign * abs(parse_number(row["quantity"])),
        price=parse_number(row["price"]),
        fee_usd=parse_number(row.get("fee_usd") or 0),
        is_liquidation=parse_flag(row.get("liquidation")),
    )


def _parse_hyperliquid_fill(row: Row, *, account: str) -> Execution:
    sign = {"B": 1, "A": -1}.get(str(row["side"]))
    if sign is None:
        raise ValueError("side is neither B nor A")
    return _make_fill(
        fill_id=_hyperliquid_id(row),
        symbol=symbol_name(str(row["coin"])),
        at=parse_instant(row["time"]),
        quantity=sign * parse_number(row["sz"]),
        price=parse_number(row["px"]),
        fee_coin=str(row.get("feeToken") or "USDC"),
        fee_in_coin=parse_number(row.get("fee") or 0),
        is_liquidation=_is_ours(row, account),
        start_quantity=parse_number(row["startPosition"]) if "startPosition" in row else None,
    )


def _hyperliquid_id(row: Row) -> str:
    # A self-trade is one trade and two fills, one a side; answers of old have no id of the trade at all.
    if row.get("tid"):
        return f"{row['tid']}{row['side']}"
    parts = ("time", "coin", "oid", "side", "px", "sz", "startPosition", "hash")
    return sha256("|".join(str(row.get(part)) for part in parts).encode()).hexdigest()[:32]


def _is_ours(row: Row, account: str) -> bool:
    """Tell whether this account was liquidated, not its counterparty."""
    liquidation = row.get("liquidation")
    if isinstance(liquidation, Mapping) and account:
        return str(liquidation.get("liquidatedUser", "")).lower() == account
    return str(row.get("dir", "")).startswith("Liquidated")
