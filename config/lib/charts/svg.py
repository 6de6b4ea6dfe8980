"""Small charts as SVG without script or style: classes of charts.css. Pure."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import ceil, floor, log10
from statistics import median as find_median
from typing import Final, Literal, NamedTuple

from django.utils.safestring import SafeString

from config.lib.charts.thinning import pick_extremes
from config.lib.charts.values import Chart, ChartTable, escape_text, get_unit, make_cell
from config.lib.figures import format_count, format_signed_usd, format_usd

WIDTH: Final = 360  # units of a drawing, and pixels on the narrowest screen
TOO_FEW: Final = 5  # values; below, shapes are outlines
MAX_DOTS: Final = 300
MAX_BINS: Final = 24
MAX_DAYS: Final = 371  # 53 weeks
_STEPS: Final = ("none", "faint", "half", "full")  # of gain, and of loss
_CELL: Final = 14  # a day and the gap beside it
_STRIP: Final = 22  # decisions in a row; a phone shows them all


class Day(NamedTuple):
    on: date
    value: Decimal
    n: int = 0
    href: str = ""


class Dot(NamedTuple):
    x: float
    y: float
    text: str
    href: str = ""
    is_gain: bool = True


class Row(NamedTuple):
    """A named value and its interval; `high` None: not bounded."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    href: str = ""


class Step(NamedTuple):
    """One decision of a strip."""

    way: Literal["kept", "blocked", "failed", "none"]
    text: str
    href: str = ""


class Scale(NamedTuple):
    """A mapping of values to places on the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + max(0.0, min(1.0, share)) * (self.end - self.start), 1)


def draw_sparkline(values: Sequence[Decimal], *, title: str, show: Callable[[Decimal], str] = format_usd) -> SafeString:
    """Return a line without axes, whose label tells its figures; empty for fewer than two values."""
    if len(values) < 2:
        return SafeString()
    low, high = float(min(values)), float(max(values))
    x, y = Scale(0, len(values) - 1, 2, 117), Scale(low, high if high > low else low + 1, 29, 3)
    points = " ".join(f"{x(place)},{y(float(value))}" for place, value in enumerate(values))
    way = f"chart-{_name_way(values[-1] - values[0])}"
    end = _tag("circle", class_=f"chart-end {way}", cx=x(len(values) - 1), cy=y(float(values[-1])), r=2)
    first, last, least, most = map(show, (values[0], values[-1], min(values), max(values)))
    words = f"From {first} to {last}, between {least} and {most}."
    line = _tag("polyline", class_=f"chart-line {way}", points=points)
    return _frame("chart-spark", 120, 32, title, words, [line, end])


def draw_heat_map(days: Iterable[Day], *, title: str) -> Chart:
    """Return results by day: weeks as columns, Monday on top, at most 53 weeks."""
    by_day = {day.on: day for day in days}
    if not by_day:
        return Chart("svg", title, "USD", "", empty="No day has a result yet.")
    last = max(by_day)
    first = max(min(by_day), last - timedelta(days=MAX_DAYS - 1))
    first -= timedelta(days=first.weekday())
    dates = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    shown = [by_day[on] for on in dates if on in by_day]
    sizes = sorted(float(abs(day.value)) for day in shown if day.value) or [1.0]
    scale = sizes[(len(sizes) - 1) * 9 // 10]  # one great day does not pale all others

    def place(on: date) -> tuple[int, int]:
        return 28 + (on - first).days // 7 * _CELL, 18 + on.weekday() * _CELL

    blank = [place(on) for on in dates if on not in by_day]
    hatch = _tag("path", class_="chart-hatch", d=" ".join(f"M{x} {y + 12}l12 -12" for x, y in blank))
    names = [_label(place(on)[0], 11, f"{on:%b}") for on in dates if on.day == 1]
    names += [_label(0, 28 + n * _CELL, name) for n, name in ((0, "Mon"), (2, "Wed"), (4, "Fri"))]
    cells = [_draw_day(day, *place(day.on), scale, is_first=day is shown[0]) for day in shown]
    best, worst = max(shown, key=lambda day: day.value), min(shown, key=lambda day: day.value)
    words = f"{format_count(len(shown), 'day')} with a result; best {best.on} {format_signed_usd(best.value)}, "
    words += (
        f"worst {worst.on} {format_signed_usd(worst.value)}. A bar in a day marks a loss; hatched days have no result."
    )
    size = place(last)[0] + _CELL, 18 + 7 * _CELL
    drawing = _frame("chart-days", *size, title, words, [*names, hatch, *cells], width=size[0], height=size[1])
    rows = [
        [make_cell(f"{day.on}", day.href), format_signed_usd(day.value), format_count(day.n)] for day in reversed(shown)
    ]
    return Chart("svg", title, "USD", drawing, ChartTable(("Day", "Result", "Trades"), rows), note=words)


def draw_histogram(
    values: Sequence[float],
    *,
    title: str,
    unit: str = "USD",
    interval: tuple[float, float] | None = None,
    empty: str = "",
) -> Chart:
    """Return how many values fall into each bin, with median and interval."""
    if not values:
        return Chart("svg", title, unit, "", empty=empty or "There is no value to count yet.")
    bins, show, is_few = _count_bins(values), _format_of(unit), len(values) < TOO_FEW
    middle = find_median(values)
    x = Scale(bins[0][0], bins[-1][1], 8, WIDTH - 8)
    y = Scale(0, max(n for _, _, n in bins), 150, 12)
    shapes = [
        _tag(
            "rect",
            _tag("title", f"{show(low)} to {show(high)}: {n}"),
            class_=_name_class("bar", low + high, is_few),
            **{"x": x(low) + 0.5, "y": y(n), "width": max(1.0, x(high) - x(low) - 1), "height": round(150 - y(n), 1)},
        )
        for low, high, n in bins
    ]
    words = f"{format_count(len(values), 'value')}; median {show(middle)}"
    if interval is not None and not is_few:
        low, high = x(interval[0]), x(interval[1])
        shapes.insert(0, _tag("rect", class_="chart-band", x=low, y=6, width=max(1.0, high - low), height=144))
        words += f", interval {show(interval[0])} to {show(interval[1])}"
    words += ". Too few to say." if is_few else "."
    lines = [_line("axis", 8, WIDTH - 8, 150, 150), _line("mark", x(middle), x(middle), 6, 150)]
    ticks = _draw_ticks(_pick_ticks(bins[0][0], bins[-1][1], 4)[1:-1], x, 166, show)
    drawing = _frame("chart-plot", WIDTH, 176, title, words, [*shapes, *lines, *ticks])
    rows = [[f"{show(low)} to {show(high)}", format_count(n)] for low, high, n in bins]
    return Chart("svg", title, unit, drawing, ChartTable(("From, to", "Values"), rows), note=words)


def draw_scatter(dots: Sequence[Dot], *, title: str, x: str, y: str, empty: str = "") -> Chart:
    """Return points over two named axes in dollars, each a link to its row."""
    if not dots:
        return Chart("svg", title, "USD", "", empty=empty or "There is no point to draw yet.")
    columns = [[dot.x for dot in dots], [dot.y for dot in dots]]
    kept = [dots[index] for index in pick_extremes(columns, MAX_DOTS)]
    show = _format_of("USD")
    ticks_x, ticks_y = (_pick_ticks(min(0.0, *column), max(0.0, *column), 4) for column in columns)
    along, up = Scale(ticks_x[0], ticks_x[-1], 70, WIDTH - 16), Scale(ticks_y[0], ticks_y[-1], 200, 20)
    shapes = [_line("grid", 70, WIDTH - 16, up(tick), up(tick)) for tick in ticks_y]
    words_y = zip(ticks_y, _write_ticks(ticks_y, show), strict=True)
    shapes += [_label(64, up(tick) + 4, word, "chart-end-label") for tick, word in words_y]
    shapes += [_label(70, 236, x), _label(0, 10, y), *_draw_ticks(ticks_x, along, 218, show)]
    for place, dot in enumerate(kept):
        left, top = along(dot.x), up(dot.y)
        path = f"M{left} {top - 4}l4 7h-8z" if dot.is_gain else f"M{left - 3} {top - 3}l6 6m0 -6l-6 6"
        name = _name_class("dot", 1 if dot.is_gain else -1, len(dots) < TOO_FEW)
        shape = _tag("path", _tag("title", dot.text), class_=name, d=path)
        shapes.append(_link(shape, dot.href, dot.text, is_first=place == 0))
    words = format_count(len(dots), "point") + (f", {len(kept)} of them drawn" if len(kept) < len(dots) else "")
    words += ". Triangles won, crosses lost." + (" Too few to say." if len(dots) < TOO_FEW else "")
    drawing = _frame("chart-plot", WIDTH, 240, title, words, shapes)
    rows = [[make_cell(dot.text, dot.href), show(dot.x), show(dot.y)] for dot in kept]
    return Chart("svg", title, "USD", drawing, ChartTable(("What", x, y), rows), note=words)


def draw_intervals(rows: Sequence[Row], *, title: str, unit: str = "USD", of: str = "trade", empty: str = "") -> Chart:
    """Return named values with their intervals as whiskers; `of` names what `n` counts."""
    show = _format_of(unit)
    cells = [
        [
            make_cell(row.name, row.href),
            "–" if row.value is None else show(row.value),
            _describe_interval(row, show) if row.n >= TOO_FEW else "too few to say",
            format_count(row.n),
        ]
        for row in rows
    ]
    table = ChartTable(("Group", "Value", "Interval", f"{of.capitalize()}s"), cells)
    known = [row for row in rows if row.value is not None]
    if not known:
        return Chart("svg", title, unit, "", table, empty or "There is no value to compare yet.")
    ends = [end for row in known for end in (row.value, row.low, row.high) if end is not None]
    ticks = _pick_ticks(min(0.0, *ends), max(0.0, *ends), 3)
    x, bottom = Scale(ticks[0], ticks[-1], 120, WIDTH - 24), 24 * len(known)
    shapes = [_line("axis", x(0), x(0), 2, bottom + 4), *_draw_ticks(ticks, x, bottom + 18, show)]
    for place, row in enumerate(known):
        shapes.append(_draw_whisker(row, of, x, 14 + 24 * place, show, is_few=row.n < TOO_FEW, is_first=place == 0))
    words = "A dot is the value, a line its interval; an outline means too few to say."
    drawing = _frame("chart-plot", WIDTH, bottom + 24, title, words, shapes)
    return Chart("svg", title, unit, drawing, table, note=words)


def draw_strip(steps: Sequence[Step], *, title: str, table: ChartTable, note: str = "") -> Chart:
    """Return decisions in order: kept ones filled, blocked ones crossed, failed ones triangles."""
    if not steps:
        return Chart("svg", title, "", "", table, "Nothing is decided yet.")
    shapes = []
    for place, step in enumerate(steps):
        x, y = place % _STRIP * _CELL, place // _STRIP * _CELL
        path = {"blocked": f"M{x + 2} {y + 2}l8 8m0 -8l-8 8", "failed": f"M{x + 6} {y + 1}l5 9h-10z"}.get(
            step.way, f"M{x + 1} {y + 1}h10v10h-10z"
        )
        shape = _tag("path", _tag("title", step.text), class_=f"chart-verdict chart-verdict-{step.way}", d=path)
        shapes.append(_link(shape, step.href, step.text, is_first=place == 0))
    wide, high = min(len(steps), _STRIP) * _CELL, -(-len(steps) // _STRIP) * _CELL
    drawing = _frame("chart-days", wide, high, title, note, shapes, width=wide, height=high)
    return Chart("svg", title, "", drawing, table, note=note)


def _describe_interval(row: Row, show: Callable[[float], str]) -> str:
    if row.low is None:
        return "not known"
    return f"above {show(row.low)}" if row.high is None else f"{show(row.low)} to {show(row.high)}"


def _draw_whisker(
    row: Row, of: str, x: Scale, y: float, show: Callable[[float], str], *, is_few: bool, is_first: bool
) -> SafeString:
    value = row.value or 0.0
    words = f"{row.name}: {show(value)}, {format_count(row.n, of)}"
    name = row.name if len(row.name) < 13 else f"{row.name[:10]}…"
    parts = [_label(0, y + 4, f"{name} ({row.n})")]
    if row.low is not None and not is_few:
        parts.append(_line("whisker", x(row.low), x(x.high if row.high is None else row.high), y, y))
    parts.append(_tag("circle", _tag("title", words), class_=_name_class("dot", value, is_few), cx=x(value), cy=y, r=4))
    return _link(SafeString("".join(parts)), row.href, words, is_first=is_first)


def _draw_day(day: Day, x: int, y: int, scale: float, *, is_first: bool) -> SafeString:
    step = _STEPS[min(3, ceil(float(abs(day.value)) / scale * 3))]
    words = f"{day.on}: {format_signed_usd(day.value)}" + (f", {format_count(day.n, 'trade')}" if day.n else "")
    name = f"{_name_class('day', day.value, False)} chart-step-{step}"
    cell = _tag("rect", _tag("title", words), class_=name, x=x, y=y, width=12, height=12, rx=2)
    bar = _tag("path", class_="chart-minus", d=f"M{x + 3} {y + 6}h6") if day.value < 0 else ""
    return _link(SafeString(cell + bar), day.href, words, is_first=is_first)


def _link(shape: SafeString, href: str, words: str, *, is_first: bool) -> SafeString:
    """Link a shape. One link of a drawing is a tab stop; arrow keys reach the others."""
    if not href:
        return shape
    return _tag("a", shape, href=href, aria_label=words, tabindex=0 if is_first else -1)


def _draw_ticks(ticks: Sequence[float], x: Scale, y: float, show: Callable[[float], str]) -> list[SafeString]:
    words = _write_ticks(ticks, show)
    return [_label(x(tick), y, word, "chart-middle-label") for tick, word in zip(ticks, words, strict=True)]


def _write_ticks(ticks: Sequence[float], show: Callable[[float], str]) -> list[str]:
    """Return the words of ticks, without cents where none has any: on a phone they would run into each other."""
    words = [show(tick) for tick in ticks]
    return [word.removesuffix(".00") for word in words] if all(word.endswith(".00") for word in words) else words


def _label(x: float, y: float, text: str, name: str = "") -> SafeString:
    return _tag("text", text, class_=f"chart-label {name}".strip(), x=x, y=y)


def _line(name: str, x1: float, x2: float, y1: float, y2: float) -> SafeString:
    return _tag("line", class_=f"chart-{name}", x1=x1, x2=x2, y1=y1, y2=y2)


def _frame(
    name: str, wide: float, high: float, title: str, words: str, shapes: Iterable[SafeString], **size: float
) -> SafeString:
    body = SafeString("".join(shapes))
    # A drawing with links is a group: an image would hide them from a screen reader.
    role, label = "group" if "<a " in body else "img", f"{title}. {words}"
    return _tag("svg", body, class_=name, viewBox=f"0 0 {wide} {high}", role=role, aria_label=label, **size)


def _tag(name: str, text: str = "", /, **attributes: object) -> SafeString:
    written = [f' {key.rstrip("_").replace("_", "-")}="{escape_text(value)}"' for key, value in attributes.items()]
    return SafeString(f"<{name}{''.join(written)}>{escape_text(text)}</{name}>")


def _name_way(value: Decimal | float) -> str:
    return "gain" if value > 0 else "loss" if value < 0 else "even"


def _name_class(shape: str, value: Decimal | float, is_few: bool) -> str:
    return f"chart-{shape} chart-{_name_way(value)}" + (" chart-outline" if is_few else "")


def _format_of(unit: str) -> Callable[[float], str]:
    show = get_unit(unit).show
    return lambda value: show(Decimal(str(value)))


def _count_bins(values: Sequence[float]) -> list[tuple[float, float, int]]:
    """Return equal bins as (from, to, number of values); zero is an edge."""
    low, high = min(values), max(values)
    step = _round_step((high - low) / max(4, min(MAX_BINS, ceil(len(values) ** 0.5)))) if high > low else 1.0
    first, last = floor(low / step), floor(high / step)
    counts = [0] * (last - first + 1)
    for value in values:
        counts[floor(value / step) - first] += 1
    return [(round((first + n) * step, 10), round((first + n + 1) * step, 10), count) for n, count in enumerate(counts)]


def _round_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least `rough`."""
    power = 10.0 ** floor(log10(rough))
    return next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999999) * power


def _pick_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round values that enclose a range."""
    step = _round_step((high - low) / most if high > low else 1.0)
    return [
        round(place * step, 10) for place in range(floor(low / step), max(ceil(high / step), floor(low / step) + 1) + 1)
    ]
