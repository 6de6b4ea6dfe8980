"""Read one row of a table by its mapping: a fill, a funding payment or a whole trade. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from decimal import Decimal
from hashlib import sha256
from typing import Final

from trading.intake import formats, values
from trading.intake.legs import Leg, join_legs
from trading.intake.tables import TableRow
from trading.intake.trips import WholeTrade, measure_grain
from trading.ledger.executions import CLOCK_SKEW, DOLLARS, MAX_AMOUNT
from trading.ledger.positions import Funding
from trading.skills.schemas import symbol_name

_CONTRACTS: Final = frozenset({"cont", "contract", "contracts", "swap", "futures", "perpetual"})
_LOTS: Final = frozenset({"lot", "lots"})
_CENT: Final = Decimal("0.01")
_SPOT_WORDS: Final = frozenset({"spot", "margin"})
_NO_FILL: Final = re.compile(r"opt|call|put|warrant|bond|bill|treasur|fixed income|\A[cp]\Z|\d", re.IGNORECASE)
_LEFT: Final = frozenset(formats.NAMES["status"]["left"].split())
_SAYS_FILLED: Final = re.compile(r"fill|exec|deal|erfüll|closing|closed")
_REDUCES: Final = {"open": False, "in": False, "close": True, "out": True}


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


class RowReader:
    """Read rows by a mapping; `is_unscaled` takes each contract for one unit, no `now` any time."""

    def __init__(self, mapping: formats.FillMapping, now: datetime | None, *, is_unscaled: bool = False) -> None:
        self.format = mapping.chosen
        self._mapping = mapping
        self._latest = now + CLOCK_SKEW if now else None
        self._zone: tzinfo = values.find_zone(mapping.zone)
        self._sizes = formats.parse_contract_sizes(mapping.contract_sizes)
        self._is_unscaled = is_unscaled

    def find_kind(self, row: TableRow) -> str:
        """Return what a row is: a fill, funding, a liquidation, or the word by which it is left out.

        Raises ValueError.
        """
        if row.fault:
            raise ValueError(row.fault)
        text = " ".join(self._text(row, "kind").replace("_", " ").casefold().split())
        kind = self.format.kinds.get(text, text or "without a kind") if self.format.kinds else formats.FILL
        return kind if kind not in (formats.FILL, formats.LIQUIDATION) else self._judge_status(row) or kind

    def _judge_status(self, row: TableRow) -> str:
        """Return the status that leaves a row out, or nothing. Raises ValueError."""
        status = self._text(row, "status").casefold()
        word = re.split(r"[^a-zà-ÿ]+", status.strip())[0] if status else ""
        if not status or word in formats.DONE:
            return ""
        says_filled = all(_SAYS_FILLED.search(name) for name in self._names("quantity"))
        if word in _LEFT or word.startswith("partial"):
            if says_filled:  # an order that was cancelled may have filled in part
                try:
                    return status if not self._amount(row, "quantity")[0] else ""
                except ValueError:
                    return status
            if word in _LEFT:
                return status
        raise ValueError(f"its status is {status[:30]!r}, and Keel cannot tell whether it was executed")

    def join_legs(self, rows: Sequence[TableRow]) -> Iterator[TableRow]:
        """Yield spot fills once."""
        fees = [name for field in ("fee", "fee_coin") for name in self._names(field)]
        return join_legs(rows, self._read_leg, fees)

    def _read_leg(self, row: TableRow) -> Leg | None:
        if self._text(row, "market").casefold() != "spot":
            return None
        try:
            instrument = values.split_instrument(self._text(row, "symbol"))
            amount, price = abs(self._amount(row, "quantity")[0]), self._amount(row, "price")[0]
        except ValueError:
            return None  # the row says it when it is read
        coin = (self._text(row, "leg") or self._text(row, "unit")).upper()
        if coin not in (instrument.coin, instrument.quote):
            return None
        key = tuple(self._text(row, name) for name in ("order", "time", "symbol"))
        return Leg(row, key, coin, instrument, amount, price, bool(self._text(row, "fee").strip("-0.E")))

    def read_fill(self, row: TableRow, *, is_liquidation: bool) -> ReadFill:
        """Return the fill of a row. Raises ValueError."""
        instrument = self._instrument(row)
        market = self._market(row, instrument)
        coins = (instrument.coin, instrument.quote)
        quantity, unit = self._quantity(row, instrument)
        price = self._price(row, "price", abs(quantity), coins)
        if self._text(row, "unit").casefold() == "true":  # Coinbase: the size is in the quote
            quantity /= price
        quantity = abs(quantity) * self._sign(row, quantity) * self._contract_size(row, market, unit, instrument.base)
        fee, fee_coin = self._fee(row, instrument, market, quantity)
        if market == formats.SPOT and fee_coin == instrument.coin:
            quantity -= fee  # what arrives is less by the fee, and more leaves
        quantity = _bound_quantity(quantity, price)
        start = self._text(row, "start")
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
            is_reducing=self._is_reducing(row, market, quantity),
            pnl_usd=self._profit(row, fee, fee_coin),
        )

    def read_funding(self, row: TableRow) -> Funding:
        """Return the funding payment of a row. Raises ValueError."""
        instrument = self._instrument(row)
        # Bybit: funding is a fee, paid above zero.
        amount = self._number(row, "amount") if self._names("amount") else -self._number(row, "fee")
        coin = self._text(row, "fee_coin").upper() or instrument.quote
        if coin not in DOLLARS:
            raise ValueError(f"the funding is paid in {coin[:12]}, not in dollars")
        return Funding(symbol_name(instrument.base), self._instant(row), amount)

    def read_trip(self, row: TableRow) -> WholeTrade:
        """Return the whole trade of a row, before its profit was looked at. Raises ValueError."""
        instrument = self._instrument(row)
        market = self._market(row, instrument)
        coins = (instrument.coin, instrument.quote)
        quantity, unit = self._quantity(row, instrument)
        quantity = _bound_quantity(abs(quantity) * self._contract_size(row, market, unit, instrument.base))
        entry, left = (self._price(row, name, quantity, coins) for name in ("price", "exit_price"))
        _bound_quantity(quantity, max(entry, left))
        fee, fee_coin = self._fee(row, instrument, market, quantity)
        decimal, stated = self._mapping.decimal, self._text(row, "pnl")
        return WholeTrade(
            row=row.number,
            market=market,
            symbol=symbol_name(instrument.base),
            side=self._side_of_trip(row),
            quantity=quantity,
            entry_price=entry,
            exit_price=left,
            entry_at=self._instant(row),
            exit_at=self._instant(row, "exit_time") if self._names("exit_time") else self._instant(row),
            fee=values.round_amount(fee),
            fee_coin=fee_coin,
            pnl=self._stated_profit(row) if stated else None,
            grain=measure_grain(self._text(row, "price"), self._text(row, "exit_price"), decimal=decimal),
            pnl_grain=measure_grain(stated, decimal=decimal) if decimal in stated else Decimal(1),
        )

    def list_trips(self, rows: Iterable[TableRow]) -> list[WholeTrade]:
        """Return the whole trades of the rows that can be read."""
        trips = []
        for row in rows:
            try:
                trips += [self.read_trip(row)] if self.find_kind(row) == formats.FILL else []
            except ValueError:
                continue
        return trips

    def _side_of_trip(self, row: TableRow) -> int:
        names = self._names("side")
        if not names:
            # A price of the purchase and one of the sale: the earlier of both was the entry.
            return 1 if any(name.startswith(("buy", "bought")) for name in self._names("price")) else 0
        side = values.parse_side(self._text(row, "side").replace("Close ", "").replace("Open ", ""))
        is_closing = "closing" in names[0] and not re.search("long|short", self._text(row, "side"), re.IGNORECASE)
        return -side if is_closing else side

    def _stated_profit(self, row: TableRow) -> Decimal:
        amount, coin = self._amount(row, "pnl", DOLLARS)
        if coin and coin not in DOLLARS:
            raise ValueError(f"the profit is in {coin[:12]}, not in dollars")
        return amount

    def _instrument(self, row: TableRow) -> values.Instrument:
        text = self._text(row, "symbol")
        kinds = [row.cells.get(name, "") for name in self._names("asset")]
        if values.is_option(text) or any(_NO_FILL.search(kind) for kind in kinds if not values.is_empty(kind)):
            what = text[:32] or "it"
            raise ValueError(f"{what} is an option or a bond; Keel keeps coins, shares, futures and currencies")
        is_plain = self.format.quotes_usd or self.format.scope != "crypto" or not self.format.venue
        instrument = (
            values.split_coin(text) if self.format.names_coins else values.split_instrument(text, is_plain=is_plain)
        )
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
            return formats.SPOT if self._mapping.market == formats.MARGIN else self._mapping.market
        word = self._text(row, "market").casefold()
        if word:
            return formats.SPOT if word in _SPOT_WORDS else formats.FUTURES
        is_pair = "/" in self._text(row, "symbol") or self._text(row, "symbol").startswith("@")
        return formats.SPOT if is_pair and not instrument.is_derivative else formats.FUTURES

    def _is_reducing(self, row: TableRow, market: str, quantity: Decimal) -> bool | None:
        """Tell whether a fill closes something, where its word says so; coins that nobody lent can only be sold."""
        word = (self._text(row, "close") or self._text(row, "side")).casefold().split(" ")[0]
        if word in _REDUCES or market != formats.SPOT or quantity > 0:
            return _REDUCES.get(word)
        is_lent = formats.MARGIN in (self._mapping.market, self._text(row, "market").casefold())
        is_lent |= self._text(row, "margin").casefold().strip("0.") not in ("", "false", "no")
        return None if is_lent else True

    def _amount(self, row: TableRow, name: str, coins: Iterable[str] = ()) -> tuple[Decimal, str]:
        text = self._text(row, name)
        if not text:
            raise ValueError(f"the {_say(name)} is empty")
        return self._read_amount(text, name, coins)

    def _read_amount(self, text: str, name: str, coins: Iterable[str]) -> tuple[Decimal, str]:
        try:
            return values.split_amount(text, coins, self._mapping.decimal)
        except ValueError as error:
            raise ValueError(f"the {_say(name)} {error}") from error

    def _quantity(self, row: TableRow, instrument: values.Instrument) -> tuple[Decimal, str]:
        """Return the quantity and its unit in lower case, if that is contracts or lots. Raises ValueError."""
        quantity, unit = self._amount(row, "quantity", (instrument.coin, instrument.quote))
        word = unit.casefold()
        if unit and unit != instrument.coin and word not in _CONTRACTS | _LOTS:
            raise ValueError(f"the quantity is in {unit}, not in {instrument.coin}")
        return quantity, word if word in _CONTRACTS | _LOTS else ""

    def _price(self, row: TableRow, name: str, quantity: Decimal, coins: Iterable[str]) -> Decimal:
        is_total = name == "price" and not self._text(row, "price") and bool(self._names("total"))
        name = "total" if is_total else name
        price, unit = self._amount(row, name, coins)
        if unit and unit not in coins and unit not in DOLLARS:
            raise ValueError(f"the {_say(name)} {self._text(row, name)[:40]!r} is in {unit[:12]}, not in dollars")
        if is_total:
            if not quantity:
                raise ValueError("the quantity is zero")
            price = abs(price) / quantity
        price = values.round_amount(abs(price) if self.format.has_signed_prices else price)
        if price <= 0:
            raise ValueError(f"the {_say(name)} is not above zero")
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

    def _contract_size(self, row: TableRow, market: str, unit: str, base: str) -> Decimal:
        """Return the units of a contract, a lot, or a point of a future. Raises ValueError."""
        if stated := self._text(row, "contract"):
            return values.parse_number(stated, self._mapping.decimal)
        symbol = self._text(row, "symbol").upper()
        unit = unit or self._text(row, "unit").casefold()
        is_future = bool(values.find_root(symbol))
        is_counted = self.format.in_contracts and market != formats.SPOT and (not unit or unit in _CONTRACTS | _LOTS)
        is_swap = not self.format.venue and symbol.endswith("-SWAP")
        size = formats.find_size(self._sizes, symbol, base)
        is_given = size is not None and (self.format.scope != "crypto" or not self.format.venue)
        if self._is_unscaled or not (is_counted or is_future or is_swap or unit in _LOTS or is_given):
            return Decimal(1)
        if size is None and is_future:
            root = values.find_root(symbol)
            raise ValueError(f"{symbol[:32]} is a future; give the value of a point, such as {root}=50")
        if size is None:
            what = "lots" if market == formats.ACCOUNT or unit in _LOTS else "contracts"
            raise ValueError(f"the quantity is in {what} of {symbol[:32]}; give the coins per contract, units per lot")
        return size

    def _fee(self, row: TableRow, instrument: values.Instrument, market: str, quantity: Decimal) -> tuple[Decimal, str]:
        """Return the sum of a row's fees and its coin. Raises ValueError."""
        texts = [self._text(row, "fee"), *(row.cells.get(name, "") for name in self._names("more_fees"))]
        coins = (instrument.coin, instrument.quote)
        found = [self._read_amount(text, "fee", coins) for text in texts if not values.is_empty(text)]
        if not found:
            return Decimal(0), ""
        given = {coin for fee, coin in found if coin and fee}
        if len(given) > 1:
            raise ValueError(f"its fees are in {' and in '.join(sorted(given))}")
        coin = next(iter(given), "") or self._text(row, "fee_coin").upper()
        if not coin:
            is_base = self.format.is_fee_in_received and market == formats.SPOT and quantity > 0
            coin = instrument.coin if is_base else instrument.quote
        return sum((fee for fee, _ in found), Decimal(0)) * self._mapping.fee_sign, coin

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

    def _instant(self, row: TableRow, name: str = "time") -> datetime:
        clock = self._text(row, "clock") if name == "time" else ""
        text = " ".join(filter(None, (self._text(row, name), clock)))
        if not text:
            raise ValueError("the time is empty")
        at = values.parse_instant(text, zone=self._zone, order=self._mapping.dates)
        if self._latest and at > self._latest:
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


def _say(name: str) -> str:
    """Return a field as its sentence names it."""
    return {"exit_price": "price of the exit", "pnl": "profit"}.get(name, name)


def _bound_quantity(quantity: Decimal, price: Decimal = Decimal(0)) -> Decimal:
    """Return a quantity as the database counts it. Raises ValueError: it is nothing, or too much at that price."""
    quantity = values.round_amount(quantity)
    if not quantity:
        raise ValueError("the quantity is zero, or finer than Keel counts (0.000000000001)")
    if abs(quantity * price) >= MAX_AMOUNT:
        raise ValueError("the quantity times the price is too large")
    return quantity
