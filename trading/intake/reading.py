"""Turn a table's rows into fills and funding, with the problems by row. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from decimal import Decimal
from hashlib import sha256
from typing import Final, NamedTuple

from trading.intake import formats, values
from trading.intake.tables import FileTable, TableRow
from trading.ledger.executions import CLOCK_SKEW, DOLLARS, MAX_AMOUNT
from trading.ledger.positions import Funding
from trading.skills.schemas import symbol_name

_BY_HAND: Final = formats.Format("", "", frozenset(), {})
_CONTRACTS: Final = frozenset({"cont", "contract", "contracts", "swap", "futures", "perpetual"})
_CENT: Final = Decimal("0.01")
_SPOT_WORDS: Final = frozenset({"spot", "margin"})


@dataclass(frozen=True, slots=True)
class ReadFill:
    row: int
    market: str
    fill_id: str
    symbol: str
    at: datetime
    quantity: Decimal  # bought above zero, sold below
    price: Decimal
    fee: Decimal  # paid; a rebate is negative
    fee_coin: str
    is_liquidation: bool = False
    start_quantity: Decimal | None = None
    is_reducing: bool | None = None  # whether it closes a position, where the venue says so
    order: str = ""
    pnl_usd: Decimal | None = None  # realised by it before fees, as the venue says

    @property
    def numbers(self) -> tuple[object, ...]:
        return self.market, self.symbol, self.at, self.quantity, self.price, self.fee, self.start_quantity, self.order


class RowProblem(NamedTuple):
    row: int  # 0: the whole file
    message: str


@dataclass(slots=True)
class FileReading:
    fills: list[ReadFill] = field(default_factory=list)  # the earliest first
    funding: list[Funding] = field(default_factory=list)  # of futures
    problems: list[RowProblem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # kinds of rows that are no fills
    row_word: str = "row"

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        instants = [fill.at for fill in self.fills] + [paid.at for paid in self.funding]
        return (min(instants), max(instants)) if instants else None

    @property
    def blocking(self) -> list[RowProblem]:
        """The problems of the whole file, which no row can be left out for."""
        return [problem for problem in self.problems if not problem.row]

    @property
    def refused_rows(self) -> list[RowProblem]:
        return [problem for problem in self.problems if problem.row]

    @property
    def is_empty(self) -> bool:
        return not self.fills and not self.funding


def read_fills(table: FileTable, mapping: formats.FillMapping, *, now: datetime) -> FileReading:
    """Read every row; a row that cannot be read becomes a problem."""
    reading = FileReading(row_word=table.row_word)
    if problems := list_mapping_problems(mapping):
        reading.problems = [RowProblem(0, message) for message in problems]
        return reading
    reader = _RowReader(mapping, now)
    for row in reader.join_legs(table.rows) if reader.format.has_legs else table.rows:
        try:
            reader.read(row, reading)
        except ValueError as error:
            reading.problems.append(RowProblem(row.number, str(error)))
    # By time; within an instant in the file's order, turned round where the newest is first.
    if reading.fills and reading.fills[0].at > reading.fills[-1].at:
        reading.fills.reverse()
    reading.fills.sort(key=lambda fill: fill.at)
    reading.fills = list(_give_ids(reading.fills, reading.problems, reading.left_out))
    reading.problems.sort()
    return reading


def list_mapping_problems(mapping: formats.FillMapping) -> list[str]:
    """Return what keeps a mapping from being used."""
    chosen = formats.FORMATS.get(mapping.format, _BY_HAND)
    is_funding_alone = formats.FUNDING in chosen.kinds.values() and formats.FILL not in chosen.kinds.values()
    required = ("time", "symbol", "amount") if is_funding_alone else formats.REQUIRED
    missing = [name for name in required if not mapping.columns.get(name)]
    if "price" in missing and mapping.columns.get("total"):
        missing.remove("price")
    problems = [f"Choose the column of the {'funding amount' if name == 'amount' else name}." for name in missing]
    if not mapping.dates:
        problems.append("Dates such as 03/04/2025 can be read in two ways. Choose the order of day and month.")
    try:
        values.find_zone(mapping.zone)
        formats.parse_contract_sizes(mapping.contract_sizes)
    except ValueError as error:
        problems.append(f"{str(error)[0].upper()}{str(error)[1:]}.")
    return problems


class _RowReader:
    def __init__(self, mapping: formats.FillMapping, now: datetime) -> None:
        self.format = formats.FORMATS.get(mapping.format, _BY_HAND)
        self._mapping = mapping
        self._latest = now + CLOCK_SKEW
        self._zone: tzinfo = values.find_zone(mapping.zone)
        self._sizes = formats.parse_contract_sizes(mapping.contract_sizes)

    def read(self, row: TableRow, reading: FileReading) -> None:
        if row.fault:
            raise ValueError(row.fault)
        text = " ".join(self._text(row, "kind").replace("_", " ").casefold().split())
        kind = self.format.kinds.get(text, text or "without a kind") if self.format.kinds else formats.FILL
        if kind == formats.FUNDING:
            reading.funding.append(self._read_funding(row))
        elif kind in (formats.FILL, formats.LIQUIDATION):
            reading.fills.append(self._read_fill(row, is_liquidation=kind == formats.LIQUIDATION))
        else:
            reading.left_out[kind] += 1

    def join_legs(self, rows: Sequence[TableRow]) -> Iterator[TableRow]:
        """Yield spot fills once: OKX writes a row for each coin, and the fee on one of them."""
        fees: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
        for row in rows:
            if self._is_other_leg(row):
                fees.setdefault(self._leg_key(row), []).append(row.cells)
        for row in rows:
            if self._is_other_leg(row):
                continue
            legs = fees.get(self._leg_key(row), [])
            if legs and not self._text(row, "fee").strip("-0."):
                fee = {name: legs[0].get(name, "") for field in ("fee", "fee_coin") for name in self._names(field)}
                row = replace(row, cells={**row.cells, **fee})
            if legs:
                legs.pop(0)
            yield row

    def _is_other_leg(self, row: TableRow) -> bool:
        unit = self._text(row, "unit").upper()
        try:
            return (
                self._text(row, "market").casefold() == "spot"
                and unit == values.split_instrument(self._text(row, "symbol")).quote
            )
        except ValueError:
            return False

    def _leg_key(self, row: TableRow) -> tuple[str, ...]:
        return tuple(self._text(row, name) for name in ("order", "time", "price", "symbol"))

    def _read_fill(self, row: TableRow, *, is_liquidation: bool) -> ReadFill:
        instrument = self._instrument(row)
        market = self._market(row, instrument)
        coins = (instrument.coin, instrument.quote)
        quantity, unit = self._amount(row, "quantity", coins)
        price = self._price(row, abs(quantity), coins)
        if self._text(row, "unit").casefold() == "true":  # Coinbase: the size is in the quote
            quantity /= price
        if unit and unit != instrument.coin and unit.casefold() not in _CONTRACTS:
            raise ValueError(f"the quantity is in {unit}, not in {instrument.coin}")
        quantity = abs(quantity) * self._sign(row, quantity) * self._contract_size(row, market)
        fee, fee_coin = self._fee(row, instrument, market, quantity)
        if market == formats.SPOT and fee_coin == instrument.coin:
            quantity -= fee  # what arrives is less by the fee, and more leaves
        quantity = values.round_amount(quantity)
        if not quantity:
            raise ValueError("the quantity is zero, or finer than Keel counts (0.000000000001)")
        if abs(quantity * price) >= MAX_AMOUNT:
            raise ValueError("the quantity times the price is too large")
        start = self._text(row, "start")
        word = (self._text(row, "close") or self._text(row, "side")).casefold().split(" ")[0]
        return ReadFill(
            row=row.number,
            market=market,
            fill_id=self._fill_id(row),
            symbol=symbol_name(instrument.base),
            at=self._instant(row),
            quantity=quantity,
            price=price,
            fee=values.round_amount(fee),
            fee_coin=fee_coin,
            is_liquidation=is_liquidation or self._was_liquidated(row),
            start_quantity=values.round_amount(values.parse_number(start)) if start else None,
            order=self._text(row, "order"),
            is_reducing={"open": False, "close": True}.get(word),
            pnl_usd=self._profit(row, fee, fee_coin),
        )

    def _read_funding(self, row: TableRow) -> Funding:
        instrument = self._instrument(row)
        # Bybit: funding is a fee, paid above zero.
        amount = self._number(row, "amount") if self._names("amount") else -self._number(row, "fee")
        coin = self._text(row, "fee_coin").upper() or instrument.quote
        if coin not in DOLLARS:
            raise ValueError(f"the funding is paid in {coin[:12]}, not in dollars")
        return Funding(symbol_name(instrument.base), self._instant(row), amount)

    def _instrument(self, row: TableRow) -> values.Instrument:
        text = self._text(row, "symbol")
        instrument = values.split_coin(text) if self.format.names_coins else values.split_instrument(text)
        if quote := self._text(row, "quote").upper():
            base = instrument.base if instrument.quote == quote or instrument.quote == "USD" else text.strip().upper()
            instrument = replace(instrument, base=base, quote=quote)
        kind = self._text(row, "market").casefold()
        is_futures = self.format.market == formats.FUTURES or kind in ("inverse", "linear")
        is_inverse = instrument.is_inverse or (
            self.format.is_usd_inverse and is_futures and instrument.quote == "USD" and "PERP" not in text.upper()
        )
        if is_inverse:
            raise ValueError(
                f"{text[:32]} is an inverse contract, settled in coins; Keel keeps those settled in dollars"
            )
        if instrument.quote not in DOLLARS:
            raise ValueError(f"{text[:32]} is priced in {instrument.quote[:12]}, not in dollars")
        return instrument

    def _market(self, row: TableRow, instrument: values.Instrument) -> str:
        if self._mapping.market:
            return self._mapping.market
        word = self._text(row, "market").casefold()
        if word:
            return formats.SPOT if word in _SPOT_WORDS else formats.FUTURES
        is_pair = "/" in self._text(row, "symbol") or self._text(row, "symbol").startswith("@")
        return formats.SPOT if is_pair and not instrument.is_derivative else formats.FUTURES

    def _amount(self, row: TableRow, name: str, coins: Sequence[str] = ()) -> tuple[Decimal, str]:
        text = self._text(row, name)
        if not text:
            raise ValueError(f"the {name} is empty")
        try:
            return values.split_amount(text, coins, self._mapping.decimal)
        except ValueError as error:
            raise ValueError(f"the {name} {error}") from error

    def _price(self, row: TableRow, quantity: Decimal, coins: Sequence[str]) -> Decimal:
        name = "price" if self._text(row, "price") or not self._names("total") else "total"
        price, unit = self._amount(row, name, coins)
        if unit and unit not in coins and unit not in DOLLARS:
            raise ValueError(f"the {name} {self._text(row, name)[:40]!r} is not a number")
        if name == "total":
            if not quantity:
                raise ValueError("the quantity is zero")
            price = abs(price) / quantity
        price = values.round_amount(price)
        if price <= 0:
            raise ValueError("the price is not above zero")
        return price

    def _sign(self, row: TableRow, quantity: Decimal) -> int:
        if not self._names("side"):
            return 1 if quantity > 0 else -1
        sign = values.parse_side(self._text(row, "side").rpartition(">")[2])
        if sign > 0 > quantity:
            raise ValueError("it buys a quantity below zero")
        is_hedged = self._text(row, "mode").casefold().startswith("hedge")
        # Bitget's side in hedge mode is the position's: to close a long is "buy", though it sells.
        return -sign if is_hedged and self._text(row, "close").casefold().startswith("close") else sign

    def _contract_size(self, row: TableRow, market: str) -> Decimal:
        if size := self._text(row, "contract"):
            return values.parse_number(size)
        unit = self._text(row, "unit").casefold()
        if not self.format.in_contracts or market == formats.SPOT or (unit and unit not in _CONTRACTS):
            return Decimal(1)
        symbol = self._text(row, "symbol").upper()
        if symbol not in self._sizes:
            raise ValueError(f"the quantity is in contracts of {symbol[:32]}; give the coins per contract")
        return self._sizes[symbol]

    def _fee(self, row: TableRow, instrument: values.Instrument, market: str, quantity: Decimal) -> tuple[Decimal, str]:
        if not self._text(row, "fee"):
            return Decimal(0), ""
        fee, coin = self._amount(row, "fee", (instrument.coin, instrument.quote))
        coin = coin or self._text(row, "fee_coin").upper()
        if not coin:
            is_base = self.format.is_fee_in_received and market == formats.SPOT and quantity > 0
            coin = instrument.coin if is_base else instrument.quote
        return fee * self._mapping.fee_sign, coin

    def _profit(self, row: TableRow, fee: Decimal, fee_coin: str) -> Decimal | None:
        """Return the stated profit before fees, if it is stated in dollars."""
        text = self._text(row, "pnl")
        if not text:
            return None
        amount, coin = self._amount(row, "pnl", DOLLARS)
        is_net = self.format.is_pnl_net and bool(fee)
        if (coin and coin not in DOLLARS) or (is_net and fee_coin not in DOLLARS):
            return None
        gross = values.round_amount(amount + fee if is_net else amount)
        # An entry is stated as less its fee, and the two may be cut at other digits.
        return Decimal(0) if is_net and abs(gross) < _CENT / 2 else gross

    def _fill_id(self, row: TableRow) -> str:
        text = self._text(row, "fill_id")
        if not text or (text.isascii() and text.isprintable() and " " not in text and len(text) <= 100):
            # A self-trade is one trade of the venue and two fills, one a side.
            return text + self._text(row, "side") if text and self._mapping.format == "hyperliquid_api" else text
        return sha256(text.encode()).hexdigest()[:32]

    def _instant(self, row: TableRow) -> datetime:
        text = " ".join(filter(None, (self._text(row, "time"), self._text(row, "clock"))))
        if not text:
            raise ValueError("the time is empty")
        at = values.parse_instant(text, zone=self._zone, order=self._mapping.dates)
        if at > self._latest:
            raise ValueError(f"{text[:40]!r} lies in the future; check the time zone and the order of the date")
        return at

    def _was_liquidated(self, row: TableRow) -> bool:
        if (user := self._text(row, "liquidated")) and self._mapping.account:
            return user.casefold() == self._mapping.account.casefold()
        text = self._text(row, "liquidation").casefold()
        if self._mapping.format == "keel" and text not in ("", "0", "1", "true", "false", "yes", "no"):
            raise ValueError(f"{text[:40]!r} is neither true nor false")
        return text in ("1", "true", "yes") or text.startswith("liquid")

    def _names(self, name: str) -> tuple[str, ...]:
        return self._mapping.columns.get(name, ())

    def _text(self, row: TableRow, name: str) -> str:
        for column in self._names(name):
            text = row.cells.get(column, "")
            if text and not values.is_empty(text):
                return text
        return ""

    def _number(self, row: TableRow, name: str) -> Decimal:
        return self._amount(row, name)[0] if self._text(row, name) else Decimal(0)


def _give_ids(fills: Sequence[ReadFill], problems: list[RowProblem], left_out: Counter[str]) -> Iterator[ReadFill]:
    """Yield the fills once each; one without an id gets it from its numbers and its place among equal ones."""
    seen: dict[tuple[str, str, str], ReadFill] = {}
    equal: Counter[tuple[object, ...]] = Counter()
    for fill in fills:
        if not fill.fill_id:
            numbers = fill.numbers
            equal[numbers] += 1
            digest = sha256("|".join(map(str, numbers)).encode()).hexdigest()[:24]
            yield replace(fill, fill_id=f"row:{digest}:{equal[numbers]}")
            continue
        before = seen.setdefault((fill.market, fill.symbol, fill.fill_id), fill)
        if before is fill:
            yield fill
        elif before.numbers == fill.numbers:
            left_out["repeated rows"] += 1
        else:
            first, second = sorted((before.row, fill.row))
            text = f"it has the id of row {first} with other numbers; is {fill.fill_id[:40]!r} an order’s id?"
            problems.append(RowProblem(second, text))
