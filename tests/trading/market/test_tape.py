from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.factories.memory import DAY, HOUR, MAY, MINUTE
from tests.factories.record import BarFactory, FundingRateFactory, MarketEventFactory, NewsItemFactory
from tests.properties import examples
from trading.market import tape as tape_module
from trading.market.tape import LONGEST_AHEAD, LONGEST_NEWS, STORED, ReplayTape, finest_bars
from trading.models import Bar, FundingRate, MarketEvent, NewsItem
from trading.models.choices import INTERVALS

pytestmark = pytest.mark.django_db


def opened(bars):
    return [(bar.opened_at - MAY) // MINUTE for bar in bars]


@pytest.fixture(params=["stored", "replayed"])
def tape(request):
    """Each tape, to be asked from MAY on; the rows must be there before the first question."""
    return STORED if request.param == "stored" else ReplayTape(MAY)


def test_bar_is_known_from_its_end_on(tape):
    for hours in (-2, -1, 0):
        BarFactory(opened_at=MAY + hours * HOUR)

    assert opened(tape.last_bars("BTC", "1h", MAY, 9)) == [-120, -60]
    assert opened(tape.last_bars("BTC", "1h", MAY + HOUR - timedelta.resolution, 9)) == [-120, -60]
    assert opened(tape.last_bars("BTC", "1h", MAY + HOUR, 2)) == [-60, 0]


def test_bars_ended_returns_each_bar_once_across_ticks(tape):
    for minutes in range(-3, 3):
        BarFactory(interval="1m", opened_at=MAY + minutes * MINUTE)

    assert opened(tape.bars_ended("BTC", "1m", MAY - 2 * MINUTE, MAY)) == [-2, -1]
    assert opened(tape.bars_ended("BTC", "1m", MAY, MAY + 2 * MINUTE)) == [0, 1]
    assert opened(tape.bars_ended("BTC", "5m", MAY, MAY + HOUR)) == []
    assert opened(tape.bars_ended("ETH", "1m", MAY, MAY + HOUR)) == []


def test_rates_are_known_as_they_are_paid(tape):
    for hours in (-8, 0, 8):
        FundingRateFactory(at=MAY + hours * HOUR)

    assert tape.last_rate("BTC", MAY).at == MAY
    assert [rate.at for rate in tape.rates("BTC", MAY - 8 * HOUR, MAY)] == [MAY]
    assert tape.last_rate("BTC", MAY + 7 * HOUR).at == MAY
    assert tape.rates("BTC", MAY, MAY + 7 * HOUR) == []
    assert tape.last_rate("ETH", MAY) is None


def test_news_are_known_as_they_are_out_and_events_before(tape):
    for hours in (-1, 0, 1):
        NewsItemFactory(headline=str(hours), published_at=MAY + hours * HOUR)
        MarketEventFactory(title=str(hours), starts_at=MAY + hours * HOUR)

    assert [item.headline for item in tape.news(MAY - LONGEST_NEWS, MAY)] == ["-1", "0"]
    assert [item.headline for item in tape.news(MAY - HOUR, MAY)] == ["0"]
    assert [event.title for event in tape.events(MAY, MAY + LONGEST_AHEAD)] == ["0", "1"]


def test_replay_reads_a_page_at_a_time(django_assert_num_queries, monkeypatch):
    monkeypatch.setattr(tape_module, "PAGE", 10)
    Bar.objects.bulk_create(BarFactory.build(interval="1m", opened_at=MAY + n * MINUTE) for n in range(35))
    tape = ReplayTape(MAY)

    with django_assert_num_queries(1 + 3 * 2 + 1):  # what came before, three full pages with their ends, the rest
        for minute in range(60):
            at = MAY + minute * MINUTE
            assert opened(tape.bars_ended("BTC", "1m", at - MINUTE, at)) == ([minute - 1] if 1 <= minute <= 35 else [])


# In steps of 15 minutes around MAY, from well before the start to after the last question.
steps = st.integers(-60, 140)
rare = st.sets(steps, max_size=25)
often = st.lists(steps, max_size=25)  # several may have one instant

questions = st.lists(
    st.tuples(
        st.integers(0, 40),  # how much later than the one before, in steps
        st.sampled_from(["last_bars", "bars_ended", "last_rate", "rates", "news", "events"]),
        st.sampled_from(["15m", "1h", "1d"]),
        st.integers(0, 4),  # rows
        st.floats(0, 1),  # how far it reaches, of what it may
    ),
    min_size=1,
    max_size=30,
)
STEP = timedelta(minutes=15)
RATES_ASKED = [(90, "last_rate", "1h", 0, 0), (0, "rates", "1h", 0, 1.0)]


def fill_market(quarters, hours, days, rates, news, events) -> None:
    for interval, found in (("15m", quarters), ("1h", hours), ("1d", days)):
        Bar.objects.bulk_create(BarFactory.build(interval=interval, opened_at=MAY + n * STEP) for n in found)
    FundingRate.objects.bulk_create(FundingRateFactory.build(at=MAY + n * STEP) for n in rates)
    NewsItem.objects.bulk_create(NewsItemFactory.build(published_at=MAY + n * STEP) for n in news)
    MarketEvent.objects.bulk_create(MarketEventFactory.build(starts_at=MAY + n * STEP) for n in events)


def ask(tape, at, about, interval, limit, reach):
    """Ask as a tick may: back to the tick before, which is a day ago at most, or as far as a skill looks."""
    match about:
        case "last_bars":
            return tape.last_bars("BTC", interval, at, limit)
        case "bars_ended":
            return tape.bars_ended("BTC", interval, at - reach * DAY, at)
        case "last_rate":
            return tape.last_rate("BTC", at)
        case "rates":
            return tape.rates("BTC", at - reach * DAY, at)
        case "news":
            return tape.news(at - reach * LONGEST_NEWS, at)
        case "events":
            return tape.events(at, at + reach * LONGEST_AHEAD)


def clear_market() -> None:
    for model in (Bar, FundingRate, NewsItem, MarketEvent):
        model.objects.all().delete()


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rare, rare, rare, rare, often, often, questions)
@example({*range(-60, 140)}, set(), set(), set(), [], [], [(96, "bars_ended", "15m", 0, 1.0)])
@example(set(), set(), set(), set(), [5] * 7, [6] * 7, [(8, "news", "1h", 0, 0.01), (0, "events", "1h", 0, 1.0)])
@example(set(), set(), set(), {*range(0, 96, 4)}, [*range(0, 80, 4)], [], RATES_ASKED)
def test_replay_answers_like_the_database(monkeypatch, quarters, hours, days, rates, news, events, asked):
    monkeypatch.setattr(tape_module, "PAGE", 3)
    monkeypatch.setattr(tape_module, "LONGEST_LOOKBACK", 4)
    clear_market()
    fill_market(quarters, hours, days, rates, news, events)
    replay, at = ReplayTape(MAY), MAY

    for later, about, interval, limit, reach in asked:
        at += later * STEP
        assert ask(replay, at, about, interval, limit, reach) == ask(STORED, at, about, interval, limit, reach)


class CountedBar:
    """A bar that counts how often its instants are read."""

    reads = 0

    def __init__(self, opened_at, length):
        self._opened_at, self._length = opened_at, length

    @property
    def opened_at(self):
        CountedBar.reads += 1
        return self._opened_at

    @property
    def closed_at(self):
        CountedBar.reads += 1
        return self._opened_at + self._length


class ListTape(ReplayTape):
    """A tape of bars by their interval."""

    def __init__(self, bars):
        self._bars = bars

    def bars_ended(self, symbol, interval, after, until):
        bars = [CountedBar(MAY + minute * MINUTE, INTERVALS[interval]) for minute in self._bars.get(interval, ())]
        return [bar for bar in bars if after < bar.closed_at <= until]


def choose_by_all_pairs(tape, until):
    """Return what `finest_bars` returns, by comparing each bar with each kept one."""
    kept = []
    for interval in INTERVALS:
        taken = [(bar.opened_at, bar.closed_at) for bar in kept]
        for bar in tape.bars_ended("BTC", interval, MAY, until):
            if all(bar.closed_at <= begin or end <= bar.opened_at for begin, end in taken):
                kept.append(bar)
    return sorted((bar.opened_at, bar.closed_at) for bar in kept)


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data(), minutes=st.integers(1, 300))
def test_finest_bars_are_those_of_all_pairs(data, minutes):
    bars = {
        name: sorted(data.draw(st.sets(st.integers(0, 300 // step).map(lambda at, step=step: at * step), max_size=40)))
        for name, step in (("1m", 1), ("5m", 5), ("15m", 15), ("1h", 60), ("4h", 240))
    }
    tape, until = ListTape(bars), MAY + minutes * MINUTE + MINUTE / 2

    found = [(bar.opened_at, bar.closed_at) for bar in finest_bars(tape, "BTC", after=MAY, until=until)]

    assert found == choose_by_all_pairs(tape, until)


def test_work_for_finest_bars_grows_with_the_bars_and_no_faster():
    def count_reads(days: int) -> int:
        # Minutes with holes, so that longer bars are compared, too, and a span that ends within a bar.
        minutes = [minute for minute in range(days * 1440) if minute % 50]
        tape = ListTape({"1m": minutes, "5m": range(0, days * 1440, 5), "1h": range(0, days * 1440, 60)})
        CountedBar.reads = 0
        assert finest_bars(tape, "BTC", after=MAY, until=MAY + days * DAY + MINUTE / 2)
        return CountedBar.reads

    assert count_reads(16) < 5 * count_reads(4)
