"""`SkillPayload` and its parts, and the order that an agent proposes.

Keys are stored in snake_case; the seeds' camelCase is accepted everywhere. A draft's payload is a dict in which blocks
and fields may be missing (`trading.skills.patches`); a version's payload is a `SkillPayload`.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError
from pydantic import model_validator as whole_validator
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from config.lib.errors import DomainError
from config.lib.text import clean_text, one_line
from config.lib.words.markets import CalendarKind
from trading.models.choices import INTERVALS

SYMBOL: Final = re.compile(r"[A-Z0-9@][A-Z0-9@/:._-]{0,31}")
MAX_REASON: Final = 280  # characters
MAX_EVENT_LOOKAHEAD_HOURS: Final = 72  # seed 003: get_upcoming_events
Interval = Literal["1m", "5m", "15m", "30m", "1h", "4h", "1d"]


class BuiltInTool(StrEnum):
    """Tools of an agent; memory is always in the prompt."""

    PROPOSE_ORDER = "propose_order"
    GET_BARS = "get_bars"
    GET_NEWS = "get_news"
    GET_UPCOMING_EVENTS = "get_upcoming_events"


def symbol_name(text: str) -> str:
    """Return a symbol as stored. Raises ValueError."""
    name = one_line(text).upper()
    if not SYMBOL.fullmatch(name):
        raise ValueError("a symbol has letters, digits and / : . _ - @, at most 32")
    return name


def parse_symbols(value: object) -> list[str]:
    """Return the distinct symbols of a cell. Raises ValueError."""
    names = value if isinstance(value, list) else str(value or "").replace(",", " ").split()
    return list(dict.fromkeys(symbol_name(str(name)) for name in names))


Item = TypeVar("Item", bound=Hashable)


def _require_text(text: str) -> str:
    if not text:
        raise ValueError("write at least a word")
    return text


Symbol = Annotated[str, AfterValidator(symbol_name)]
Unique = Annotated[list[Item], AfterValidator(lambda values: list(dict.fromkeys(values)))]
Line = Annotated[str, AfterValidator(one_line)]
Text = Annotated[str, AfterValidator(clean_text), AfterValidator(str.strip)]
# A number in JSON, exact in Python.
Number = Annotated[Decimal, Field(allow_inf_nan=False), PlainSerializer(float, when_used="json")]
Amount = Annotated[Number, Field(gt=0, max_digits=18)]
Pct = Annotated[Number, Field(gt=0, le=100)]  # 0..100, of the account's equity
ExposurePct = Annotated[Number, Field(gt=0, le=10_000)]  # the same, up to 100 times the leverage
Reason = Annotated[Line, AfterValidator(_require_text), Field(max_length=MAX_REASON)]


class PayloadBlock(BaseModel):
    """A frozen part of a payload; both key spellings, no others."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, loc_by_alias=False, extra="forbid", frozen=True
    )


# Pages show a field's title as its label, and its description as a hint.
class Strategy(PayloadBlock):
    """What the skill trades on, in its author's words."""

    mode: Literal["thesis", "rules"] = Field(
        default="thesis", title="Written as", description="One idea in prose, or spelled-out rules."
    )
    style: Literal["trend", "mean_reversion", "breakout", "range", "carry", "event", "mixed"] = Field(
        default="mixed", title="Style"
    )
    leash: Literal["tight", "standard", "loose"] = Field(
        default="standard",
        title="How closely it keeps to the rules",
        description="How far the agent may read between the lines: not at all, sensibly, freely.",
    )
    thesis: Text = Field(default="", max_length=4000, title="Thesis", description="Why there should be money in it.")
    entry: Text = Field(
        default="",
        max_length=2000,
        title="Entry",
        description="One way in a line, such as: Buy a close above the 55-bar high.",
    )
    exit: Text = Field(default="", max_length=2000, title="Exit", description="When to close it.")
    risk_management: Text = Field(
        default="", max_length=2000, title="Risk management", description="Sizes, stops, what to do in doubt."
    )
    avoid: Unique[Annotated[Line, Field(min_length=3, max_length=280)]] = Field(
        default=[], max_length=20, title="Avoid", description="Hard rules, one a line: when not to trade."
    )


class ReflectionDial(PayloadBlock):
    """When lessons are drawn, and by which model."""

    cadence: Literal["off", "per_n_trades", "daily"] = Field(default="per_n_trades", title="Draw lessons")
    every_n_trades: int = Field(default=10, ge=2, le=100, title="Closed trades between two reflections")
    daily_hour_utc: int = Field(default=0, ge=0, le=23, title="Hour of the daily reflection (UTC)")
    model: Line | None = Field(
        default=None,
        max_length=120,
        title="Model for lessons",
        description="Which model draws the lessons; by default the site's.",
    )


class MemoryDial(PayloadBlock):
    """How much of its own record the agent sees."""

    enabled: bool = Field(
        default=True,
        title="Show the agent its record",
        description="Every prompt has its own last trades and positions.",
    )
    recent_trades_k: int = Field(
        default=10, ge=0, le=30, title="Closed trades shown", description="0 to 30. 0 shows no record at all."
    )
    include_open_positions: bool = Field(default=True, title="Show open positions, too")
    reflection: ReflectionDial = ReflectionDial()

    @property
    def shows_trades(self) -> bool:
        """Whether the prompt shows closed trades (settled 29)."""
        return self.enabled and self.recent_trades_k > 0


class EventDial(PayloadBlock):
    """Which scheduled events the agent sees."""

    lookahead_hours: int = Field(
        default=24, ge=0, le=MAX_EVENT_LOOKAHEAD_HOURS, title="Events of the next hours", description="0: no events."
    )
    min_importance: float = Field(
        default=0.4, ge=0, le=1, title="Importance from", description="0 to 1: medium from 0.4, high from 0.7."
    )
    kinds: Unique[CalendarKind] = Field(default=[], title="Kinds", description="None chosen: all kinds.")


class Context(PayloadBlock):
    """What the agent sees at each tick."""

    symbols: Unique[Symbol] = Field(
        min_length=1, max_length=20, title="Symbols", description="Separated by commas, such as BTC, ETH."
    )
    bars_interval: Interval = Field(default="1h", title="Length of a bar", description="Of the bars the agent sees.")
    bars_lookback: int = Field(default=48, ge=5, le=500, title="Bars of each symbol")
    higher_timeframes: Unique[Interval] = Field(
        default=[],
        max_length=3,
        title="Higher timeframes",
        description="At most three, each longer than the bars above.",
    )
    news_lookback_hours: int = Field(default=24, ge=0, le=168, title="News of the last hours")
    news_top_k: int = Field(default=5, ge=0, le=20, title="Headlines, at most", description="0: no news.")
    memory: MemoryDial = MemoryDial()
    events: EventDial = EventDial()

    @whole_validator(mode="after")
    def _higher_timeframes_are_higher(self) -> Self:
        own = INTERVALS[self.bars_interval]
        if any(INTERVALS[interval] <= own for interval in self.higher_timeframes):
            raise ValueError(f"higher_timeframes must be longer than bars_interval, {self.bars_interval}")
        return self


class RiskCaps(PayloadBlock):
    """Limits that the engine holds; percents of the account's equity, exposure at most 100 times `max_leverage`."""

    max_position_pct: ExposurePct = Field(
        default=Decimal(10), title="One position, % of equity", description="Largest notional of one position."
    )
    max_total_exposure_pct: ExposurePct = Field(
        default=Decimal(50),
        title="All positions, % of equity",
        description="Largest notional of all positions together.",
    )
    max_leverage: Number = Field(default=Decimal(3), ge=1, le=100, title="Leverage, at most")
    daily_loss_halt_pct: Pct = Field(
        default=Decimal(5),
        title="Daily loss that halts, % of equity",
        description="Loss since 00:00 UTC that stops new positions.",
    )
    max_orders_per_day: int = Field(default=20, ge=1, le=1000, title="Orders a day, at most")

    @whole_validator(mode="after")
    def _one_position_fits_the_whole(self) -> Self:
        if self.max_position_pct > self.max_total_exposure_pct:
            raise ValueError("max_position_pct is above max_total_exposure_pct")
        if self.max_total_exposure_pct > 100 * self.max_leverage:
            raise ValueError("max_total_exposure_pct is above 100 times max_leverage")
        return self


_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_EVERY: Final = INTERVALS | {f"{hours}h": timedelta(hours=hours) for hours in (2, 6, 8, 12)}


class Schedule(PayloadBlock):
    """When the runner ticks, in UTC: `interval` every "15m" or "4h" from midnight, `daily` at "13:30"."""

    type: Literal["interval", "daily"] = Field(default="interval", title="Decides")
    value: Line = Field(
        default="1h",
        title="When",
        description="1m, 5m, 15m, 30m, 1h, 2h, 4h, 6h, 8h, 12h or 1d, from midnight UTC. Once a day: a time in UTC,"
        " such as 13:30.",
    )

    @whole_validator(mode="after")
    def _value_fits_the_type(self) -> Self:
        if self.type == "daily" and not _CLOCK.fullmatch(self.value):
            raise ValueError('a daily schedule takes a time of day in UTC such as "13:30"')
        if self.type == "interval" and self.value not in _EVERY:
            raise ValueError(f"an interval is one of {', '.join(sorted(_EVERY, key=_EVERY.__getitem__))}")
        return self

    @property
    def every(self) -> timedelta:
        return timedelta(days=1) if self.type == "daily" else _EVERY[self.value]

    def find_last(self, now: datetime) -> datetime:
        """Return the last instant up to now, by UTC day."""
        hour, minute = map(int, self.value.split(":")) if self.type == "daily" else (0, 0)
        first = now.astimezone(UTC).replace(hour=hour, minute=minute, second=0, microsecond=0)
        return first + (now - first) // self.every * self.every

    @property
    def ticks_per_day(self) -> int:
        return timedelta(days=1) // self.every


class McpServer(PayloadBlock):
    """A server of further tools; kept with the skill, not run yet (settled 31)."""

    name: Annotated[Line, AfterValidator(_require_text)] = Field(max_length=64)
    # Servers of local models turn a pattern into a grammar: ranges are allowed there, classes such as `\s` are not.
    url: str = Field(pattern="^https://[!-.0-?A-~]+(/[!-~]*)?$", max_length=300)


class Tools(PayloadBlock):
    """What the agent may call."""

    built_in: Unique[BuiltInTool] = Field(default=[BuiltInTool.PROPOSE_ORDER], title="Tools")
    mcp_servers: list[McpServer] = Field(
        default=[],
        max_length=5,
        title="Servers of further tools (MCP)",
        description="One a line: a name, a space, an address that begins with https. Kept with the skill; this version"
        " of Keel does not call them.",
    )


class SkillPayload(PayloadBlock):
    """A whole skill, as a version holds it."""

    name: Annotated[Line, AfterValidator(_require_text)] = Field(max_length=80, title="Name")
    description: Line = Field(
        default="", max_length=500, title="Description", description="One line for your list of skills."
    )
    model: Line | None = Field(
        default=None,
        max_length=120,
        title="Model",
        description="Which model makes each decision; by default the site's.",
    )
    trading_style: Literal["day", "swing", "position"] = Field(
        title="Trading style", description="How long positions are meant to last; fixed once the skill was saved."
    )
    max_steps: int = Field(
        default=6, ge=1, le=20, title="Steps of a decision, at most", description="Calls of the model for one decision."
    )
    strategy: Strategy
    context: Context
    risk: RiskCaps = RiskCaps()
    schedule: Schedule = Schedule()
    tools: Tools = Tools()

    @whole_validator(mode="after")
    def _strategy_says_enough(self) -> Self:
        needed = ("thesis",) if self.strategy.mode == "thesis" else ("entry", "exit")
        if missing := [name for name in needed if not getattr(self.strategy, name)]:
            raise ValueError(f"a strategy written as {self.strategy.mode} needs {' and '.join(missing)}")
        return self

    def stored(self) -> dict[str, object]:
        """Return the payload as JSON in snake_case."""
        return self.model_dump(mode="json")


class ProposedOrder(PayloadBlock):
    """Propose one order; the engine checks it against the risk caps."""

    symbol: Symbol
    side: Literal["long", "short", "close"] = Field(
        description="The side to trade towards; `close` only reduces what is held, and never turns it."
    )
    size_usd: Amount | None = Field(
        default=None, description="Notional in USD. With `close`: how much of the position, null for all of it."
    )
    leverage: Annotated[Number, Field(ge=1, le=100, max_digits=18)] = Decimal(1)
    stop_price: Amount | None = None
    reason: Reason = Field(description="Why, on one line.")

    @whole_validator(mode="after")
    def _opening_has_a_size(self) -> Self:
        if self.side != "close" and self.size_usd is None:
            raise ValueError("size_usd is missing; only `close` can do without")
        return self


MISSING: Final = "is missing"  # the problem of a missing field


@dataclass(frozen=True, slots=True)
class FieldError:
    field: str  # such as "context.symbols[0]"; empty: the payload as a whole
    problem: str


class PayloadInvalid(DomainError):
    """A payload, or a patch of one, breaks a rule; nothing was changed. `errors` say which."""

    def __init__(self, errors: list[FieldError]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{error.field}: {error.problem}".removeprefix(": ") for error in errors))


Parsed = TypeVar("Parsed", bound=BaseModel)


def parse_block(model: type[Parsed], values: Mapping[str, object] | str, *, within: str = "") -> Parsed:
    """Return a block from values or their JSON; errors name the block `within`. Raises PayloadInvalid."""
    try:
        return model.model_validate_json(values) if isinstance(values, str) else model.model_validate(values)
    except ValidationError as error:
        errors = []
        for one in error.errors():
            path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (within, *one["loc"]))
            errors.append(FieldError(path.lstrip("."), _format_problem(one)))
        raise PayloadInvalid(errors) from error


def parse_payload(payload: Mapping[str, object]) -> SkillPayload:
    """Return a skill from JSON; missing fields take defaults. Raises PayloadInvalid."""
    return parse_block(SkillPayload, payload)


def list_problems(payload: Mapping[str, object]) -> list[FieldError]:
    """Return the problems of a draft, in field order."""
    try:
        parse_payload(payload)
    except PayloadInvalid as error:
        return error.errors
    return []


def _format_problem(error: ErrorDetails) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "there is no such field"
        case "missing":
            return MISSING
    return error["msg"].removeprefix("Value error, ")
