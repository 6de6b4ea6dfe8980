"""Draft a skill by pitch, questions or template, naming defaults."""

import re
from collections.abc import Sequence
from typing import Any, Final

from config.offline.adapters import Call
from config.offline.drafting import patches, templates
from config.offline.drafting.commands import command_steps
from config.offline.drafting.pitch import BUILD, CAPS, Pitch, read_bars, read_number, read_pitch
from config.offline.figures import listing, paragraphs
from config.offline.reading.sentences import Pattern
from config.offline.reading.statements import read_statements
from config.offline.scene import EXPERT, NOVICE
from config.offline.talk import Steps, Talk
from trading.market.names import symbols_in
from trading.skills.templates import TEMPLATES

_LEAST_PITCH: Final = 3  # kinds of fields that make a message a whole pitch
_MAX_SENTENCES: Final = 60  # of a message that are looked at
_FIRST_PERSON: Final = Pattern(r"\b(?:I|I'm|my|me|mine|remember|forget)\b")
_PITCH: Final = Pattern(
    r"^(?:here(?:'s| is) (?:my|the|a) pitch|(?:my |the )?pitch|draft (?:this|it|the following)|write this up)"
    r"\s*[:.-]\s*"
)
_ASKED: Final = re.compile(rf"^- \*\*({'|'.join(templates.AREAS)})\*\*: ", re.MULTILINE)
_ITEM: Final = re.compile(r"^\s*(?:\(?(\d)[.):]|[-*•])\s+(.+)$")
_PERCENT: Final = Pattern(r"(\d{1,6}(?:\.\d{1,4})?)\s?(?:%|percent)")
_NOTHING: Final = Pattern(r"(?:nothing|none|no|never|nope|not sure|i don't know)\b\W*$")
# By its form alone a few words answer these.
_SHAPES: Final = (
    ("Risk", Pattern(r"\d\s?[x×]|\bhalt\b|\bleverage\b")),
    ("Sizing", Pattern(r"^\W*\d+(?:\.\d+)?\s?%")),
    ("Horizon", Pattern(r"\b\d+ ?[mhd]\b|\b(?:day|days|weeks|months|intraday|swing)\b")),
)


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
    pitch = read_pitch(_PITCH.compiled.sub("", told))
    for area, words in _read_answers(talk.before, talk.text).items():
        _answer_area(pitch, area, words)
    if is_built or (is_asked and not pitch.is_empty) or pitch.has_rules:
        return _pitch_steps(talk, pitch, patches.read_draft(talk), is_whole=is_built or _is_pitch_asked(talk))
    return None


def of_draft(talk: Talk, said: Sequence[str]) -> list[str]:
    """Return the sentences about the draft: without "I" and "my"."""
    if patches.STRATEGY not in talk.acts or not (_is_built(said) or _is_asked(talk) or patches.is_drafting(talk)):
        return []
    return [sentence for sentence in said[:_MAX_SENTENCES] if _is_of_draft(talk, patches.plain_of(sentence))]


def _is_of_draft(talk: Talk, plain: str) -> bool:
    if BUILD.match(plain) or _PITCH.match(plain):
        return True
    is_own = _FIRST_PERSON.search(plain)
    return not is_own and (command_steps(talk, plain) is not None or not read_pitch(plain).is_empty)


def _is_built(said: Sequence[str]) -> bool:
    plain = (patches.plain_of(sentence) for sentence in said[:_MAX_SENTENCES])
    return any(BUILD.match(sentence) or _PITCH.match(sentence) for sentence in plain)


def _is_asked(talk: Talk) -> bool:
    return templates.QUESTIONS in talk.before or _is_pitch_asked(talk)


def _is_pitch_asked(talk: Talk) -> bool:
    return templates.NOVICE_ASK in talk.before or templates.EXPERT_ASK in talk.before


# --- Answers to the model's own questions ---


def _read_answers(before: str, text: str) -> dict[str, str]:
    """Return the questions asked before a message, with their answers.

    A numbered list answers them in order, a few words by their form; one line that
    could not be placed answers the first.
    """
    if templates.QUESTIONS not in before:
        return {}
    asked = list(dict.fromkeys(_ASKED.findall(before.partition(templates.QUESTIONS)[2])))
    lines = [line for line in text.split("\n") if line.strip()][: len(templates.AREAS)]
    items = [match[2] for line in lines if (match := _ITEM.match(line))]
    if len(items) == len(lines) and len(items) > 1:
        return dict(zip(asked, items, strict=False))
    if len(lines) == 1 and len(lines[0].split()) <= 6:
        for area, shape in _SHAPES:
            if area in asked and shape.search(text):
                return {area: text}
    pitch = read_pitch(text)
    is_lone = len(asked) == 1 or (len(lines) == 1 and not pitch.signals and not pitch.horizon)
    return {asked[0]: text} if asked and is_lone and not read_statements(text) else {}


def _answer_area(pitch: Pitch, area: str, words: str) -> None:
    """Take words as the answer to one question of AREAS."""
    text = words.strip(" .,;-")
    pitch.texts = {
        name: [one for one in texts if one.casefold() not in text.casefold()] for name, texts in pitch.texts.items()
    }
    amount = read_number(words, _PERCENT)
    if area in {"Entry", "Exit"} and len(text.split()) > 2:
        pitch.add(area.casefold(), text)
    elif area == "What kills it" and not _NOTHING.match(text):
        is_rule = re.match(r"(?:never|avoid|skip|no|don't|do not|stay)\b", text, re.IGNORECASE)
        pitch.add("avoid", text if is_rule else f"No trade: {text[:1].upper()}{text[1:]}")
    elif area == "Sizing" and amount is not None and "risk" not in words.casefold():
        pitch.caps["maxPositionPct"] = amount
    elif area == "Sizing":
        pitch.add("riskManagement", text)
    elif area == "Horizon":
        pitch.interval = pitch.interval or read_bars(words)
    elif area == "Symbols":
        pitch.symbols = symbols_in(words.upper())
    elif area == "Risk":
        bare = re.search(r"(\d{1,6}(?:\.\d{1,4})?)\s?[x×](?!\w)", words)
        leverage = read_number(words, CAPS["maxLeverage"]) or (float(bare[1]) if bare else None)
        said = {"dailyLossHaltPct": amount, "maxLeverage": leverage}
        pitch.caps |= {name: value for name, value in said.items() if value is not None}


# --- From the message to the fields of the draft, by tier ---


def _pitch_steps(talk: Talk, pitch: Pitch, draft: patches.Draft, *, is_whole: bool) -> Steps:
    if talk.scene.tier == NOVICE:
        return _edit_draft(talk, pitch, draft) if draft.words else _draft_for_novice(talk, pitch)
    if talk.scene.tier == EXPERT:
        is_pitch = is_whole or not draft.words or pitch.signals >= _LEAST_PITCH
        return _draft_for_expert(talk, pitch, draft) if is_pitch else _edit_draft(talk, pitch, draft)
    return _draft_by_questions(talk, pitch, draft)


def _draft_for_novice(talk: Talk, pitch: Pitch) -> Steps:
    """Start from a template with small caps; explain its terms."""
    if not pitch.style and not pitch.symbols and not pitch.texts.get("entry"):
        return paragraphs(
            f"I walk you through it. {templates.NOVICE_ASK} Name a market, such as BTC, and what you noticed.",
            f"Or start from one of my templates:\n\n{templates.list_templates()}",
            "For example: “use the range fade template”.",
        )
    name = templates.template_for(pitch.style, funding="funding" in talk.text.casefold())
    words = pitch.strategy()
    kept: dict[str, Any] = {key: words[key] for key in ("entry", "exit", "riskManagement") if key in words}
    if "avoid" in words:
        kept["avoid"] = [*TEMPLATES[name]["strategy"]["avoid"], *words["avoid"]]
    done = yield from patches.patch_draft(
        [
            Call(patches.STRATEGY, {"template": name, **kept}),
            Call(patches.BASICS, {"name": pitch.title()} if pitch.symbols or pitch.name else {}),
            Call(patches.CONTEXT, pitch.context()),
            Call(patches.CAPS, patches.fit_caps({**templates.SAFE_CAPS, **pitch.risk()})),
            Call(patches.SCHEDULE, pitch.schedule() if pitch.every else {}),
        ]
    )
    why = (
        f"I started from the template {templates.describe_template(name)}. Where you named no cap I took a small one,"
        " because a first strategy should lose little while you learn from it."
    )
    explained = templates.glossary(talk.text, name, pitch.style)
    return patches.report_patches(done, why, explained, after=templates.BACKTEST_FIRST)


def _draft_by_questions(talk: Talk, pitch: Pitch, draft: patches.Draft) -> Steps:
    """Write the stated fields, then ask for missing ones."""
    calls = _list_calls(pitch, draft)
    done: patches.Patched = []
    if calls:
        done = yield from patches.patch_draft(calls)
    for _, outcome in done:
        if not outcome.error:
            draft.note(outcome.arguments)
    # An edited skill has its answers; the message names only the changes.
    is_edited = "skill_id" in talk.scene.focus and talk.scene.is_authoring
    wanted = [area for area in templates.AREAS if area not in draft.answered and not is_edited]
    told = patches.told_patches(done) if done else "Let us draft it."
    if not wanted:
        return paragraphs(told, "Say “review it” for a critique, or tell me what to change.", patches.save_note(done))
    asked = listing([f"**{area}**: {templates.AREAS[area]}" for area in wanted[: templates.MOST_ASKED]])
    more = len(wanted) - templates.MOST_ASKED
    rest = f"Then {more} more." if more > 0 else ""
    return paragraphs(told, f"{templates.QUESTIONS}\n\n{asked}", rest, patches.save_note(done) if done else "")


def _draft_for_expert(talk: Talk, pitch: Pitch, draft: patches.Draft) -> Steps:
    """Write all of it, have it reviewed, and push back."""
    if pitch.is_empty or (pitch.signals < 2 and not draft.is_begun):
        return templates.EXPERT_ASK
    if not draft.is_named:
        pitch.horizon = pitch.horizon_or_guess()
    done = yield from patches.patch_draft(_list_calls(pitch, draft))
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
    basics: dict[str, Any] = {"tradingStyle": pitch.horizon} if pitch.horizon else {}
    if pitch.name or (not draft.is_named and (pitch.symbols or pitch.style)):
        basics = {"name": pitch.title(), **basics}
    words = pitch.strategy()
    if "thesis" in draft.words:
        words.pop("thesis", None)  # mentioned beside a change
    written = draft.words | words.keys()
    if words.keys() & {"thesis", "entry", "exit"}:
        mode = "rules" if {"entry", "exit"} <= written else "thesis" if "thesis" in written else ""
        words = {**({"mode": mode} if mode else {}), **words}
    if "avoid" in words:
        words["avoid"] = list(dict.fromkeys([*draft.listed("avoid"), *words["avoid"]]))
    context = pitch.context()
    if "symbols" in context and not pitch.is_exclusive:
        context["symbols"] = list(dict.fromkeys([*draft.listed("symbols"), *context["symbols"]]))
    calls = [
        Call(patches.BASICS, basics),
        Call(patches.STRATEGY, words),
        Call(patches.CONTEXT, context),
        Call(patches.CAPS, patches.fit_caps(pitch.risk())),
        Call(patches.SCHEDULE, pitch.schedule()),
    ]
    return [call for call in calls if call.arguments]
