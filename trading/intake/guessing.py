"""Propose how to read a table: its format, or a guess by the names of its columns. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from trading.intake import formats
from trading.intake.formats import FillMapping, Format
from trading.intake.rows import RowReader
from trading.intake.tables import FileTable, normal_name, parse_offset
from trading.intake.trips import propose_sizes
from trading.intake.values import guess_date_order, guess_decimal, is_empty, parse_number
from trading.ledger.executions import DOLLARS

_TRIP_PRICES: Final = [tuple(pair.split(":")) for pair in formats.NAMES["trips"]["prices"].split()]
_ENTRY_TIMES: Final = formats.NAMES["trips"]["entry"].split()
_EXIT_TIMES: Final = formats.NAMES["trips"]["exit"].split()
# A title of this kind is no amount: a rate or a share of one, or a name.
_NO_AMOUNT: Final = re.compile(r"rate|%|percent|pct|ratio|tier|level|bps|perc\b")
_NO_FEE: Final = re.compile(rf"{_NO_AMOUNT.pattern}|coin|currency|asset|unit|ccy|crypto|balance|info|rebate|type|id\Z")
_FEE: Final = re.compile(r"fees?|commissions?|gebühr|frais|comisión")
_FEE_NAMES: Final = frozenset(
    ("comm", "comm/fee", "sec", "taf", "nscc", "swap", "rollover", "storage", "taxes", "kommission")
)
# What stops an import until it is read, or left out by choice.
_IMPORTANT: Final = {
    "exit": re.compile(r"(?:exit|close|closing|sell|sold|proceeds).*(?:price|rate)|closerate"),
    "profit": re.compile(r"p&l|pnl|p/l|profit|gain|reali[sz]ed"),
    "status": re.compile(r"\A(?:order)?(?:status|state)\Z"),
    "currency": re.compile(r"currency|ccy|devise|währung|moneda|valuta"),
    "multiplier": re.compile(r"multiplier|pointvalue|contractsize|lotsize|lotvalue|tickvalue"),
}
_UNIMPORTANT: Final = re.compile(r"%|percent|pct|ratio|unreali|cum|fee|commission|takeprofit|tax|conversion")
_PLAIN: Final = frozenset(("0", "1", *map(str.casefold, DOLLARS), *formats.DONE))


def propose_mapping(table: FileTable, *, zone: str) -> FillMapping:
    """Return the mapping of a recognised export, or a guess by the columns' names; `zone` is the user's."""
    key = formats.find_format(table.columns)
    chosen = formats.FORMATS.get(key, formats.BY_HAND)
    columns = _choose_columns(table, chosen)
    # Where no column was recognised, every cell may tell.
    times = _cells(table, (*columns.get("time", ()), *columns.get("exit_time", ())) or table.columns)
    amounts = [column for name in ("quantity", "price", "fee") for column in columns.get(name, ())]
    numbers = _cells(table, amounts if len(amounts) > 1 else table.columns)
    # Where most fees stand below zero, the file writes what it takes away.
    fees = [
        text for text in _cells(table, (*columns.get("fee", ()), *columns.get("more_fees", ()))) if text.strip("0.")
    ]
    is_negative = 2 * sum(text.startswith(("-", "(", "\u2212")) for text in fees) > len(fees)
    # The title of the column of days or of that of clocks may name the zone.
    titles = [table.titles.get(name, "") for field in ("time", "clock") for name in columns.get(field, ())[:1]]
    order = guess_date_order(times)
    mapping = FillMapping(
        format=key,
        columns=columns,
        zone=next(filter(None, map(parse_offset, titles)), "") or table.zone or (chosen.zone if key else "") or zone,
        dates=order if order in ("dmy", "mdy") else chosen.dates or order,
        decimal=guess_decimal(numbers),
        fee_sign=(chosen.fee_sign if key else 0) or (-1 if is_negative else 1),
        market=chosen.market if key else formats.FUTURES,
        contract_sizes="BTC-USDT-SWAP=0.01, ETH-USDT-SWAP=0.1" if chosen.venue == "OKX" and chosen.in_contracts else "",
    )
    if not mapping.has_trips or "pnl" not in columns or "contract" in columns:
        return mapping
    dated = replace(mapping, dates=mapping.dates or "dmy")  # for a size either order will do
    trips = RowReader(dated, None, is_unscaled=True).list_trips(table.rows)
    return replace(mapping, contract_sizes=propose_sizes(trips, needs_all=chosen.in_contracts))


def _choose_columns(table: FileTable, chosen: Format) -> dict[str, tuple[str, ...]]:
    """Return the columns by field, those of a format or guessed ones."""
    if not chosen.venue:
        # Of two columns with one name the user chooses.
        named = Counter(normal_name(title) for title in table.titles.values())
        return _guess_columns([name for name in table.columns if named[normal_name(table.titles[name])] == 1])
    present = {name: tuple(one for one in named if one in table.columns) for name, named in chosen.columns.items()}
    columns = {name: named for name, named in present.items() if named}
    if absent := [name for name in formats.REQUIRED if name not in columns]:  # the venue renamed columns of its export
        guessed = _guess_columns([name for name in table.columns if name not in set().union(*columns.values())])
        columns |= {name: guessed[name] for name in absent if name in guessed}
    return columns


def _guess_columns(present: Sequence[str]) -> dict[str, tuple[str, ...]]:
    columns: dict[str, tuple[str, ...]] = _guess_trip(present)
    taken = {one for named in columns.values() for one in named}
    for name, synonyms in formats.SYNONYMS.items():
        if name in columns or (name == "pnl" and "exit_price" not in columns):
            continue  # whether a fill's profit is before its fee nobody can tell by a name
        banned = _NO_FEE if name == "fee" else _NO_AMOUNT
        free = [one for one in present if one not in taken]
        choices = [one for one in synonyms if one in free]
        if name == "asset":
            columns |= {name: tuple(choices)} if choices else {}
            taken |= set(choices)
            continue
        if name not in ("status", "contract", "pnl"):
            near = [one for one in free if any(len(word) > 3 and word in one for word in synonyms[:6])]
            choices += [one for one in near if not banned.search(one) and not _find_importance(one)]
        if choices:
            columns[name] = (choices[0],)
            taken.add(choices[0])
    columns |= _guess_more_fees(present, columns)
    if columns.get("time") == ("time",) and "date" in present:
        columns |= {"time": ("date",), "clock": ("time",)}
    for days in ("date", "tradedate", "t/d"):
        clock = next((one for one in ("time", "exectime", "executiontime") if one in present), "")
        if clock and days in present and columns.get("time") in ((days,), (clock,)) and "exit_time" not in columns:
            columns |= {"time": (days,), "clock": (clock,)}
    return columns


def _guess_trip(present: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a table in which each row is a whole trade."""
    found = next(((entry, left) for entry, left in _TRIP_PRICES if entry in present and left in present), None)
    if found is None:
        return {}
    columns: dict[str, tuple[str, ...]] = {"price": (found[0],), "exit_price": (found[1],)}
    for name, synonyms in (("time", _ENTRY_TIMES), ("exit_time", _EXIT_TIMES)):
        if chosen := next((one for one in synonyms if one in present), ""):
            columns[name] = (chosen,)
    if columns.get("exit_time") and not columns.get("time"):
        columns["time"] = columns.pop("exit_time")  # it has one time for each trade
    return columns


def _guess_more_fees(present: Sequence[str], columns: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the columns that are fees beside the first; one that is a sum stands alone."""
    first = columns.get("fee", ("",))[0]
    taken = {one for named in columns.values() for one in named}
    total = next((one for one in present if _is_fee(one) and "total" in one), "")
    if total:
        return {"fee": (total,), "more_fees": ()}
    more = [one for one in present if one not in taken and _is_fee(one) and one.strip("s") != first.strip("s")]
    plain = {re.sub(r"\(.*\)|usd\Z", "", one): one for one in reversed(more)}  # Fee and Fee (USD) are one
    plain.pop(re.sub(r"\(.*\)|usd\Z", "", first), None)
    return {"more_fees": tuple(one for one in more if one in plain.values())} if first and plain else {}


def _is_fee(name: str) -> bool:
    return (bool(_FEE.search(name)) or name in _FEE_NAMES) and not _NO_FEE.search(name)


def _find_importance(name: str) -> str:
    """Return what an unread column of this name would be, or nothing."""
    if _UNIMPORTANT.search(name):
        return ""
    return next((word for word, pattern in _IMPORTANT.items() if pattern.search(name)), "")


def list_unread(table: FileTable, mapping: FillMapping) -> list[str]:
    """Return the columns that nothing reads, in order."""
    read = {one for named in mapping.columns.values() for one in named}
    return [name for name in table.columns if name not in read and not name.startswith("column ")]


def list_stops(table: FileTable, mapping: FillMapping) -> list[str]:
    """Return the unread columns that may change what the rows mean, and say more than nothing."""
    if mapping.format and table.row_word == "item":
        return []  # what an API sends is documented
    unread = [one for one in list_unread(table, mapping) if one not in mapping.chosen.ignored]
    return [one for one in unread if _find_importance(one) and any(map(_says_something, _cells(table, [one])))]


def _says_something(text: str) -> bool:
    if text.strip().casefold() in _PLAIN:
        return False
    try:
        return parse_number(text) not in (Decimal(0), Decimal(1))
    except ValueError:
        return True


def _cells(table: FileTable, names: Iterable[str]) -> list[str]:
    cells = (row.cells.get(name, "") for row in table.rows for name in names)
    return [cell for cell in cells if not is_empty(cell)]
