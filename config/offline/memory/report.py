"""Report memory writes, refusals and lookups."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from config.offline.adapters import COACH_TOOLS, LOOKUPS
from config.offline.facts import Outcome, is_uuid
from config.offline.phrases import FACTS_PAGE

WHICH_ONE: Final = "Which one should I forget?"
WHICH: Final = {"forget": WHICH_ONE, "change": "Which one should I change?", "confirm": "Which one still holds?"}
CONFLICT_QUESTION: Final = "Does it replace that, or do both hold?"
MAX_FOUND: Final = 5

_WRITES: Final = {
    "forget": "I have forgotten",
    "change": "I have changed",
    "remember": "I have saved",
    "confirm": "I have noted that this still holds",
    "link": "I have linked",
    "place": "I have saved the place",
}
# The words are not repeated: they may have been refused as a secret.
_COULD_NOT: Final = {"remember": "save that", "place": "save that place", "link": "link these facts"}
# Errors are written for a model; what they tell it to do is not for the user.
_TO_THE_MODEL = re.compile(
    r"\s*\b(?:Say so;\s*|(?:Ask|Tell) the user\b[^.]*\.|List the facts to find the right words\.)", re.IGNORECASE
)


def format_report(results: Sequence[Outcome], names: Mapping[str, str]) -> list[str]:
    """Return paragraphs on all writes, refusals and unknown tools."""
    done = [outcome for outcome in results if outcome.name in _WRITES and not outcome.error and not outcome.held]
    fresh = [outcome for outcome in done if not outcome.was_so]
    parts = [
        _format_listing(title, [_format_text(o, names) for o in fresh if o.name == act])
        for act, title in _WRITES.items()
    ]
    parts.append(_format_listing("I knew this already", [_format_text(o, names) for o in done if o.was_so]))
    if any(parts):
        parts.append(f"You can change or undo this on your {FACTS_PAGE}.")
    parts += [_format_held(outcome) for outcome in results if outcome.held and not outcome.error]
    others = [outcome for outcome in results if outcome.name not in COACH_TOOLS]  # whose rules report them
    parts += [failure(outcome, names) for outcome in others if outcome.error]
    parts += [_format_result(o) for o in others if not o.error and o.name not in _WRITES and o.name not in LOOKUPS]
    return parts


def failure(outcome: Outcome, names: Mapping[str, str]) -> str:
    """Explain a tool's refusal, or ask which fact is meant."""
    candidates = list(outcome.candidates)
    if candidates and outcome.name in WHICH:
        lines = "\n".join(f"- {text}" for text in candidates)
        if len(candidates) == 1:
            return f"I am not sure that you mean this:\n\n{lines}\n\n{WHICH[outcome.name]}"
        return f"Several facts hold “{_format_meant(outcome, names)}”:\n\n{lines}\n\n{WHICH[outcome.name]}"
    told = _TO_THE_MODEL.sub(" ", outcome.error).strip() or outcome.error
    told = re.sub(r"\bthe user's\b", "your", told)
    told = re.sub(r"(?<=\. )[a-z]", lambda match: match[0].upper(), told)
    if outcome.name in _COULD_NOT:
        return f"I could not {_COULD_NOT[outcome.name]}: {told}"
    if outcome.name in WHICH:
        return f"I could not {outcome.name} “{_format_meant(outcome, names)}”: {told}"
    return f"`{outcome.tool or outcome.name}` could not answer: {told}"


def found_rows(outcome: Outcome) -> str:
    """List recalled facts with their origin and confidence."""
    lines = []
    for row in outcome.rows[:MAX_FOUND]:
        origin = "inferred" if row.get("origin") == "inferred" else "you told me"
        score = row.get("score")
        sure = f", {score:.0%} sure" if isinstance(score, int | float) else ""
        detail = f". {row['detail'][:200]}" if isinstance(row.get("detail"), str) and row["detail"] else ""
        lines.append(f"- {row['content']} ({origin}{sure}){detail}")
    more = len(outcome.rows) > MAX_FOUND or outcome.is_truncated
    return "\n".join(lines) + (f"\n\nThere is more on your {FACTS_PAGE}." if more else "")


def _format_text(outcome: Outcome, names: Mapping[str, str]) -> str:
    if outcome.name == "place":
        return ": ".join(str(outcome.arguments[key]) for key in ("place_name", "notes") if outcome.arguments.get(key))
    if outcome.name == "link":
        ends = [_format_name(outcome.arguments.get(key), names) for key in ("fact_id", "other_id")]
        relation = str(outcome.arguments.get("relation")).replace("_", " ")
        return f"{ends[0]}** {relation} **{ends[1]}"
    is_changed = outcome.name == "change" and not outcome.was_so and outcome.old_text
    return f"{outcome.old_text}** to **{outcome.changed_text()}" if is_changed else outcome.changed_text()


def _format_listing(title: str, texts: list[str]) -> str:
    if len(texts) == 1:
        return f"{title}: **{texts[0]}**"
    return f"{title}:\n\n" + "\n".join(f"- **{text}**" for text in texts) if texts else ""


def _format_held(outcome: Outcome) -> str:
    if outcome.conflicts_with:
        return (
            f"I have not saved **{outcome.held}** yet: it may contradict **{outcome.conflicts_with}**."
            f" {CONFLICT_QUESTION}"
        )
    return (
        f"I did not save **{outcome.held}**: there is text in view that you did not write, and I do not find this in"
        f" your own words. It waits for you on your {FACTS_PAGE}."
    )


def _format_meant(outcome: Outcome, names: Mapping[str, str]) -> str:
    return _format_name(outcome.arguments.get("fact_id"), names)


def _format_name(reference: Any, names: Mapping[str, str]) -> str:
    text = str(reference or "")
    return names.get(text, "that fact" if is_uuid(text) else text)


def _format_result(outcome: Outcome) -> str:
    """List the plain values of an unknown tool's result."""
    if not isinstance(outcome.result, dict):
        return f"`{outcome.name}` answered: {str(outcome.result)[:500]}"
    values = {k: v for k, v in outcome.result.items() if isinstance(v, str | int | float | bool)}
    lines = "\n".join(f"- {key}: {str(value)[:200]}" for key, value in list(values.items())[:12])
    answered = f" answered:\n\n{lines}" if lines else " has run; I have no rule to read its answer."
    return f"`{outcome.name}`{answered}"
