"""Import fills of other programs, from Hyperliquid or CSV."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from config.lib.errors import DomainError
from trading.market.imports.rows import Row, parse_flag, parse_instant, parse_number, parse_rows, read_csv, read_json
from trading.models import Deployment, Fill, ReconcileState, Trade, TradeStatus
from trading.record.executions import Execution
from trading.record.ledger import Ledger, lock_deployment
from trading.record.ledger_rows import FILL_COLUMNS, insert_fills, upsert_trades
from trading.record.positions import Book, Tick
from trading.skills.schemas import symbol_name

CSV_COLUMNS: Final = ("fill_id", "time", "symbol", "side", "quantity", "price", "fee_usd", "liquidation")
_DOLLARS: Final = {"USDC", "USDT", "USDT0", "USDE", "USDH", "USD"}


class ImportRefused(DomainError):
    """The deployment's own ticks keep its record."""

    http_status = HTTPStatus.CONFLICT


@dataclass(frozen=True, slots=True)
class ImportRecord:
    new_fills: int
    known_fills: int
    trades: int
    open_trades: int
    gaps: int


def read_fills(path: Path, *, account: str = "") -> list[Execution]:
    """Return the fills of a file: CSV or Hyperliquid's `userFills`. Raises FileRefused.

    `account` is our address: it tells our own liquidation from one in which we only took part.
    """
    if path.name.removesuffix(".gz").endswith(".csv"):
        rows = read_csv(path, set(CSV_COLUMNS) - {"fee_usd", "liquidation"})
        return list(parse_rows(path, rows, _parse_csv_fill, what="line"))
    parse = partial(_parse_hyperliquid_fill, account=account.lower())
    return _chain_self_trades(list(parse_rows(path, reversed(read_json(path)), parse, what="fill")))


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
    price = parse_number(row["px"])
    return _make_fill(
        fill_id=_hyperliquid_id(row),
        symbol=symbol_name(str(row["coin"])),
        at=parse_instant(row["time"]),
        quantity=sign * parse_number(row["sz"]),
        price=price,
        fee_usd=_parse_fee(row, price),
        is_liquidation=_is_ours(row, account),
        start_quantity=parse_number(row["startPosition"]) if "startPosition" in row else None,
    )


def _hyperliquid_id(row: Row) -> str:
    # A self-trade is one trade and two fills, one a side; answers of old have no id of the trade at all.
    if row.get("tid"):
        return f"{row['tid']}{row['side']}"
    parts = ("time", "coin", "oid", "side", "px", "sz", "startPosition", "hash")
    return sha256("|".join(str(row.get(part)) for part in parts).encode()).hexdigest()[:32]


def _parse_fee(row: Row, price: Decimal) -> Decimal:
    fee, token = parse_number(row.get("fee") or 0), str(row.get("feeToken") or "USDC").upper()
    if not fee or token in _DOLLARS:
        return fee
    if token == str(row["coin"]).split("/")[0].upper():
        return fee * price
    raise ValueError(f"a fee in {token[:12]} has no price in USD here")


def _is_ours(row: Row, account: str) -> bool:
    """Tell whether this account was liquidated, not its counterparty."""
    liquidation = row.get("liquidation")
    if isinstance(liquidation, Mapping) and account:
        return str(liquidation.get("liquidatedUser", "")).lower() == account
    return str(row.get("dir", "")).startswith("Liquidated")


def _chain_self_trades(fills: list[Execution]) -> list[Execution]:
    """Chain both sides of each self-trade.

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


def import_fills(*, deployment_id: UUID, fills: Iterable[Execution], now: datetime) -> ImportRecord:
    """Add another program's fills to a record. Needs `owned_tx(user)`; raises DeploymentNotFound, ImportRefused.

    Idempotent by fill id, whatever the order of files: all trades are rebuilt, with a tick for each instant.
    """
    deployment = lock_deployment(deployment_id)
    if deployment.last_tick:
        raise ImportRefused("Ticks keep this record. Fills from outside go into a deployment that has never ticked.")
    given = {(fill.symbol, fill.fill_id): fill for fill in fills}
    known = set(Fill.objects.filter(deployment=deployment).values_list("symbol", "fill_id"))
    new = [fill for key, fill in given.items() if key not in known]
    if new:
        ledger = Ledger(deployment, Book())
        insert_fills([ledger.fill_row(fill, 0, None) for fill in new])
        _rebuild_trades(deployment, now)
    trades = Trade.objects.filter(deployment=deployment)
    return ImportRecord(
        new_fills=len(new),
        known_fills=len(given) - len(new),
        trades=trades.count(),
        open_trades=trades.filter(status=TradeStatus.OPEN).count(),
        gaps=trades.filter(reconciled=ReconcileState.GAP).count(),
    )


def _rebuild_trades(deployment: Deployment, now: datetime) -> None:
    """Rebuild a deployment's trades; a same first fill keeps the id."""
    instants: dict[datetime, list[Execution]] = {}
    for values in Fill.objects.filter(deployment=deployment).order_by("at", "id").values(*FILL_COLUMNS):
        fill = Execution(**values)
        instants.setdefault(fill.at, []).append(fill)
    ledger = Ledger(deployment, Book())
    for tick, (at, fills) in enumerate(instants.items(), start=1):
        ledger.apply(tick, Tick(at, fills), skill_version=deployment.version.version)
    trades = Trade.objects.filter(deployment=deployment)
    ids = {(symbol, first): pk for pk, symbol, first in trades.values_list("pk", "symbol", "first_fill_id")}
    trades.delete()
    upsert_trades(
        [{**row, "id": ids.get((row["symbol"], row["first_fill_id"]), row["id"])} for row in ledger.rows(now)]
    )
