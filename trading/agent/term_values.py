"""The terms of a strategy at a tick: values, distances, true or false.

Computed once, from closed bars, for every model: the same live and in a backtest. The rule-based model goes by these
lines alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from config.lib.figures import format_price, format_ratio, format_signed_pct, format_signed_ratio
from config.lib.text import prompt_line
from trading.market.indicators import compute_atr, compute_value, count_least, count_most
from trading.market.queries import list_events
from trading.market.regime import Candle
from trading.market.tape import LONGEST_LOOKBACK, Tape
from trading.models import MarketEvent, RegimeTag, Trade
from trading.models.choices import INTERVALS
from trading.skills.reading import StrategyReading
from trading.skills.terms import (
    DAY_END,
    EXTREMES,
    OPPOSITE_ENTRY,
    Bound,
    Compare,
    Condition,
    HeldFor,
    InHours,
    NearEvent,
    OnDays,
    Operand,
    RegimeIs,
    RiskPct,
    Rule,
    Term,
    format_span,
)

TERMS: Final = "Terms"
HEADING: Final = f"## {TERMS} of the strategy (computed on closed bars; trust these values over your own)"
BLOCKED: Final = "The terms alone open nothing:"
_DAY: Final = timedelta(days=1)
_ATR_BARS: Final = 8  # times the bars of an average true range


@dataclass(frozen=True, slots=True)
class TermView:
    """What the terms of one symbol are computed from."""

    at: datetime
    bar: timedelta  # length of the skill's own bars
    candles: Mapping[str, Sequence[Candle]] = field(default_factory=dict)  # by interval, empty: the skill's own
    funding: Sequence[float] = ()  # the last payments in percent, oldest first
    funding_hours: int = 8
    regime: RegimeTag = RegimeTag.UNKNOWN
    events: Sequence[MarketEvent] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """Whether something is true at a tick; None: not known."""

    is_true: bool | None
    text: str

    def __str__(self) -> str:
        return f"{self.text} = {_WORDS[self.is_true]}"


_WORDS: Final = {True: "true", False: "false", None: "unknown"}


def read_view(reading: StrategyReading, symbol: str, own: str, at: datetime, tape: Tape, regime: RegimeTag) -> TermView:
    """Read what the terms of a strategy need, as known at an instant."""
    conditions = [one for term in reading.terms if isinstance(term, Rule) for one in term.conditions]
    candles: dict[str, list[Candle]] = {}
    for interval, most in _count_bars(reading.terms, conditions).items():
        bars = tape.last_bars(symbol, interval or own, at, most)
        is_fresh = bars and at - bars[-1].closed_at < INTERVALS[interval or own]  # else none: the newest is missing
        fresh = bars if is_fresh else []
        candles[interval] = [Candle(*map(float, (bar.high, bar.low, bar.close, bar.volume))) for bar in fresh]
    of_funding = [one for one in conditions if isinstance(one, Compare) and "funding" in one.left.what]
    payments = max((one.times for one in of_funding), default=0)
    rates = tape.rates(symbol, at - (payments + 1) * _DAY, at)[-payments:] if payments else []
    is_paid = bool(rates) and at - rates[-1].at <= _DAY
    windows = [max(one.before, one.after, _DAY) for one in conditions if isinstance(one, NearEvent)]
    events = list_events(at - max(windows), until=at + max(windows), symbols=[symbol], tape=tape) if windows else []
    return TermView(
        at=at,
        bar=INTERVALS[own],
        candles=candles,
        funding=[100 * float(rate.rate) for rate in rates] if is_paid else [],
        funding_hours=rates[-1].hours if is_paid else 8,
        regime=regime,
        events=events,
    )


def _count_bars(terms: Iterable[Term], conditions: Iterable[Condition]) -> dict[str, int]:
    most: dict[str, int] = {}
    for term in terms:
        if isinstance(term, Bound):
            most[""] = max(most.get("", 1), _ATR_BARS * term.atr_bars + 1)
    for compare in (one for one in conditions if isinstance(one, Compare)):
        for operand in (compare.left, compare.right):
            if count := count_most(operand):
                most[operand.interval] = max(most.get(operand.interval, 1), count + compare.times + 1)
    return {interval: min(count, LONGEST_LOOKBACK) for interval, count in most.items()}


def terms_section(reading: StrategyReading, views: Mapping[str, TermView], trades: Iterable[Trade]) -> list[str]:
    """Return the section of a prompt with the terms of each symbol."""
    held = {trade.symbol: trade for trade in trades}
    lines = [f"- {term}" for term in reading.terms if isinstance(term, RiskPct)]
    if reading.problem:
        lines.append(f"- {BLOCKED} {prompt_line(reading.problem)[:160]}")
    for symbol, view in views.items():
        lines += [f"- {symbol} {line}" for line in _iter_lines(reading, view, held.get(symbol))]
    return [HEADING, *lines]


def _iter_lines(reading: StrategyReading, view: TermView, trade: Trade | None) -> Iterator[str]:
    entries = [(rule.side, _judge_all(rule.conditions, view)) for rule in reading.list_rules("entry")]
    yield from (f"entry {side} = {fact.text}" for side, fact in entries)
    for rule in reading.list_rules("avoid"):
        yield f"avoid {rule.side or 'any'} = {_judge_all(rule.conditions, view).text}"
    for term in reading.terms:
        if isinstance(term, Bound) and term.kind == "stop" and (size := _measure_bound(term, view)) is not None:
            close = view.candles[""][-1].close
            for side, level in (("long", close - size), ("short", close + size)):
                yield f"stop {side} = {_price(max(level, 0.0))} ({term}, {100 * size / close:.3g}% away)"
    if trade is not None:
        is_opposite = any(fact.is_true for side, fact in entries if side != trade.side)
        for fact in _judge_exits(reading, view, trade, is_opposite=is_opposite):
            yield f"exit {trade.side} = {fact.text}"


def _judge_exits(reading: StrategyReading, view: TermView, trade: Trade, *, is_opposite: bool) -> Iterator[Fact]:
    for term in reading.terms:
        match term:
            case Rule(act="exit") if term.side in {"", trade.side}:
                yield _judge_all(term.conditions, view)
            case Bound(kind="target"):
                yield _judge_target(term, view, trade)
            case HeldFor():
                limit, since = term.length or term.bars * view.bar, view.at - trade.entry_at
                yield _sum_up([Fact(since >= limit, f"held {format_span(since)} of {format_span(limit)}")])
    if DAY_END in reading.terms:
        is_over = view.at.astimezone(UTC).date() > trade.entry_at.astimezone(UTC).date()
        yield _sum_up([Fact(is_over, "UTC day of the entry over")])
    if OPPOSITE_ENTRY in reading.terms:
        yield _sum_up([Fact(is_opposite, "opposite entry")])


def _judge_target(target: Bound, view: TermView, trade: Trade) -> Fact:
    entry, sign = float(trade.entry_price), 1 if trade.side == "long" else -1
    size = _measure_bound(target, view, entry)
    if size is None:
        return _sum_up([Fact(None, f"{target}: not enough bars")])
    close, level = view.candles[""][-1].close, entry + sign * size
    return _sum_up([Fact(sign * close >= sign * level, f"close {_price(close)} at {target} {_price(level)}")])


def _measure_bound(bound: Bound, view: TermView, entry: float | None = None) -> float | None:
    candles = view.candles.get("", ())
    if not candles or len(candles) <= bound.atr_bars:
        return None
    if bound.atr_bars:
        return bound.amount * compute_atr(candles[-_ATR_BARS * bound.atr_bars - 1 :], bound.atr_bars)
    return bound.amount / 100 * (candles[-1].close if entry is None else entry)


def _judge_all(conditions: Iterable[Condition], view: TermView) -> Fact:
    return _sum_up([judge(condition, view) for condition in conditions])


def _sum_up(facts: Sequence[Fact]) -> Fact:
    truths = {fact.is_true for fact in facts}
    is_true = False if False in truths else None if None in truths else True
    return Fact(is_true, f"{_WORDS[is_true]}: {'; '.join(map(str, facts))}")


def judge(condition: Condition, view: TermView) -> Fact:
    """Return whether a condition is true at a tick."""
    at = view.at.astimezone(UTC)
    match condition:
        case Compare():
            return _judge_compare(condition, view)
        case RegimeIs():
            is_known = view.regime != RegimeTag.UNKNOWN
            is_one = view.regime.value in condition.names
            return Fact(is_one != condition.is_not if is_known else None, f"{condition} (now {view.regime.value})")
        case InHours():
            minute = 60 * at.hour + at.minute
            is_over_night = condition.start > condition.end
            after, before = minute >= condition.start, minute < condition.end
            return Fact(after or before if is_over_night else after and before, str(condition))
        case OnDays():
            return Fact(at.weekday() in condition.days, str(condition))
        case NearEvent():
            return Fact(any(_is_near(event, condition, at) for event in view.events), str(condition))


def _is_near(event: MarketEvent, near: NearEvent, at: datetime) -> bool:
    if (near.kinds and event.kind not in near.kinds) or event.importance < near.min_importance:
        return False
    if not (near.before or near.after):
        return event.starts_at.astimezone(UTC).date() == at.date()
    return -near.after <= event.starts_at - at <= near.before


def _judge_compare(compare: Compare, view: TermView) -> Fact:
    is_cross = compare.sign.startswith("crosses")
    needed = compare.times + is_cross
    pairs = [_measure_pair(compare, view, back) for back in range(needed)]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < needed:
        if "funding" in compare.left.what:
            return Fact(None, f"{compare}: {len(view.funding)} of {compare.times} payments known")
        least, interval = max((count_least(one) + 1, one.interval) for one in (compare.left, compare.right))
        bars = len(view.candles.get(interval, ()))
        return Fact(None, f"{compare}: not enough bars ({bars} of {least + compare.times - 1})")
    left, right = known[0]
    sign = 1 if compare.sign.endswith("above") else -1
    beyond = [sign * first > sign * second for first, second in known]
    is_true = beyond[0] and not beyond[-1] if is_cross else all(beyond)
    shown = f"{compare.left} {_show(left, compare.left)} {'not ' if compare.is_not else ''}{compare.sign}"
    is_number = compare.right.what == "number"
    level = compare.format_right() if is_number else f"{compare.right} {_show(right, compare.left)}"
    lasting = f" for {compare.times}" if compare.times > 1 else ""
    is_share = right and compare.left.kind.unit in {"", "volume"}
    gap = format_signed_pct(left / right - 1, 2) if is_share else format_signed_ratio(left - right)
    return Fact(is_true != compare.is_not, f"{shown} {level}{lasting} (by {gap})")


def _measure_pair(compare: Compare, view: TermView, back: int) -> tuple[float, float] | None:
    """Return both values a number of bars or payments ago; None if there are too few."""
    left, right = compare.left, compare.right
    first = _measure(left, view, back)
    # The bar that breaks out is not part of the range that it leaves.
    is_level = right.what in EXTREMES and left.interval == right.interval
    second = _measure(right, view, back + is_level)
    return None if first is None or second is None else (first, second)


def _measure(operand: Operand, view: TermView, back: int) -> float | None:
    if operand.what == "number":
        return operand.amount
    if "funding" in operand.what:
        if back >= len(view.funding):
            return None
        rate = view.funding[-1 - back] * (1 if operand.what == "funding" else 24 / view.funding_hours * 365)
        return abs(rate) if operand.what.endswith("size") else rate
    candles = view.candles.get(operand.interval, ())
    last = len(candles) - back
    return compute_value(operand, candles[:last]) if last >= count_least(operand) else None


def _price(value: float) -> str:
    return format_price(Decimal(str(value)))


def _show(value: float, left: Operand) -> str:
    match left.kind.unit:
        case "points":
            return format_ratio(value)
        case "%":
            return f"{value:.4f}%" if left.what == "funding" else f"{value:.2f}%"
    return _price(value)
