"""Fills that another program made: Hyperliquid's JSON, and a CSV of our own."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from trading.market.imports.rows import FileRefused, Row, instant, number, read_csv, read_json, yes
from trading.record.positions import Execution
from trading.skills.schemas import symbol_name

CSV_COLUMNS: Final = ("fill_id", "time", "symbol", "side", "quantity", "price", "fee_usd", "liquidation")
_DOLLARS: Final = {"USDC", "USDT", "USDT0", "USDE", "USDH", "USD"}


def read_fills(path: Path, *, account: str = "") -> list[Execution]:
    """Return the fills of a file: `.csv` with CSV_COLUMNS, or JSON as Hyperliquid's `userFills` answers.

    Args:
        account: our address, by which a liquidation in which we only took part is told from our own.

    Raises:
        FileRefused: the file cannot be read; the message names the line.
    """
    rows: Iterable[tuple[int, Row]]
    if path.name.removesuffix(".gz").endswith(".csv"):
        needed = set(CSV_COLUMNS) - {"fee_usd", "liquidation"}
        return [_parsed(path, "line", place, row, _csv_fill) for place, row in read_csv(path, needed)]
    rows = read_json(path)
    fills = [
        _parsed(path, "fill", place, {**row, "account": account}, _hyperliquid_fill) for place, row in reversed(rows)
    ]
    return _with_self_trades(fills)


def _parsed(path: Path, what: str, place: int, row: Row, parse: Any) -> Execution:
    try:
        fill: Execution = parse(row)
    except KeyError as error:
        raise FileRefused(f"{path.name}, {what} {place}: {error.args[0]} is missing.") from error
    except ValueError as error:
        raise FileRefused(f"{path.name}, {what} {place}: {error}.") from error
    return fill


def _fill(**values: Any) -> Execution:
    fill = Execution(**values)
    if not fill.quantity or fill.price <= 0:
        raise ValueError("quantity and price must be above zero")
    return fill


def _csv_fill(row: Row) -> Execution:
    sign = {"buy": 1, "sell": -1}.get(str(row["side"]).strip().lower())
    fill_id = str(row["fill_id"] or "").strip()
    if sign is None:
        raise ValueError("side is neither buy nor sell")
    if not 0 < len(fill_id) <= 120:
        raise ValueError("fill_id is empty or longer than 120 characters")
    return _fill(
        fill_id=fill_id,
        symbol=symbol_name(str(row["symbol"])),
        at=instant(row["time"]),
        quantity=sign * abs(number(row["quantity"])),
        price=number(row["price"]),
        fee_usd=number(row.get("fee_usd") or 0),
        is_liquidation=yes(row.get("liquidation")),
    )


def _hyperliquid_fill(row: Row) -> Execution:
    sign = {"B": 1, "A": -1}.get(str(row["side"]))
    if sign is None:
        raise ValueError("side is neither B nor A")
    price = number(row["px"])
    return _fill(
        fill_id=_hyperliquid_id(row),
        symbol=symbol_name(str(row["coin"])),
        at=instant(row["time"]),
        quantity=sign * number(row["sz"]),
        price=price,
        fee_usd=_fee(row, price),
        is_liquidation=_is_ours(row),
        start_quantity=number(row["startPosition"]) if "startPosition" in row else None,
    )


def _hyperliquid_id(row: Row) -> str:
    # A self-trade is one trade and two fills, one a side; answers of old have no id of the trade at all.
    if row.get("tid"):
        return f"{row['tid']}{row['side']}"
    parts = ("time", "coin", "oid", "side", "px", "sz", "startPosition", "hash")
    return sha256("|".join(str(row.get(part)) for part in parts).encode()).hexdigest()[:32]


def _fee(row: Row, price: Decimal) -> Decimal:
    fee, token = number(row.get("fee") or 0), str(row.get("feeToken") or "USDC").upper()
    if not fee or token in _DOLLARS:
        return fee
    if token == str(row["coin"]).split("/")[0].upper():
        return fee * price
    raise ValueError(f"a fee in {token[:12]} has no price in USD here")


def _is_ours(row: Row) -> bool:
    """Tell whether we were liquidated; the one who takes over has the same mark on their fill."""
    liquidation, account = row.get("liquidation"), str(row["account"]).lower()
    if isinstance(liquidation, Mapping) and account:
        return str(liquidation.get("liquidatedUser", "")).lower() == account
    return str(row.get("dir", "")).startswith("Liquidated")


def _with_self_trades(fills: list[Execution]) -> list[Execution]:
    """Return the fills, both sides of each self-trade in one chain.

    The venue gives them the same start, though one follows on the other. The side that adds comes first, so that a
    trade with oneself never ends a position.
    """
    firsts: dict[tuple[Any, ...], list[int]] = {}
    result = list(fills)
    for place, fill in enumerate(fills):
        key = (fill.symbol, fill.at, fill.price, fill.start_quantity)
        waiting = firsts.setdefault((*key, -fill.quantity), [])
        if fill.start_quantity is None or not waiting:
            firsts.setdefault((*key, fill.quantity), []).append(place)
            continue
        pair = [waiting.pop(), place]
        pair.sort(key=lambda one: fills[one].quantity * (fill.start_quantity or 1) < 0)
        adds, reduces = (fills[one] for one in pair)
        result[pair[1]] = replace(reduces, start_quantity=fill.start_quantity + adds.quantity)
    return result
