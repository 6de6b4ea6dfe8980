"""The draft at hand: its state, patches and their answers."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chat.tools.drafts import CRITIQUE_DRAFT, SET_BASICS, SET_CONTEXT, SET_RISK, SET_SCHEDULE, SET_STRATEGY, SET_TOOLS
from config.lib.text import one_line
from config.offline.adapters import Call
from config.offline.drafting.templates import ENTRY, EXIT, HORIZON, KILLS, RISK, SIZING, SYMBOLS, TEMPLATES
from config.offline.facts import Outcome
from config.offline.figures import Row, escape, listing, paragraphs, plain, rows
from config.offline.reading.sentences import straight, strip_lead_in
from config.offline.talk import Steps, Talk

BASICS: Final = SET_BASICS.name
STRATEGY: Final = SET_STRATEGY.name
CONTEXT: Final = SET_CONTEXT.name
CAPS: Final = SET_RISK.name
SCHEDULE: Final = SET_SCHEDULE.name
WRITES: Final = (BASICS, STRATEGY, CONTEXT, CAPS, SCHEDULE, SET_TOOLS.name)
CRITIQUE: Final = CRITIQUE_DRAFT.name

_MAX_VALUE: Final = 160  # characters shown of a field
_PREVIEW = re.compile(r"/skills/[\w/-]{1,60}")
_ANSWERS: Final = {
    (STRATEGY, "entry"): ENTRY,
    (STRATEGY, "exit"): EXIT,
    (STRATEGY, "avoid"): KILLS,
    (CAPS, "maxPositionPct"): SIZING,
    (BASICS, "tradingStyle"): HORIZON,
    (CONTEXT, "barsInterval"): HORIZON,
    (CONTEXT, "symbols"): SYMBOLS,
    (CAPS, "maxLeverage"): RISK,
    (CAPS, "dailyLossHaltPct"): RISK,
}

Patched = list[tuple[Call, Outcome]]


@dataclass(slots=True)
class Draft:
    """The draft visible in the chat, with the tools' field names."""

    answered: set[str] = field(default_factory=set)  # of the questions of AREAS
    symbols: list[str] | None = None  # None: not known
    avoid: list[str] = field(default_factory=list)
    caps: dict[str, float] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)  # which of thesis, entry and exit are written
    is_named: bool = False
    is_begun: bool = False
    problems: list[str] | None = None  # missing fields, from the last patch

    def note(self, tool: str, given: Row, *, answers: bool = True) -> None:
        """Take over what a patch set; `answers`: it was said, and is no default."""
        self.is_begun |= bool(given)
        if answers:
            self.answered |= {area for (name, key), area in _ANSWERS.items() if name == tool and given.get(key)}
        template = TEMPLATES.get(str(given.get("template")))
        if template:
            self.symbols, self.avoid = list(template.symbols), list(template.avoid)
            self.words |= {"thesis", "entry", "exit"}
            self.answered |= set(_ANSWERS.values())
            self.is_named = True
        if isinstance(given.get("symbols"), list):
            self.symbols = [str(symbol) for symbol in given["symbols"]]
        if isinstance(given.get("avoid"), list):
            self.avoid = [str(rule) for rule in given["avoid"]]
        self.is_named |= tool == BASICS and bool(given.get("name"))
        self.words |= {name for name in ("thesis", "entry", "exit") if given.get(name)}
        if tool == CAPS:
            numbers = {name: value for name, value in given.items() if isinstance(value, int | float)}
            self.caps |= {name: float(value) for name, value in numbers.items() if not isinstance(value, bool)}


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
            draft.note(outcome.name, outcome.arguments)
            draft.problems = _list_problems(rows(outcome.as_row, "still_missing"))
    # Rendered again for each turn, with the changes that the user made since.
    shown = {name: value for name, value in talk.scene.draft.items() if isinstance(value, Mapping)}
    for name, tool in (("strategy", STRATEGY), ("context", CONTEXT), ("risk", CAPS)):
        fields = {_to_camel(key): value for key, value in shown.get(name, {}).items() if value}
        # Every draft begins with caps and bars; that they are there answers no question.
        draft.note(tool, fields, answers=tool == STRATEGY or not fields.keys() & {"maxLeverage", "barsInterval"})
    if draft.symbols:
        draft.answered.add(SYMBOLS)
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
    refused = [_list_refusals(call, outcome) for call, outcome in done if outcome.error]
    lines = [line for call, _ in written for line in _format_written(call)]
    told = [f"{intro}\n\n{listing(lines)}" if lines else ""]
    if refused:
        told.append(f"Refused, and not in the draft:\n\n{listing([line for part in refused for line in part])}")
    if not written:
        return paragraphs(*told, "Nothing was changed.")
    last = written[-1][1].as_row
    missing = _list_problems(rows(last, "still_missing"))
    told.append(f"Still missing before it can be saved:\n\n{listing(missing)}" if missing else "")
    warnings = last.get("warnings")
    if isinstance(warnings, list) and warnings:
        told.append(f"Warnings:\n\n{listing([_format_warning(one) for one in warnings[:8]])}")
    return paragraphs(*told)


def report_patches(done: Patched, *notes: str, after: str = "") -> str:
    """Describe patches, with notes before and `after` where Save is."""
    return paragraphs(told_patches(done), *notes, save_note(done), after)


def save_note(done: Patched) -> str:
    """Say where Save is."""
    urls = [str(outcome.as_row.get("url")) for _, outcome in done if not outcome.error]
    url = next((url for url in reversed(urls) if _PREVIEW.fullmatch(url)), "/skills/new/")
    return f"You see it on the [preview]({url}). Save is there, not here: it becomes a version only by your click."


def _format_critique(outcome: Outcome, *, intro: str) -> str:
    """Report the findings of a review, the gravest first."""
    result = outcome.as_row
    findings = sorted(rows(result, "findings"), key=lambda one: _GRAVITY.get(str(one.get("severity")), 3))
    summary = plain(result, "summary")
    return paragraphs(intro, summary, listing([_format_finding(one) for one in findings]) or "No finding.")


_GRAVITY: Final = {"error": 0, "warning": 1, "info": 2}


def _format_finding(one: Row) -> str:
    suggestion = f" Suggestion: {plain(one, 'suggestion')}" if plain(one, "suggestion") else ""
    return f"**{plain(one, 'severity') or 'info'}** {plain(one, 'title')}: {plain(one, 'detail')}{suggestion}"


def review_draft(intro: str, after: str = "") -> Steps:
    """Have the draft reviewed and report it."""
    [found] = yield (Call(CRITIQUE, {}),)
    if found.error:
        return f"I could not have it reviewed: {found.error}"
    return paragraphs(_format_critique(found, intro=intro), after)


def _format_written(call: Call) -> list[str]:
    if call.name == SCHEDULE:
        often = "daily at" if call.arguments.get("type") == "daily" else "every"
        return [f"schedule: {often} {_format_value(call.arguments.get('value'))}"]
    lines = []
    for name, value in call.arguments.items():
        if name == "template":
            title = TEMPLATES[value].title if value in TEMPLATES else str(value)
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
    problems = _list_problems(rows(outcome.as_row, "error"))
    return problems or [f"`{call.name}`: {escape(outcome.error)}"]


def _list_problems(found: Sequence[Row]) -> list[str]:
    return [
        f"{(plain(one, 'field') or plain(one, 'argument') or 'the draft')}: {plain(one, 'problem')}"
        for one in found[:12]
    ]


def _format_warning(one: Any) -> str:
    if isinstance(one, Mapping):
        return ": ".join(filter(None, (plain(one, "field"), plain(one, "problem") or plain(one, "text"))))
    return escape(str(one))
