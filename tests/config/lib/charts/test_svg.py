import re
from datetime import date, timedelta
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.charts.svg import (
    Day,
    Dot,
    Row,
    draw_heat_map,
    draw_histogram,
    draw_intervals,
    draw_scatter,
    draw_sparkline,
)

MONDAY = date(2026, 3, 2)
AXES = {"x": "Worst on the way", "y": "Best on the way"}


def parse(chart):
    """Return the drawing; it must be well-formed, without script, style or an address elsewhere."""
    assert not re.search(r"<script|style=|https?:", chart.data)
    return ElementTree.fromstring(chart.data)  # noqa: S314 - our own drawing


def shapes(chart, name):
    return [one for one in parse(chart).iter() if name in one.get("class", "").split()]


def numbers(chart):
    for one in parse(chart).iter():
        for key in ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2", "width", "height"):
            if one.get(key):
                yield float(one.get(key))


def test_draw_sparkline_tells_its_ends_and_extremes():
    drawing = draw_sparkline([Decimal(3), Decimal(1), Decimal(2)], title="Equity")

    assert 'aria-label="Equity. From $3.00 to $2.00, between $1.00 and $3.00."' in drawing
    assert "chart-loss" in drawing
    assert draw_sparkline([Decimal(1)], title="Equity") == ""


def test_draw_heat_map_puts_monday_on_top_and_hatches_empty_days():
    days = [Day(MONDAY, Decimal(10), 2, "/trades/?day=1"), Day(MONDAY + timedelta(days=8), Decimal(-5), 1)]

    chart = draw_heat_map(days, title="Days")

    first, second = shapes(chart, "chart-day")
    assert (first.get("x"), first.get("y")) == ("28", "18")
    assert (second.get("x"), second.get("y")) == ("42", "32")
    assert {"chart-gain", "chart-step-full"} <= set(first.get("class").split())
    assert "chart-loss" in second.get("class")
    assert shapes(chart, "chart-minus"), "a loss differs from a gain without colour"
    assert shapes(chart, "chart-hatch")[0].get("d").count("M") == 7
    assert [one.get("href") for one in parse(chart).iter("a")] == ["/trades/?day=1"]
    assert [str(cell) for cell in chart.table.rows[1]] == ["2026-03-02", "+$10.00", "2"]


def test_draw_heat_map_shows_at_most_53_weeks():
    days = [Day(MONDAY + timedelta(days=n), Decimal(n - 400)) for n in range(800)]

    assert 360 <= len(shapes(draw_heat_map(days, title="Days"), "chart-day")) <= 7 * 54


def test_draw_histogram_counts_each_value_once():
    chart = draw_histogram([-3, -1, 0, 0.5, 2, 2, 9], title="R", unit="R", interval=(-1, 3))

    assert sum(int(row[1]) for row in chart.table.rows) == 7
    assert "median 0.50" in chart.note
    assert shapes(chart, "chart-band")
    assert not shapes(chart, "chart-outline")


def test_draw_histogram_of_few_values_says_too_few():
    chart = draw_histogram([1.0, 2.0], title="R", unit="R", interval=(0, 3))

    assert "Too few to say." in chart.note
    assert shapes(chart, "chart-outline")
    assert not shapes(chart, "chart-band")


def test_draw_scatter_links_each_dot_and_has_one_tab_stop():
    dots = [Dot(-n, n, f"Trade {n}", f"/trades/{n}/", n % 2 == 0) for n in range(8)]

    chart = draw_scatter(dots, title="Excursion", **AXES)

    links = list(parse(chart).iter("a"))
    assert [link.get("href") for link in links] == [dot.href for dot in dots]
    assert [link.get("tabindex") for link in links] == ["0"] + ["-1"] * 7
    assert parse(chart).get("role") == "group"
    assert {one.get("d")[-1] for one in shapes(chart, "chart-gain")} == {"z"}


def test_draw_scatter_of_many_keeps_the_extremes():
    dots = [Dot(n % 97, n, f"{n}") for n in range(5_000)]

    chart = draw_scatter(dots, title="Excursion", **AXES)

    assert len(chart.table.rows) <= 300
    assert {"0", "4999"} <= {row[0] for row in chart.table.rows}
    assert "5,000 points" in chart.note


def test_draw_intervals_tells_what_is_not_known():
    rows = [
        Row("BTC", 12.0, 3.0, 21.0, 40, "/trades/?symbol=BTC"),
        Row("ETH", -2.0, -9.0, None, 6),
        Row("SOL", 5.0, 1.0, 9.0, 2),
        Row("XRP", None, None, None, 0),
    ]

    chart = draw_intervals(rows, title="By symbol")

    assert [row[2] for row in chart.table.rows] == [
        "$3.00 to $21.00",
        "above -$9.00",
        "too few to say",
        "too few to say",
    ]
    assert len(shapes(chart, "chart-whisker")) == 2
    assert len(shapes(chart, "chart-outline")) == 1


@pytest.mark.parametrize(
    "chart",
    [
        draw_heat_map([], title="A"),
        draw_histogram([], title="A"),
        draw_scatter([], title="A", **AXES),
        draw_intervals([Row("BTC", None, None, None, 0)], title="A"),
    ],
)
def test_a_chart_without_values_says_why(chart):
    assert chart.empty
    assert chart.data == ""


@pytest.mark.parametrize("text", ['"><script>', "A & B", "<b>"])
def test_text_is_escaped(text):
    chart = draw_scatter([Dot(1, 2, text, f"/?q={text}")], title=text, **AXES)

    assert next(parse(chart).iter("title")).text == text
    assert text in parse(chart).get("aria-label")


VALUES = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 2))


@given(st.lists(VALUES, min_size=1, max_size=60))
def test_shapes_are_within_the_drawing(values):
    histogram = draw_histogram(values, title="A", interval=(min(values), max(values)))
    scatter = draw_scatter([Dot(value, -value, "a") for value in values], title="A", **AXES)
    whiskers = draw_intervals([Row("a", value, value - 1, value + 1, 9) for value in values[:9]], title="A")

    assert sum(int(row[1]) for row in histogram.table.rows) == len(values)
    for chart in (histogram, scatter, whiskers):
        assert all(-1 <= number <= 361 for number in numbers(chart))
