"""The rules that Keel can check against trades: a closed grammar of frozen values. Pure."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, assert_never, get_args

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from config.lib.figures import format_count, format_quantity
from config.lib.words.markets import EVENT_LABELS, CalendarKind

DAY_MINUTES: Final = 24 * 60
HIGH_IMPORTANCE: Final = 0.7
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Amount = Annotated[Decimal, Field(ge=0, allow_inf_nan=False), PlainSerializer(str, when_used="json")]
Positive = Annotated[Amount, Field(gt=0)]
Unit = Literal["pct", "usd"]  # pct: 0..100 of the equity
Mode = Literal["only", "never"]
Minute = Annotated[int, Field(ge=0, le=DAY_MINUTES)]
Span = Annotated[int, Field(ge=0, le=7 * DAY_MINUTES)]  # minutes


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RiskPerTrade(_Rule):
    kind: Literal["risk_per_trade"] = "risk_per_trade"
    limit: Positive
    unit: Unit
    is_strict: bool = False  # below the limit, not at it


class Leverage(_Rule):
    kind: Literal["leverage"] = "leverage"
    limit: Positive
    is_strict: bool = False


class Symbols(_Rule):
    kind: Literal["symbols"] = "symbols"
    mode: Mode
    symbols: Annotated[tuple[str, ...], Field(min_length=1)]  # of coins, such as BTC


class Hours(_Rule):
    """Times of day at which trades open; `only` includes its end, `never` does not."""

    kind: Literal["hours"] = "hours"
    mode: Mode
    start: Minute
    end: Minute  # before the start: over midnight
    zone: str


class Days(_Rule):
    kind: Literal["days"] = "days"
    mode: Mode
    days: Annotated[tuple[Annotated[int, Field(ge=0, le=6)], ...], Field(min_length=1)]  # 0: Monday
    zone: str


class TradesPerDay(_Rule):
    kind: Literal["trades_per_day"] = "trades_per_day"
    limit: Annotated[int, Field(ge=0)]
    zone: str


class DailyLoss(_Rule):
    kind: Literal["daily_loss"] = "daily_loss"
    limit: Positive
    unit: Unit
    zone: str


class LossPause(_Rule):
    kind: Literal["loss_pause"] = "loss_pause"
    losses: Annotated[int, Field(ge=1)]
    is_in_row: bool
    minutes: Span | None  # None: the rest of the day
    zone: str


class Events(_Rule):
    """No entry around events: a span before and after them, or their whole day."""

    kind: Literal["events"] = "events"
    kinds: tuple[CalendarKind, ...]  # empty: all
    is_high: bool = False  # only those of high importance
    before: Span | None  # None, with `after`: the whole day
    after: Span | None
    zone: str


class StopRequired(_Rule):
    kind: Literal["stop_required"] = "stop_required"


Rule = RiskPerTrade | Leverage | Symbols | Hours | Days | TradesPerDay | DailyLoss | LossPause | Events | StopRequired


class _Payload(BaseModel):
    rule: Rule = Field(discriminator="kind")


KINDS: Final = tuple(model.model_fields["kind"].default for model in get_args(Rule))


def parse_rule(payload: Any) -> Rule:
    """Return the rule of a payload. Raises pydantic's ValidationError."""
    return _Payload(rule=payload).rule


def dump_rule(rule: Rule) -> dict[str, Any]:
    """Return the payload of a rule: plain JSON."""
    return rule.model_dump(mode="json")


def describe_rule(rule: Rule) -> str:  # noqa: C901 - one line a kind
    """Return a rule in plain words, as its owner confirms it."""
    match rule:
        case RiskPerTrade():
            of = " of equity" if rule.unit == "pct" else ""
            return f"{_bound(rule.is_strict)} {_format_limit(rule)}{of} at risk on each trade, to its stop"
        case Leverage():
            return f"{_bound(rule.is_strict)} {format_quantity(rule.limit)}x leverage"
        case Symbols():
            return f"{'Only' if rule.mode == 'only' else 'No'} {join_words(rule.symbols, _and_or(rule))}"
        case Hours():
            return f"{_describe_hours(rule)}, {rule.zone} time"
        case Days():
            names = join_words([f"{WEEKDAYS[day]}s" for day in rule.days], _and_or(rule))
            return f"{'Trades open only on' if rule.mode == 'only' else 'No trade opens on'} {names}, {rule.zone} time"
        case TradesPerDay():
            return f"At most {format_count(rule.limit, 'trade')} opened in a day, {rule.zone} time"
        case DailyLoss():
            of = " of the account" if rule.unit == "pct" else ""
            return f"No trade opens for the rest of a day that lost {_format_limit(rule)}{of}, {rule.zone} time"
        case LossPause():
            return _describe_pause(rule)
        case Events():
            return _describe_events(rule)
        case StopRequired():
            return "Each trade opens with a stop"
        case _:
            assert_never(rule)


def _describe_hours(rule: Hours) -> str:
    words = "Trades open only" if rule.mode == "only" else "No trade opens"
    if rule.start == 0:
        return f"{words} until {format_time(rule.end)}"
    if rule.end == DAY_MINUTES:
        return f"{words} from {format_time(rule.start)} on"
    return f"{words} from {format_time(rule.start)} to {format_time(rule.end)}"


def _describe_pause(rule: LossPause) -> str:
    count = "a loss" if rule.losses == 1 else f"{rule.losses} losses{' in a row' if rule.is_in_row else ''}"
    if rule.minutes is None:
        return f"No trade opens for the rest of a day with {count}, {rule.zone} time"
    return f"No trade opens for {format_span(rule.minutes)} after {count}"


def _describe_events(rule: Events) -> str:
    names = join_words([EVENT_LABELS[kind] for kind in rule.kinds], "or") or "any event in the calendar"
    names = f"{names} of high importance" if rule.is_high else names
    if rule.before is None or rule.after is None:
        return f"No trade opens on a day with {names}, {rule.zone} time"
    if rule.before == rule.after:
        return f"No trade opens within {format_span(rule.before)} of {names}"
    spans = [f"{format_span(span)} {side}" for span, side in ((rule.before, "before"), (rule.after, "after")) if span]
    return f"No trade opens in the {' and the '.join(spans)} {names}"


def _bound(is_strict: bool) -> str:
    return "Less than" if is_strict else "At most"


def _and_or(rule: Symbols | Days) -> str:
    return "and" if rule.mode == "only" else "or"


def _format_limit(rule: RiskPerTrade | DailyLoss) -> str:
    number = format_quantity(rule.limit)
    return f"{number}%" if rule.unit == "pct" else f"${number}"


def format_time(minute: int) -> str:
    """Return a minute of the day as `17:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def format_span(minutes: int) -> str:
    """Return a span in its largest whole unit: `2 hours`, `45 minutes`."""
    for size, noun in ((DAY_MINUTES, "day"), (60, "hour")):
        if minutes and minutes % size == 0:
            return format_count(minutes // size, noun)
    return format_count(minutes, "minute")


def join_words(words: Sequence[str], last: str) -> str:
    """Return words as "A, B and C"."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
