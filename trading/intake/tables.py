"""Read an exported file into a table: header, numbered rows, what stands above the header. Pure.

Columns, rows and cells are bounded while they are read: a file of a few kilobytes may unpack to millions of them.
"""

import csv
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, Final

from config.lib.errors import DomainError
from config.lib.text import is_small_json
from trading.intake.values import LETTERED, looks_like_value

MAX_BYTES: Final = 20 * 1024 * 1024
MAX_ROWS: Final = 50_000
MAX_COLUMNS: Final = 200
_MAX_CELLS: Final = 40 * MAX_ROWS
_MAX_LINES: Final = 4 * MAX_ROWS  # with empty ones, and those within quoted cells
_MAX_OBJECTS: Final = 4 * MAX_ROWS  # a record may hold others, such as its fee
_LONGEST_NAME: Final = 200  # characters of a column's name that count
_MAX_MEMBERS: Final = 100  # of a gzip file that was joined
_LONGEST_HEADER: Final = 100 * MAX_COLUMNS  # characters
_HEADER_LINES: Final = 15  # a header stands within the first lines
_MIN_COLUMNS: Final = 4
_DEPTH: Final = 5
_DELIMITERS: Final = ",;\t|"
_ZONE: Final = re.compile(r"(?:UTC|GMT)(?:\s*([+-])\s*(\d{1,2})(?::?(\d\d))?)?", re.IGNORECASE)
_LETTERS: Final = "|".join(LETTERED)
_IN_BRACKETS: Final = re.compile(rf"\s*\((?:UTC|GMT|local time|{_LETTERS})[^)]*\)", re.IGNORECASE)
# Statements of many sections: what stands before the header of the trades, and the line that ends them.
_SECTIONS: Final = (
    (re.compile(r"^\ufeff?(?=Trades,Header,)", re.MULTILINE), re.compile(r"^(?!\ufeff?Trades,)", re.MULTILINE)),
    (
        re.compile(r"^(?:Account Trade History|Positions)[,;\t \r]*\n", re.MULTILINE),
        re.compile(r"^[A-Za-z][A-Za-z &]*[,;\t \r]*$", re.MULTILINE),
    ),
)
_LINE: Final = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|(?<=[^\r\n])\Z)")
_PACKED: Final = b"\x1f\x8b"
_NOT_TEXT: Final = (
    (b"PK\x03\x04", "is a spreadsheet or a zip archive. Save it as CSV, or unpack it, and try again"),
    (b"\xd0\xcf\x11\xe0", "is an old Excel file. Save it as CSV and try again"),
    (b"%PDF", "is a PDF. Export the trade history as CSV instead"),
    (b"SQLite format 3", "is a database, not an export"),
    (b"\x89PNG", "is a picture, not an export"),
)


class TableRefused(DomainError):
    """The file holds no table."""


@dataclass(frozen=True, slots=True)
class TableRow:
    number: int  # the line of a CSV, the place in JSON; both from 1
    cells: Mapping[str, str]
    fault: str = ""  # why its cells cannot be told apart


@dataclass(frozen=True, slots=True)
class FileTable:
    columns: Sequence[str]  # normal names, in order
    rows: Sequence[TableRow]
    row_word: str = "row"
    zone: str = ""  # the offset that the file itself names, such as +08:00
    titles: Mapping[str, str] = field(default_factory=dict)  # normal name to the name as written


def read_table(content: bytes) -> FileTable:
    """Return the table of a CSV or JSON file. Raises TableRefused."""
    text = _decode(content)
    first = text.lstrip()[:1]
    table = _read_json(text) if first in "[{" and first else _read_csv(text)
    if not table.rows:
        raise TableRefused("The file has a header and no rows. Nothing was imported.")
    return table


def table_of_records(records: Sequence[Mapping[str, Any]]) -> FileTable:
    """Return the table of a venue's answer. Raises TableRefused."""
    rows: list[TableRow] = []
    titles: dict[str, str] = {}
    for number, record in enumerate(records, start=1):
        rows.append(TableRow(number, _flatten(record)))
        titles |= {name: name for name in rows[-1].cells if name not in titles}
        _refuse_too_many(columns=len(titles))
    return FileTable(tuple(titles), rows, "item", titles=titles)


def _refuse_too_many(*, rows: int = 0, columns: int = 0, cells: int = 0) -> None:
    """Refuse a table beyond its bounds. Raises TableRefused."""
    if rows > MAX_ROWS:
        raise TableRefused(f"The file has more than {MAX_ROWS:,} rows. Export shorter periods, one file each.")
    if columns > MAX_COLUMNS:
        raise TableRefused(f"The file has more than {MAX_COLUMNS} columns, so it is no list of fills.")
    if cells > _MAX_CELLS:
        raise TableRefused(f"The file has more than {_MAX_CELLS:,} cells. Export shorter periods, one file each.")


def normal_name(title: str) -> str:
    """Return a column's name without case, spaces and time zone."""
    spaced = " ".join(title.replace("\ufeff", "").split())[:_LONGEST_NAME]  # the pattern is slow on long texts
    return "".join(_IN_BRACKETS.sub("", spaced).replace("_", " ").split()).casefold()


def parse_offset(text: str) -> str:
    """Return the offset that a text such as `Time(UTC+8)` names, or nothing."""
    found = _ZONE.search(text)
    if lettered := re.search(rf"\(({_LETTERS})\)", text):
        return f"-{-LETTERED[lettered[1]]:02}:00"
    if found is None or not int(found[2] or 0):
        return "UTC" if found else ""
    return f"{found[1]}{int(found[2]):02}:{found[3] or '00'}"


def _decode(content: bytes) -> str:
    if content.startswith(_PACKED):
        content = _unpack(content)
    if len(content) > MAX_BYTES:
        raise TableRefused(f"The file is larger than {MAX_BYTES // 2**20} MB. Export shorter periods, one file each.")
    if not content.strip():
        raise TableRefused("The file is empty.")
    for magic, reason in _NOT_TEXT:
        if content.startswith(magic):
            raise TableRefused(f"The file {reason}.")
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    if "\0" in text or text.count("\ufffd") > 10:
        raise TableRefused("The file is not text. Export the trade history as CSV or JSON.")
    if re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        raise TableRefused("The file is a web page, not an export. Download the CSV itself.")
    return text


def _unpack(content: bytes) -> bytes:
    unpacked = b""
    for _ in range(_MAX_MEMBERS):  # files that were joined stay packed one by one
        unpacker = zlib.decompressobj(wbits=31)
        try:
            unpacked += unpacker.decompress(content, MAX_BYTES + 1 - len(unpacked))
        except zlib.error as error:
            raise TableRefused("The packed file is damaged. Download it again.") from error
        if len(unpacked) > MAX_BYTES:
            return unpacked
        if not unpacker.eof:
            raise TableRefused("The packed file ends too early. Download it again.")
        content = unpacker.unused_data
        if not content.startswith(_PACKED):
            return unpacked
    raise TableRefused("The packed file was joined of too many. Unpack it and try again.")


def _pick_section(text: str) -> tuple[str, int]:
    """Return the section of the trades, or the whole, with the number of lines before it."""
    for begin, end in _SECTIONS:
        if found := begin.search(text):
            ended = end.search(text, found.end() + 1)
            return text[found.end() : ended.start() if ended else len(text)], text.count("\n", 0, found.end())
    return text, 0


def _read_csv(whole: str) -> FileTable:
    text, before = _pick_section(whole)
    lines = _iter_lines(text)
    first = list(islice(lines, _HEADER_LINES))
    delimiter, place = _find_header(first)
    _refuse_too_many(cells=text.count(delimiter))
    zone = parse_offset(" ".join(first[:place]))
    reader = csv.reader(chain(first[place:], lines), delimiter=delimiter, strict=True, skipinitialspace=True)
    rows: list[TableRow] = []
    number = place = place + before
    try:
        header = next(reader)
        _refuse_too_many(columns=len(header))  # a quoted cell goes on in the next line
        written = _name_columns(header)
        columns = tuple(written)
        number += 1
        for cells in reader:
            number, begun = place + reader.line_num, number + 1
            cells = [cell.replace("\ufeff", "").strip() for cell in cells]
            if any(cells):
                has_more = any(cells[len(columns) :])
                fault = f"it has {len(cells)} cells, the header {len(columns)}" if has_more else ""
                rows.append(TableRow(begun, dict(zip(columns, cells, strict=False)), fault))
                _refuse_too_many(rows=len(rows))
    except csv.Error as error:
        raise TableRefused(f"Row {number + 1}: a quotation mark is not closed, or a cell is too long.") from error
    return FileTable(columns, rows, zone=zone, titles=written)


def _iter_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, each with its end, up to more than any export has. Raises TableRefused."""
    for number, match in enumerate(_LINE.finditer(text)):
        if number > _MAX_LINES:
            _refuse_too_many(rows=number)
        yield f"{match[1]}\n"


def _name_columns(titles: Sequence[str]) -> dict[str, str]:
    """Return normal names and titles; a second column of a name gets a number."""
    named: dict[str, str] = {}
    for place, title in enumerate(titles, start=1):
        name = normal_name(title) or f"column {place}"
        named[name if name not in named else f"{name} {place}"] = title.replace("\ufeff", "").strip()
    return named


def _find_header(lines: Sequence[str]) -> tuple[str, int]:
    """Return the delimiter and the header's place: the widest line of names among the first."""
    best = (0, 0, ",")
    is_wide = False
    for delimiter in _DELIMITERS:
        for place, line in enumerate(lines):
            is_wide |= (has_many := line.count(delimiter) >= MAX_COLUMNS)
            if has_many or len(line) > _LONGEST_HEADER:
                continue
            try:
                cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
            except csv.Error:  # a cell that is too long, which names no column
                continue
            named = [cell for cell in cells if cell.strip("\ufeff ")]
            if len(named) > best[0] and not any(looks_like_value(cell) for cell in named):
                best = (len(named), place, delimiter)
    if best[0] < _MIN_COLUMNS:
        _refuse_too_many(columns=MAX_COLUMNS + 1 if is_wide else 0)
        raise TableRefused(
            "No header was found in the first lines. Keel needs a line that names the columns, such as time, symbol, "
            "side, quantity, price."
        )
    return best[2], best[1]


def _read_json(text: str) -> FileTable:
    if not is_small_json(text, containers=_MAX_OBJECTS, values=_MAX_CELLS):
        _refuse_too_many(cells=_MAX_CELLS + 1)
    line, values = 0, []
    try:
        if text.lstrip()[0] == "{" and "\n{" in text.strip():
            for line, item in enumerate(_iter_lines(text)):  # noqa: B007 - told when one cannot be read
                values += [_load_json(item.strip())] if item.strip() else []
        value: Any = values or _load_json(text)
    except (ValueError, RecursionError) as error:
        where = f", line {line + error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise TableRefused(f"The file begins like JSON and cannot be read{where}. Download it again.") from error
    for records in find_records(value):
        _refuse_too_many(rows=len(records))
        return table_of_records(records)
    raise TableRefused("The JSON holds no list of fills.")


def _load_json(text: str) -> Any:
    return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)


def find_records(
    value: Any, depth: int = _DEPTH, context: Mapping[str, str] = MappingProxyType({})
) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the lists of objects in a venue's answer, the outermost first.

    Each record gets the texts of the objects around it, `context`. Raises TableRefused.
    """
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield _add_context(value, context)
    if not isinstance(value, dict) or not depth:
        return
    around = {**context, **{name: child for name, child in value.items() if isinstance(child, str)}}
    for child in value.values():
        if isinstance(child, dict) and child and all(_is_record(item) for item in child.values()):
            by_id = [{"txid": name} | item for name, item in child.items()]  # Kraken: by the id of the trade
            yield _add_context(by_id, context)
        yield from find_records(child, depth - 1, around)


def _add_context(records: list[dict[str, Any]], context: Mapping[str, str]) -> list[Mapping[str, Any]]:
    _refuse_too_many(columns=len(context), cells=len(context) * len(records))  # before they are copied
    return [{**context, **record} for record in records] if context else list(records)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(item, str) for item in value.values())


def _flatten(record: Mapping[str, Any], prefix: str = "", depth: int = 3) -> dict[str, str]:
    cells: dict[str, str] = {}
    for title, value in record.items():
        name = prefix + normal_name(str(title))
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]  # Bitget: the fee of a fill is a list of one
        if isinstance(value, dict) and depth:
            cells |= _flatten(value, f"{name}.", depth - 1)
        elif not isinstance(value, dict | list):
            cells[name] = "" if value is None else str(value).strip()
        _refuse_too_many(columns=len(cells))
    return cells
