"""Scheduled events: the shipped calendar and files."""

import itertools
import json
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError

from config.lib.words.markets import CalendarKind
from tests.trading.market.test_imports import run
from trading.market.imports.events import SHIPPED, iter_shipped_events
from trading.market.simulation import HISTORY, PAST
from trading.models import MarketEvent

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def test_shipped_calendar_comes_in_once():
    first, second = run("import_events"), run("import_events")

    assert first == second == f"{MarketEvent.objects.count()} events\n"
    assert {event.kind for event in MarketEvent.objects.all()} == {
        *("fomc", "cpi", "nfp", "ppi", "gdp", "options_expiry")
    }


def test_shipped_calendar_knows_summer_and_winter():
    for kind, at in (
        ("cpi", datetime(2022, 1, 12, 13, 30, tzinfo=UTC)),
        ("fomc", datetime(2022, 1, 26, 19, tzinfo=UTC)),
        ("fomc", datetime(2022, 6, 15, 18, tzinfo=UTC)),
        ("cpi", datetime(2023, 7, 12, 12, 30, tzinfo=UTC)),
        # The days on both sides of a change of the clock in New York.
        ("cpi", datetime(2026, 3, 11, 12, 30, tzinfo=UTC)),
        ("cpi", datetime(2026, 11, 10, 13, 30, tzinfo=UTC)),
        ("fomc", datetime(2026, 10, 28, 18, tzinfo=UTC)),
        ("fomc", datetime(2024, 11, 7, 19, tzinfo=UTC)),
    ):
        assert at in {event.starts_at for event in iter_shipped_events() if event.kind == kind}


SHIPPED_SERIES = json.loads(SHIPPED.read_text())["series"]
NEW_YORK = ZoneInfo("America/New_York")


def test_shipped_calendar_has_each_date_once_on_a_working_day_at_its_time():
    for kind, clock, issuer in (
        ("fomc", time(14), "Federal Reserve Board"),
        ("cpi", time(8, 30), "US Bureau of Labor Statistics"),
        ("nfp", time(8, 30), "US Bureau of Labor Statistics"),
        ("ppi", time(8, 30), "US Bureau of Labor Statistics"),
        ("gdp", time(8, 30), "US Bureau of Economic Analysis"),
    ):
        days = [
            date.fromisoformat(day) for series in SHIPPED_SERIES if series["kind"] == kind for day in series["dates"]
        ]
        events = [event for event in iter_shipped_events() if event.kind == kind]

        assert kind in list(CalendarKind)
        assert days == sorted(set(days))
        assert {day.weekday() for day in days} <= {0, 1, 2, 3, 4}
        assert all(15 <= (after - before).days <= 95 for before, after in itertools.pairwise(days))
        assert days[0] <= date(2025, 2, 13) < date(2026, 12, 4) <= days[-1]
        assert {event.starts_at.astimezone(NEW_YORK).time() for event in events} == {clock}
        assert {event.source.partition(",")[0] for event in events} == {issuer}
        if kind == "fomc":  # on Wednesdays, eight a year, but for the week of an election
            assert {day for day in days if day.weekday() != 2} == {date(2024, 11, 7)}
            assert Counter(day.year for day in days) == dict.fromkeys(range(2021, 2028), 8)
        if kind == "cpi":  # each month, but for the release for October 2025, which never came
            every = {(year, month) for year in range(2021, 2027) for month in range(1, 13)}
            assert Counter((day.year, day.month) for day in days) == dict.fromkeys(every - {(2025, 11)}, 1)


def test_shipped_expiries_are_the_last_fridays_of_quarters():
    at = [event.starts_at for event in iter_shipped_events() if event.kind == "options_expiry"]

    assert len(at) == 4 * 7
    assert {(day.weekday(), day.hour, day.month % 3) for day in at} == {(4, 8, 0)}
    assert all((day + timedelta(days=7)).month != day.month for day in at)
    assert datetime(2026, 12, 25, 8, tzinfo=UTC) in at


def test_event_under_another_title_is_the_same_event(path):
    text = "kind,title,starts_at\nfomc,FOMC statement,2026-06-17T18:00:00Z\nother,Vote,2026-06-17T18:00:00Z\n"
    run("import_events", path(text))
    run("import_events", path(text.replace("FOMC statement", "Fed rate decision").replace("Vote", "Another vote")))

    assert MarketEvent.objects.filter(kind="fomc").count() == 1
    assert MarketEvent.objects.filter(kind="other").count() == 2


def test_events_of_a_file(path):
    text = (
        "kind,title,starts_at,importance,symbols,source,zone\n"
        "token_unlock,ARB unlock,2026-06-16T13:00:00Z,0.6,arb,Foundation,\n"
        "nfp,Jobs report,2026-06-05T08:30,0.8,,BLS,America/New_York\n"
    )
    run("import_events", path(text))
    run("import_events", path(text.replace("T13:00", "T15:00")))

    unlock, jobs = MarketEvent.objects.order_by("-kind")
    assert (unlock.starts_at, unlock.symbols) == (datetime(2026, 6, 16, 15, tzinfo=UTC), ["ARB"])
    assert (jobs.starts_at, jobs.importance, jobs.symbols) == (datetime(2026, 6, 5, 12, 30, tzinfo=UTC), 0.8, [])


def test_event_that_cannot_be_is_refused_and_none_comes_in(path):
    good = {"kind": "cpi", "title": "x", "starts_at": "2026-06-01"}
    wrong = ({"kind": "party"}, {"title": ""}, {"starts_at": "soon"}, {"importance": 2}, {"zone": "Mars/Base"})

    for row in (*({**good, **one} for one in wrong), {"kind": "cpi", "title": "x"}):
        with pytest.raises(CommandError, match="row 2"):
            run("import_events", path([good, row], "events.json"))
    assert not MarketEvent.objects.exists()


def test_each_kind_of_shipped_event_has_past_moves_over_the_demos_market_on_any_day():
    kinds = {}
    for event in iter_shipped_events():
        kinds.setdefault(event.kind, []).append(event.starts_at)
    for day in range(0, 365, 5):
        now = datetime(2026, 1, 1, tzinfo=UTC) + day * DAY
        begins = now - HISTORY - PAST + DAY
        ahead = [kind for kind, at in kinds.items() if any(now <= one <= now + 31 * DAY for one in at)]
        few = {kind for kind in ahead if sum(begins <= one <= now - DAY for one in kinds[kind]) < 3}
        assert not few, f"{now:%Y-%m-%d}: {few}"
