"""Draft a skill: write the fields that a message names, then ask, explain or push back by tier (seed 003)."""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from chat.tools.drafts import CRITIQUE_DRAFT, SET_STRATEGY
from config.offline.drafting.fields import BUILD, CAPS, TOOL_OF, Fields, name_skill, read_fields
from config.offline.facts import Call, Known, Outcome, best_matches
from config.offline.figures import Row, escape, exact, fill_rows, listing, paragraphs, rows, spell
from config.offline.phrases import TERMS
from config.offline.reading.sentences import Pattern, straight, strip_lead_in
from config.offline.reading.statements import read_statements
from config.offline.talk import EXPERT, NOVICE, Steps, Talk, say_text
from trading.skills.templates import TEMPLATES

WRITES: Final = frozenset(tool.name for tool in TOOL_OF.values())
# A beginner should start with a risk whose loss teaches and does not end the account.
SAFE_CAPS: Final = {"maxPositionPct": 5, "maxTotalExposurePct": 10, "maxLeverage": 1, "dailyLossHaltPct": 2}


# In this order (seed 003), each with the trade-off behind it.
AREAS: Final = {
    "Entry": "When exactly does it open a position? A tight rule gives few but comparable trades, a loose one many.",
    "Exit": "When does it get out, in profit and in loss? A near stop loses little, a far one much and rarely.",
    "What kills it": "When must it not trade (events, regimes, times)? Such rules save losses and cost opportunities.",
    "Sizing": "What percentage of equity per position, at most? Small sizes survive streaks, large ones show sooner.",
    "Horizon": "Within the day, days, or weeks, and on which bars? Short ones pay more in fees, long ones in patience.",
    "Symbols": "Which symbols? One is easier to judge, several spread the risk unless they move together.",
    "Risk": "Which leverage at most, and which daily loss halts it? Both bound the worst day, and the best one.",
}
_AREA_OF: Final = {
    **{"entry": "Entry", "exit": "Exit", "avoid": "What kills it", "symbols": "Symbols", "maxPositionPct": "Sizing"},
    **{"tradingStyle": "Horizon", "barsInterval": "Horizon", "maxLeverage": "Risk", "dailyLossHaltPct": "Risk"},
}
BACKTEST_FIRST: Final = (
    "Backtest it before you deploy it: once it is saved, say “backtest it over the last month”. A strategy that loses "
    "on past prices will not win on new ones."
)
NOVICE_ASK: Final = "What do you want to trade, and why do you think there is money in it?"
EXPERT_ASK: Final = "Hand me the pitch: symbols, entry, exit, what kills it, size. I draft all of it and push back."
_SAVE: Final = "You see it on the [preview]({}). Save is on the preview, not here: it becomes a version by your click."
_MAX_COMMAND: Final = 200  # characters
_RULES: Final = frozenset({"name", "entry", "exit", "avoid", "riskManagement", "barsInterval", "value", *CAPS})
_FIRST_PERSON: Final = Pattern(r"\b(?:I|I'm|my|me|mine|remember|forget)\b")
_ASKED: Final = re.compile(rf"^\*\*({'|'.join(AREAS)})\*\*: ", re.MULTILINE)
_PREVIEW = re.compile(r"/skills/[\w/-]{1,60}")
_SYMBOLS: Final = Pattern(r"^(?:also |only )?(?:add|trade|only)\b")
_COMMAND: Final = Pattern(
    r"""
(?P<templates>(?:(?:show|give|list)(?: me)? (?:an?|the|your|all) )?templates?|(?:what|which) templates? .{2,20})
(?:use|take|apply|start (?:from|with)|pick) (?:the |your |a )?(?P<template>[\w -]{3,40}?) template
(?P<safer>(?:i want |give me )?something safer than (?:my|the) .{3,30})
(?P<review>(?:review|critique|check)(?: <IT>)?|what do you think(?: (?:of|about) <IT>)?|any holes(?: in it)?)
(?P<save>(?:save|discard) <IT>(?: now)?|(?:use )?(?:the )?defaults?(?: for the rest)?|that(?:'s| is) (?:all|enough))
""",
    IT=r"(?:it|this|that|(?:the|my) (?:draft|strategy|skill))",
)


def is_drafting(talk: Talk) -> bool:
    """Tell whether the chat has a draft or is for one."""
    has_begun = talk.scene.is_authoring or any(one.name in WRITES for one in talk.earlier)
    return SET_STRATEGY.name in talk.acts and has_begun


def drafting_steps(talk: Talk, said: Sequence[str]) -> Steps | None:
    """Return the steps that write sentences into a draft, or None."""
    is_built, is_open = _is_built(said), is_drafting(talk) or _is_asked(talk)
    command = _command_steps(talk, "\n".join(said)) if SET_STRATEGY.name in talk.acts else None
    if SET_STRATEGY.name not in talk.acts or command is not None or not (is_built or is_open):
        return command
    told = "\n".join(one for one in said if is_built or not one.rstrip().endswith("?"))
    fields = _read_answer(talk, told)
    is_symbols = "symbols" in fields and _SYMBOLS.match(_plain(told))
    is_answer = is_symbols or fields.keys() & _RULES or (fields and _is_asked(talk))
    return _draft(talk, fields, told) if is_built or is_answer or len(fields.keys() - {"thesis", "type"}) > 1 else None


def list_drafted(talk: Talk, said: Sequence[str]) -> list[str]:
    """Return the sentences about the draft: without "I" and "my"."""
    if SET_STRATEGY.name not in talk.acts or not (is_drafting(talk) or _is_asked(talk) or _is_built(said)):
        return []
    return [one for one in said if _is_built([one]) or (not _FIRST_PERSON.search(one) and read_fields(one))]


def _is_built(said: Sequence[str]) -> bool:
    return any(BUILD.match(_plain(one)) for one in said)


def _plain(sentence: str) -> str:
    text = strip_lead_in(straight(sentence).strip())
    return re.sub(r"^(?:please|now|then|can you|could you)[,]? ", "", text, flags=re.IGNORECASE).strip(" .!?;")


def _is_asked(talk: Talk) -> bool:
    return bool(_ASKED.search(talk.before)) or NOVICE_ASK in talk.before or EXPERT_ASK in talk.before


def _read_answer(talk: Talk, text: str) -> Fields:
    """Read a message; one that names no rule by itself answers the question before it."""
    fields, asked = read_fields(text), _ASKED.search(talk.before)
    if asked is None or not text or fields.keys() & _RULES or read_statements(text):
        return fields
    return read_fields(f"{asked[1]}: {text.upper() if asked[1] == 'Symbols' else text}")


# --- From the message to the fields of the draft, by tier ---


def _read_draft(talk: Talk) -> Fields:
    """Return the fields of the draft as this chat wrote them and as its user sees them."""
    fields: Fields = {}
    for outcome in talk.earlier:
        if outcome.name in WRITES and not outcome.error:
            template = TEMPLATES.get(str(outcome.arguments.get("template")), {})
            fields |= {**template.get("strategy", {}), **template.get("context", {}), **outcome.arguments}
    # Rendered again for each turn, with the changes that the user made since.
    blocks = [given for given in talk.scene.draft.values() if isinstance(given, Mapping)]
    return fields | {_camel(name): one for given in blocks for name, one in given.items() if one}


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _draft(talk: Talk, given: Fields, text: str) -> Steps:
    """Write fields; explain them to a novice, ask an intermediate for more, push back on an expert's pitch."""
    known, tier = _read_draft(talk), talk.scene.tier
    is_new = not known.keys() & {"thesis", "entry", "exit"}
    notes: tuple[str, ...] = ()
    if tier == NOVICE and is_new:
        if not given.keys() & {"style", "symbols", "entry"}:
            return f"I walk you through it. {NOVICE_ASK}\n\n{_describe_templates()}"
        name = _find_template(text) or "trend_breakout"
        known, given = TEMPLATES[name]["strategy"] | known, {**SAFE_CAPS, **given, "template": name}
        given.pop("style", None)
        notes = (_explain(text, name), BACKTEST_FIRST)
    elif tier == EXPERT and is_new:
        if len(given.keys() - {"type", "value"}) < 2:
            return EXPERT_ASK
        span = {"m": "day", "d": "position"}.get(str(given.get("barsInterval", "1h"))[-1], "swing")
        given = {"tradingStyle": span, **given}
    if "skill_id" in talk.scene.focus and (unseen := {"avoid", "symbols"} & given.keys() - known.keys()):
        notes = (f"I see the {' and '.join(sorted(unseen))} of this skill once its draft has begun: change it then.",)
        given = {name: value for name, value in given.items() if name not in unseen}  # they would be replaced
    done = yield from patch_draft(_complete(talk, given, known, text))
    if tier == EXPERT and is_new and not all(outcome.error for outcome in done):
        return paragraphs(report_patches(done), (yield from _review("Where I push back:")))
    return report_patches(done, *notes, "" if tier in (NOVICE, EXPERT) else _ask_next(talk, known, done))


def _ask_next(talk: Talk, known: Fields, done: Sequence[Outcome]) -> str:
    """Return the next question. Every draft begins with caps and bars: that they are there answers none."""
    said = {name for one in (*talk.earlier, *done) if one.name in WRITES and not one.error for name in one.arguments}
    answered = {_AREA_OF.get(name, "") for name in said | (known.keys() - {*CAPS, "barsInterval"})}
    wanted = [area for area in AREAS if area not in answered and "skill_id" not in talk.scene.focus]
    if not wanted:
        return "Say “review it” for a critique, or tell me what to change."
    return paragraphs(f"**{wanted[0]}**: {AREAS[wanted[0]]}", f"Then {len(wanted) - 1} more." if wanted[1:] else "")


def _find_template(text: str) -> str:
    """Return the template whose name shares most words with a text, "" when none does."""
    names = {one["name"]: name for name, one in TEMPLATES.items()}
    return next((names[match.text] for match in best_matches(text, [*map(Known, names)])), "")


def _explain(text: str, template: str) -> str:
    """Tell a novice where the draft begins, and the terms that occur in it."""
    words = f"{text} {template} leverage daily loss halt backtest".casefold().replace("_", " ")
    terms = dict.fromkeys(told for key, told in TERMS.items() if len(key) > 3 and key in words)
    return (
        f"I started from the template **{TEMPLATES[template]['name']}**. Where you named no cap I took a small one,"
        f" because a first strategy should lose little while you learn from it. In a few words:\n\n{listing([*terms])}"
    )


def _complete(talk: Talk, given: Fields, known: Fields, text: str) -> Fields:
    """Return the fields to write: with the lists that are there, a mode and a first name."""
    fields, is_edited = dict(given), "skill_id" in talk.scene.focus
    if "thesis" in known:
        fields.pop("thesis", None)  # mentioned beside a change
    if not (is_edited or known.keys() & {"name", "template", "symbols"}) and given.keys() & {"symbols", "style"}:
        fields["name"] = name_skill(given)
    written = {*known, *fields}
    if fields.keys() & {"thesis", "entry", "exit"} and "template" not in fields and written & {"thesis", "exit"}:
        fields["mode"] = "rules" if {"entry", "exit"} <= written else "thesis"
    for name in {"avoid", "symbols"} & fields.keys():
        if name == "avoid" or not re.search(r"\b(?:only|instead)\b", text, re.IGNORECASE):
            fields[name] = [*dict.fromkeys([*(known.get(name) or ()), *fields[name]])]
    position, total = fields.get("maxPositionPct", 0), fields.get("maxTotalExposurePct", 0)
    return {**fields, "maxTotalExposurePct": position} if position > total > 0 else fields


def patch_draft(fields: Fields) -> Generator[tuple[Call, ...], list[Outcome], list[Outcome]]:
    """Yield a patch for each tool, refused ones once more without their errors; return results."""
    by_tool: dict[str, Fields] = {}
    for name, tool in TOOL_OF.items():
        if fields.get(name):
            by_tool.setdefault(tool.name, {})[name] = fields[name]
    done = yield tuple(Call(tool, given) for tool, given in by_tool.items())
    again = []
    for outcome in done:
        paths = [exact(one, "field") or exact(one, "argument") for one in rows(outcome.as_row, "error")]
        wrong = {_camel(step) for path in paths for step in re.split(r"\W+", path)}
        left = {name: value for name, value in outcome.arguments.items() if name not in wrong}
        again += [Call(outcome.name, left)] if left and len(left) < len(outcome.arguments) else []
    return [*done, *((yield tuple(again)) if again else ())]


def report_patches(done: Sequence[Outcome], *notes: str) -> str:
    """Describe written, refused and missing fields, with notes, and say where Save is."""
    written = [outcome for outcome in done if not outcome.error]
    last = written[-1].as_row if written else {}
    parts = {
        "I wrote this into the draft:": [_format_written(*field) for one in written for field in one.arguments.items()],
        "Refused, and not in the draft:": [
            line for one in done if one.error for line in _list_problems(one.as_row, "error") or [one.error]
        ],
        "Still missing before it can be saved:": _list_problems(last, "still_missing"),
        "Warnings:": [escape(str(one)) for one in last.get("warnings") or ()][:8],
    }
    told = [f"{head}\n\n{listing(lines)}" for head, lines in parts.items() if lines]
    url = str(last.get("url"))
    save = _SAVE.format(url if _PREVIEW.fullmatch(url) else "/skills/new/")
    return paragraphs(*told, "" if written else "Nothing was changed.", *notes, save)


def _format_written(name: str, value: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace(" pct", " (% of equity)")
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{words}: {escape(text.replace('_', ' '))}"


def _list_problems(found: Row, key: str) -> list[str]:
    told = rows(found, key)[:12]
    return [f"{spell(one, 'field') or spell(one, 'argument') or 'the draft'}: {spell(one, 'problem')}" for one in told]


def _review(intro: str) -> Steps:
    """Have the draft reviewed and report it, the gravest finding first."""
    [found] = yield (Call(CRITIQUE_DRAFT.name, {}),)
    if found.error:
        return f"I could not have it reviewed: {found.error}"
    order = ("error", "warning", "info", "")
    findings = sorted(rows(found.as_row, "findings"), key=lambda one: order.index(exact(one, "severity") or ""))
    told = fill_rows("**{severity}** {title}: {detail}| Suggestion: {suggestion}", findings)
    return paragraphs(intro, spell(found.as_row, "summary"), told or "No finding.")


# --- Short commands ---


def _command_steps(talk: Talk, text: str) -> Steps | None:
    match = _COMMAND.compiled.fullmatch(_plain(text)) if len(text) <= _MAX_COMMAND else None
    if match is None or not (match["templates"] or match["template"] or is_drafting(talk)):
        return None
    if match["templates"] or match["template"]:
        name = _find_template(match["template"] or "")
        caps = SAFE_CAPS if talk.scene.tier == NOVICE else {}
        return _patch({"template": name, **caps}) if name else say_text(_describe_templates())
    if match["safer"]:
        return _patch(SAFE_CAPS, NOVICE_ASK)
    if match["save"]:
        return say_text(f"What you did not name keeps the default of the draft. {_SAVE.format('/skills/new/')}")
    return _review("The review of the draft:") if CRITIQUE_DRAFT.name in talk.acts else None


def _describe_templates() -> str:
    lines = [f"**{one['name']}**: {one['description']}" for one in TEMPLATES.values()]
    return f"These are the templates:\n\n{listing(lines)}\n\nSay “use the range fade template” to begin with one."


def _patch(fields: Fields, *notes: str) -> Steps:
    return report_patches((yield from patch_draft(fields)), *notes)
