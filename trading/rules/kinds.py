"""How each kind of rule judges a trade: kept, broken, or not to tell and why; nothing is guessed. Pure."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

from config.lib.figures import format_time
from config.lib.words import rules
from config.lib.words.markets import is_market
from trading.record.performance import add_usd
from trading.rules.books import Background, RoundTrip

Verdict = Literal["kept", "broken", "unknown"]
LABELS: Final[Mapping[Verdict, str]] = {"kept": "kept", "broken": "broken", "unknown": "cannot tell"}
Finding = tuple[Verdict, str]  # and why, in words
KEPT: Final[Finding] = ("kept", "")
A_DAY: Final = timedelta(hours=25)  # the longest local day, when clocks go back
_MINUTE: Final = timedelta(minutes=1)


class RuleKind(NamedTuple):
    judge: Callable[[Any, RoundTrip, Background], Finding]
    reads: tuple[str, ...] = ()  # fields of a trip in `books.COLUMNS`; the others are always read
    # Of the trades before: how long one counts after its exit, and how many of an account's last count at any time.
    counts: Callable[[Any], tuple[timedelta, int]] | None = None
    looks_at_events: bool = False
    alike: Callable[[RoundTrip], object] | None = None  # trips with an equal one are judged alike


def _judge_risk(rule: rules.RiskPerTrade, trip: RoundTrip, _: Background) -> Finding:
    if not trip.knows_stop:
        return "unknown", "its stop is not known"
    if trip.stop_price is None:
        return "unknown", "without a stop its risk has no bound"
    if trip.is_added_to:
        return "unknown", "it was added to, and its stop may have moved"
    price = trip.entry_price
    distance = price - trip.stop_price if trip.is_long else trip.stop_price - price
    risk_usd = distance / price * trip.size_usd if distance > 0 else 0.0
    if rule.unit == "usd":
        return KEPT if _is_within(risk_usd, rule) else ("broken", f"${risk_usd:,.2f} at risk")
    if trip.equity_usd is None or trip.equity_usd <= 0:
        return "unknown", "the equity of its account is not known"
    share = risk_usd / trip.equity_usd * 100
    return KEPT if _is_within(share, rule) else ("broken", f"{share:.2f}% of equity at risk")


def _judge_leverage(rule: rules.Leverage, trip: RoundTrip, _: Background) -> Finding:
    if trip.leverage is None:
        return "unknown", "its leverage is not known"
    return KEPT if _is_within(trip.leverage, rule) else ("broken", f"it had {trip.leverage:.12g}x")


def _is_within(value: float, rule: rules.RiskPerTrade | rules.Leverage) -> bool:
    value, most = round(value, 9), float(rule.limit)  # so that a trade at the limit is at it
    return value < most or (value == most and not rule.is_strict)


def _judge_symbol(rule: rules.Symbols, trip: RoundTrip, _: Background) -> Finding:
    is_named = is_market(trip.symbol, rule.symbols)
    return KEPT if is_named == (rule.mode == "only") else ("broken", f"it was in {trip.symbol}")


def _judge_hours(rule: rules.Hours, trip: RoundTrip, seen: Background) -> Finding:
    at = (trip.opened_at - seen.days.find(trip.opened_at)[0]) / _MINUTE
    if seen.days.is_clock_changed:
        local = trip.opened_at.astimezone(ZoneInfo(rule.zone)).replace(tzinfo=None)
        at = (local - datetime.combine(local.date(), time())) / _MINUTE
    is_before_end = at <= rule.end if rule.mode == "only" else at < rule.end
    is_within = rule.start <= at and is_before_end if rule.start < rule.end else rule.start <= at or is_before_end
    return KEPT if is_within == (rule.mode == "only") else ("broken", f"it opened at {format_time(int(at))}")


def _judge_day(rule: rules.Days, trip: RoundTrip, _: Background) -> Finding:
    local = trip.opened_at.astimezone(ZoneInfo(rule.zone))
    return KEPT if (local.weekday() in rule.days) == (rule.mode == "only") else ("broken", f"it opened on a {local:%A}")


def _judge_number(rule: rules.TradesPerDay, trip: RoundTrip, seen: Background) -> Finding:
    book, start = seen.find_day(trip)
    opened, limit = book.opened, rule.limit
    place = bisect_left(opened, trip.opened_at)
    before = place - book.find_first(start)
    if before >= limit:
        return "broken", f"{before} had opened before it that day"
    one_too_many = place + limit - before
    if one_too_many >= len(opened) or opened[one_too_many] > trip.opened_at:
        return KEPT
    return "unknown", "several opened at the same instant"


def _judge_daily_loss(rule: rules.DailyLoss, trip: RoundTrip, seen: Background) -> Finding:
    book, start = seen.find_day(trip)
    closed = book.list_closed(start, trip.opened_at)
    if rule.unit == "pct":  # a share belongs to one account
        closed = [one for one in closed if one.deployment_id == trip.deployment_id]
    nets = [one.net_usd for one in closed]
    if any(net is None for net in nets):
        return "unknown", "the net of a trade that closed before it that day is not known"
    loss = -add_usd(net for net in nets if net is not None)
    if loss <= 0:
        return KEPT
    limit_usd = float(rule.limit)
    if rule.unit == "pct":
        equity = seen.equity_at(trip.deployment_id, start)
        if equity is None or equity <= 0:
            return "unknown", "the equity of its account that morning is not known"
        limit_usd = equity * limit_usd / 100
    return KEPT if loss < round(limit_usd, 8) else ("broken", f"${loss:,.2f} were lost before it that day")


def _judge_pause(rule: rules.LossPause, trip: RoundTrip, seen: Background) -> Finding:
    book, start = seen.find_day(trip)
    closed = book.list_closed(start if rule.minutes is None else None, trip.opened_at)
    if rule.minutes is None and not rule.is_in_row:
        losses = sum(one.net_usd is not None and one.net_usd < 0 for one in closed)
        if losses >= rule.losses:
            return "broken", f"{losses} losses closed before it that day"
        if losses + sum(one.net_usd is None for one in closed) >= rule.losses:
            return "unknown", "the net of a trade that closed before it is not known"
        return KEPT
    since = start if rule.minutes is None else trip.opened_at - rule.minutes * _MINUTE
    if _has_streak(closed, rule.losses, since, is_unknown_loss=False):
        count = "a loss" if rule.losses == 1 else f"{rule.losses} losses in a row"
        return "broken", f"{count} came before it"
    if _has_streak(closed, rule.losses, since, is_unknown_loss=True):
        return "unknown", "the net of a trade that closed before it is not known"
    return KEPT


def _has_streak(closed: Sequence[RoundTrip], losses: int, since: datetime, *, is_unknown_loss: bool) -> bool:
    """Tell whether at an instant from `since` on the newest trades were all losses, losses of an instant first."""
    streak = 0
    for number, one in enumerate(closed):
        is_loss = is_unknown_loss if one.net_usd is None else one.net_usd < 0
        streak = streak + 1 if is_loss else 0
        is_last = number + 1 == len(closed) or closed[number + 1].closed_at != one.closed_at
        if is_last and streak >= losses and one.closed_at is not None and one.closed_at >= since:
            return True
    return False


def _judge_events(rule: rules.Events, trip: RoundTrip, seen: Background) -> Finding:
    if rule.before is None or rule.after is None:  # an event of its day, or of these minutes, forbids the entry
        start, end = seen.days.find(trip.opened_at)
        end -= timedelta.resolution
    else:
        start, end = trip.opened_at - rule.after * _MINUTE, trip.opened_at + rule.before * _MINUTE
    for event in seen.calendar.list_between(start, end):
        is_meant = (not rule.kinds or event.kind in rule.kinds) and (event.is_high or not rule.is_high)
        if is_meant and is_market(trip.symbol, event.symbols):
            return "broken", f"{event.kind.replace('_', ' ')} was at {event.at:%Y-%m-%d %H:%M} UTC"
    if all(seen.calendar.covers(kind, trip.opened_at) for kind in rule.kinds or ("",)):
        return KEPT
    return "unknown", "the calendar has no such events around that time"


def _judge_stop(_: rules.StopRequired, trip: RoundTrip, __: Background) -> Finding:
    if not trip.knows_stop:
        return "unknown", "its stop is not known"
    return KEPT if trip.stop_price is not None else ("broken", "it opened without a stop")


_STOP: Final = ("knows_stop", "stop_price")
KINDS: Final[Mapping[type[rules.Rule], RuleKind]] = {
    rules.RiskPerTrade: RuleKind(_judge_risk, (*_STOP, "is_added_to", "entry_price", "size_usd", "equity_usd")),
    rules.Leverage: RuleKind(_judge_leverage, ("leverage",), alike=attrgetter("leverage")),
    rules.Symbols: RuleKind(_judge_symbol, alike=attrgetter("symbol")),
    rules.Hours: RuleKind(_judge_hours),
    rules.Days: RuleKind(_judge_day),
    rules.TradesPerDay: RuleKind(_judge_number, counts=lambda _: (A_DAY, 0)),
    rules.DailyLoss: RuleKind(_judge_daily_loss, ("closed_at", "net_usd"), counts=lambda _: (A_DAY, 0)),
    rules.LossPause: RuleKind(
        _judge_pause, ("closed_at", "net_usd"), counts=lambda rule: (timedelta(minutes=rule.minutes or 0), rule.losses)
    ),
    rules.Events: RuleKind(_judge_events, looks_at_events=True),
    rules.StopRequired: RuleKind(_judge_stop, _STOP, alike=attrgetter(*_STOP)),
}
