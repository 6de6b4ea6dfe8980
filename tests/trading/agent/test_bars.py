"""The window of bars, which advances in blocks."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm.tokens import count_tokens
from tests.factories.memory import HOUR
from tests.factories.record import BarFactory
from trading.agent.bars import BLOCKS, block_length, block_start, most_bars, read_window, split_window
from trading.agent.context import STABLE_END, Portfolio, Record, assemble_context, gather_context
from trading.agent.prompts import system_prompt
from trading.market.tape import LONGEST_LOOKBACK, STORED, ReplayTape
from trading.models import Bar
from trading.models.choices import INTERVALS
from trading.skills.schemas import parse_payload
from trading.skills.templates import TEMPLATES

START = datetime(2026, 5, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOOKBACK = 12  # blocks of two bars


@pytest.fixture
def hours(db):
    """Two days of hourly bars that end at START."""
    for number in range(48):
        BarFactory(opened_at=START - (number + 1) * HOUR)


def begins(at, tape=STORED):
    return [bar.opened_at for bar in read_window(tape, "BTC", "1h", at, LOOKBACK)]


def test_window_begins_at_a_fixed_bar_and_moves_on_by_a_block(hours):
    for after, (first, count) in enumerate(((-12, 12), (-12, 13), (-10, 12), (-10, 13))):
        seen = begins(START + after * HOUR)
        assert (seen[0], len(seen)) == (START + first * HOUR, count)
        assert seen == sorted(seen)
        BarFactory(opened_at=START + after * HOUR)


def test_window_after_a_gap_is_as_long_as_asked(hours):
    Bar.objects.filter(opened_at__gte=START - 5 * HOUR, opened_at__lt=START - HOUR).delete()

    seen = begins(START)

    assert len(seen) == LOOKBACK
    assert seen[-1] == START - HOUR


def test_window_of_a_young_market_has_all_bars(db):
    BarFactory(opened_at=START - HOUR)

    assert begins(START) == [START - HOUR]
    assert begins(START - HOUR) == []


@given(lookback=st.integers(5, 500), interval=st.sampled_from(list(INTERVALS)), minutes=st.integers(0, 10**7))
def test_window_has_as_many_bars_as_asked_and_at_most_two_sixths_more(lookback, interval, minutes):
    at, length = START + timedelta(minutes=minutes), INTERVALS[interval]
    closed_at = at - (at - EPOCH) % length
    bars = [Bar(interval=interval, opened_at=closed_at - number * length) for number in range(900, 0, -1)]

    class Tape:
        def last_bars(self, symbol, interval, at, limit):
            assert limit <= LONGEST_LOOKBACK
            return bars[-limit:]

    seen = read_window(Tape(), "BTC", interval, at, lookback)
    settled, newest = split_window(seen, interval, lookback, at)

    assert lookback <= len(seen) <= most_bars(lookback) <= LONGEST_LOOKBACK
    assert [*settled, *newest] == seen
    assert len(newest) < -(-lookback // BLOCKS)
    assert block_start(interval, lookback, at) + block_length(interval, lookback) > at


def store_walk(symbol, interval, begins_at, ends_at):
    """Store bars of a random walk."""
    random, price, length = Random(symbol + interval), 60_000.0, INTERVALS[interval]
    bars = []
    for number in range((ends_at - begins_at) // length):
        first, price = price, price * (1 + random.gauss(0, 0.004))
        prices = {"open": first, "high": max(first, price), "low": min(first, price), "close": price}
        exact = {name: Decimal(f"{value:.1f}") for name, value in prices.items()}
        volume = Decimal(f"{random.uniform(100, 9_000):.4f}")
        at = begins_at + number * length
        bars.append(Bar(symbol=symbol, interval=interval, opened_at=at, volume=volume, source="test", **exact))
    Bar.objects.bulk_create(bars)


def prompts_of(skill, ticks):
    account = Portfolio(equity_usd=Decimal(10_000), day_start_equity_usd=Decimal(10_000))
    tape = ReplayTape(START)
    for at in (START + number * skill.schedule.every for number in range(ticks)):
        inputs = gather_context(skill, record=Record(), portfolio=account, at=at, tape=tape)
        yield f"{system_prompt(skill)}\n{assemble_context(inputs)}"


def measure_share(before, after):
    shared = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before))
    return count_tokens(after[:shared]) / count_tokens(after)


@pytest.mark.parametrize("template", TEMPLATES)
def test_consecutive_ticks_share_three_quarters_of_their_tokens(db, template):
    skill = parse_payload(TEMPLATES[template])
    ticks = 25
    for interval in (skill.context.bars_interval, *skill.context.higher_timeframes):
        before = 160 * INTERVALS[interval]
        for symbol in skill.context.symbols:
            store_walk(symbol, interval, START - before, START + ticks * skill.schedule.every)

    shares = [measure_share(*pair) for pair in pairwise(prompts_of(skill, ticks))]

    assert sum(shares) / len(shares) >= 0.75
    assert sum(share >= 0.75 for share in shares) >= 0.85 * len(shares)


def test_stable_part_stays_the_same_until_a_block_ends(hours):
    for number in range(2):
        BarFactory(opened_at=START + number * HOUR)
    given = {"name": "x", "trading_style": "day", "strategy": {"thesis": "x"}, "schedule": {"value": "15m"}}
    skill = parse_payload({**given, "context": {"symbols": ["BTC"], "bars_lookback": LOOKBACK}})

    texts = list(prompts_of(skill, 9))

    stable = [text.partition(STABLE_END)[0] for text in texts]
    assert len(set(stable[:8])) == 1
    assert stable[8] != stable[7]
    assert len(set(texts)) == 9
