"""The form of a skill: a field for each one of its payload, made from the schema, with words for people.

A field is named by its path in the payload, such as `context.memory.enabled`. The form turns text into values; what a
skill must be is for the schema to say, whose errors `add_problems` puts beside their fields.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from django import forms
from django.conf import settings
from django.http import QueryDict
from pydantic.fields import FieldInfo

from trading.models import MarketEvent, TradingStyle
from trading.skills.schemas import MISSING, Block, BuiltInTool, FieldError, McpServer, SkillPayload

LONG_TEXT: Final = 500  # characters, above which a text gets more than a line
SHORT_LINE: Final = 120  # characters, above which a line takes the whole width

LABELS: Final[dict[str, str]] = {
    "name": "Name",
    "description": "Description",
    "model": "Model",
    "trading_style": "Trading style",
    "max_steps": "Steps in a tick, at most",
    "strategy.mode": "Written as",
    "strategy.style": "Style",
    "strategy.leash": "Leash",
    "strategy.thesis": "Thesis",
    "strategy.entry": "Entry",
    "strategy.exit": "Exit",
    "strategy.risk_management": "Risk management",
    "strategy.avoid": "Avoid",
    "context.symbols": "Symbols",
    "context.bars_interval": "Length of a bar",
    "context.bars_lookback": "Bars of each symbol",
    "context.higher_timeframes": "Higher timeframes",
    "context.news_lookback_hours": "News of the last hours",
    "context.news_top_k": "Headlines, at most",
    "context.memory.enabled": "Show the agent its record",
    "context.memory.recent_trades_k": "Closed trades shown",
    "context.memory.include_open_positions": "Show open positions, too",
    "context.memory.reflection.cadence": "Draw lessons",
    "context.memory.reflection.every_n_trades": "Closed trades between two reflections",
    "context.memory.reflection.daily_hour_utc": "Hour of the daily reflection (UTC)",
    "context.memory.reflection.model": "Model for lessons",
    "context.events.lookahead_hours": "Events of the next hours",
    "context.events.min_importance": "Importance from",
    "context.events.kinds": "Kinds",
    "risk.max_position_pct": "One position, % of equity",
    "risk.max_total_exposure_pct": "All positions, % of equity",
    "risk.max_leverage": "Leverage, at most",
    "risk.daily_loss_halt_pct": "Daily loss that halts, % of equity",
    "risk.max_orders_per_day": "Orders a day, at most",
    "schedule.type": "Ticks",
    "schedule.value": "When",
    "tools.built_in": "Tools",
    "tools.mcp_servers": "Servers of further tools (MCP)",
}
# What the schema does not say, or says to models.
_HINTS: Final[dict[str, str]] = {
    "description": "One line for your list of skills.",
    "model": "Which model decides at each tick.",
    "strategy.avoid": "Hard rules, one a line: when not to trade.",
    "context.symbols": "Separated by commas, such as BTC, ETH.",
    "context.bars_interval": "Of the bars the agent sees.",
    "context.higher_timeframes": "At most three, each longer than the bars above.",
    "context.news_top_k": "0: no news.",
    "context.memory.enabled": "Its own last trades and positions stand in every prompt.",
    "context.memory.recent_trades_k": "0 to 30. 0 shows no record at all.",
    "context.memory.reflection.model": "Which model draws the lessons.",
    "context.events.lookahead_hours": "0: no events.",
    "context.events.min_importance": "0 to 1.",
    "context.events.kinds": "None chosen: all kinds.",
    "schedule.value": "1m, 5m, 15m, 30m, 1h, 2h, 4h, 6h, 8h, 12h or 1d, from midnight UTC. Once a day: a time in"
    " UTC, such as 13:30.",
    "tools.mcp_servers": "One a line: a name, a space, an address that begins with https. Kept with the skill; this"
    " version of Keel does not call them.",
}
_CHOICES: Final[dict[str, dict[str, str]]] = {
    "trading_style": dict(TradingStyle.choices),
    "strategy.mode": {"thesis": "A thesis, in prose", "rules": "Rules, spelled out"},
    "strategy.leash": {
        "tight": "Tight",
        "standard": "Standard",
        "loose": "Loose",
    },
    "context.memory.reflection.cadence": {
        "off": "Never",
        "per_n_trades": "After a number of trades",
        "daily": "Once a day",
    },
    "context.events.kinds": dict(MarketEvent._meta.get_field("kind").flatchoices),
    "schedule.type": {"interval": "Every so often", "daily": "Once a day"},
    "tools.built_in": {
        BuiltInTool.PROPOSE_ORDER: "Propose an order",
        BuiltInTool.GET_BARS: "Read bars",
        BuiltInTool.GET_NEWS: "Read news",
        BuiltInTool.GET_UPCOMING_EVENTS: "Read upcoming events",
    },
}
# Where to show what is wrong between several fields of a block.
_SPEAKS_FOR: Final = {
    "context": "context.higher_timeframes",
    "risk": "risk.max_position_pct",
    "schedule": "schedule.value",
}


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """A part of the form under one heading."""

    name: str
    title: str
    fields: list[forms.BoundField]


GROUPS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "basics": ("Basics", ("name", "description", "trading_style", "model", "max_steps")),
    "strategy": ("Strategy", ("strategy.",)),
    "context": ("What the agent sees", ("context.",)),
    "memory": ("Memory", ("context.memory.",)),
    "events": ("Events", ("context.events.",)),
    "risk": ("Risk", ("risk.",)),
    "schedule": ("Schedule", ("schedule.",)),
    "tools": ("Tools", ("tools.",)),
}


def group_of(path: str) -> str:
    """Return the name of the group that a field stands in."""
    fitting = [
        (len(start), name)
        for name, (_, starts) in GROUPS.items()
        for start in starts
        if path == start or (start.endswith(".") and path.startswith(start))
    ]
    return max(fitting)[1]


def label_of(path: str) -> str:
    """Return a field's name in words, with its group's: `Memory: Closed trades shown`."""
    label = LABELS.get(path, path)
    return f"{GROUPS[group_of(path)][0]}: {label}" if path in LABELS else label


def words_of(path: str, value: Any) -> str:
    """Return a field's stored value in words; an empty text for none."""
    if isinstance(value, list):
        lines = [words_of(path, one) for one in value]
        return "\n".join(lines) if path in _LINES else ", ".join(lines)
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, Mapping):
        return " ".join(str(part) for part in value.values())
    if value is None:
        return ""
    if isinstance(value, float):
        return str(_plain(value))
    return _choice_label(path, str(value)) if path in _FIELDS and _is_choice(_FIELDS[path]) else str(value)


class LinesField(forms.CharField):
    """A list, one thing a line."""

    widget = forms.Textarea

    def prepare_value(self, value: Any) -> Any:
        """Return the text of a list; what was typed stays as it is."""
        return words_of("strategy.avoid", value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Return the lines that are not empty."""
        return [line.strip() for line in (super().to_python(value) or "").splitlines() if line.strip()]


class ServersField(LinesField):
    """Servers of tools: a name and an address a line."""

    def to_python(self, value: Any) -> Any:
        """Return what the schema takes: a mapping a line."""
        parts = [line.rpartition(" ") for line in super().to_python(value)]
        return [{"name": name.strip(), "url": url} for name, _, url in parts]


class WordsField(forms.CharField):
    """A list on one line, separated by commas or spaces."""

    def prepare_value(self, value: Any) -> Any:
        """Return the text of a list; what was typed stays as it is."""
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Return the words."""
        return [word for word in re.split(r"[\s,;]+", super().to_python(value) or "") if word]


_SERVERS: Final = "tools.mcp_servers"
_LINES: Final = {"strategy.avoid", _SERVERS}
_MODELS: Final = ("model", "context.memory.reflection.model")


def _is_choice(field: forms.Field) -> bool:
    return isinstance(field, forms.ChoiceField | forms.MultipleChoiceField)


def _choice_label(path: str, value: str) -> str:
    return _CHOICES.get(path, {}).get(value) or value.replace("_", " ").capitalize()


def _fields(model: type[Block], prefix: str = "") -> Iterator[tuple[str, forms.Field]]:
    for name, info in model.model_fields.items():
        path = f"{prefix}{name}"
        if isinstance(info.annotation, type) and issubclass(info.annotation, Block):
            yield from _fields(info.annotation, f"{path}.")
        else:
            yield path, _field(path, info)


def _field(path: str, info: FieldInfo) -> forms.Field:
    hint = _HINTS.get(path, info.description or "")
    common: dict[str, Any] = {"label": LABELS[path], "help_text": hint, "required": False}
    annotation = info.annotation
    if get_origin(annotation) in (Union, UnionType):
        [annotation] = [one for one in get_args(annotation) if one is not type(None)]
    if get_origin(annotation) is list:
        return _list_field(path, get_args(annotation)[0], common)
    if get_origin(annotation) is Literal:
        options = [(one, _choice_label(path, one)) for one in get_args(annotation)]
        none = [("", "Not chosen yet")] if info.is_required() else []
        return forms.ChoiceField(choices=[*none, *options], **common)
    if path in _MODELS:
        return forms.ChoiceField(**common)  # the choices are a setting
    if annotation is bool:
        return forms.BooleanField(**common)
    if annotation in (int, float, Decimal):
        return _number_field(annotation, info, common)
    longest = _bound(info, "max_length")
    if longest is not None and longest > LONG_TEXT:
        return forms.CharField(widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}), **common)
    line = forms.CharField(widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}), **common)
    line.is_wide = longest is not None and longest > SHORT_LINE  # type: ignore[attr-defined]
    return line


def _list_field(path: str, of: Any, common: dict[str, Any]) -> forms.Field:
    if of is McpServer:
        return ServersField(widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}), **common)
    if get_origin(of) is Literal or (isinstance(of, type) and issubclass(of, Enum)):
        values = get_args(of) or [one.value for one in of]
        options = [(one, _choice_label(path, one)) for one in values]
        return forms.MultipleChoiceField(choices=options, widget=forms.CheckboxSelectMultiple, **common)
    if path in _LINES:
        return LinesField(widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}), **common)
    return WordsField(widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters"}), **common)


def _number_field(kind: Any, info: FieldInfo, common: dict[str, Any]) -> forms.Field:
    low, high = _bound(info, "ge"), _bound(info, "le")
    make: Any = forms.IntegerField if kind is int else forms.DecimalField if kind is Decimal else forms.FloatField
    # A step of "any": a browser would else call 2.5 no number.
    number: forms.Field = make(min_value=low, max_value=high, **common)
    if kind is not int:
        number.widget.attrs["step"] = "any"
    return number


def _bound(info: FieldInfo, name: str) -> Any:
    return next((getattr(rule, name) for rule in info.metadata if getattr(rule, name, None) is not None), None)


_FIELDS: Final = dict(_fields(SkillPayload))


class SkillForm(forms.Form):
    """A draft as its author fills it in. What is left empty takes its default, or waits for the whole."""

    def __init__(self, data: QueryDict | None = None, *, payload: Mapping[str, Any], fixed_style: str = "") -> None:
        """Show a draft's payload, or what was typed over it. `fixed_style`: the skill was saved before."""
        self.payload = payload
        shown = {path: _plain(value) for path, value in _leaves_of(payload)}
        super().__init__(data, initial=shown, auto_id="skill-%s")
        self.fields.update(deepcopy(_FIELDS))
        for path in _MODELS:
            names = dict.fromkeys([*settings.ALLOWED_MODELS, *filter(None, [shown.get(path)])])
            self.fields[path].choices = [("", "The site’s model"), *((name, name) for name in names)]  # type: ignore[attr-defined]
        if fixed_style:
            style = self.fields["trading_style"]
            style.disabled, style.initial = True, fixed_style
            style.help_text = "Fixed since the skill was first saved."

    def groups(self) -> list[FieldGroup]:
        """Return the fields under their headings."""
        by_group: dict[str, list[forms.BoundField]] = {name: [] for name in GROUPS}
        for path in _ORDER:
            by_group[group_of(path)].append(self[path])
        return [FieldGroup(name, GROUPS[name][0], fields) for name, fields in by_group.items()]

    def patch(self) -> dict[str, Any]:
        """Return what was typed, as far as it can be read, as a patch of the draft; call it after `is_valid`."""
        patch: dict[str, Any] = {}
        for path in filter(self.cleaned_data.__contains__, _FIELDS):
            value = self.cleaned_data[path]
            if value in (None, "", []) and (value := self._empty(path)) is _NOTHING:
                continue
            *blocks, name = path.split(".")
            place = patch
            for block in blocks:
                place = place.setdefault(block, {})
            place[name] = value
        return patch

    def _empty(self, path: str) -> Any:
        """Return what a field that was left empty stands for; _NOTHING: it was empty before, too."""
        info = _info(path)
        if info.is_required():
            had = dict(_leaves_of(self.payload)).get(path)
            return type(had)() if had else _NOTHING
        return info.get_default(call_default_factory=True) if not isinstance(self.fields[path], _LISTS) else []

    def add_problems(self, problems: Iterable[FieldError]) -> None:
        """Put what the schema found beside the fields it is about."""
        mode = str(self.cleaned_data.get("strategy.mode"))
        for problem in problems:
            field = _field_of(problem, mode)
            self.add_error(field if field in self.fields else None, _in_words(problem.problem))


_LISTS: Final = (LinesField, WordsField, forms.MultipleChoiceField)
_NOTHING: Final = object()
_ORDER: Final = tuple(LABELS)
_LEAVES: Final = {path.rpartition(".")[2]: label for path, label in LABELS.items() if "_" in path.rpartition(".")[2]}


def _info(path: str) -> FieldInfo:
    model: Any = SkillPayload
    *blocks, name = path.split(".")
    for block in blocks:
        model = model.model_fields[block].annotation
    info: FieldInfo = model.model_fields[name]
    return info


def _leaves_of(payload: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from _leaves_of(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _field_of(problem: FieldError, mode: str) -> str:
    """Return the field beside which to show a problem; `mode` is the strategy's."""
    path = re.sub(r"\[.*", "", problem.field)
    if not path:
        path = "strategy.thesis" if mode == "thesis" else "strategy.entry"
    return _SPEAKS_FOR.get(path, path)


def _plain(value: Any) -> Any:
    """Return a number as a person writes it: 10 for 10.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _in_words(problem: str) -> str:
    """Return a problem as a sentence, with the fields called as the page calls them."""
    text = re.sub(r"\w+", lambda word: f"“{_LEAVES[word[0]]}”" if word[0] in _LEAVES else word[0], problem)
    text = "This " + text if text.startswith(("is ", "must ")) else text[:1].upper() + text[1:]
    return text if text.endswith((".", "”", "?")) else f"{text}."


# --- What a skill says, for readers ---


@dataclass(frozen=True, slots=True)
class Said:
    """A field of a payload, in words."""

    label: str
    text: str  # may have lines
    is_long: bool


def described(payload: Mapping[str, Any]) -> list[tuple[str, list[Said]]]:
    """Return what a stored payload says as (title of the group, fields), without the name and what is empty."""
    values = dict(_leaves_of(payload))
    groups: dict[str, list[Said]] = {name: [] for name in GROUPS}
    for path in _ORDER:
        text = words_of(path, values.get(path))
        if path == _SERVERS:
            text = "\n".join(f"{line} (kept, not called yet)" for line in text.splitlines())
        if text and path != "name" and not _is_idle(path, values):
            field = _FIELDS[path]
            is_long = isinstance(field.widget, forms.Textarea) or getattr(field, "is_wide", False)
            groups[group_of(path)].append(Said(LABELS[path], text, is_long))
    return [(GROUPS[name][0], said) for name, said in groups.items() if said]


@dataclass(frozen=True, slots=True)
class Mending:
    """A problem of a draft, in words, and where in the form it is mended."""

    label: str
    text: str  # empty: it is merely missing
    anchor: str  # the id of the field


def problems_in_words(problems: Iterable[FieldError], payload: Mapping[str, Any]) -> list[Mending]:
    """Return what keeps a stored payload from being saved as people read it, one a field."""
    mode = str(dict(_leaves_of(payload)).get("strategy.mode", "thesis"))
    by_field = {_field_of(problem, mode): problem for problem in reversed(list(problems))}
    return [
        Mending(label_of(field), "" if problem.problem == MISSING else _in_words(problem.problem), f"skill-{field}")
        for field, problem in reversed(by_field.items())
    ]


def _is_idle(path: str, values: Mapping[str, Any]) -> bool:
    """Tell whether another field has switched this one off."""
    cadence = values.get("context.memory.reflection.cadence")
    return {
        "context.memory.reflection.every_n_trades": cadence != "per_n_trades",
        "context.memory.reflection.daily_hour_utc": cadence != "daily",
    }.get(path, False)


@dataclass(frozen=True, slots=True)
class Change:
    """What two versions say of one field, in words."""

    label: str
    before: str
    after: str


def changes_in_words(changes: Iterable[tuple[str, Any, Any]]) -> list[Change]:
    """Return the differences between two payloads as people read them."""
    return [Change(label_of(path), words_of(path, before), words_of(path, after)) for path, before, after in changes]
