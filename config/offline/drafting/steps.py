"""Draft a skill: write the fields that a message names, then ask, explain or push back by tier (seed 003)."""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from chat.tools.drafts import CRITIQUE_DRAFT, SET_SCHEDULE, SET_STRATEGY
from config.lib.text import one_line
from config.offline.drafting.fields import BUILD, CAPS, TOOL_OF, Fields, name_skill, read_fields
from config.offline.facts import Call, Outcome
from config.offline.figures import Row, escape, exact, fill_rows, listing, paragraphs, plain, rows
from config.offline.phrases import TERMS
from config.offline.reading.sentences import Pattern, straight, strip_lead_in
from config.offline.reading.statements import read_statements
from config.offline.scene import EXPERT, NOVICE
from config.offline.talk import Steps, Talk, say_text
from trading.market.names import symbols_in
from trading.skills.templates import TEMPLATES

STRATEGY: Final = SET_STRATEGY.name
CRITIQUE: Final = CRITIQUE_DRAFT.name
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
QUESTIONS: Final = "To go on I need to know:"
BACKTEST_FIRST: Final = (
    "Backtest it before you deploy it: once it is saved, say “backtest it over the last month”. A strategy that loses "
    "on past prices will not win on new ones."
)
NOVICE_ASK: Final = "What do you want to trade, and why do you think there is money in it?"
EXPERT_ASK: Final = "Hand me the pitch: symbols, entry, exit, what kills it, size. I draft all of it and push back."
_SAVE: Final = "You see it on the [preview]({}). Save is on the preview, not here: it becomes a version by your click."
_MOST_ASKED: Final = 3  # questions at a time
_WHOLE_PITCH: Final = 3  # kinds of fields
_MAX_SENTENCES: Final = 60  # of a message that are looked at
_MAX_COMMAND: Final = 200  # characters
_RULES: Final = frozenset({"name", "entry", "exit", "avoid", "riskManagement", "barsInterval", "value", *CAPS})
_FIRST_PERSON: Final = Pattern(r"\b(?:I|I'm|my|me|mine|remember|forget)\b")
_PITCH: Final = Pattern(r"^(?:here(?:'s| is) (?:my|the|a) pitch|(?:my |the )?pitch|draft (?:this|it))\s*[:.-]\s*")
_ASKED: Final = re.compile(rf"^- \*\*({'|'.join(AREAS)})\*\*: ", re.MULTILINE)
_ITEM: Final = re.compile(r"^\s*(?:\(?(\d)[.):]|[-*•])\s+(.+)$")
_PREVIEW = re.compile(r"/skills/[\w/-]{1,60}")
# By its form alone a few words answer these.
_SHAPES: Final = {
    "Risk": Pattern(r"\d\s?[x×]|\bhalt\b|\bleverage\b"),
    "Sizing": Pattern(r"^\W*\d+(?:\.\d+)?\s?%"),
    "Horizon": Pattern(r"\b\d+ ?[mhd]\b|\b(?:day|days|weeks|months|intraday|swing)\b"),
}
_TEMPLATES: Final = {
    "funding_mean_reversion": Pattern(r"\b(?:funding|mean[- ]rever\w+|carry)\b"),
    "trend_breakout": Pattern(r"\b(?:break ?outs?|trends?)\b"),
    "range_fade": Pattern(r"\b(?:ranges?|fade)\b"),
}
_COMMAND: Final = Pattern(
    r"""
(?P<template>(?:(?:show|give|list|see)(?: me)? (?:an?|the|your|all|some) )?templates?|(?:what|which) templates? .{2,20}
    |(?:use|take|apply|start (?:from|with)|pick) (?:the |your |a )?[\w -]{3,40}? template(?: \w+ [\w ,]{2,40})?)
(?P<safer>make <IT> (?:a (?:bit|little) )?(?:safer|less risky)|(?:i want |give me )?something (?:safer
    |less risky) than[ ](?:my|the) (?:last|other|current) (?:one|skill|strategy))
(?P<verb>add|trade|also (?:trade|add)|include|remove|drop|without|only(?: trade)?
    |just(?: trade)?)[ ](?P<symbols>[A-Za-z]{2,12}(?:(?:, and|,| and| &) [A-Za-z]{2,12})*)(?: (?:too|as well|only))?
(?P<review>(?:review|critique|check|judge)(?: <IT>)?|what do you think(?: (?:of|about) <IT>)?|any holes(?: in it)?)
(?P<missing>what(?:'s| is) (?:still )?missing|(?:is it|is the draft) (?:complete|ready|done))
(?P<save>(?:save|discard|delete) <IT>(?: now)?)
(?P<rest>(?:use )?(?:the |your )?defaults?(?: for the rest)?|that(?:'s| is) (?:all|enough)|you (?:choose|decide))
""",
    IT=r"(?:it|this|that|(?:the|my) (?:draft|strategy|skill|thing))",
)


def is_drafting(talk: Talk) -> bool:
    """Tell whether the chat has a draft or is for one."""
    return STRATEGY in talk.acts and (talk.scene.is_authoring or any(one.name in WRITES for one in talk.earlier))


def drafting_steps(talk: Talk, said: Sequence[str]) -> Steps | None:
    """Return the steps that write sentences into a draft, or None."""
    if STRATEGY not in talk.acts or not said:
        return None
    command = _command_steps(talk, "\n".join(said))
    is_built, is_asked = any(map(_begins_draft, said[:_MAX_SENTENCES])), _is_asked(talk)
    if command is not None or not (is_built or is_asked or is_drafting(talk)):
        return command
    told = "\n".join(sentence for sentence in said if is_built or not sentence.rstrip().endswith("?"))
    told = talk.text if _ASKED.search(talk.before) and not is_built else told
    fields = read_fields(_label_answers(talk.before, _PITCH.compiled.sub("", told)))
    is_answer = is_asked and fields.keys() - {"only"}
    if is_built or is_answer or fields.keys() & _RULES or _count_kinds(fields) > 1:
        return _draft(talk, fields, is_whole=is_built or EXPERT_ASK in talk.before)
    return None


def list_drafted(talk: Talk, said: Sequence[str]) -> list[str]:
    """Return the sentences about the draft: without "I" and "my"."""
    is_possible = STRATEGY in talk.acts and (is_drafting(talk) or _is_asked(talk) or any(map(_begins_draft, said)))
    return [one for one in said[:_MAX_SENTENCES] if is_possible and _is_of_draft(talk, one)]


def _is_of_draft(talk: Talk, sentence: str) -> bool:
    text = _plain(sentence)
    is_read = bool(read_fields(text).keys() - {"only"}) or _command_steps(talk, text) is not None
    return _begins_draft(sentence) or (is_read and not _FIRST_PERSON.search(text))


def _plain(sentence: str) -> str:
    text = strip_lead_in(straight(sentence).strip())
    return re.sub(r"^(?:please|now|then|can you|could you)[,]? ", "", text, flags=re.IGNORECASE).strip(" .!?;")


def _begins_draft(sentence: str) -> bool:
    text = _plain(sentence)
    return bool(BUILD.match(text) or _PITCH.match(text))


def _is_asked(talk: Talk) -> bool:
    return any(question in talk.before for question in (QUESTIONS, NOVICE_ASK, EXPERT_ASK))


def _count_kinds(fields: Fields) -> int:
    return len({_AREA_OF.get(name, name) for name in fields} - {"thesis", "name", "type", "only"})


def _label_answers(before: str, text: str) -> str:
    """Put the questions asked before a message as labels before its answers.

    A numbered list answers them in order, a few words by their form; a line of which nothing is read answers the first.
    """
    asked = list(dict.fromkeys(_ASKED.findall(before.partition(QUESTIONS)[2])))
    lines = [line for line in text.split("\n") if line.strip()][: len(AREAS)]
    items = [match[2] for line in lines if (match := _ITEM.match(line))]
    if asked and len(items) == len(lines) > 1:
        return "\n".join(_label(area, words) for area, words in zip(asked, items, strict=False))
    is_short = len(lines) == 1 and len(text.split()) <= 6
    area = next((area for area, shape in _SHAPES.items() if is_short and area in asked and shape.search(text)), "")
    if not area and asked and (len(asked) == 1 or (len(lines) == 1 and not read_fields(text))):
        area = "" if read_statements(text) else asked[0]
    return _label(area, text) if area else text


def _label(area: str, words: str) -> str:
    if area == "Risk":
        words = re.sub(r"(?<!leverage )(\d+(?:\.\d+)?)\s?[x×](?!\w)(?! leverage)", r"leverage \1x,", words)
        return re.sub(r"(?<!loss )(\d+(?:\.\d+)?\s?(?:%|percent))", r"daily loss \1", words)
    return words.upper() if area == "Symbols" else f"{'Bars' if area == 'Horizon' else area}: {words}"


# --- From the message to the fields of the draft, by tier ---


def _read_draft(talk: Talk) -> tuple[Fields, set[str]]:
    """Return the visible fields of the draft, and the questions that they answer."""
    fields: Fields = {}
    answered: set[str] = set()
    for outcome in talk.earlier:
        if outcome.name in WRITES and not outcome.error:
            template = TEMPLATES.get(str(outcome.arguments.get("template")), {})
            fields |= {**template.get("strategy", {}), **template.get("context", {}), **outcome.arguments}
            answered |= set(AREAS) if template else {_AREA_OF.get(name, "") for name in outcome.arguments}
    # Rendered again for each turn, with the changes that the user made since. Every draft begins with caps and bars:
    # that they are there answers no question.
    for block, given in talk.scene.draft.items():
        if isinstance(given, Mapping):
            shown = {_camel(name): one for name, one in given.items() if one}
            fields |= shown
            answered |= {_AREA_OF.get(name, "") for name in shown if block == "strategy" or name == "symbols"}
    return fields, answered


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _draft(talk: Talk, given: Fields, *, is_whole: bool) -> Steps:
    """Write fields; explain them to a novice, ask an intermediate for more, push back on an expert's pitch."""
    known, answered = _read_draft(talk)
    tier, is_new = talk.scene.tier, not known.keys() & {"thesis", "entry", "exit"}
    notes: list[str] = []
    if tier == NOVICE and is_new:
        if not given.keys() & {"style", "symbols", "entry"}:
            return f"I walk you through it. {NOVICE_ASK}\n\n{_describe_templates()}"
        given, notes = _with_template(talk, given)
    elif tier == EXPERT and _count_kinds(given) < 2 and not (given and known):
        return EXPERT_ASK
    elif tier == EXPERT and is_new:
        span = {"m": "day", "d": "position"}.get(str(given.get("barsInterval", "1h"))[-1], "swing")
        given = {"tradingStyle": span, **given}
    done = yield from patch_draft(_complete(talk, given, known))
    if tier == NOVICE:
        return report_patches(done, *notes, BACKTEST_FIRST)
    if tier == EXPERT:
        is_reviewed = is_whole or is_new or _count_kinds(given) >= _WHOLE_PITCH
        if not is_reviewed or CRITIQUE not in talk.acts or all(outcome.error for _, outcome in done):
            return report_patches(done)
        return paragraphs(report_patches(done), (yield from _review("Where I push back:")))
    answered |= {_AREA_OF.get(name, "") for call, one in done if not one.error for name in call.arguments}
    # An edited skill has its answers; the message names only the changes.
    is_edited = "skill_id" in talk.scene.focus and talk.scene.is_authoring
    wanted = [area for area in AREAS if area not in answered and not is_edited]
    if not wanted:
        return report_patches(done, "Say “review it” for a critique, or tell me what to change.")
    asked = listing([f"**{area}**: {AREAS[area]}" for area in wanted[:_MOST_ASKED]])
    rest = f"Then {len(wanted) - _MOST_ASKED} more." if len(wanted) > _MOST_ASKED else ""
    return report_patches(done, f"{QUESTIONS}\n\n{asked}", rest) if done else f"{QUESTIONS}\n\n{asked}\n\n{rest}"


def _with_template(talk: Talk, given: Fields) -> tuple[Fields, list[str]]:
    """Return fields over the nearest template with small caps, and what a novice should know of them."""
    style = str(given.get("style", ""))
    name = "range_fade" if style in {"mean_reversion", "range"} else "trend_breakout"
    name = "funding_mean_reversion" if "funding" in talk.text.casefold() or style == "carry" else name
    kept = {key: value for key, value in given.items() if key not in {"style", "thesis", "tradingStyle"}}
    if "avoid" in kept:
        kept["avoid"] = [*TEMPLATES[name]["strategy"]["avoid"], *kept["avoid"]]
    words = f"{talk.text} {name} {style} leverage daily loss halt backtest".casefold().replace("_", " ")
    terms = dict.fromkeys(told for key, told in TERMS.items() if len(key) > 3 and key in words)
    why = (
        f"I started from the template **{TEMPLATES[name]['name']}**. Where you named no cap I took a small one,"
        " because a first strategy should lose little while you learn from it."
    )
    return {**SAFE_CAPS, **kept, "template": name}, [why, f"In a few words:\n\n{listing(list(terms))}"]


def _complete(talk: Talk, given: Fields, known: Fields) -> Fields:
    """Return the fields to write: with the lists that are there, a mode and a first name."""
    fields = {name: value for name, value in given.items() if name != "only"}
    if known.get("thesis"):
        fields.pop("thesis", None)  # mentioned beside a change
    if not known.keys() & {"name", "template"} and "skill_id" not in talk.scene.focus:
        fields |= {"name": name_skill(given)} if given.keys() & {"symbols", "style"} else {}
    written = {*known, *fields}
    if fields.keys() & {"thesis", "entry", "exit"} and "template" not in fields:
        mode = "rules" if {"entry", "exit"} <= written else "thesis" if "thesis" in written else ""
        fields |= {"mode": mode} if mode else {}
    for name in ("avoid", "symbols"):
        if name in fields and not (name == "symbols" and "only" in given):
            fields[name] = list(dict.fromkeys([*(known.get(name) or ()), *fields[name]]))
    position, total = fields.get("maxPositionPct", 0), fields.get("maxTotalExposurePct", 0)
    return {**fields, "maxTotalExposurePct": position} if position > total > 0 else fields


def patch_draft(fields: Fields) -> Generator[tuple[Call, ...], list[Outcome], list[tuple[Call, Outcome]]]:
    """Yield a patch for each tool, refused ones once more without their errors; return results."""
    by_tool: dict[str, Fields] = {}
    for name, tool in TOOL_OF.items():
        if fields.get(name):
            by_tool.setdefault(tool.name, {})[name] = fields[name]
    calls = tuple(Call(tool, given) for tool, given in by_tool.items())
    done = list(zip(calls, (yield calls), strict=False))
    again = []
    for call, outcome in done:
        paths = [exact(one, "field") or exact(one, "argument") for one in rows(outcome.as_row, "error")]
        wrong = {_camel(step) for path in paths for step in re.split(r"\W+", path)}
        left = {name: value for name, value in call.arguments.items() if name not in wrong}
        again += [Call(call.name, left)] if left and len(left) < len(call.arguments) else []
    return [*done, *zip(again, (yield tuple(again)), strict=False)] if again else done


# --- Telling ---


def report_patches(done: Sequence[tuple[Call, Outcome]], *notes: str) -> str:
    """Describe written, refused and missing fields, with notes, and say where Save is."""
    written = [(call, outcome.as_row) for call, outcome in done if not outcome.error]
    failed = [(call, outcome) for call, outcome in done if outcome.error]
    last = written[-1][1] if written else {}
    parts = {
        "I wrote this into the draft:": [line for call, _ in written for line in _format_written(call)],
        "Refused, and not in the draft:": [
            line
            for call, one in failed
            for line in _list_problems(one.as_row, "error") or [f"`{call.name}`: {one.error}"]
        ],
        "Still missing before it can be saved:": _list_problems(last, "still_missing"),
        "Warnings:": [escape(str(one)) for one in last.get("warnings") or ()][:8],
    }
    told = [f"{head}\n\n{listing(lines)}" for head, lines in parts.items() if lines]
    urls = [url for _, row in written if _PREVIEW.fullmatch(url := str(row.get("url")))]
    save = _SAVE.format(urls[-1] if urls else "/skills/new/")
    return paragraphs(*told, "" if written else "Nothing was changed.", *notes, save)


def _format_written(call: Call) -> list[str]:
    if call.name == SET_SCHEDULE.name:
        often = "daily at" if call.arguments.get("type") == "daily" else "every"
        return [f"schedule: {often} {escape(str(call.arguments.get('value')))}"]
    lines = []
    for name, value in call.arguments.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace(" pct", " (% of equity)")
        text = one_line("; ".join(map(str, value)) if isinstance(value, list) else str(value))
        text = text.replace("_", " ") if re.fullmatch(r"[a-z_]{1,20}", text) else text
        title = TEMPLATES.get(str(value), {}).get("name", "") if name == "template" else ""
        lines.append(f"{words}: {title or escape(text)}")
    return lines


def _list_problems(found: Row, key: str) -> list[str]:
    told = rows(found, key)[:12]
    return [f"{plain(one, 'field') or plain(one, 'argument') or 'the draft'}: {plain(one, 'problem')}" for one in told]


def _review(intro: str) -> Steps:
    """Have the draft reviewed and report it, the gravest finding first."""
    [found] = yield (Call(CRITIQUE, {}),)
    if found.error:
        return f"I could not have it reviewed: {found.error}"
    order = ("error", "warning", "info", "")
    findings = sorted(rows(found.as_row, "findings"), key=lambda one: order.index(exact(one, "severity") or ""))
    told = fill_rows("**{severity}** {title}: {detail}| Suggestion: {suggestion}", findings)
    return paragraphs(intro, plain(found.as_row, "summary"), told or "No finding.")


# --- Short commands ---


def _command_steps(talk: Talk, text: str) -> Steps | None:
    match = _COMMAND.compiled.fullmatch(_plain(text)) if len(text) <= _MAX_COMMAND else None
    if match is None or not (match["template"] or is_drafting(talk)):
        return None
    known = _read_draft(talk)[0]
    if match["template"]:
        name = next((name for name, pattern in _TEMPLATES.items() if pattern.search(match[0])), "")
        caps = SAFE_CAPS if talk.scene.tier == NOVICE else {}
        given = {"template": name, "symbols": symbols_in(talk.text), **caps}
        return _patch(given) if name else say_text(_describe_templates())
    if match["safer"]:
        return _make_safer({} if "than" in match[0] else known, is_new="than" in match[0])
    if match["verb"]:
        return _change_symbols(known, match["verb"].casefold(), symbols_in(match["symbols"]))
    done = [one for one in talk.earlier if one.name in WRITES and not one.error]
    if match["missing"] and done:
        problems = _list_problems(done[-1].as_row, "still_missing")
        return say_text(f"Before it can be saved:\n\n{listing(problems)}" if problems else "Nothing is missing.")
    if match["save"] or match["rest"]:
        rest = "What you did not name keeps the default of the draft. " if match["rest"] else ""
        return say_text(f"{rest}{_SAVE.format('/skills/new/')}")
    return _review("The review of the draft:") if CRITIQUE in talk.acts else None


def _describe_templates() -> str:
    lines = [f"**{one['name']}**: {one['description']}" for one in TEMPLATES.values()]
    return f"These are the templates:\n\n{listing(lines)}\n\nSay “use the range fade template” to begin with one."


def _make_safer(known: Fields, *, is_new: bool) -> Steps:
    """Halve the caps that are known; the others become those of a first strategy."""
    halves = {name: max(1.0, float(known.get(name) or 2 * safe) / 2) for name, safe in SAFE_CAPS.items()}
    ask = f"I do not see the caps of your other skills. {NOVICE_ASK}" if is_new else ""
    return _patch({name: int(cap) if cap == int(cap) else round(cap, 2) for name, cap in halves.items()}, ask)


def _change_symbols(draft: Fields, verb: str, named: list[str]) -> Steps | None:
    known, is_only = list(draft.get("symbols") or ()), verb.startswith(("only", "just"))
    if named and not known and not is_only:
        return say_text(f"I do not see the symbols of the draft. Name the whole list: “only {', '.join(named)} and …”.")
    kept = [symbol for symbol in known if symbol not in named and not is_only]
    symbols = kept if verb.startswith(("remove", "drop", "without")) else [*kept, *named]
    if not symbols:
        return say_text("A skill needs one symbol at least. Add another one first.")
    return _patch({"symbols": symbols}) if named else None


def _patch(fields: dict[str, Any], *notes: str) -> Steps:
    return report_patches((yield from patch_draft(fields)), *notes)
