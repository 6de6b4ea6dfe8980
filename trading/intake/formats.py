"""The exports that Keel recognises, and how to read a table. Both are data: see the files beside this one. Pure."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, TypeAdapter

from trading.intake.tables import normal_name
from trading.intake.values import find_root, parse_number

SPOT: Final = "spot"
FUTURES: Final = "futures"
ACCOUNT: Final = "account"  # of a broker: shares, futures and currencies, long and short
MARGIN: Final = "margin"  # spot that may be sold short
FILL: Final = "fill"
FUNDING: Final = "funding"
LIQUIDATION: Final = "liquidation"
# What a mapping may name, with the label of the page.
FIELDS: Final = {
    "time": "Date and time",
    "clock": "Time of day, if it is a column of its own",
    "symbol": "Symbol",
    "side": "Side",
    "quantity": "Quantity",
    "price": "Price, or that of the entry",
    "exit_price": "Price of the exit, if a row is a whole trade",
    "exit_time": "Date and time of the exit",
    "total": "Total, if there is no price",
    "quote": "Currency of the price",
    "fee": "Fee",
    "more_fees": "Further fees, which add up",
    "fee_coin": "Coin of the fee",
    "fill_id": "Id of the fill",
    "order": "Id of the order",
    "status": "Status",
    "pnl": "Realised profit",
    "contract": "Size of a contract, value of a point",
    "ignored": "Left out by choice",
    "kind": "Kind of row",
    "asset": "Kind of instrument",
    "market": "Spot or futures",
    "close": "Opens or closes",
    "mode": "Position mode",
    "unit": "Unit of the quantity",
    "leg": "Coin of the leg",
    "amount": "Funding, received above zero",
    "start": "Position before",
    "liquidation": "Liquidation",
    "liquidated": "Liquidated account",
    "margin": "Borrowed, on margin",
}
MAIN_FIELDS: Final = tuple(FIELDS)[:18]  # those of any table
SEVERAL: Final = ("more_fees", "ignored", "asset")  # read all of their columns
REQUIRED: Final = ("time", "symbol", "quantity", "price")
Columns = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the data; its first file says what each value means."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    venue: str
    label: str
    marks: frozenset[str]
    columns: Columns
    market: Literal["", "spot", "futures", "account"] = ""
    scope: Literal["crypto", "futures", "shares", "any"] = "crypto"
    ignored: frozenset[str] = frozenset()
    kinds: Mapping[str, str] = field(default_factory=dict)
    zone: str = "UTC"
    dates: str = ""
    fee_sign: int = 1
    is_fee_in_received: bool = False  # without a coin: in what the fill brought, else in the quote
    is_pnl_net: bool = False  # of the fee of its fill; else the venue states it before fees
    is_usd_inverse: bool = False
    in_contracts: bool = False
    has_legs: bool = False  # each spot fill is two rows, one a coin
    has_signed_prices: bool = False  # what is paid is written below zero
    names_coins: bool = False  # the symbol is the coin, or a pair with a slash
    quotes_usd: bool = False  # and no dollar of which the name ends in USD
    is_newest_first: bool = False  # also within a day

    @property
    def used(self) -> frozenset[str]:
        """The columns that say something of it."""
        return self.marks.union(*self.columns.values())


@dataclass(frozen=True, slots=True)
class OtherExport:
    """A download that holds no fills, and what to bring in its place."""

    marks: frozenset[str]
    text: str


def parse_columns(spec: str) -> Columns:
    """Return columns by field from `time:date,time symbol:pair`; an underscore stands for a space."""
    pairs = (part.split(":") for part in spec.split())
    return {name: _split_names(columns.replace(",", " ")) for name, columns in pairs}


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name.replace("_", " ") for name in text.split())


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


NAMES: Final = _load("names.toml")
SYNONYMS: Final[Columns] = {name: _split_names(text) for name, text in NAMES["synonyms"].items()}
DONE: Final = frozenset(NAMES["status"]["done"].split())  # statuses of what was executed
OTHERS: Final = [OtherExport(frozenset(_split_names(one["marks"])), one["text"]) for one in NAMES["others"]]


def _build_formats() -> dict[str, Format]:
    given = _load("formats_crypto.toml")
    given |= {key: {"market": ACCOUNT, "zone": ""} | row for key, row in _load("formats_brokers.toml").items()}
    for row in given.values():
        row["marks"] = _split_names(row["marks"])
        row["ignored"] = _split_names(row.get("ignored", ""))
        row["columns"] = parse_columns(row["columns"])
        kinds = row.get("kinds", {})
        row["kinds"] = NAMES["kinds"][kinds] if isinstance(kinds, str) else kinds
    return TypeAdapter(dict[str, Format]).validate_python(given)


FORMATS: Final[Mapping[str, Format]] = _build_formats()
BY_HAND: Final = Format("", "", frozenset(), {})


@dataclass(frozen=True, slots=True)
class FillMapping:
    """How to read a table's rows, as proposed and as corrected."""

    format: str = ""  # a key of FORMATS; empty: by hand
    columns: Columns = field(default_factory=dict)
    zone: str = "UTC"
    dates: str = "ymd"  # empty: to be chosen
    decimal: str = "."
    fee_sign: int = 1
    market: str = ""
    contract_sizes: str = ""  # such as BTC-USDT-SWAP=0.01, ES=50: of a symbol, or of a future's root
    account: str = ""  # the user's address, to tell liquidations apart
    ledger: str = ""  # the name of the account, if there are several at the venue

    @property
    def chosen(self) -> Format:
        return FORMATS.get(self.format, BY_HAND)

    @property
    def recognised(self) -> str:
        return f"{self.chosen.venue}: {self.chosen.label}" if self.chosen.venue else ""

    @property
    def has_trips(self) -> bool:
        """Tell whether each row is a whole trade."""
        return bool(self.columns.get("exit_price"))

    def correct(self, columns: Iterable[tuple[str, str]], **changes: str | None) -> "FillMapping":
        """Return the mapping with fields read from other columns; an empty change changes nothing.

        Several columns of a field that adds them up are written with a plus sign between them.
        """
        named = {
            name: tuple(map(normal_name, column.split("+") if name in SEVERAL else [column]))
            for name, column in columns
        }
        given: dict[str, Any] = {name: value for name, value in changes.items() if value}
        return replace(self, **given, columns={**self.columns, **named})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "FillMapping":
        """Return a stored mapping; what an older version stored besides is left out."""
        return TypeAdapter(cls).validate_python(values)


def find_format(columns: Iterable[str]) -> str:
    """Return the key of the format that these columns say most of, with all of its marks, or nothing."""
    present = set(columns)
    found = [key for key, one in FORMATS.items() if one.marks <= present]
    return max(found, key=lambda key: (len(FORMATS[key].used & present), len(FORMATS[key].marks)), default="")


def find_other(columns: Sequence[str]) -> OtherExport | None:
    """Return the download without fills that these columns are of, if any."""
    return next((one for one in OTHERS if one.marks <= set(columns)), None)


def parse_contract_sizes(text: str) -> dict[str, Decimal]:
    """Return sizes by symbol from `BTC-USDT-SWAP=0.01, ...`. Raises ValueError."""
    sizes = {}
    for part in filter(None, (one.strip() for one in text.replace(";", ",").split(","))):
        name, found, size = part.partition("=")
        if not found:
            raise ValueError(f"write contract sizes as SYMBOL=COINS, not {part[:30]!r}")
        sizes[name.strip().upper()] = parse_number(size)
        if sizes[name.strip().upper()] <= 0:
            raise ValueError(f"the contract size of {name.strip()[:30]} must be above zero")
    return sizes


def find_size(sizes: Mapping[str, Decimal], *names: str) -> Decimal | None:
    """Return the size given for one of an instrument's names, or for the root of a future."""
    known = (name.strip().upper() for name in (*names, *map(find_root, names)))
    return next((sizes[name] for name in known if name in sizes), None)
