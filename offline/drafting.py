"""Draft a skill by one table of fields: write what a message names, then ask, explain or push back by tier (seed 003).

Percents are 0..100. What a message names replaces what the draft has; symbols and avoid rules are added to.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from chat.tools.drafts import SET_BASICS, SET_CONTEXT, SET_RISK, SET_SCHEDULE, SET_STRATEGY, critique_draft
from config.lib.text import one_line
from config.lib.words.clauses import TaggedText, read_rows
from config.lib.words.lexer import find_phrases, parse_clock, read_tokens, skip_phrases, take_number
from config.lib.words.markets import symbols_in
from config.lib.words.sentences import QUOTED, sentences, straight, strip_lead_in
from config.lib.words.vocabulary import Meaning
from offline.messages import Call, CallResult, FactLine, best_matches, key_words, parse_json
from offline.statements import read_statements
from offline.talk import EXPERT, NOVICE, Steps, Talk, say_text
from offline.telling import FORMS, SAYS, TERMS, TEXTS, escape, exact, fill, listing, paragraphs, rows, spell
from trading.skills.templates import TEMPLATES

Fields = dict[str, Any]  # by argument of the tools

# The arguments of each tool, in the order of the calls: a template comes before what stands over it.
TOOLS: Final = {
    SET_STRATEGY.name: "template mode style thesis entry exit riskManagement avoid",
    SET_BASICS.name: "name tradingStyle",
    SET_CONTEXT.name: "symbols barsInterval",
    SET_RISK.name: "maxPositionPct maxTotalExposurePct maxLeverage dailyLossHaltPct maxOrdersPerDay",
    SET_SCHEDULE.name: "type value",
}
CAPS: Final = tuple(TOOLS[SET_RISK.name].split())
# A beginner should start with a risk whose loss teaches and does not end the account.
SAFE_CAPS: Final = {"maxPositionPct": 5, "maxTotalExposurePct": 10, "maxLeverage": 1, "dailyLossHaltPct": 2}
# An area, and the fields that answer it with their question.
AREAS: Final = {area: row.split(": ") for area, row in read_rows(TEXTS["areas"]).items()}
_ASIDE: Final = frozenset({"symbols", "style", "thesis", "tradingStyle", "type"})  # one of them alone is no rule

# The value of a phrase, the first one that a message names, and what the field says.
_MANNERS: Final = {name: name for name in ("mean_reversion", "breakout", "trend", "range", "fade", "carry")}
_MANNERS["fade"] = "mean_reversion"
_HORIZONS: Final = {"scalp": "day", "day": "day", "swing": "swing", "position": "position"}
# A number is read and taken out of its clause: what bounds the day or the whole before the cap of a position.
_SAID, _NUMBERS = FORMS["a draft"], FORMS["numbers of a draft"]
_LABEL: Final = re.compile(r"^(?:[-*•]\s*)?([\w ]{2,14}?)\s*[:=]\s*(?=\S)")
_BREAK: Final = re.compile(
    r"[,;]\s+(?:(?:and|then|but)\s+)*|\s+(?:and|then)\s+(?=(?:exit|cover|close|sell|stop|never|risk)s?\b)"
)
# A name has capital letters: "called Harbour", "name it Slow Boat 2".
_NAMED: Final = re.compile(
    r"\b(?i:called|named|(?:call|name) (?:it|this|the \w+)) [\"“]?([A-Z][\w-]+(?: [A-Z\d][\w-]*)*)[\"”]?"
)
_MAX_TEXT, _MAX_RULE = 2000, 280  # characters
_MOST_SENTENCES: Final = 100  # of a message that are read for a draft

_SAVE: Final = "You see it on the [preview]({}). Save is on the preview, not here: it becomes a version by your click."
_FINDING: Final = "**{severity}** {title}: {detail}| Suggestion: {suggestion}"
_PROBLEM: Final = "|{field}: |{argument}: |{problem}"


def is_drafting(talk: Talk) -> bool:
    """Tell whether the chat has a draft or is for one."""
    has_begun = "draft" in talk.scene.focus or any(one.name in TOOLS for one in talk.earlier)
    return SET_STRATEGY.name in talk.acts and has_begun


def drafting_steps(talk: Talk, said: Sequence[str]) -> Steps | None:
    """Return the steps that write sentences into a draft, or None."""
    is_built = any(map(_is_built, said))
    command = _command_steps(talk, _read("\n".join(said))) if SET_STRATEGY.name in talk.acts else None
    if command is not None or not _is_open(talk, said):
        return command
    told = "\n".join(one for one in said if is_built or not one.rstrip().endswith("?"))
    fields, area = read_fields(told), next((area for area in AREAS if f"**{area}**: " in talk.before), "")
    if area and told and not fields.keys() - _ASIDE and not read_statements(told):
        fields = read_fields(f"{area}: {told.upper() if area == 'Symbols' else told}")
    is_answer = fields and (_has_asked(talk) or ("symbols" in fields and "symbols" in _read(told)))
    is_rule = fields.keys() - _ASIDE or len(fields.keys() - {"thesis", "type"}) > 1
    return _draft(talk, fields, told) if is_built or is_answer or is_rule else None


def list_drafted(talk: Talk, said: Sequence[str]) -> list[str]:
    """Return the sentences about the draft: without "I" and "my"."""
    told = said[:_MOST_SENTENCES] if _is_open(talk, said) else ()
    return [one for one in told if _is_built(one) or ("own" not in _SAID.read(one) and read_fields(one))]


def _is_open(talk: Talk, said: Sequence[str]) -> bool:
    return SET_STRATEGY.name in talk.acts and (is_drafting(talk) or _has_asked(talk) or any(map(_is_built, said)))


def _has_asked(talk: Talk) -> bool:
    asked = (SAYS["ask idea"], SAYS["ask pitch"], *(f"**{area}**: " for area in AREAS))
    return any(one in talk.before for one in asked)


def _is_built(sentence: str) -> bool:
    return "built" in _read(sentence)


def _read(sentence: str) -> TaggedText:
    return _SAID.read(strip_lead_in(straight(sentence).strip()).strip(" .!?;"))


# --- From a message to fields ---


def read_fields(message: str) -> Fields:
    """Read the fields of a strategy that a message names, quotations aside."""
    text = "\n".join(straight(sentence) for sentence in sentences(message) if not QUOTED.match(sentence))
    named = _NAMED.search(text)
    # A name such as "BTC Harbour" does not name the traded symbols.
    text = text.replace(named[0], " ") if named else text
    fields: Fields = {"name": named[1] if named else "", "symbols": symbols_in(text)}
    for field, values, concepts in (
        ("style", _MANNERS, ("MANNER",)),
        ("tradingStyle", _HORIZONS, ("HORIZON", "STYLE")),
    ):
        said = {meaning.value for _, _, meaning in find_phrases(text, *concepts)}
        fields[field] = next((value for name, value in values.items() if name in said), "")
    if not fields["tradingStyle"] and re.search(r"\d days\b", text):
        fields["tradingStyle"] = "swing"
    told: dict[str, list[str]] = {}
    for sentence in islice(sentences(text), _MOST_SENTENCES):
        _read_clauses(_read(sentence[:_MAX_TEXT]).cut("built"), fields, told)
    fields["avoid"] = [rule[:_MAX_RULE] for rule in told.pop("avoid", ())][:20]
    fields |= {place: " ".join(f"{text}." for text in texts)[:_MAX_TEXT] for place, texts in told.items()}
    if interval := fields.setdefault("value", fields.get("barsInterval")):
        fields["type"] = "daily" if ":" in interval else "interval"
    return {name: value for name, value in fields.items() if value}


def _read_clauses(sentence: str, fields: Fields, told: dict[str, list[str]]) -> None:
    """Read the numbers of a sentence into fields, and its clauses into their texts; a clause of none goes on."""
    place = ""
    for clause in _BREAK.split(sentence):
        rest = _take_numbers(clause, fields)
        left = [word for word in key_words(rest) if re.search(r"[^\W\d_]{2}", word)]
        start, _, first = next(find_phrases(skip_phrases(clause, "JOIN"), "DRAFT"), (0, 0, Meaning("DRAFT", "")))
        begun = "" if start else first.value
        text = one_line(_LABEL.sub("", clause) if begun else clause).strip(" .,;-")
        if begun and (len(left) > 1 or (begun == "exit" and left and rest == clause)):
            place = begun
            told.setdefault(place, []).append(text[:1].upper() + text[1:])
        elif place and len(left) > (0 if rest == clause else 2):  # "use 2x leverage" is a number alone
            told[place][-1] += f", {text}"
        elif sum(not symbols_in(word.upper()) for word in left) > 3:  # fewer words make no thesis
            told.setdefault("thesis", []).append(text[:1].upper() + text[1:])


def _take_numbers(clause: str, fields: Fields) -> str:
    """Write the caps and times of a clause into fields; return what is left of it."""
    for name in _NUMBERS.rows:
        said = _NUMBERS.read(clause)
        for part, text in (said.find(name) or {}).items():
            field = name if part == "n" else part
            if value := (_read_cap if field in CAPS else _read_interval)(text):
                fields[field], clause = value, said.cut(name)
    return clause


def _read_cap(text: str) -> float:
    """Return a number of a cap, 0 for none; "no leverage" and "spot only" are 1."""
    number = take_number(read_tokens(text), 0)
    value = abs(number.value) if number and isinstance(number.value, Fraction) else Fraction(text.isalpha())
    return int(value) if value.denominator == 1 else float(value)


def _read_interval(text: str) -> str:
    """Return "4 hours", "daily" or "9:30" as the tools write it."""
    [first, *_] = tokens = read_tokens(text)
    if first.kind == "clock":
        return str(parse_clock(first.text))
    number = take_number(tokens, 0)
    said = f"{number.value}{number.unit[:1]}" if number else "1d" if first.text == "daily" else "1h"
    return {"60m": "1h", "24h": "1d"}.get(said, said)


# --- From fields to the draft, by tier ---


def _draft(talk: Talk, given: Fields, text: str) -> Steps:
    """Write fields; explain them to a novice, ask an intermediate for more, push back on an ask pitch."""
    known, tier = _read_draft(talk), talk.scene.tier
    is_new = known.keys().isdisjoint(("thesis", "entry", "exit")) and "skill_id" not in talk.scene.focus
    notes: tuple[str, ...] = ()
    if tier == NOVICE and is_new:
        if given.keys().isdisjoint(("style", "symbols", "entry")):
            return f"I walk you through it. {SAYS['ask idea']}\n\n{_describe_templates()}"
        template = _find_template(text) or "trend_breakout"
        known = TEMPLATES[template]["strategy"] | known
        given = {**SAFE_CAPS, **given, "style": "", "template": template}
        notes = (_explain(text, template), SAYS["backtest first"])
    elif tier == EXPERT and is_new:
        if len(given) < 2:
            return SAYS["ask pitch"]
        given = {"tradingStyle": "swing", **given}
    elif "skill_id" in talk.scene.focus and (unseen := {"avoid", "symbols"} & given.keys() - known.keys()):
        given = {name: value for name, value in given.items() if name not in unseen}  # they would be replaced
        notes = (f"I see the {' and '.join(sorted(unseen))} of this skill once its draft has begun: change it then.",)
    done = yield from _write(_complete(given, known, text))
    if tier == EXPERT and is_new and not all(outcome.error for outcome in done):
        return paragraphs(_report(done), (yield from _review("Where I push back:")))
    return _report(done, *notes, "" if tier in (NOVICE, EXPERT) else _ask_next(talk, known, done))


def _read_draft(talk: Talk) -> Fields:
    """Return the fields of the draft as this chat wrote them and as its user sees them."""
    fields: Fields = {}
    for outcome in talk.earlier:
        if outcome.name in TOOLS and not outcome.error:
            template = TEMPLATES.get(str(outcome.arguments.get("template")), {})
            fields |= {**template.get("strategy", {}), **template.get("context", {}), **outcome.arguments}
    # Rendered again for each turn, with the changes that the user made since.
    draft = parse_json(talk.scene.focus.get("draft, as it stands (data)", ""))
    blocks = [block for block in draft.values() if isinstance(block, Mapping)] if isinstance(draft, dict) else []
    return fields | {_camel(name): one for block in blocks for name, one in block.items() if one}


def _complete(given: Fields, known: Fields, text: str) -> Fields:
    """Return the fields to write: with the lists that are there, the mode of rules and a first name."""
    fields = {name: value for name, value in given.items() if name != "thesis" or name not in known}
    if not known.keys() & {"name", "template", "symbols"} and given.keys() & {"symbols", "style"}:
        title = " ".join([*given.get("symbols", ())[:3], (given.get("style") or "strategy").replace("_", " ")])
        fields = {"name": title[:1].upper() + title[1:], **fields}
    is_whole = {"entry", "exit"} <= {*known, *fields}
    if fields.keys() & ({"entry", "exit"} if is_whole else {"thesis"}) and "template" not in fields:
        fields["mode"] = "rules" if is_whole else "thesis"
    for name in {"avoid", "symbols"} & fields.keys():
        if name == "avoid" or not re.search(r"\b(?:only|instead)\b", text, re.IGNORECASE):
            fields[name] = [*dict.fromkeys([*(known.get(name) or ()), *fields[name]])]
    return fields


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _write(fields: Fields) -> Generator[tuple[Call, ...], list[CallResult], list[CallResult]]:
    """Yield a patch for each tool, refused ones once more without their errors; return results."""
    by_tool = {
        tool: {name: fields[name] for name in names.split() if fields.get(name)} for tool, names in TOOLS.items()
    }
    done = yield tuple(Call(tool, given) for tool, given in by_tool.items() if given)
    again = [Call(one.name, left) for one in done if 0 < len(left := _list_accepted(one)) < len(one.arguments)]
    return [*done, *(yield tuple(again))]


def _list_accepted(outcome: CallResult) -> Fields:
    """Return the arguments that the tool did not refuse by name."""
    paths = [exact(one, "field") or exact(one, "argument") for one in outcome.entries("error")]
    wrong = {_camel(step) for path in paths for step in re.split(r"\W+", path)}
    return {name: value for name, value in outcome.arguments.items() if name not in wrong}


def _ask_next(talk: Talk, known: Fields, done: Sequence[CallResult]) -> str:
    """Return the next question. Every draft begins with caps and bars: that they are there answers none."""
    said = {name for one in (*talk.earlier, *done) if one.name in TOOLS and not one.error for name in one.arguments}
    said |= known.keys() - {*CAPS, "barsInterval"}
    wanted = {} if "skill_id" in talk.scene.focus else AREAS
    asked = [f"**{area}**: {question}" for area, (names, question) in wanted.items() if said.isdisjoint(names.split())]
    if not asked:
        return "Say “review it” for a critique, or tell me what to change."
    return paragraphs(asked[0], "More questions follow." if asked[1:] else "")


# --- Texts and short commands ---


def _report(done: Sequence[CallResult], *notes: str) -> str:
    """Describe written, refused and missing fields, with notes, and say where Save is."""
    written, refused = ([one for one in done if bool(one.error) is is_refused] for is_refused in (False, True))
    last = written[-1].as_row if written else {}
    fields = [_format_field(*field) for one in written for field in one.arguments.items()]
    problems = [[fill(_PROBLEM, row) for row in one.entries("error")] or [one.error] for one in refused]
    parts = {
        "I wrote this into the draft:": listing(fields),
        "Refused, and not in the draft:": listing([line for lines in problems for line in lines]),
        "Still missing before it can be saved:": listing([fill(_PROBLEM, row) for row in rows(last, "still_missing")]),
        "Warnings:": listing([escape(str(one)) for one in last.get("warnings") or ()]),
    }
    told = [f"{head}\n\n{lines}" for head, lines in parts.items() if lines]
    save = _SAVE.format(last.get("url") or "/skills/new/")
    return paragraphs(*told, "" if written else "Nothing was changed.", *notes, save)


def _format_field(name: str, value: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace(" pct", " (% of equity)")
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{words}: {escape(text.replace('_', ' '))}"


def _review(intro: str) -> Steps:
    """Have the draft reviewed and report it."""
    [found] = yield (Call(critique_draft.name, {}),)
    if found.error:
        return f"I could not have it reviewed: {found.error}"
    told = [fill(_FINDING, row) for row in found.entries("findings")]
    return paragraphs(intro, spell(found.as_row, "summary"), listing(told) or "No finding.")


def _command_steps(talk: Talk, said: TaggedText) -> Steps | None:
    """Return the steps of a short command: show or use a template, begin safer, review, save; or None."""
    named = said.find("template")
    if named and (template := _find_template(named["name"])):
        return _patch({"template": template, **(SAFE_CAPS if talk.scene.tier == NOVICE else {})})
    if named or "templates" in said:
        return say_text(_describe_templates())
    if not is_drafting(talk):
        return None
    if "safer" in said:
        return _patch(SAFE_CAPS, SAYS["ask idea"])
    if "save" in said:
        return say_text(f"What you did not name keeps the default of the draft. {_SAVE.format('/skills/new/')}")
    is_review = "review" in said and critique_draft.name in talk.acts
    return _review("The review of the draft:") if is_review else None


def _patch(fields: Fields, *notes: str) -> Steps:
    return _report((yield from _write(fields)), *notes)


def _find_template(text: str) -> str:
    """Return the template whose name shares most words with a text, "" when none does."""
    names = {one["name"]: name for name, one in TEMPLATES.items()}
    return next((names[match.text] for match in best_matches(text, [*map(FactLine, names)])), "")


def _describe_templates() -> str:
    lines = [f"**{one['name']}**: {one['description']}" for one in TEMPLATES.values()]
    return f"These are the templates:\n\n{listing(lines)}\n\nSay “use the range fade template” to begin with one."


def _explain(text: str, template: str) -> str:
    """Tell a novice where the draft begins, and the terms that occur in it."""
    words = f"{text} {template} leverage daily loss halt backtest".casefold().replace("_", " ")
    terms = listing(list(dict.fromkeys(told for key, told in TERMS.items() if len(key) > 3 and key in words)))
    begun = f"I started from the template **{TEMPLATES[template]['name']}**, with small caps where you named none"
    return f"{begun}: a first strategy should lose little while you learn from it. In a few words:\n\n{terms}"
