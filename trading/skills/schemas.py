"""What a skill says, and what its agent may propose: the shapes that are stored, sent to models and shown.

Stored in snake_case; the seeds' camelCase is accepted everywhere. A payload is a dict while it is drafted, in which
blocks and fields may be missing (`merge_patch`), and a `SkillPayload` once it is a version.
"""

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError, create_model
from pydantic import model_validator as whole_validator
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from config.lib.errors import DomainError
from config.lib.text import clean_text, one_line
from trading.models.choices import INTERVALS, EventKind

SYMBOL: Final = re.compile(r"[A-Z0-9@][A-Z0-9@/:._-]{0,31}")


MAX_REASON: Final = 280  # characters


MAX_EVENT_LOOKAHEAD_HOURS: Final = 72  # seed 003: get_upcoming_events


Interval = Literal["1m", "5m", "15m", "30m", "1h", "4h", "1d"]


class BuiltInTool(StrEnum):
    """What an agent may call in a tick. There is no tool for memory: it is part of every prompt."""

    PROPOSE_ORDER = "propose_order"
    GET_BARS = "get_bars"
    GET_NEWS = "get_news"
    GET_UPCOMING_EVENTS = "get_upcoming_events"


def symbol_name(text: str) -> str:
    """Return the form in which a symbol is stored. Raises ValueError if it cannot be one."""
    name = one_line(text).upper()
    if not SYMBOL.fullmatch(name):
        raise ValueError("a symbol has letters, digits and / : . _ - @, at most 32")
    return name


def _without_repeats(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _filled(text: str) -> str:
    if not text:
        raise ValueError("write at least a word")
    return text


Symbol = Annotated[str, AfterValidator(symbol_name)]


Line = Annotated[str, AfterValidator(one_line)]


Text = Annotated[str, AfterValidator(clean_text), AfterValidator(str.strip)]


# A number in JSON, exact in Python.
Number = Annotated[Decimal, Field(allow_inf_nan=False), PlainSerializer(float, when_used="json")]


Amount = Annotated[Number, Field(gt=0, max_digits=18)]


Pct = Annotated[Number, Field(gt=0, le=100)]  # 0..100, of the account's equity


Reason = Annotated[Line, AfterValidator(_filled), Field(max_length=MAX_REASON)]


class Block(BaseModel):
    """A part of a payload: both spellings of its keys, no unknown ones, never changed in place."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, loc_by_alias=False, extra="forbid", frozen=True
    )


class Strategy(Block):
    """What the skill trades on, in its author's words."""

    mode: Literal["thesis", "rules"] = Field(default="thesis", description="One idea in prose, or spelled-out rules.")
    style: Literal["trend", "mean_reversion", "breakout", "range", "carry", "event", "mixed"] = "mixed"
    leash: Literal["tight", "standard", "loose"] = Field(
        default="standard", description="How far the agent may read between the lines: not at all, sensibly, freely."
    )
    thesis: Text = Field(default="", max_length=4000, description="Why there should be money in it.")
    entry: Text = Field(default="", max_length=2000, description="When to open a position.")
    exit: Text = Field(default="", max_length=2000, description="When to close it.")
    risk_management: Text = Field(default="", max_length=2000, description="Sizes, stops, what to do in doubt.")
    avoid: Annotated[list[Annotated[Line, Field(min_length=3, max_length=280)]], AfterValidator(_without_repeats)] = (
        Field(default_factory=list, max_length=20, description="Hard rules: when not to trade. One line each.")
    )


class ReflectionDial(Block):
    """When the agent's record is distilled into lessons, and by which model."""

    cadence: Literal["off", "per_n_trades", "daily"] = "per_n_trades"
    every_n_trades: int = Field(default=10, ge=2, le=100)
    daily_hour_utc: int = Field(default=0, ge=0, le=23)
    model: Line | None = Field(default=None, max_length=120, description="Null: the site's model for reflection.")


class MemoryDial(Block):
    """How much of its own record the agent sees."""

    enabled: bool = True
    recent_trades_k: int = Field(default=10, ge=0, le=30)
    include_open_positions: bool = True
    reflection: ReflectionDial = ReflectionDial()

    @property
    def shows_trades(self) -> bool:
        """Whether the prompt has the section of closed trades (settled 29)."""
        return self.enabled and self.recent_trades_k > 0


class EventDial(Block):
    """Which scheduled events the agent sees."""

    lookahead_hours: int = Field(default=24, ge=0, le=MAX_EVENT_LOOKAHEAD_HOURS)
    min_importance: float = Field(default=0.4, ge=0, le=1)  # 0..1
    kinds: Annotated[list[EventKind], AfterValidator(_without_repeats)] = Field(
        default_factory=list, description="Empty: all kinds."
    )


class Context(Block):
    """What the agent sees at each tick."""

    symbols: Annotated[list[Symbol], AfterValidator(_without_repeats)] = Field(min_length=1, max_length=20)
    bars_lookback: int = Field(default=48, ge=5, le=500)
    bars_interval: Interval = "1h"
    higher_timeframes: Annotated[list[Interval], AfterValidator(_without_repeats)] = Field(
        default_factory=list, max_length=3
    )
    news_lookback_hours: int = Field(default=24, ge=0, le=168)
    news_top_k: int = Field(default=5, ge=0, le=20)
    memory: MemoryDial = MemoryDial()
    events: EventDial = EventDial()

    @whole_validator(mode="after")
    def _higher_timeframes_are_higher(self) -> Self:
        own = INTERVALS[self.bars_interval]
        if any(INTERVALS[interval] <= own for interval in self.higher_timeframes):
            raise ValueError(f"higher_timeframes must be longer than bars_interval, {self.bars_interval}")
        return self


class RiskCaps(Block):
    """Limits that the engine holds, whatever the agent says. Percents are 0..100 of the account's equity."""

    max_position_pct: Pct = Field(default=Decimal(10), description="Largest notional of one position.")
    max_total_exposure_pct: Pct = Field(default=Decimal(50), description="Largest notional of all positions together.")
    max_leverage: Annotated[Number, Field(ge=1, le=100)] = Decimal(3)
    daily_loss_halt_pct: Pct = Field(default=Decimal(5), description="Loss since 00:00 UTC that stops new positions.")
    max_orders_per_day: int = Field(default=20, ge=1, le=1000)

    @whole_validator(mode="after")
    def _one_position_fits_the_whole(self) -> Self:
        if self.max_position_pct > self.max_total_exposure_pct:
            raise ValueError("max_position_pct is above max_total_exposure_pct")
        return self


_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


_EVERY = {*INTERVALS, "2h", "6h", "8h", "12h"}


class Schedule(Block):
    """When the runner ticks, in UTC: `interval` every "15m" or "4h" from midnight, `daily` at "13:30"."""

    type: Literal["interval", "daily"] = "interval"
    value: Line = "1h"

    @whole_validator(mode="after")
    def _value_fits_the_type(self) -> Self:
        if self.type == "daily" and not _CLOCK.fullmatch(self.value):
            raise ValueError('a daily schedule takes a time of day in UTC such as "13:30"')
        if self.type == "interval" and self.value not in _EVERY:
            raise ValueError(f"an interval is one of {', '.join(sorted(_EVERY, key=_span))}")
        return self

    @property
    def every(self) -> timedelta:
        """The time between two ticks."""
        return timedelta(days=1) if self.type == "daily" else _span(self.value)

    @property
    def offset(self) -> timedelta:
        """The time from 00:00 UTC to the first tick of a day."""
        if self.type == "interval":
            return timedelta(0)
        hours, minutes = self.value.split(":")
        return timedelta(hours=int(hours), minutes=int(minutes))

    @property
    def ticks_per_day(self) -> int:
        """How many ticks a day has."""
        return timedelta(days=1) // self.every


def _span(interval: str) -> timedelta:
    unit = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}[interval[-1]]
    return int(interval[:-1]) * unit


class McpServer(Block):
    """A server of further tools; kept with the skill, not run yet (settled 31)."""

    name: Annotated[Line, AfterValidator(_filled)] = Field(max_length=64)
    url: str = Field(pattern=r"^https://[^\s/@]+(/\S*)?$", max_length=300)


class Tools(Block):
    """What the agent may call."""

    built_in: Annotated[list[BuiltInTool], AfterValidator(_without_repeats)] = Field(
        default_factory=lambda: [BuiltInTool.PROPOSE_ORDER]
    )
    mcp_servers: list[McpServer] = Field(default_factory=list, max_length=5)


class SkillPayload(Block):
    """A whole skill, as a version holds it."""

    name: Annotated[Line, AfterValidator(_filled)] = Field(max_length=80)
    description: Line = Field(default="", max_length=500)
    model: Line | None = Field(default=None, max_length=120, description="Null: the site's model for agents.")
    trading_style: Literal["day", "swing", "position"] = Field(
        description="How long positions are meant to last; fixed once the skill was saved."
    )
    max_steps: int = Field(default=6, ge=1, le=20, description="Calls of the model in one tick, at most.")
    strategy: Strategy
    context: Context
    risk: RiskCaps = RiskCaps()
    schedule: Schedule = Schedule()
    tools: Tools = Tools()

    @whole_validator(mode="after")
    def _strategy_says_enough(self) -> Self:
        needed = ("thesis",) if self.strategy.mode == "thesis" else ("entry", "exit")
        if missing := [name for name in needed if not getattr(self.strategy, name)]:
            raise ValueError(f"a strategy in mode {self.strategy.mode} needs {' and '.join(missing)}")
        return self

    def stored(self) -> dict[str, Any]:
        """Return the payload as JSON in snake_case."""
        return self.model_dump(mode="json")


class ProposedOrder(Block):
    """What the agent asks for, before risk has spoken (settled 32)."""

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


BlockType = TypeVar("BlockType", bound=Block)


def parse_arguments(model: type[BlockType], arguments: str) -> BlockType:
    """Return what a model called a tool with, from its JSON.

    Raises:
        PayloadInvalid: it is no JSON, or a field is missing, unknown or wrong.
    """
    try:
        return model.model_validate_json(arguments)
    except ValidationError as error:
        raise PayloadInvalid(_field_errors(error.errors())) from error


# The blocks by which tools patch a draft; the basics stand at the top of the payload.
BASICS_PART: Final = "basics"


BASICS: Final = ("name", "description", "model", "trading_style", "max_steps")


BLOCKS: Final[dict[str, type[Block]]] = {
    "strategy": Strategy,
    "context": Context,
    "risk": RiskCaps,
    "schedule": Schedule,
    "tools": Tools,
}


MISSING: Final = "is missing"  # the problem of a field that is not there


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field, in words that a person and a model can act on."""

    field: str  # such as "context.symbols[0]"; empty: the payload as a whole
    problem: str


class PayloadInvalid(DomainError):
    """A payload, or a patch of one, breaks a rule; nothing was changed. `errors` say which."""

    def __init__(self, errors: list[FieldError]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{error.field}: {error.problem}".removeprefix(": ") for error in errors))


def parse_payload(payload: Mapping[str, Any]) -> SkillPayload:
    """Return a whole skill from stored or posted JSON; what older payloads lack takes its default.

    Raises:
        PayloadInvalid: something is missing or wrong.
    """
    try:
        return SkillPayload.model_validate(payload)
    except ValidationError as error:
        raise PayloadInvalid(_field_errors(error.errors())) from error


def list_problems(payload: Mapping[str, Any]) -> list[FieldError]:
    """Return what still keeps a draft from being saved, in the order of its fields."""
    try:
        parse_payload(payload)
    except PayloadInvalid as error:
        return error.errors
    return []


def parse_partial(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft's payload in its stored form: whatever is there is right by itself, anything may be missing.

    Rules between fields wait for the whole.

    Raises:
        PayloadInvalid: a field that is there is unknown or wrong.
    """
    try:
        partial = _partial(SkillPayload).model_validate(payload)
    except ValidationError as error:
        raise PayloadInvalid(_field_errors(error.errors())) from error
    return partial.model_dump(mode="json", exclude_unset=True)


def merge_patch(payload: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft's payload with the fields of `patch` set: blocks are merged, values and lists replaced.

    Raises:
        PayloadInvalid: a field of the patch is unknown or wrong; `payload` was not changed.
    """
    return _merged(payload, parse_partial(patch))


def parse_part(part: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patch of a draft that sets fields of one part: "basics", or a block of BLOCKS.

    Raises:
        PayloadInvalid: a field is unknown or wrong; it is named by its path in the payload.
    """
    try:
        parsed = _part(part).model_validate(given)
    except ValidationError as error:
        raise PayloadInvalid(_field_errors(error.errors(), within=part if part in BLOCKS else "")) from error
    values: dict[str, Any] = parsed.model_dump(mode="json", exclude_unset=True)
    return {part: values} if part in BLOCKS else values


def part_schema(part: str) -> dict[str, Any]:
    """Return what a part takes as JSON schema for a model: the seeds' spelling, nothing required, no references."""
    schema = _part(part).model_json_schema()
    return _told(schema, schema.get("$defs", {}))


def default_payload() -> dict[str, Any]:
    """Return what a new draft starts with: every field that has a default."""
    return _defaults(SkillPayload)


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (path, before, after) for each field that differs between two stored payloads; None: not there."""
    before, after = dict(_leaves(old)), dict(_leaves(new))
    paths = [*before, *(path for path in after if path not in before)]
    return [(path, before.get(path), after.get(path)) for path in paths if before.get(path) != after.get(path)]


def _leaves(payload: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _merged(payload: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(payload)
    for name, value in patch.items():
        old = result.get(name)
        result[name] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def _block_of(annotation: Any) -> type[Block] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, Block) else None


def _defaults(model: type[Block]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        block = _block_of(field.annotation)
        if block is not None:
            found[name] = _defaults(block)
        elif not field.is_required():
            found[name] = field.get_default(call_default_factory=True)
    return _partial(model).model_validate(found).model_dump(mode="json", exclude_unset=True)


@cache
def _partial(model: type[Block]) -> type[BaseModel]:
    """Return the model with every field optional, its blocks too, and without the rules between fields."""
    return _optional(f"Partial{model.__name__}", model.model_fields)


@cache
def _part(part: str) -> type[BaseModel]:
    if part in BLOCKS:
        return _partial(BLOCKS[part])
    assert part == BASICS_PART, "a part of a draft is the basics or a block"
    return _optional("PartialBasics", {name: SkillPayload.model_fields[name] for name in BASICS})


def _optional(name: str, of: Mapping[str, FieldInfo]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for field_name, field in of.items():
        block = _block_of(field.annotation)
        optional = copy(field)
        optional.default, optional.default_factory = None, None
        fields[field_name] = (_partial(block) if block else field.annotation, optional)
    return create_model(name, __config__=Block.model_config, **fields)


def _told(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without what helps no model: titles, defaults that a patch does not apply, our docstrings."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        inner = {key: value for key, value in definitions[name].items() if key != "description"}
        return _told({**inner, **{key: value for key, value in schema.items() if key != "$ref"}}, definitions)
    told: dict[str, Any] = {}
    for key, value in schema.items():
        match key:
            case "title" | "default" | "$defs":
                pass
            case "properties":
                told[key] = {name: _told(one, definitions) for name, one in value.items()}
            case "items":
                told[key] = _told(value, definitions)
            case "anyOf" if {one.get("type") for one in value} == {"number", "string"}:
                # Exact in Python, a number to a model.
                told |= next(one for one in value if one["type"] == "number")
            case _:
                told[key] = value
    return told


def _field_errors(errors: Iterable[ErrorDetails], *, within: str = "") -> list[FieldError]:
    outer = (within,) if within else ()
    return [FieldError(_path((*outer, *error["loc"])), _words(error)) for error in errors]


def _path(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def _words(error: ErrorDetails) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "there is no such field"
        case "missing":
            return MISSING
    return error["msg"].removeprefix("Value error, ")
