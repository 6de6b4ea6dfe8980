from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from trading.asking import periods
from trading.asking.periods import PeriodRefused, parse_period

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 7, 15, 23, 30, tzinfo=UTC)  # in Berlin it is Thursday, the 16th


def days(words, now=NOW, zone=ZONE):
    """Return the first and the last day of a period."""
    period = parse_period(words, zone=zone, now=now)
    for at in (period.starts_at, period.ends_at):
        assert at is None or (at.tzinfo == zone and (at.hour, at.minute) == (0, 0))
    return period.bounds


def test_period_in_words_is_a_range_of_days():
    for words, first, last in (
        ("today", "2026-07-16", "2026-07-16"),
        ("yesterday", "2026-07-15", "2026-07-15"),
        ("this week", "2026-07-13", "2026-07-19"),
        ("Last  Week", "2026-07-06", "2026-07-12"),
        ("this month", "2026-07-01", "2026-07-31"),
        ("last month", "2026-06-01", "2026-06-30"),
        ("previous month", "2026-06-01", "2026-06-30"),
        ("this quarter", "2026-07-01", "2026-09-30"),
        ("last quarter", "2026-04-01", "2026-06-30"),
        ("this year", "2026-01-01", "2026-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last 7 days", "2026-07-10", "2026-07-16"),
        ("7d", "2026-07-10", "2026-07-16"),
        ("past week", "2026-07-10", "2026-07-16"),
        ("last 2 weeks", "2026-07-03", "2026-07-16"),
        ("last 3 months", "2026-04-17", "2026-07-16"),
        ("2 years", "2024-07-17", "2026-07-16"),
        ("march", "2026-03-01", "2026-03-31"),
        ("july", "2026-07-01", "2026-07-31"),
        ("december", "2025-12-01", "2025-12-31"),
        ("feb 2024", "2024-02-01", "2024-02-29"),
        ("q2", "2026-04-01", "2026-06-30"),
        ("q4", "2025-10-01", "2025-12-31"),
        ("2025-q1", "2025-01-01", "2025-03-31"),
        ("q3 2025", "2025-07-01", "2025-09-30"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("2026-03", "2026-03-01", "2026-03-31"),
        ("2026-03-05", "2026-03-05", "2026-03-05"),
        ("2026-03-01..2026-03-15", "2026-03-01", "2026-03-15"),
        ("from march to may", "2026-03-01", "2026-05-31"),
        ("between 2026-01 and 2026-02", "2026-01-01", "2026-02-28"),
        ("since 2026-03-01", "2026-03-01", None),
        ("2026-03-01..", "2026-03-01", None),
        ("..2026-03-15", None, "2026-03-15"),
        ("until yesterday", None, "2026-07-15"),
        ("before 2026-03-15", None, "2026-03-14"),
        ("after 2026-03-15", "2026-03-16", None),
        ("after march", "2026-04-01", None),
    ):
        assert days(words) == (first, last)


@pytest.mark.parametrize("words", ["", "  ", "all time", "ever"])
def test_no_words_bound_nothing(words):
    assert parse_period(words, zone=ZONE, now=NOW) is None


def test_days_are_those_of_the_zone_and_hours_end_now():
    winter = parse_period("2026-03-29", zone=ZONE, now=NOW)

    assert winter.ends_at - winter.starts_at == timedelta(days=1)  # by the clock on the wall
    assert winter.ends_at.astimezone(UTC) - winter.starts_at.astimezone(UTC) == timedelta(hours=23)
    assert days("today", zone=ZoneInfo("UTC")) == ("2026-07-15", "2026-07-15")

    period = parse_period("last 24 hours", zone=ZONE, now=NOW)

    assert (period.starts_at, period.ends_at) == (NOW - timedelta(hours=24), NOW)
    assert period.bounds == ("2026-07-15 01:30", "2026-07-16 01:29")


@pytest.mark.limit("trading.asking.periods._MOST_LETTERS")
def test_words_longer_than_any_period_are_not_read(monkeypatch):
    monkeypatch.setattr(periods, "_read_parts", lambda words: pytest.fail("they were read"))

    with pytest.raises(PeriodRefused):
        parse_period("x" * (periods._MOST_LETTERS + 1), zone=ZONE, now=NOW)


def test_words_of_no_period_are_refused():
    for words in (
        *("soon", "next week", "2026-02-30", "2026-13", "1999", "2101", "99999999999 days", "9999 years", "9999 weeks"),
        *("..", "since", "2026-03..2026-01", "ma", "week of may", "2026-03-01..soon", "\u0662\u0660\u0662\u0666"),
    ):
        with pytest.raises(PeriodRefused):
            parse_period(words, zone=ZONE, now=NOW)


def test_words_of_a_period_name_it_again_on_a_later_day():
    later = NOW + timedelta(days=40)

    assert parse_period("last month", zone=ZONE, now=later).starts_at.date() == date(2026, 7, 1)
