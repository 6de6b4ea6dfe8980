from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from config.lib.charts.thinning import Ohlc
from config.lib.charts.values import Cell, Curve, Level, PriceMark, Span, draw_equity, draw_price, trace_falls
from trading.record.performance import EquityAt, max_drawdown

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def curve(*values, step=HOUR):
    return [(START + n * step, Decimal(value)) for n, value in enumerate(values)]


def candle(n, close):
    price = Decimal(close)
    return Ohlc(START + n * HOUR, price, price + 1, price - 1, price)


def test_draw_equity_gives_curve_falls_and_table():
    chart = draw_equity(curve(1000, 1100, 990, 1200), start=Decimal(1000), note="4 points")

    assert chart.data["times"] == [int(START.timestamp()) + 3600 * n for n in range(4)]
    assert chart.data["lines"] == [{"name": "Equity", "values": [1000, 1100, 990, 1200]}]
    assert chart.data["falls"] == [0, 0, -10, 0]
    assert list(chart.table.head) == ["Until", "Equity", "Change", "Deepest fall"]
    assert chart.table.rows == [["2026-03-01", "$1,200.00", "–", "10.0%"]]
    assert chart.empty == ""


def test_draw_equity_of_a_running_result_falls_in_its_unit():
    chart = draw_equity(curve(0, 50, -30), title="Result", name="Result", fall_in="unit", start=Decimal(0))

    assert chart.data["falls"] == [0, 0, -80]
    assert chart.data["fallUnit"] == "USD"
    assert chart.table.rows[0][-1] == "$80.00"


def test_draw_equity_compares_curves_at_its_own_instants():
    other = Curve("Buy and hold", curve(500, 600, step=2 * HOUR))

    chart = draw_equity(curve(1, 2, 3), compare=[other], drawdown=False)

    assert chart.data["lines"][1] == {"name": "Buy and hold", "values": [500, 500, 600]}
    assert chart.data["falls"] is None
    assert list(chart.table.head) == ["Until", "Equity", "Change", "Buy and hold"]


@pytest.mark.parametrize("points", [[], curve(1000)])
def test_draw_equity_without_a_curve_says_why(points):
    assert draw_equity(points, empty="It has not decided yet.").empty == "It has not decided yet."
    assert draw_equity(points).empty


def test_draw_equity_keeps_the_last_point_of_a_second():
    chart = draw_equity([(START, Decimal(1)), (START + timedelta(milliseconds=5), Decimal(2)), *curve(0, 3)[1:]])

    assert chart.data["lines"][0]["values"] == [2, 3]


@pytest.mark.parametrize(("days", "first"), [(40, "2026-04-09"), (200, "2026, week 38"), (700, "2028-01")])
def test_draw_equity_tabulates_days_weeks_or_months(days, first):
    rows = draw_equity(curve(*range(1, days + 1), step=timedelta(days=1))).table.rows

    assert rows[0][0] == first
    assert len(rows) <= 45


@given(st.lists(st.decimals(1, 10_000, places=2), min_size=2, max_size=2_500))
def test_draw_equity_agrees_with_the_performance_of_the_record(values):
    points, start = curve(*values), Decimal(5_000)
    deepest = max_drawdown((EquityAt(at, value) for at, value in points), start)

    chart = draw_equity(points, start=start)

    assert -min(chart.data["falls"]) == pytest.approx(deepest.fraction * 100, abs=0.006)
    assert len(chart.data["times"]) <= 1_000


@given(st.lists(st.decimals(-100, 100, places=2), max_size=50))
def test_trace_falls_is_never_above_the_peak(values):
    falls = trace_falls(values)

    assert all(fall >= 0 for fall in falls)
    assert [value + fall for value, fall in zip(values, falls, strict=True)] == [
        max(values[: place + 1]) for place in range(len(values))
    ]


def test_draw_price_places_marks_levels_and_spans_on_candles():
    chart = draw_price(
        [candle(n, 100 + n) for n in range(4)],
        title="BTC",
        marks=[
            PriceMark(START + 1.5 * HOUR, Decimal("101.5"), "entry", "Long 1 BTC", "long", "/trades/1/"),
            PriceMark(START - HOUR, Decimal(90), "exit", "Before the first candle"),
        ],
        levels=[Level(Decimal(95), START + HOUR, None, "Stop at 95")],
        spans=[Span(START + HOUR, START + 2 * HOUR, "gain", "Net +$1.00")],
    )

    assert chart.data["close"] == [100, 101, 102, 103]
    assert chart.data["marks"] == [{"at": 1, "price": 101.5, "way": "entry", "side": "long", "text": "Long 1 BTC"}]
    assert chart.data["levels"] == [{"price": 95, "from": 1, "to": 3, "text": "Stop at 95"}]
    assert chart.data["spans"] == [{"from": 1, "to": 2, "way": "gain", "text": "Net +$1.00"}]
    assert chart.data["places"] == 3
    assert chart.table.rows[0] == ["2026-03-01 01:30", "101.5", Cell("Long 1 BTC", "/trades/1/")]
    assert len(chart.table.rows) == 3


def test_draw_price_without_bars_keeps_its_table():
    chart = draw_price([], title="BTC", marks=[PriceMark(START, Decimal(1), "entry", "Long")])

    assert chart.empty
    assert len(chart.table.rows) == 1


def render(chart):
    return render_to_string("charts/_chart.html", {"chart": chart})


def test_the_template_escapes_values_and_links_cells():
    mark = PriceMark(START, Decimal(100), "entry", '"><b>', "long", "/trades/1/")
    html = render(draw_price([candle(0, 100), candle(1, 101)], title="<i>BTC", marks=[mark]))

    assert "<b>" not in html
    assert "<i>" not in html
    assert '<a href="/trades/1/">' in html
    assert 'data-chart="price"' in html


def test_the_template_gives_a_reason_instead_of_a_canvas():
    html = render(draw_equity([], empty="Nothing yet.", simulated=True))

    assert "Nothing yet." in html
    assert "data-values" not in html
    assert "Simulated" in html
