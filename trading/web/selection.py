"""The figures and charts of the trades that fit a filter, by the functions that answer questions to the record."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Final
from zoneinfo import ZoneInfo

from django.urls import reverse

from config.lib.charts.svg import Day, Dot, Row, draw_heat_map, draw_histogram, draw_intervals, draw_scatter
from config.lib.charts.thinning import pick_extremes
from config.lib.charts.values import Cell, Chart, ChartTable, draw_equity
from config.lib.figures import format_count, format_signed_usd
from config.lib.intervals import median_interval
from trading.asking.answers import FigureLine, describe_figure, format_value
from trading.asking.planner import compare_groups, take_figure
from trading.asking.query import GROUPS, MEASURES, NET, TradeQuery
from trading.asking.table import TradeTable
from trading.models import TradeQuerySet
from trading.models.choices import WEEKDAYS
from trading.record.performance import total_usd

MOST_DOTS: Final = 150  # each is a link, and a row of the table
MOST_DAYS: Final = timedelta(days=273)  # of the calendar: 39 weeks, with a link a day
_STRIP: Final = ("net", "expectancy", "win_rate", "profit_factor", "drawdown")
_OF_NET: Final = ("symbol", "side", "hour", "weekday", "regime", "exit")
_READ: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {  # measures and groups of what is shown
    "": ((), ("month",)),
    "days": ((), ("month",)),
    "groups": ((), _OF_NET),
    "paths": (("mfe", "mae", "r"), ("symbol", "side")),
}
_NO_PATH: Final = "No bars tell what these trades were worth on the way."
_NO_STOP: Final = "No stop of these trades is known, so nothing says what was at risk."
Narrow = Callable[..., str]  # to the address with other filters


def describe_selection(
    rows: TradeQuerySet, shown: str, *, zone: ZoneInfo, narrow: Narrow
) -> tuple[list[FigureLine], list[Chart]]:
    """Return the figures of trades and the charts of what is shown."""
    measures, groups = _READ[shown]
    table = TradeTable(TradeQuery(zone), rows=rows, measures=measures, groups=groups)
    nets = table.list_values("net")
    strip = [describe_figure(name, MEASURES[name].label, *take_figure(name, nets)) for name in _STRIP]
    match shown:
        case "days":
            charts = [_draw_days(table, zone, narrow)]
        case "groups":
            charts = [_draw_group(table, group, narrow) for group in _OF_NET]
        case "paths":
            charts = _draw_paths(table)
        case _:
            charts = [_draw_result(table)]
    return strip, charts


def _draw_result(table: TradeTable) -> Chart:
    nets = table[NET]
    return draw_equity(
        zip(table["exit_at"], accumulate(nets), strict=True),
        title="Result of these trades",
        name="Net so far",
        fall_in="unit",
        start=0.0,
        empty="A curve needs at least two closed trades.",
        note=f"Net of {len(nets)} closed trades, added up as they closed.",
    )


def _draw_days(table: TradeTable, zone: ZoneInfo, narrow: Narrow) -> Chart:
    by_day: dict[date, list[float]] = {}
    for at, net in zip(table["exit_at"], table[NET], strict=True):
        by_day.setdefault(at.astimezone(zone).date(), []).append(net)
    first = max(by_day) - MOST_DAYS
    days = [Day(on, total_usd(nets), len(nets), narrow(period=f"{on}")) for on, nets in by_day.items() if on > first]
    note = f"Of the {MOST_DAYS.days} days until {max(by_day)}; choose a period to see earlier ones."
    chart = draw_heat_map(days, title="Net by the day of the exit")
    return replace(chart, table=_tabulate_weeks(days), note=note if min(by_day) <= first else chart.note)


def _tabulate_weeks(days: list[Day]) -> ChartTable:
    """Return a row a week, the last first: a year of days as rows would double the page."""
    weeks: dict[date, list[Day]] = {}
    for day in days:
        weeks.setdefault(day.on - timedelta(days=day.on.weekday()), []).append(day)
    rows = []
    for monday in sorted(weeks, reverse=True):
        net = {day.on.weekday(): format_signed_usd(day.value) for day in weeks[monday]}
        total = sum((day.value for day in weeks[monday]), Decimal(0))
        trades = sum(day.n for day in weeks[monday])
        rows.append([f"{monday}", *(net.get(n, "") for n in range(7)), format_signed_usd(total), format_count(trades)])
    return ChartTable(("Week from", *(name.title() for name in WEEKDAYS), "Net", "Trades"), rows)


def _draw_group(table: TradeTable, group: str, narrow: Narrow) -> Chart:
    rows: list[Row] = []
    cells: list[list[str | Cell]] = []
    for one in compare_groups(table, group, "net"):
        figure, href = one.figure, narrow(**{group: one.key})
        low, high = figure.interval or (None, None)
        rows.append(Row(one.label, figure.mean, low, high, figure.trades, href))
        line = describe_figure("net", one.label, figure, one.unknown)
        interval = line.interval or "too few to say"
        cells.append([Cell(line.label, href), line.value, line.mean, interval, format_count(line.trades)])
    chart = draw_intervals(
        rows, title=f"Net of a trade by {GROUPS[group].label.lower()}", empty="No trade has closed yet."
    )
    return replace(chart, table=ChartTable(("Group", "Net", "A trade", "About 90%", "Trades"), cells))


def _draw_paths(table: TradeTable) -> list[Chart]:
    multiples = [value for value in table.list_values("r") if value is not None]
    x, y = "Worst on the way (MAE)", "Best on the way (MFE)"
    dots = list(_iter_dots(table))
    return [
        draw_scatter(dots, title="Best against worst on the way", x=x, y=y, empty=_NO_PATH),
        draw_histogram(multiples, title="R multiples", unit="R", interval=median_interval(multiples), empty=_NO_STOP),
    ]


def _iter_dots(table: TradeTable) -> Iterator[Dot]:
    worst, best, nets = table.list_values("mae"), table.list_values("mfe"), table[NET]
    points = [
        (place, mae, mfe)
        for place, (mae, mfe) in enumerate(zip(worst, best, strict=True))
        if mae is not None and mfe is not None
    ]
    kept = pick_extremes([[mae for _, mae, _ in points], [mfe for _, _, mfe in points]], MOST_DOTS)
    symbols, sides, shown = table["symbol"], table["side"], [points[number] for number in kept]
    for (place, mae, mfe), pk in zip(shown, table.pick_ids(place for place, _, _ in shown), strict=True):
        text = f"{symbols[place]} {sides[place]}, net {format_value('net', nets[place])}"
        yield Dot(mae, mfe, text, reverse("trading:trade", args=[pk]), is_gain=nets[place] > 0)
