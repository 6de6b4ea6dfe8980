"""A chart as a value: what the script draws, and the same figures as a table. Pure."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from html import escape
from itertools import accumulate, groupby, islice
from operator import add, sub
from typing import Any, Final, Literal, NamedTuple

from django.utils import timezone
from django.utils.safestring import SafeString

from config.lib.charts.thinning import MOST, Ohlc, group_candles, pick_extremes
from config.lib.figures import (
    format_pct,
    format_price,
    format_ratio,
    format_signed_ratio,
    format_signed_usd,
    format_usd,
    round_price,
)

Kind = Literal["equity", "price", "svg"]
Point = tuple[datetime, Decimal | float]
Way = Literal["entry", "add", "exit", "best", "worst", "event"]

TABLE_ROWS: Final = 45  # of a curve; then a row is a week, or a month
_PERIODS: Final = ((1, "%Y-%m-%d"), (7, "%G, week %V"), (31, "%Y-%m"), (366, "%Y"))  # days, and how one is named


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that leads somewhere."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ChartTable:
    """Formatted figures under their names; the first column names the row."""

    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]

    @property
    def body(self) -> SafeString:
        """The rows as HTML without white space, which would be half of a page with a thousand cells."""
        written = []
        for row in self.rows:
            first, *others = [
                f'<a href="{escape(cell.href)}">{escape(cell.text)}</a>'
                if isinstance(cell, Cell)
                else escape_text(cell)
                for cell in row
            ]
            written.append(f"<tr><th scope=row>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>")
        return SafeString("".join(written))


def escape_text(value: object) -> str:
    """Return a value as HTML, safe text as it is: Django's `conditional_escape` in a quarter of the time."""
    return value if isinstance(value, SafeString) else escape(str(value))


NO_TABLE: Final = ChartTable((), ())


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart, as `charts/_chart.html` takes it."""

    kind: Kind
    title: str
    unit: str
    data: Any  # of an `svg` safe text, else values for static/charts
    table: ChartTable = NO_TABLE
    empty: str = ""  # why there is nothing to draw
    simulated: bool = False
    note: str = ""  # how many values it shows, and of what

    @property
    def as_json(self) -> str:
        return json.dumps(self.data, separators=(",", ":"))


class Curve(NamedTuple):
    """A curve beside the first one, under its own name."""

    name: str
    points: Sequence[Point]


class PriceMark(NamedTuple):
    """Something that happened at an instant and a price."""

    at: datetime
    price: Decimal
    way: Way
    text: str
    side: str = ""  # long or short
    href: str = ""


class Level(NamedTuple):
    """A price that held for a time, such as a stop; `until` None: to the end."""

    price: Decimal
    since: datetime
    until: datetime | None
    text: str


class Span(NamedTuple):
    """A time on the axis, such as a trade's; `until` None: to the end."""

    since: datetime
    until: datetime | None
    way: Literal["gain", "loss", "open"]
    text: str = ""


class Unit(NamedTuple):
    """How amounts of a unit are written, and their places in a chart."""

    show: Callable[[Decimal], str]
    show_signed: Callable[[Decimal], str]
    places: int = 2


_PLAIN: Final = Unit(lambda amount: format_ratio(float(amount)), lambda amount: format_signed_ratio(float(amount)))
UNITS: Final[Mapping[str, Unit]] = {"USD": Unit(format_usd, format_signed_usd)}


def make_cell(text: str, href: str) -> str | Cell:
    """Return a cell, a link if it leads somewhere."""
    return Cell(text, href) if href else text


def get_unit(name: str) -> Unit:
    """Return how amounts of a unit are written."""
    return UNITS.get(name, _PLAIN)


def trace_falls(values: Sequence[float], start: float | None = None) -> list[float]:
    """Return how far each value is below the highest one before it."""
    peaks = accumulate(values, max) if start is None else islice(accumulate(values, max, initial=start), 1, None)
    return list(map(sub, peaks, values))


def draw_equity(
    points: Iterable[Point],
    *,
    title: str = "Equity",
    name: str = "Equity",
    unit: str = "USD",
    compare: Sequence[Curve] = (),
    drawdown: bool = True,
    fall_in: Literal["pct", "unit"] = "pct",
    start: Decimal | float | None = None,
    empty: str = "",
    simulated: bool = False,
    note: str = "",
) -> Chart:
    """Return the chart of a curve, with its falls from the highest value below; `start` precedes the first point."""
    # The script draws whole seconds: a later point of the same second replaces the earlier one.
    by_second = {int(point[0].timestamp()): point for point in points}
    known = [by_second[second] for second in sorted(by_second)]
    if len(known) < 2:
        reason = empty or "There are fewer than two points to connect."
        return Chart("equity", title, unit, {}, NO_TABLE, reason, simulated, note)
    times, values = [at for at, _ in known], [float(value) for _, value in known]
    amounts = trace_falls(values, None if start is None else float(start))
    falls = amounts
    if fall_in == "pct":  # as shares of the peak that they fell from
        peaks = map(add, values, amounts)
        falls = [fall / peak if peak > 0 else 0.0 for fall, peak in zip(amounts, peaks, strict=True)]
    others = [(line.name, _align(line.points, times)) for line in compare if line.points]
    kept = pick_extremes([values, falls] if drawdown else [values], MOST)
    places = get_unit(unit).places
    data = {
        "times": [int(times[index].timestamp()) for index in kept],
        "lines": [
            {"name": of, "values": [round(column[index], places) for index in kept]}
            for of, column in [(name, values), *others]
        ],
        "falls": [-round(falls[index] * (100 if fall_in == "pct" else 1), places) or 0.0 for index in kept]
        if drawdown
        else None,
        "fallUnit": "%" if fall_in == "pct" else unit,
        "unit": unit,
        "places": places,
    }
    table = _tabulate_curve(times, [(name, values), *others], falls if drawdown else None, get_unit(unit), fall_in)
    return Chart("equity", title, unit, data, table, "", simulated, note)


def draw_price(
    bars: Sequence[Ohlc],
    *,
    title: str,
    marks: Iterable[PriceMark] = (),
    levels: Iterable[Level] = (),
    spans: Iterable[Span] = (),
    empty: str = "",
    simulated: bool = False,
    note: str = "",
) -> Chart:
    """Return the chart of candles, with what happened at which price."""
    shown = sorted(marks, key=lambda mark: mark.at)
    held = sorted(levels, key=lambda level: level.since)
    rows = [(one.at, [format_day(one.at), format_price(one.price), make_cell(one.text, one.href)]) for one in shown]
    rows += [(one.since, [format_day(one.since), format_price(one.price), one.text]) for one in held]
    newest = sorted(rows, key=lambda row: row[0], reverse=True)
    table = ChartTable(("Time", "Price", "What"), [row for _, row in newest])
    if not bars:
        reason = empty or "No bars of this time are stored."
        return Chart("price", title, "USD", {}, table, reason, simulated, note)
    candles = group_candles(bars)
    times = [bar.at for bar in candles]

    def place(at: datetime | None) -> int:
        return len(times) - 1 if at is None else max(0, bisect_right(times, at) - 1)

    data = {
        "times": [int(at.timestamp()) for at in times],
        **{name: [round_price(getattr(bar, name)) for bar in candles] for name in ("open", "high", "low", "close")},
        "marks": [
            {"at": place(one.at), "price": round_price(one.price), "way": one.way, "side": one.side, "text": one.text}
            for one in shown
            if one.at >= times[0]
        ],
        "levels": [
            {"price": round_price(one.price), "from": place(one.since), "to": place(one.until), "text": one.text}
            for one in held
            if one.until is None or one.until >= times[0]
        ],
        "spans": [
            {"from": place(one.since), "to": place(one.until), "way": one.way, "text": one.text}
            for one in spans
            if one.until is None or one.until >= times[0]
        ],
        # Of a price to six digits, as `format_price` writes it.
        "places": max(max(0, min(10, 5 - bar.close.adjusted())) for bar in (candles[0], candles[-1])),
    }
    return Chart("price", title, "USD", data, table, "", simulated, note)


def format_day(at: datetime) -> str:
    """Return an instant in the reader's zone as `2026-06-04 10:00`."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M}"


def _align(line: Sequence[Point], instants: Sequence[datetime]) -> list[float]:
    """Return a line's value at each instant: its last one until then."""
    times = [at for at, _ in line]
    return [float(line[max(0, bisect_right(times, at) - 1)][1]) for at in instants]


def _tabulate_curve(
    times: Sequence[datetime],
    lines: Sequence[tuple[str, Sequence[float]]],
    falls: Sequence[float] | None,
    unit: Unit,
    fall_in: Literal["pct", "unit"],
) -> ChartTable:
    """Return the curve's value at each period's end, newest first."""
    days = (times[-1] - times[0]).days + 2
    name_of = next((form for length, form in _PERIODS if days <= TABLE_ROWS * length), _PERIODS[-1][1])
    rows: list[list[str | Cell]] = []
    zone = timezone.get_current_timezone()
    dates = [at.astimezone(zone).date() for at in times]
    names = {day: f"{day:{name_of}}" for day in set(dates)}  # to name the day of each point would take most of the time
    (_, values), *others = lines
    before: float | None = None
    for label, group in groupby(range(len(times)), key=lambda index: names[dates[index]]):
        indexes = list(group)
        value = values[indexes[-1]]
        row: list[str | Cell] = [label, _show(unit.show, value)]
        row.append("–" if before is None else _show(unit.show_signed, value - before))
        row += [_show(unit.show, column[indexes[-1]]) for _, column in others]
        if falls is not None:
            deepest = max(falls[index] for index in indexes)
            row.append(format_pct(deepest) if fall_in == "pct" else _show(unit.show, deepest))
        rows.append(row)
        before = value
    head = ["Until", lines[0][0], "Change", *(name for name, _ in others)]
    return ChartTable([*head, *(["Deepest fall"] if falls is not None else [])], rows[::-1])


def _show(write: Callable[[Decimal], str], amount: float) -> str:
    return write(Decimal(repr(round(amount, 8))))
