"""A skill's form, built from the schema; payloads as text.

A field is named by its path in the payload, such as `context.memory.enabled`. The form turns text into values; the
schema validates them, and `add_problems` puts its errors beside their fields.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from enum import EnumType
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from django import forms
from django.conf import settings
from django.http import QueryDict
from pydantic.fields import FieldInfo

from config.lib.text import WordRun, list_word_changes
from trading.models import MarketEvent, RegimeTag, TradingStyle
from trading.skills.patches import Json, find_block, iter_leaves
from trading.skills.schemas import MISSING, BuiltInTool, FieldError, McpServer, PayloadBlock, SkillPayload

LONG_TEXT: Final = 500  # characters, above which a text gets more than a line
LONG_CHANGE: Final = 60  # characters, above which a difference is shown word by word
SHORT_LINE: Final = 120  # characters, above which a line takes the whole width

_CHOICES: Final[dict[str, dict[str, str]]] = {
    "trading_style": dict(TradingStyle.choices),
    "strategy.mode": {"thesis": "A thesis, in prose", "rules": "Rules, spelled out"},
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
# What values mean, a line for each.
EXPLAINED: Final[Mapping[str, Mapping[str, str]]] = {
    "strategy.mode": {
        "thesis": "you write why there should be money in it, and the agent judges each moment by that",
        "rules": "you write when to enter and when to exit, and the agent checks each moment against the lines",
    },
    "strategy.leash": {
        "tight": "it does what the lines say and nothing else; in doubt it waits",
        "standard": "it reads the lines sensibly, as a careful colleague would",
        "loose": "it may act on what the lines suggest, within the limits of risk",
    },
}
REGIMES: Final[Mapping[str, str]] = {
    RegimeTag.TREND: "prices of the last days moved one way",
    RegimeTag.CHOP: "prices went back and forth without getting far",
    RegimeTag.SHOCK: "one of the last three hours moved far more than usual, or the day was twice as restless",
    RegimeTag.UNKNOWN: "too few hourly bars to tell",
}
# The field that shows an error of several fields of a block.
_SPEAKS_FOR: Final = {
    "context": "context.higher_timeframes",
    "risk": "risk.max_position_pct",
    "schedule": "schedule.value",
}


@dataclass(frozen=True, slots=True)
class FieldGroup:
    name: str
    title: str
    fields: list[forms.BoundField]
    next: "FieldGroup | None" = None

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.fields)


GROUPS: Final = {  # the basics, and blocks of the payload by their names
    "basics": "Basics",
    "strategy": "Strategy",
    "context": "What the agent sees",
    "memory": "Memory",
    "events": "Events",
    "risk": "Risk",
    "schedule": "Schedule",
    "tools": "Tools",
}


def find_group(path: str) -> str:
    """Return the name of a field's group."""
    return next((block for block in reversed(path.split(".")[:-1]) if block in GROUPS), "basics")


def format_label(path: str) -> str:
    """Return a field's label with its group: `Memory: Closed trades shown`."""
    return f"{GROUPS[find_group(path)]}: {LABELS[path]}" if path in LABELS else path


def format_value(path: str, value: object) -> str:
    """Return a stored value as text; empty for None."""
    if isinstance(value, list):
        lines = [format_value(path, item) for item in value]
        return "\n".join(lines) if path in _LINES else ", ".join(lines)
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, Mapping):
        return " ".join(str(part) for part in value.values())
    if value is None:
        return ""
    if isinstance(value, float):
        return str(_trim_number(value))
    is_choice = isinstance(_FIELDS.get(path), forms.ChoiceField | forms.MultipleChoiceField)
    return _choice_label(path, str(value)) if is_choice else str(value)


class ListField(forms.CharField):
    """A list as text: one thing a line, or words on one line."""

    joint, parts = "\n", r"[\r\n]+"

    def prepare_value(self, value: object) -> object:
        """Return a list as text; input stays as typed."""
        return self.joint.join(format_value("", one) for one in value) if isinstance(value, list) else value

    def to_python(self, value: object) -> Any:
        return [part.strip() for part in re.split(self.parts, super().to_python(value) or "") if part.strip()]


class ServersField(ListField):
    """Servers of tools: a name and an address a line."""

    def to_python(self, value: object) -> Any:
        """Return what the schema takes: a mapping a line."""
        parts = [line.rpartition(" ") for line in super().to_python(value)]
        return [{"name": name.strip(), "url": url} for name, _, url in parts]


class WordsField(ListField):
    """A list on one line, separated by commas or spaces."""

    joint, parts = ", ", r"[\s,;]+"


_SERVERS: Final = "tools.mcp_servers"
_LINES: Final = {"strategy.avoid", _SERVERS}
_NUMBERS: Final[dict[Any, Any]] = {int: forms.IntegerField, float: forms.FloatField, Decimal: forms.DecimalField}
_MODELS: Final = ("model", "context.memory.reflection.model")


def _choice_label(path: str, value: str) -> str:
    return _CHOICES.get(path, {}).get(value) or value.replace("_", " ").capitalize()


def _iter_infos(model: type[PayloadBlock], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        if block := find_block(info):
            yield from _iter_infos(block, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", info


def _build_field(path: str, info: FieldInfo) -> forms.Field:
    options: dict[str, Any] = {"label": info.title or path, "help_text": info.description or "", "required": False}
    annotation = info.annotation
    if get_origin(annotation) in (Union, UnionType):
        [annotation] = [member for member in get_args(annotation) if member is not type(None)]
    if get_origin(annotation) is list:
        return _build_list_field(path, get_args(annotation)[0], options)
    if get_origin(annotation) is Literal:
        choices = [(value, _choice_label(path, value)) for value in get_args(annotation)]
        none = [("", "Not chosen yet")] if info.is_required() else []
        return forms.ChoiceField(choices=[*none, *choices], **options)
    if path in _MODELS:
        return forms.ChoiceField(**options)  # the choices are a setting
    if annotation is bool:
        return forms.BooleanField(**options)
    if make := _NUMBERS.get(annotation):
        number: forms.Field = make(min_value=_find_bound(info, "ge"), max_value=_find_bound(info, "le"), **options)
        if annotation is not int:
            number.widget.attrs["step"] = "any"  # else a browser would refuse 2.5
        return number
    longest = _find_bound(info, "max_length")
    if longest is not None and longest > LONG_TEXT:
        return forms.CharField(widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}), **options)
    line = forms.CharField(widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}), **options)
    line.is_wide = longest is not None and longest > SHORT_LINE  # type: ignore[attr-defined]
    return line


def _build_list_field(path: str, of: Any, options: dict[str, Any]) -> forms.Field:
    if of is McpServer:
        return ServersField(widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}), **options)
    if get_origin(of) is Literal or (isinstance(of, EnumType)):
        values = get_args(of) or [member.value for member in of]
        choices = [(value, _choice_label(path, value)) for value in values]
        return forms.MultipleChoiceField(choices=choices, widget=forms.CheckboxSelectMultiple, **options)
    if path in _LINES:
        return ListField(widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}), **options)
    return WordsField(widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters"}), **options)


def _find_bound(info: FieldInfo, name: str) -> Any:
    return next((getattr(rule, name) for rule in info.metadata if getattr(rule, name, None) is not None), None)


_INFOS: Final = dict(_iter_infos(SkillPayload))
_FIELDS: Final = {path: _build_field(path, info) for path, info in _INFOS.items()}
for _path, _lines in EXPLAINED.items():
    _FIELDS[_path].explained = [(_choice_label(_path, value), line) for value, line in _lines.items()]  # type: ignore[attr-defined]
LABELS: Final = {path: info.title or path for path, info in _INFOS.items()}


class SkillForm(forms.Form):
    """A draft's form; an empty required field stays missing."""

    def __init__(self, data: QueryDict | None = None, *, payload: Mapping[str, object], fixed_style: str = "") -> None:
        """Show a payload, or the input. `fixed_style`: set once saved."""
        self.payload = payload
        shown = {path: _trim_number(value) for path, value in iter_leaves(payload)}
        super().__init__(data, initial=shown, auto_id="skill-%s")
        self.fields.update(deepcopy(_FIELDS))
        for path in _MODELS:
            names = dict.fromkeys([*settings.ALLOWED_MODELS, *filter(None, [shown.get(path)])])
            self.fields[path].choices = [("", "The site’s model"), *((name, name) for name in names)]  # type: ignore[attr-defined]
        if fixed_style:
            style = self.fields["trading_style"]
            style.disabled, style.initial = True, fixed_style
            style.help_text = "Fixed since the skill was first saved."

    def list_groups(self) -> list[FieldGroup]:
        """Return the fields under their headings."""
        by_group: dict[str, list[forms.BoundField]] = {name: [] for name in GROUPS}
        for path in LABELS:
            by_group[find_group(path)].append(self[path])
        groups: list[FieldGroup] = []
        for name, fields in reversed(by_group.items()):
            groups.insert(0, FieldGroup(name, GROUPS[name], fields, groups[0] if groups else None))
        return groups

    def patch(self) -> Json:
        """Return the valid input as a patch; call after `is_valid`."""
        patch: Json = {}
        for path in filter(self.cleaned_data.__contains__, _FIELDS):
            value = self.cleaned_data[path]
            if value in (None, "", []) and (value := self._empty_value(path)) is _NOTHING:
                continue
            *blocks, name = path.split(".")
            place = patch
            for block in blocks:
                place = place.setdefault(block, {})
            place[name] = value
        return patch

    def _empty_value(self, path: str) -> object:
        """Return an empty field's value; _NOTHING if it was empty before."""
        info = _INFOS[path]
        if info.is_required():
            had = dict(iter_leaves(self.payload)).get(path)
            return type(had)() if had else _NOTHING
        return info.get_default(call_default_factory=True) if not isinstance(self.fields[path], _LISTS) else []

    def add_problems(self, problems: Iterable[FieldError]) -> None:
        """Show the schema's errors beside their fields."""
        mode = str(self.cleaned_data.get("strategy.mode"))
        for problem in problems:
            field = _find_field(problem, mode)
            self.add_error(field if field in self.fields else None, _format_problem(problem.problem))


_LISTS: Final = (ListField, forms.MultipleChoiceField)
_NOTHING: Final = object()
_LEAVES: Final = {path.rpartition(".")[2]: label for path, label in LABELS.items() if "_" in path.rpartition(".")[2]}


def _find_field(problem: FieldError, mode: str) -> str:
    path = re.sub(r"\[.*", "", problem.field)
    if not path:
        path = "strategy.thesis" if mode == "thesis" else "strategy.entry"
    return _SPEAKS_FOR.get(path, path)


def _trim_number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _format_problem(problem: str) -> str:
    """Return a problem as a sentence that uses page labels."""
    text = re.sub(r"\w+", lambda word: f"“{_LEAVES[word[0]]}”" if word[0] in _LEAVES else word[0], problem)
    text = "This " + text if text.startswith(("is ", "must ")) else text[:1].upper() + text[1:]
    return text if text.endswith((".", "”", "?")) else f"{text}."


@dataclass(frozen=True, slots=True)
class FieldText:
    label: str
    text: str  # may have lines
    is_long: bool


def describe_payload(payload: Mapping[str, object]) -> list[tuple[str, list[FieldText]]]:
    """Return the filled fields by group title, without the name."""
    values = dict(iter_leaves(payload))
    groups: dict[str, list[FieldText]] = {name: [] for name in GROUPS}
    for path in LABELS:
        text = format_value(path, values.get(path))
        if path == _SERVERS:
            text = "\n".join(f"{line} (kept, not called yet)" for line in text.splitlines())
        if text and path != "name" and not _is_idle(path, values):
            field = _FIELDS[path]
            is_long = isinstance(field.widget, forms.Textarea) or getattr(field, "is_wide", False)
            groups[find_group(path)].append(FieldText(LABELS[path], text, is_long))
    return [(GROUPS[name], said) for name, said in groups.items() if said]


@dataclass(frozen=True, slots=True)
class Change:
    label: str
    before: str
    after: str

    @property
    def words(self) -> list[WordRun]:
        """What differs within a long text, word by word; empty for a short one."""
        is_long = self.before and self.after and max(len(self.before), len(self.after)) > LONG_CHANGE
        return list_word_changes(self.before, self.after) if is_long else []


def describe_changes(changes: Iterable[tuple[str, object, object]]) -> list[Change]:
    """Return the differences between two payloads as text."""
    return [
        Change(format_label(path), format_value(path, before), format_value(path, after))
        for path, before, after in changes
    ]


@dataclass(frozen=True, slots=True)
class ProblemText:
    """A draft's problem and the form field that fixes it."""

    label: str
    text: str  # empty: it is merely missing
    anchor: str  # the id of the field


def describe_problems(problems: Iterable[FieldError], payload: Mapping[str, object]) -> list[ProblemText]:
    """Return a draft's problems as text, one per field."""
    mode = str(dict(iter_leaves(payload)).get("strategy.mode", "thesis"))
    by_field = {_find_field(problem, mode): problem for problem in reversed(list(problems))}
    return [
        ProblemText(
            format_label(field),
            "" if problem.problem == MISSING else _format_problem(problem.problem),
            f"skill-{field}",
        )
        for field, problem in reversed(by_field.items())
    ]


def _is_idle(path: str, values: Mapping[str, object]) -> bool:
    """Tell whether another field has switched this one off."""
    cadence = values.get("context.memory.reflection.cadence")
    return {
        "context.memory.reflection.every_n_trades": cadence != "per_n_trades",
        "context.memory.reflection.daily_hour_utc": cadence != "daily",
    }.get(path, False)
