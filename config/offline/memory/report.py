"""Report memory writes, refusals and lookups."""

from collections.abc import Mapping, Sequence
from typing import Final

from config.lib.text import parse_uuid
from config.offline.adapters import COACH_TOOLS, LOOKUPS
from config.offline.facts import Outcome
from config.offline.figures import exact, listing, paragraphs
from config.offline.phrases import FACTS_PAGE

WHICH: Final = "Which one should I forget? Say “forget that ...” with its words."
CONFLICT_QUESTION: Final = "Does it replace that, or do both hold?"

# What was done, and what could not be; the words are not repeated: they may have been refused as a secret.
_WRITES: Final = {
    "forget": ("I have forgotten", ""),
    "change": ("I have changed", ""),
    "remember": ("I have saved", "save that"),
    "confirm": ("I have noted that this still holds", ""),
    "place": ("I have saved the place", "save that"),
}


def format_report(results: Sequence[Outcome], names: Mapping[str, str]) -> list[str]:
    """Return paragraphs on all writes, refusals and unknown tools."""
    done: dict[str, list[str]] = {}
    refused = []
    replaced = {exact(outcome.as_row, "replaced") for outcome in results}
    for outcome in results:
        if outcome.name == "forget" and not outcome.error and outcome.changed_text() in replaced:
            continue  # the change says it
        if outcome.error and outcome.name not in COACH_TOOLS:  # whose rules report them
            refused.append(failure(outcome, names))
        elif outcome.held:
            refused.append(_format_held(outcome))
        elif outcome.name in _WRITES:
            is_changed = outcome.name == "remember" and "replaced" in outcome.as_row
            title = "I knew this already" if outcome.was_so else _WRITES["change" if is_changed else outcome.name][0]
            done.setdefault(title, []).append(f"**{_format_text(outcome)}**")
        elif outcome.name not in LOOKUPS | COACH_TOOLS:
            refused.append(f"`{outcome.name}` answered: {str(outcome.result)[:500]}")
    told = [f"{title}: {', '.join(texts)}" for title, texts in done.items()]
    return [*told, *([f"You can change or undo this on your {FACTS_PAGE}."] if told else []), *refused]


def failure(outcome: Outcome, names: Mapping[str, str]) -> str:
    """Explain a tool's refusal, or ask which fact is meant."""
    candidates, reference = (
        [exact(one, "fact") for one in outcome.entries("candidates")],
        str(outcome.arguments.get("fact_id") or ""),
    )
    meant = names.get(reference, "that fact" if parse_uuid(reference) else reference)
    if candidates and outcome.name == "forget":
        asked = f"Several facts hold “{meant}”:" if len(candidates) > 1 else "I am not sure that you mean this:"
        return paragraphs(asked, listing(candidates), WHICH)
    if outcome.name in _WRITES:
        return f"I could not {_WRITES[outcome.name][1] or f'{outcome.name} “{meant}”'}: {outcome.told_error}"
    return f"`{outcome.tool or outcome.name}` could not answer: {outcome.told_error}"


def _format_text(outcome: Outcome) -> str:
    old = exact(outcome.before, "fact") or exact(outcome.as_row, "replaced")
    is_changed = outcome.name in {"change", "remember"} and not outcome.was_so and old
    return f"{old}** to **{outcome.changed_text()}" if is_changed else outcome.changed_text()


def _format_held(outcome: Outcome) -> str:
    if outcome.conflicts_with:
        known = f"it may contradict **{outcome.conflicts_with}**"
        return f"I have not saved **{outcome.held}** yet: {known}. {CONFLICT_QUESTION}"
    return (
        f"I did not save **{outcome.held}**: there is text in view that you did not write, and I do not find this in"
        f" your own words. It waits for you on your {FACTS_PAGE}."
    )
