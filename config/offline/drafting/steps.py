"""Draft a skill by pitch, questions or template, naming defaults."""

import re
from collections.abc import Sequence
from typing import Any, Final

from config.offline.adapters import Call
from config.offline.drafting import patches, templates
from config.offline.drafting.commands import command_steps
from config.offline.drafting.pitch import Pitch, read_pitch
from config.offline.drafting.pitch_patterns import BUILD
from config.offline.drafting.replies import answers_given
from config.offline.figures import listing, paragraphs
from config.offline.scene import EXPERT, NOVICE
from config.offline.talk import Steps, Talk

_LEAST_PITCH: Final = 3  # kinds of fields that make a message a whole pitch
_MAX_SENTENCES: Final = 60  # of a message that are looked at


def drafting_steps(talk: Talk, said: Sequence[str]) -> Steps | None:
    """Return the steps that write sentences into a draft, or None."""
    if patches.STRATEGY not in talk.acts or not said:
        return None
    command = command_steps(talk, "\n".join(said))
    if command is not None:
        return command
    is_built, is_asked = _is_built(said), _is_asked(talk)
    if not (is_built or is_asked or patches.is_drafting(talk)):
        return None
    told = "\n".join(sentence for sentence in said if is_built or not sentence.rstrip().endswith("?"))
    pitch = read_pitch(_PITCH.sub("", told))
    for area, words in answers_given(talk.before, talk.text).items():
        pitch.answer(area, words)
    if is_built or (is_asked and not pitch.is_empty) or _says_enough(pitch):
        return _pitch_steps(talk, pitch, patches.read_draft(talk), is_whole=is_built or _is_pitch_asked(talk))
    return None


def of_draft(talk: Talk, said: Sequence[str]) -> list[str]:
    """Return the sentences about the draft: without "I" and "my"."""
    if patches.STRATEGY not in talk.acts or not (_is_built(said) or _is_asked(talk) or patches.is_drafting(talk)):
        return []
    return [sentence for sentence in said[:_MAX_SENTENCES] if _is_of_draft(talk, patches.plain_of(sentence))]


def _is_of_draft(talk: Talk, plain: str) -> bool:
    if _begins_draft(plain):
        return True
    if _FIRST_PERSON.search(plain):
        return False
    return command_steps(talk, plain) is not None or not read_pitch(plain).is_empty


def _is_built(said: Sequence[str]) -> bool:
    return any(_begins_draft(patches.plain_of(sentence)) for sentence in said[:_MAX_SENTENCES])


def _begins_draft(plain: str) -> bool:
    return bool(BUILD.match(plain) or _PITCH.match(plain))


def _is_asked(talk: Talk) -> bool:
    return bool(answers_given(talk.before)) or _is_pitch_asked(talk)


def _is_pitch_asked(talk: Talk) -> bool:
    return templates.NOVICE_ASK in talk.before or templates.EXPERT_ASK in talk.before


_ENOUGH = re.compile(
    r"\b(?:that(?:'s| is) (?:all|it|enough)|use (?:the |your )?defaults?|you (?:choose|decide)|no more questions"
    r"|skip)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|my|me|mine|remember|forget)\b", re.IGNORECASE)
_PITCH = re.compile(
    r"^(?:here(?:'s| is) (?:my|the|a) pitch|(?:my |the )?pitch|draft (?:this|it|the following)|write this"
    r" up)\s*[:.-]\s*",
    re.IGNORECASE,
)


def _says_enough(pitch: Pitch) -> bool:
    """Tell whether a message means the draft, though unasked."""
    has_words = bool(pitch.entry or pitch.exit or pitch.avoid or pitch.sizing)
    return bool(has_words or pitch.risk() or pitch.every or pitch.daily_at or pitch.interval) or pitch.signals > 1


# --- From the message to the fields of the draft ---


def _pitch_steps(talk: Talk, pitch: Pitch, draft: patches.Draft, *, is_whole: bool) -> Steps:
    if talk.scene.tier == NOVICE:
        return _edit_draft(talk, pitch, draft) if draft.words else _draft_for_novice(talk, pitch, draft)
    if talk.scene.tier == EXPERT:
        is_pitch = is_whole or not draft.words or pitch.signals >= _LEAST_PITCH
        return _draft_for_expert(talk, pitch, draft) if is_pitch else _edit_draft(talk, pitch, draft)
    return _draft_by_questions(talk, pitch, draft)


def _draft_for_novice(talk: Talk, pitch: Pitch, draft: patches.Draft) -> Steps:
    """Start from a template with small caps; explain its terms."""
    if not pitch.style and not pitch.symbols and not pitch.entry:
        return paragraphs(
            f"I walk you through it. {templates.NOVICE_ASK} Name a market, such as BTC, and what you noticed.",
            f"Or start from one of my templates:\n\n{templates.listed_templates()}",
            "For example: “use the range fade template”.",
        )
    funding = "funding" in talk.text.casefold()
    name = templates.template_for(pitch.style, funding=funding)
    template = templates.TEMPLATES[name]
    words = pitch.strategy()
    kept = {key: words[key] for key in ("entry", "exit", "riskManagement") if key in words}
    if pitch.avoid:
        kept["avoid"] = [*template.avoid, *pitch.avoid]
    done = yield from patches.patch_draft(
        [
            Call(patches.STRATEGY, {"template": name, **kept}),
            Call(patches.BASICS, {"name": pitch.title()} if pitch.symbols or pitch.name else {}),
            Call(patches.CONTEXT, pitch.context()),
            Call(patches.CAPS, patches.fit_caps({**templates.SAFE_CAPS, **pitch.risk()})),
            Call(patches.SCHEDULE, pitch.schedule() if pitch.every or pitch.daily_at else {}),
        ]
    )
    why = (
        f"I started from the template **{template.title}**: it {template.deed}. Where you named no cap I took a small"
        " one, because a first strategy should lose little while you learn from it."
    )
    explained = templates.glossary(talk.text, name, pitch.style)
    return patches.report_patches(done, why, explained, after=templates.BACKTEST_FIRST)


def _draft_by_questions(talk: Talk, pitch: Pitch, draft: patches.Draft) -> Steps:
    """Write the stated fields, then ask for missing ones."""
    calls = _list_calls(pitch, draft)
    done: patches.Patched = []
    if calls:
        done = yield from patches.patch_draft(calls)
    answered = draft.answered | _answers_of(done)
    # An edited skill has its answers; the message names only the changes.
    is_edited = "skill_id" in talk.scene.focus and talk.scene.is_authoring
    wanted = [area for area in templates.AREAS if area not in answered and not is_edited]
    told = patches.told_patches(done) if done else "Let us draft it."
    if not wanted or _ENOUGH.search(talk.text):
        return paragraphs(told, "Say “review it” for a critique, or tell me what to change.", patches.save_note(done))
    asked = listing([f"**{area}**: {templates.AREAS[area]}" for area in wanted[: templates.MOST_ASKED]])
    more = len(wanted) - templates.MOST_ASKED
    rest = f"Then {more} more." if more > 0 else ""
    return paragraphs(told, f"{templates.QUESTIONS}\n\n{asked}", rest, patches.save_note(done) if done else "")


def _draft_for_expert(talk: Talk, pitch: Pitch, draft: patches.Draft) -> Steps:
    """Write all of it, have it reviewed, and push back."""
    if pitch.is_empty or (pitch.signals < 2 and not draft.is_begun):
        return templates.EXPERT_ASK
    calls = _list_calls(pitch, draft)
    if not draft.is_named and not pitch.horizon:
        horizon = pitch.horizon_or_guess()
        calls = [_add_style(call, horizon) if call.name == patches.BASICS else call for call in calls]
    done = yield from patches.patch_draft(calls)
    told = patches.told_patches(done, intro="Drafted:")
    if patches.CRITIQUE not in talk.acts or all(outcome.error for _, outcome in done):
        return paragraphs(told, patches.save_note(done))
    review = yield from patches.review_draft("Where I push back:")
    return paragraphs(told, review, patches.save_note(done))


def _edit_draft(talk: Talk, pitch: Pitch, draft: patches.Draft) -> Steps:
    """Write what was said into a draft that is there."""
    done = yield from patches.patch_draft(_list_calls(pitch, draft))
    return patches.report_patches(done, after=templates.BACKTEST_FIRST if talk.scene.tier == NOVICE else "")


def _list_calls(pitch: Pitch, draft: patches.Draft) -> list[Call]:
    basics: dict[str, Any] = {}
    if pitch.name or (not draft.is_named and (pitch.symbols or pitch.style)):
        basics["name"] = pitch.title()
    if pitch.horizon:
        basics["tradingStyle"] = pitch.horizon
    words = pitch.strategy()
    if words:
        written = draft.words | words.keys()
        if draft.words and {"thesis"} <= draft.words:
            words.pop("thesis", None)  # mentioned beside a change
        words = {**(_find_mode(written) if words.keys() & {"thesis", "entry", "exit"} else {}), **words}
    if "avoid" in words:
        words["avoid"] = list(dict.fromkeys([*draft.avoid, *words["avoid"]]))
    context = pitch.context()
    if "symbols" in context and draft.symbols and not pitch.is_exclusive:
        context["symbols"] = list(dict.fromkeys([*draft.symbols, *context["symbols"]]))
    calls = [
        Call(patches.BASICS, basics),
        Call(patches.STRATEGY, words),
        Call(patches.CONTEXT, context),
        Call(patches.CAPS, patches.fit_caps(pitch.risk())),
        Call(patches.SCHEDULE, pitch.schedule()),
    ]
    return [call for call in calls if call.arguments]


def _find_mode(written: set[str]) -> dict[str, str]:
    if {"entry", "exit"} <= written:
        return {"mode": "rules"}
    return {"mode": "thesis"} if "thesis" in written else {}


def _add_style(call: Call, horizon: str) -> Call:
    return Call(call.name, {**call.arguments, "tradingStyle": horizon})


def _answers_of(done: patches.Patched) -> set[str]:
    made = patches.Draft()
    for _, outcome in done:
        if not outcome.error:
            made.note(outcome.name, outcome.arguments)
    return made.answered
