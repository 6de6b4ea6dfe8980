"""The draft at hand: its state, patches and their answers."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chat.tools.drafts import CRITIQUE_DRAFT, SET_BASICS, SET_CONTEXT, SET_RISK, SET_SCHEDULE, SET_STRATEGY, SET_TOOLS
from config.lib.text import one_line
from config.offline.adapters import Call
from config.offline.facts import Outcome
from config.offline.figures import Row, escape, fill_rows, listing, paragraphs, plain, rows
from config.offline.reading.sentences import straight, strip_lead_in
from config.offline.talk import Steps, Talk
from trading.skills.templates import TEMPLATES

BASICS: Final = SET_BASICS.name
STRATEGY: Final = SET_STRATEGY.name
CONTEXT: Final = SET_CONTEXT.name
CAPS: Final = SET_RISK.name
SCHEDULE: Final = SET_SCHEDULE.name
WRITES: Final = (BASICS, STRATEGY, CONTEXT, CAPS, SCHEDULE, SET_TOOLS.name)
CRITIQUE: Final = CRITIQUE_DRAFT.name
SAVE: Final = "Save and Discard are on the preview of the draft, not here: I cannot save or discard it for you."

_MAX_VALUE: Final = 160  # characters shown of a field
_PREVIEW = re.compile(r"/skills/[\w/-]{1,60}")
_GRAVITY: Final = {"error": 0, "warning": 1, "info": 2}
# Which field answers which question of AREAS.
_ANSWERS: Final = {
    "entry": "Entry",
    "exit": "Exit",
    "avoid": "What kills it",
    "maxPositionPct": "Sizing",
    "tradingStyle": "Horizon",
    "barsInterval": "Horizon",
    "symbols": "Symbols",
    "maxLeverage": "Risk",
    "dailyLossHaltPct": "Risk",
}

Patched = list[tuple[Call, Outcome]]


@dataclass(slots=True)
class Draft:
    """The draft visible in the chat, with the tools' field names."""

    fields: dict[str, Any] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)  # of the questions of AREAS
    is_named: bool = False
    is_begun: bool = False
    problems: list[str] | None = None  # missing fields, from the last patch

    @property
    def words(self) -> set[str]:
        """Which of thesis, entry and exit are written."""
        return self.fields.keys() & {"thesis", "entry", "exit"}

    def note(self, given: Row, *, answers: bool = True) -> None:
        """Take over what a patch set; `answers`: it was said, and is no default."""
        template = TEMPLATES.get(str(given.get("template")), {})
        for block in ("strategy", "context"):
            self.fields |= template.get(block, {})
        self.fields |= {name: value for name, value in given.items() if value}
        self.is_begun |= bool(given)
        self.is_named |= bool(given.get("name") or template)
        if answers:
            self.answered |= set(_ANSWERS.values()) if template else set()
            self.answered |= {area for name, area in _ANSWERS.items() if given.get(name)}

    def listed(self, name: str) -> list[str]:
        """Return a list of texts, such as the symbols."""
        value = self.fields.get(name)
        return [str(one) for one in value] if isinstance(value, list | tuple) else []

    def caps(self) -> dict[str, float]:
        """Return the numbers of its caps."""
        found = {name: value for name, value in self.fields.items() if isinstance(value, int | float)}
        return {name: float(value) for name, value in found.items() if not isinstance(value, bool)}


def is_drafting(talk: Talk) -> bool:
    """Tell whether the chat has a draft or is for one."""
    return STRATEGY in talk.acts and (talk.scene.is_authoring or any(one.name in WRITES for one in talk.earlier))


def plain_of(sentence: str) -> str:
    """Return a sentence without its mark, lead-in and politeness."""
    plain = strip_lead_in(straight(sentence).strip())
    return re.sub(r"^(?:please|now|then)[,]? ", "", plain, flags=re.IGNORECASE).strip(" .!?;")


def fit_caps(caps: dict[str, Any]) -> dict[str, Any]:
    """Raise the total exposure cap to the position cap."""
    position, total = caps.get("maxPositionPct"), caps.get("maxTotalExposurePct")
    return {**caps, "maxTotalExposurePct": position} if position and total and position > total else caps


def read_draft(talk: Talk) -> Draft:
    """Read the draft from the focus and this chat's patches."""
    draft = Draft(is_named="skill_id" in talk.scene.focus)
    draft.is_begun = draft.is_named or bool(talk.scene.draft)
    for outcome in talk.earlier:
        if outcome.name in WRITES and not outcome.error:
            draft.note(outcome.arguments)
            draft.problems = _list_problems(rows(outcome.as_row, "still_missing"))
    # Rendered again for each turn, with the changes that the user made since. Every draft begins with caps and bars:
    # that they are there answers no question.
    for name, given in talk.scene.draft.items():
        if isinstance(given, Mapping):
            draft.note({_to_camel(key): value for key, value in given.items()}, answers=name == "strategy")
    if draft.listed("symbols"):
        draft.answered.add("Symbols")
    return draft


def patch_draft(calls: Sequence[Call]) -> Generator[tuple[Call, ...], list[Outcome], Patched]:
    """Yield patches, retrying refused ones without their errors; return results."""
    wanted = tuple(call for call in calls if call.arguments)
    first = yield wanted
    done: Patched = list(zip(wanted, first, strict=False))
    again = tuple(smaller for call, outcome in done if outcome.error and (smaller := _without_refused(call, outcome)))
    if again:
        second = yield again
        done += zip(again, second, strict=False)
    return done


def _without_refused(call: Call, outcome: Outcome) -> Call | None:
    wrong: set[str] = set()
    for problem in rows(outcome.as_row, "error"):
        path = str(problem.get("field") or problem.get("argument") or "")
        wrong |= {_to_camel(step) for step in re.split(r"[.\[\]]+", path)}
    left = {name: value for name, value in call.arguments.items() if name not in wrong}
    return Call(call.name, left) if left and len(left) < len(call.arguments) else None


def _to_camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def told_patches(done: Patched, *, intro: str = "I wrote this into the draft:") -> str:
    """Describe written, refused and missing fields of a draft."""
    written = [(call, outcome) for call, outcome in done if not outcome.error]
    refused = [line for call, outcome in done if outcome.error for line in _list_refusals(call, outcome)]
    lines = [line for call, _ in written for line in _format_written(call)]
    told = [
        f"{intro}\n\n{listing(lines)}" if lines else "",
        f"Refused, and not in the draft:\n\n{listing(refused)}" if refused else "",
    ]
    if not written:
        return paragraphs(*told, "Nothing was changed.")
    last = written[-1][1].as_row
    missing = _list_problems(rows(last, "still_missing"))
    warnings = [escape(str(one.get("problem") or one.get("text") if isinstance(one, Mapping) else one))
                for one in last.get("warnings") or ()][:8]  # fmt: skip
    told.append(f"Still missing before it can be saved:\n\n{listing(missing)}" if missing else "")
    return paragraphs(*told, f"Warnings:\n\n{listing(warnings)}" if warnings else "")


def report_patches(done: Patched, *notes: str, after: str = "") -> str:
    """Describe patches, with notes before and `after` where Save is."""
    return paragraphs(told_patches(done), *notes, save_note(done), after)


def save_note(done: Patched) -> str:
    """Say where Save is."""
    urls = [str(outcome.as_row.get("url")) for _, outcome in done if not outcome.error]
    url = next((url for url in reversed(urls) if _PREVIEW.fullmatch(url)), "/skills/new/")
    return f"You see it on the [preview]({url}). Save is there, not here: it becomes a version only by your click."


def review_draft(intro: str, after: str = "") -> Steps:
    """Have the draft reviewed and report it, the gravest finding first."""
    [found] = yield (Call(CRITIQUE, {}),)
    if found.error:
        return f"I could not have it reviewed: {found.error}"
    findings = sorted(rows(found.as_row, "findings"), key=lambda one: _GRAVITY.get(str(one.get("severity")), 3))
    told = fill_rows("**{severity}** {title}: {detail}| Suggestion: {suggestion}", findings)
    return paragraphs(intro, plain(found.as_row, "summary"), told or "No finding.", after)


def _format_written(call: Call) -> list[str]:
    if call.name == SCHEDULE:
        often = "daily at" if call.arguments.get("type") == "daily" else "every"
        return [f"schedule: {often} {_format_value(call.arguments.get('value'))}"]
    lines = []
    for name, value in call.arguments.items():
        if name == "template":
            title = TEMPLATES.get(value, {}).get("name", value)
            lines.append(f"the template **{title}**, with its entry, exit, rules, caps and schedule")
        else:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
            lines.append(f"{words.replace(' pct', ' (% of equity)')}: {_format_value(value)}")
    return lines


def _format_value(value: Any) -> str:
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = text.replace("_", " ") if re.fullmatch(r"[a-z_]{1,20}", text) else text
    text = escape(one_line(text))
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1].rstrip()}…"


def _list_refusals(call: Call, outcome: Outcome) -> list[str]:
    return _list_problems(rows(outcome.as_row, "error")) or [f"`{call.name}`: {escape(outcome.error)}"]


def _list_problems(found: Sequence[Row]) -> list[str]:
    return [
        f"{(plain(one, 'field') or plain(one, 'argument') or 'the draft')}: {plain(one, 'problem')}"
        for one in found[:12]
    ]
