"""Turn a table's rows into fills and funding, with the problems by row. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from hashlib import sha256
from typing import NamedTuple

from config.lib.words.quantities import join_words
from trading.intake import formats, values
from trading.intake.guessing import list_stops, list_unread
from trading.intake.rows import ReadFill, RowReader
from trading.intake.tables import FileTable
from trading.intake.trips import WholeTrade, find_overlaps, judge_trips
from trading.ledger.positions import Funding

_ONE_TIME = (
    "Choose the column of the time of the exit. Where the file has one time for each trade, choose it there, too: both"
    " fills get that time, and how long trades were held is not known. An export of fills, the trade history, knows it."
)


class RowProblem(NamedTuple):
    row: int  # 0: the whole file
    message: str


@dataclass(slots=True)
class FileReading:
    fills: list[ReadFill] = field(default_factory=list)  # the earliest first
    funding: list[Funding] = field(default_factory=list)  # of futures
    problems: list[RowProblem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # kinds of rows that are no fills
    unread: list[str] = field(default_factory=list)  # titles of columns
    notices: list[str] = field(default_factory=list)  # what is not known of what was read
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

    def say_left_out(self) -> str:
        """Return the kinds of rows that were left out, with their numbers."""
        return join_words([f"{count} {kind}" for kind, count in self.left_out.most_common(5)], "and")


def read_fills(table: FileTable, mapping: formats.FillMapping, *, now: datetime) -> FileReading:
    """Read every row; a row that cannot be read becomes a problem."""
    unread = [table.titles.get(name, name) for name in list_unread(table, mapping)]
    reading = FileReading(row_word=table.row_word, unread=unread)
    if problems := [*list_mapping_problems(table, mapping)]:
        reading.problems = [RowProblem(0, message) for message in problems]
        return reading
    reader = RowReader(mapping, now)
    trips: list[WholeTrade] = []
    for row in reader.join_legs(table.rows) if reader.format.has_legs else table.rows:
        try:
            kind = reader.find_kind(row)
            if kind == formats.FUNDING:
                reading.funding.append(reader.read_funding(row))
            elif kind not in (formats.FILL, formats.LIQUIDATION):
                reading.left_out[kind] += 1
            elif mapping.has_trips:
                trips.append(reader.read_trip(row))
            else:
                reading.fills.append(reader.read_fill(row, is_liquidation=kind == formats.LIQUIDATION))
        except ValueError as error:
            reading.problems.append(RowProblem(row.number, str(error)))
    # By time; within an instant in the file's order, turned round where the newest is first.
    for rows in (reading.fills, trips):
        if _is_newest_first(rows, reader.format):
            rows.reverse()
    reading.fills += _split_trips(trips, reading.problems)
    reading.fills.sort(key=lambda fill: fill.at)
    reading.fills = list(_give_ids(reading.fills, reading.problems, reading.left_out))
    reading.problems += [RowProblem(0, message) for message in _doubt_sides(reading, mapping)]
    reading.problems.sort()
    reading.notices = list(_list_notices(reading, mapping, trips))
    return reading


def list_mapping_problems(table: FileTable, mapping: formats.FillMapping) -> Iterator[str]:
    """Yield what keeps a mapping from being used."""
    chosen = mapping.chosen
    if not mapping.format and (other := formats.find_other(table.columns)):
        yield other.text
        return
    is_funding_alone = formats.FUNDING in chosen.kinds.values() and formats.FILL not in chosen.kinds.values()
    required = ("time", "symbol", "amount") if is_funding_alone else formats.REQUIRED
    for name in required:
        if not mapping.columns.get(name) and not (name == "price" and mapping.columns.get("total")):
            yield f"Choose the column of the {'funding amount' if name == 'amount' else name}."
    if mapping.has_trips and not mapping.columns.get("exit_time"):
        yield _ONE_TIME
    for name in list_stops(table, mapping):
        title = table.titles.get(name, name)
        yield f"The column “{title}” is not read. Choose what it is, or tick that it is left out."
    if not mapping.dates:
        yield "Dates such as 03/04/2025 can be read in two ways. Choose the order of day and month."
    try:
        values.find_zone(mapping.zone)
        formats.parse_contract_sizes(mapping.contract_sizes)
    except ValueError as error:
        yield f"{str(error)[0].upper()}{str(error)[1:]}."


def _is_newest_first(rows: Sequence[ReadFill] | Sequence[WholeTrade], chosen: formats.Format) -> bool:
    if not rows:
        return False
    first, last = (one.at if isinstance(one, ReadFill) else one.exit_at for one in (rows[0], rows[-1]))
    return first > last or (first == last and chosen.is_newest_first)


def _split_trips(trips: Sequence[WholeTrade], problems: list[RowProblem]) -> Iterator[ReadFill]:
    """Yield both fills of each trade that its profit proves."""
    proven = []
    for trip, found in zip(trips, judge_trips(trips), strict=True):
        if isinstance(found, str):
            problems.append(RowProblem(trip.row, found))
        else:
            proven.append(found)
    overlaps = find_overlaps(proven)
    for trip in proven:
        gross = None if trip.symbol in overlaps else values.round_amount(trip.side * trip.move)
        half = values.round_amount(trip.fee / 2)
        ends = [(trip.entry_at, trip.side, trip.entry_price), (trip.exit_at, -trip.side, trip.exit_price)]
        for place, (at, side, price) in enumerate(sorted(ends, key=lambda end: end[0])):
            fill = ReadFill(
                trip.row, trip.market, "", trip.symbol, at, side * trip.quantity, price, half, trip.fee_coin
            )
            yield replace(fill, fee=trip.fee - half, pnl_usd=gross, is_reducing=gross is not None) if place else fill


def _doubt_sides(reading: FileReading, mapping: formats.FillMapping) -> Iterator[str]:
    """Yield the question where nothing says what was bought and what was sold."""
    is_told = mapping.format or mapping.has_trips or mapping.columns.get("side")
    if not is_told and reading.fills and all(fill.quantity > 0 for fill in reading.fills):
        yield "Choose the column of the side: no quantity is below zero, so that every row would count as a purchase."


def _list_notices(reading: FileReading, mapping: formats.FillMapping, trips: Sequence[WholeTrade]) -> Iterator[str]:
    """Yield what the file does not say of what was read."""
    if not reading.fills:
        return
    zone = values.find_zone(mapping.zone)
    if all(fill.at.astimezone(zone).time() == time() for fill in reading.fills):
        yield "The file has days without times: hours are not known, and within a day the order is that of its rows."
    if trips and mapping.columns.get("exit_time") == mapping.columns.get("time"):
        yield "Entry and exit of each trade have one time: how long trades were held is not known."
    if trips and mapping.contract_sizes:
        yield f"By the profits in the file a point, or a lot, is worth {mapping.contract_sizes}. Importing confirms it."
    if trips and any(trip.pnl is None for trip in trips):
        yield "Rows without a profit cannot prove their numbers; check the first ones below."
    if trips and not mapping.columns.get("fee") and any(fill.fee for fill in reading.fills):
        yield "Fees are not in the file: they are what each profit is less than its prices give."
    elif not any(fill.fee for fill in reading.fills):
        yield "No fees were found: what you paid is missing in the net of these trades."


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
