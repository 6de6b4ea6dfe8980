"""When facts hold, by their words. NOW is a Wednesday afternoon in Berlin."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.claims.validity import ALWAYS, Validity, may_have_dates, read_validity, strip_dates

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)


def at(*parts: int) -> datetime:
    """Return an instant from the local time in Berlin."""
    return datetime(*parts, tzinfo=BERLIN).astimezone(UTC)


ENDS = {
    "Until 1 March 2027 I trade only half size": at(2027, 3, 1),
    "I trade only half size until March": at(2027, 3, 1),
    "No leverage until next Monday": at(2026, 11, 23),
    "I do not trade alts till the end of the year": at(2027, 1, 1),
    "I trade only half size for two weeks": at(2026, 12, 2, 15, 30),
    "For the next 10 days I only paper trade": at(2026, 11, 28, 15, 30),
    "I am on holiday through Friday": at(2026, 11, 21),
    "I take no trades until tomorrow": at(2026, 11, 19),
    "My max leverage is 2x until 2027-02-15": at(2027, 2, 15),
    "Max 2 % risk this month": None,
    "This week I risk at most 1 % per trade": at(2026, 11, 23),
    "I stay out of the market until Friday 17:00": at(2026, 11, 20, 17),
    "I use testnet for a month": at(2026, 12, 18, 15, 30),
    "No shorts until the end of March": at(2027, 4, 1),
    "I trade small through December 2026": at(2027, 1, 1),
    "I won't touch SOL until the 15th": at(2026, 12, 15),
    "I still trade small until Friday": at(2026, 11, 20),
    "No alts until 15.1.2027": at(2027, 1, 15),
    "Only BTC for another three days": at(2026, 11, 21, 15, 30),
    "I am cutting risk for the rest of the year": at(2027, 1, 1),
    "From today until Friday I trade half size": at(2026, 11, 20),
}
ENDS_UNSEEN = {
    "Till 15 January I keep leverage at 2x": at(2027, 1, 15),
    "Half size only, until 30 November": at(2026, 11, 30),
    "For three weeks I trade BTC alone": at(2026, 12, 9, 15, 30),
    "I am travelling until next week": at(2026, 11, 23),
    "No new positions for 48 hours": at(2026, 11, 20, 15, 30),
    "My limit is 1 % until April 1st": at(2027, 4, 1),
    "Until year end I only close positions": at(2027, 1, 1),
    "I trade from my phone until 5 December": at(2026, 12, 5),
    "Over the next two months I reduce my size": at(2027, 1, 18, 15, 30),
    "I want no calls until Sunday": at(2026, 11, 22),
    "I follow the trial plan for half a year": at(2027, 5, 18, 15, 30),
    "I live in Lisbon until June 2027": at(2027, 6, 1),
    "My account stays flat until and including Friday": at(2026, 11, 21),
    "I avoid ETH until next month": at(2026, 12, 1),
    "I stick to spot through the end of the quarter": at(2027, 1, 1),
    "Until Feb 3, 2027 I may not use margin": at(2027, 2, 3),
}
BEGINS = {
    "From Monday I trade only half size": at(2026, 11, 23),
    "I use Kraken from next week": at(2026, 11, 23),
    "Starting in January I risk 1 % per trade": at(2027, 1, 1),
    "As of 1 December my max leverage is 3x": at(2026, 12, 1),
    "I will trade from London from 2027 on": at(2027, 1, 1),
    "From tomorrow on, no alts": at(2026, 11, 19),
}
BEGINS_UNSEEN = {
    "From 1 January I pay tax in Portugal": at(2027, 1, 1),
    "My base currency is EUR starting next month": at(2026, 12, 1),
    "Effective Monday my max loss a day is 200 USD": at(2026, 11, 23),
    "I only trade BTC from Friday": at(2026, 11, 20),
    "Beginning March 1st I stop scalping": at(2027, 3, 1),
    "Starting tomorrow I use limit orders only": at(2026, 11, 19),
    "Starting in two weeks I only swing trade": at(2026, 12, 2, 15, 30),
}
BOTH = {
    "From 1 December until 15 January I trade half size": Validity(at(2026, 12, 1), at(2027, 1, 15)),
    "From Monday I paper trade for two weeks": Validity(at(2026, 11, 23), at(2026, 12, 7)),
    "From March to May I am in Japan": Validity(at(2027, 3, 1), at(2027, 6, 1)),
    "Starting in January I trade small until April": Validity(at(2027, 1, 1), at(2027, 4, 1)),
}
NEITHER = [
    "I trade from Monday to Friday",
    "I trade until 17:00",
    "I trade from 13:00",
    "I hold positions for two days",
    "I hold until the target hits",
    "I never hold from Friday until Monday",
    "I stop for the day after three losses in a row",
    "I have traded for two years",
    "From now on I risk at most 1 %",
    "Until further notice I trade small",
    "I wait until Monday after a big loss",
    "I still have notes from March",
    "I may trade alts",
    "My goal is 20 % in 2027",
    "Until 2020 I used Binance",
    "I trade BTC and ETH only",
    "I save time for two-week trials",
    "No alts until 1/3/2027",
    "I trade half size for two weeks or more",
]
NEITHER_UNSEEN = [
    "I work from home",
    "I moved from Berlin to Lisbon",
    "I keep winners until Friday",
    "I've been on Kraken for three months",
    "I usually trade from Tuesday till Thursday",
    "I pause for an hour after each loss",
    "I trade from 9 to 5",
    "My losses from May still hurt",
    "I sleep until noon",
    "I let trades run for two weeks",
    "I lived in Rome until 2019",
    "I close everything before Friday",
    "I look at charts on Sundays",
    "Whenever I lose I stop for two days",
    "I wait for the daily close",
    "I learned trading from a friend in March",
]


@pytest.mark.parametrize(("text", "ends"), [*ENDS.items(), *ENDS_UNSEEN.items()])
def test_read_validity_finds_the_end(text, ends):
    assert read_validity(text, now=NOW, zone=BERLIN) == Validity(None, ends)


@pytest.mark.parametrize(("text", "begins"), [*BEGINS.items(), *BEGINS_UNSEEN.items()])
def test_read_validity_finds_the_beginning(text, begins):
    assert read_validity(text, now=NOW, zone=BERLIN) == Validity(begins, None)


@pytest.mark.parametrize(("text", "validity"), BOTH.items())
def test_read_validity_finds_both(text, validity):
    assert read_validity(text, now=NOW, zone=BERLIN) == validity


@pytest.mark.parametrize("text", [*NEITHER, *NEITHER_UNSEEN])
def test_read_validity_of_a_habit_or_the_past_finds_nothing(text):
    assert read_validity(text, now=NOW, zone=BERLIN) == ALWAYS


def test_read_validity_uses_the_users_zone():
    late = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)  # already Thursday in Auckland

    there = read_validity("No trades until tomorrow", now=late, zone=ZoneInfo("Pacific/Auckland"))

    assert there.ends == datetime(2026, 11, 19, 11, tzinfo=UTC)
    assert read_validity("No trades until tomorrow", now=late, zone=UTC).ends == datetime(2026, 11, 19, tzinfo=UTC)


def test_read_validity_counts_no_end_that_is_over():
    assert read_validity("Until 1 March 2026 I trade half size", now=NOW, zone=BERLIN) == ALWAYS


def test_may_have_dates_is_false_for_most_texts():
    assert not may_have_dates("I never risk more than 1 % per trade")


def test_strip_dates_leaves_the_statement():
    assert strip_dates("Until 1 March 2027 I trade only half size.") == "I trade only half size"
    assert strip_dates("I trade from Monday to Friday") == "I trade from Monday to Friday"
