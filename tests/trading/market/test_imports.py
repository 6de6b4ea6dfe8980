import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.trading.data import BARS, needs_bars, real_hours
from trading.market.imports.bars import read_bars
from trading.models import Bar, FundingRate
from trading.models.choices import INTERVALS

pytestmark = pytest.mark.django_db

D = Decimal
HEADER = "timestamp,open,high,low,close,volume\n"


def run(*arguments, **options) -> str:
    output = StringIO()
    call_command(*map(str, arguments), stdout=output, stderr=StringIO(), **options)
    return output.getvalue()


def minutes(count: int, *, skip: int | None = None, first: str = "2026-06-01 00:00:00") -> str:
    start = datetime.fromisoformat(first)
    lines = [
        f"{start + number * timedelta(minutes=1)},{100 + number},{101 + number},{99 + number},{100.5 + number},2"
        for number in range(count)
        if number != skip
    ]
    return HEADER + "\n".join(lines) + "\n"


def import_bars(file, *more, aggregate="none") -> str:
    return run("import_bars", file, "--symbol", "btc", "--interval", "1m", "--aggregate", aggregate, *more)


# --- Bars ---


def test_bars_come_in_once(path):
    file = path(minutes(5))

    assert import_bars(file) == "5 bars of BTC 1m\n"
    assert import_bars(file) == "5 bars of BTC 1m\n"

    bar = Bar.objects.order_by("opened_at").first()
    assert Bar.objects.count() == 5
    assert bar.opened_at == datetime(2026, 6, 1, tzinfo=UTC)
    assert (bar.open, bar.high, bar.low, bar.close) == (100, 101, 99, D("100.5"))
    assert (bar.volume, bar.source, bar.is_simulated) == (2, "file.csv", False)


def test_corrected_or_repeated_bar_takes_the_place_of_the_old_one(path):
    import_bars(path(minutes(2)))
    import_bars(path(HEADER + "2026-06-01,5,6,4,5,0\n2026-06-01T00:00:00Z,5,6,4,6,0\n"), "--source", "better")

    assert Bar.objects.order_by("opened_at").values_list("close", "source").first() == (6, "better")
    assert Bar.objects.count() == 2


def test_longer_bars_are_made_of_whole_ones_alone(path):
    said = import_bars(path(minutes(130, skip=70)), aggregate="1h,5m")

    hour = Bar.objects.get(interval="1h")
    assert said == "129 bars of BTC 1m, 25 of 5m, 1 of 1h\n"
    assert (hour.open, hour.high, hour.low, hour.close, hour.volume) == (100, 160, 99, D("159.5"), 120)
    assert hour.opened_at == datetime(2026, 6, 1, tzinfo=UTC)


def test_bar_that_cannot_be_is_refused_by_its_line(path):
    for line, words in {
        "2026-06-01 00:00:30,5,6,4,5,0": "not the beginning of a bar of 1m",
        "2026-06-01,5,6,7,5,0": "do not lie",
        "2026-06-01,5,6,4,9,0": "do not lie",
        "2026-06-01,5,6,0,5,0": "below zero",
        "2026-06-01,5,6,4,5,-1": "below zero",
        "2026-06-01,x,6,4,5,0": "not a number",
        "2026-06-01,5,6": "not a number",
        "today,5,6,4,5,0": "not an instant",
    }.items():
        with pytest.raises(CommandError, match=rf"line 2: .*{words}"):
            import_bars(path(HEADER + line + "\n"))
    for aggregate, words in {"1m": "longer", "1h,2h": "2h is none of"}.items():
        with pytest.raises(CommandError, match=words):
            import_bars(path(minutes(1)), aggregate=aggregate)


def longer_bars():
    fields = ("interval", "opened_at", "open", "high", "low", "close", "volume", "source", "is_simulated")
    return list(Bar.objects.exclude(interval="1m").order_by("interval", "opened_at").values_list(*fields))


def test_longer_bars_are_equal_for_any_split_of_the_import(path, monkeypatch):
    import_bars(path(minutes(2000, skip=700)), aggregate="5m,1h,4h,1d")
    at_once = longer_bars()
    import_bars(path(minutes(2000, skip=700)), aggregate="5m,1h,4h,1d")
    again = longer_bars()
    Bar.objects.all().delete()
    monkeypatch.setattr("trading.market.imports.bars.CHUNK", 97)
    header, *lines = minutes(2000, skip=700).splitlines(keepends=True)
    for part in (lines[:333], lines[333:]):
        import_bars(path("".join([header, *part])), aggregate="5m,1h,4h,1d")

    assert at_once == again == longer_bars()
    assert {row[0]: sum(other[0] == row[0] for other in at_once) for row in at_once} == {"5m": 399, "1h": 32, "4h": 7}


def test_late_bar_completes_the_longer_bars_around_it(path):
    import_bars(path(minutes(1440, skip=70)), aggregate="1h,1d")
    assert not Bar.objects.filter(interval="1d").exists()

    said = import_bars(path(minutes(1, first="2026-06-01 01:10:00")), aggregate="1h,1d")

    assert said == "1 bars of BTC 1m, 1 of 1h, 1 of 1d\n"


def test_longer_bars_exist_up_to_an_interrupted_import(path, monkeypatch):
    monkeypatch.setattr("trading.market.imports.bars.CHUNK", 60)
    broken = minutes(150).replace("2026-06-01 02:20:00,240", "2026-06-01 02:20:00,x")
    with pytest.raises(CommandError, match="line 142"):
        import_bars(path(broken), aggregate="1h")

    assert Bar.objects.filter(interval="1m").count() == 120
    assert Bar.objects.filter(interval="1h").count() == 2


def test_each_interval_divides_every_longer_one():
    lengths = list(INTERVALS.values())

    assert lengths == sorted(lengths)
    assert all(not after % before for before, after in itertools.pairwise(lengths))
    assert lengths[-1] == timedelta(days=1)


@needs_bars
@pytest.mark.computing
def test_real_bars_come_in_and_make_the_hours(path):
    said = run("import_bars", BARS, "--symbol", "BTC", "--interval", "1m", "--aggregate", "1h")

    assert said == f"45031 bars of BTC 1m, {len(real_hours())} of 1h\n"
    at, first, high, low, last = real_hours()[100]
    hour = Bar.objects.get(interval="1h", opened_at=at)
    assert (hour.open, hour.high, hour.low, hour.close) == (first, high, low, last)


def test_mark_and_index_are_read_where_they_are(path):
    header = "timestamp,open,high,low,close,mark,index\n"
    (bar,) = read_bars(path(header + "2026-06-01,5,6,4,5,5.1,5\n"), symbol="BTC", interval="1d", source="x")

    assert (bar.mark, bar.index, bar.volume) == (D("5.1"), 5, 0)


# --- Funding ---


def test_funding_comes_in_once_and_none_that_cannot_be(path):
    header = "symbol,time,rate,hours\n"
    text = f"{header}btc,2026-06-01T08:00:00Z,0.0001,\neth,2026-06-01T08:00:00Z,-0.0002,1\n"
    run("import_funding", path(text))
    run("import_funding", path(text.replace("0.0001", "0.0003")))

    rates = list(FundingRate.objects.order_by("symbol").values_list("symbol", "rate", "hours"))
    assert rates == [("BTC", D("0.0003"), 8), ("ETH", D("-0.0002"), 1)]
    for line in ("btc,2026-06-01,2,8", "btc,2026-06-01,0.1,25", "btc,soon,0.1,8", "b c,2026-06-01,0,8"):
        with pytest.raises(CommandError, match="row 2"):
            run("import_funding", path(f"{header}{line}\n"))
