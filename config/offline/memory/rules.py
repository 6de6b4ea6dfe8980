"""Rules that change memory on request."""

import re
from collections.abc import Sequence
from typing import Final

from config.lib.text import make_slug, normal_form, one_line
from config.offline.drafting.steps import list_drafted
from config.offline.facts import Call, Known, best_matches
from config.offline.memory.questions import fact_lines, look_up
from config.offline.memory.report import CONFLICT_QUESTION, WHICH
from config.offline.memory.requests import (
    MAX_ARGUMENT,
    Request,
    find_affirmed,
    find_reference,
    memory_requests,
    read_change,
    remember_statement,
)
from config.offline.phrases import FACTS_PAGE
from config.offline.reading.sentences import (
    CLAUSE,
    LONGEST_REQUEST,
    QUOTED,
    Pattern,
    is_question,
    sentences,
    strip_preface,
)
from config.offline.reading.statements import Statement, passing_states, topic_of
from config.offline.talk import Reply, Talk
from memory.wording import MAX_PLACE_NOTES

_ASK_AGAIN: Final = "Tell me in one sentence what holds now instead of "
_OR_FORGET: Final = ", or say “forget it”."
_ASKED_ABOUT = re.compile(rf"^{_ASK_AGAIN}“(?P<fact>.+)”{re.escape(_OR_FORGET)}$", re.MULTILINE)
_NONE: Final = Pattern(r"(?:no(?:ne|thing)?|neither|cancel|never ?mind|stop|leave (?:it|them))\b")
_REPLACES: Final = Pattern(r"\b(?:replaces?|yes|both|new|instead|keep|latter)\b")
_NOT_HERE: Final = f"here: this chat has no tool for it. You can do it on your {FACTS_PAGE}."
_ORDINALS: Final = ("first|1|one", "second|2|two", "third|3|three", "fourth|4|four", "fifth|5|five")


def read_choice(text: str, before: str) -> list[str]:
    """Return the lines of a list that an answer means ("the first one", "both"); none if unclear."""
    shown = [line[2:].strip() for line in before.splitlines() if line.startswith("- ")]
    if re.search(r"\b(?:both|all|everything|each|them)\b", text, re.IGNORECASE):
        return shown
    for line, words in zip([*shown, *shown[-1:]], [*_ORDINALS[: len(shown)], "last"], strict=False):
        if re.fullmatch(rf"(?:(?:the|number|no\.?|#)\s*)*(?:{words})(?:\s+one)?[.!]*", text[:40], re.IGNORECASE):
            return [line]
    matches = best_matches(text, [Known(line) for line in shown], least=0.5)
    return [matches[0].text] if len(matches) == 1 else []


def act_on_choice(talk: Talk) -> Reply | None:
    """Act on the answer to "Which one should I forget?"."""
    act = next((act for act, question in WHICH.items() if question in talk.before and act in talk.acts), None)
    if act is None or talk.results:
        return None
    if _NONE.match(talk.text):
        return Reply(f"All right, I have {'forgotten' if act == 'forget' else 'changed'} nothing.")
    ids = {text: fact_id for fact_id, text in talk.names.items()}
    for outcome in talk.earlier:
        ids |= outcome.candidates
    pending = [o for o in talk.earlier if o.name == "change" and o.candidates and o.arguments.get("fact")]
    given = {"fact": pending[-1].arguments["fact"]} if act == "change" and pending else {}
    chosen = [] if act == "change" and not given else read_choice(talk.text, talk.before)
    calls = tuple(Call(act, {"fact_id": ids.get(text) or text, **given}) for text in chosen)
    return Reply(tool_calls=calls) if calls else None


def answer_conflict(talk: Talk) -> Reply | None:
    """After "does it replace that, or do both hold?": save what was held back."""
    if talk.results or CONFLICT_QUESTION not in talk.before or not _REPLACES.search(talk.text):
        return None
    waiting = [outcome for outcome in talk.earlier if outcome.held and outcome.conflicts_with]
    return Reply(tool_calls=(Call(waiting[-1].name, dict(waiting[-1].arguments)),)) if waiting else None


def change_named_fact(talk: Talk) -> Reply | None:
    """Change the one fact that this chat was opened for."""
    fact = talk.about
    if fact is None:
        return None
    (act, content), reference = read_change(fact, talk.text), find_reference(fact)
    if act == "keep":
        return Reply(f"All right, it stays as it is: **{fact.text}**")
    if act == "change":
        new = Statement(content, topic_of(content) or fact.topic, "asserted")
        return _carry_out(talk, [Request("forget", {"fact_id": reference}), remember_statement(new, reference)])
    asked = Reply(f"{_ASK_AGAIN}“{fact.text}”{_OR_FORGET}")
    return asked if act == "unclear" else _carry_out(talk, [Request(act, {"fact_id": reference})])


def asked_about(before: str, known: Sequence[Known]) -> Known | None:
    """Return the fact whose change the model just asked for."""
    asked = _ASKED_ABOUT.search(before)
    if asked is None:
        return None
    same = (fact for fact in known if normal_form(fact.text) == normal_form(asked["fact"]))
    return next(same, Known(asked["fact"], topic_of(asked["fact"])))


def passing_note(talk: Talk) -> str:
    """Name the momentary states that were not saved, or ""."""
    passing = passing_states(talk.text)
    return f"I keep only what lasts, so I did not save “{passing[0]}”: it is the state of a moment." if passing else ""


def change_memory(talk: Talk) -> Reply | None:
    """Carry out a message's memory requests, statements and places."""
    requests: list[Request] = []
    # What goes into a draft is a rule of the strategy, not of the person.
    pieces = list(sentences(talk.text))
    drafted = list_drafted(talk, pieces)
    rest = "\n".join(piece for piece in pieces if piece not in drafted) if drafted else talk.text
    if "place" in talk.acts:
        places, rest = read_places(rest)
        requests += [Request("place", dict(place)) for place in places]
    affirmed, rest = find_affirmed(rest, talk.known, talk.before, talk.earlier)
    requests += [Request("confirm", {"fact_id": find_reference(fact)}) for fact in affirmed if "confirm" in talk.acts]
    requests += memory_requests(rest, talk.known, talk.before, talk.earlier)
    if talk.can_look("list") and (requests or re.search(r"\bstill\b", talk.text, re.IGNORECASE)):
        # What was saved elsewhere since the prompt was written is to be edited, not doubled.
        return look_up("list")
    if requests:
        return _carry_out(talk, requests)
    if affirmed:
        return Reply(f"I know this, and keep it as it is:\n\n{fact_lines(affirmed)}")
    note = passing_note(talk)
    return Reply(note) if note else None


def _carry_out(talk: Talk, requests: Sequence[Request]) -> Reply:
    """Return the calls that requests become, or why there are none."""
    calls: list[Call] = []
    notes: list[str] = []
    for request in requests:
        is_place = request.tool == "forget" and _is_place(str(request.arguments.get("fact_id")), talk)
        forgets = [call for call in calls if call.name == "forget" and call.arguments["fact_id"] == request.replaces]
        if is_place:
            notes.append(f"I cannot take a place out of the memory here; you can do it on your {FACTS_PAGE}.")
        elif forgets and "change" in talk.acts:
            calls = [call for call in calls if call not in forgets]
            calls.append(Call("change", {**request.arguments, "fact_id": request.replaces}))
        elif request.tool in talk.acts:
            calls.append(Call(request.tool, request.arguments))
    if calls or notes:
        return Reply("\n\n".join(notes), tuple(calls))
    refused = next((request for request in requests if request.tool), None)
    if refused is not None:
        what = f"save “{refused.arguments['fact']}”" if refused.tool == "remember" else "forget anything"
        return Reply(f"I cannot {what} {_NOT_HERE}")
    unclear = next((request for request in requests if request.choices), None)
    nothing = "I see nothing to forget: I know nothing about you in this chat yet."
    return Reply(_format_choice(unclear.choices, WHICH["forget"]) if unclear else nothing)


def _is_place(words: str, talk: Talk) -> bool:
    is_fact = any(words in {fact.id, fact.text, fact.text[:MAX_ARGUMENT]} for fact in talk.known)
    return not is_fact and bool(best_matches(words, talk.places, least=0.5))


def _format_choice(facts: Sequence[Known], question: str) -> str:
    lines = "\n".join(f"- {known.text}" for known in facts)
    one = "I know nothing that says just that. The nearest is:"
    return f"{one if len(facts) == 1 else 'More than one thing I know could be meant:'}\n\n{lines}\n\n{question}"


# --- Places ---

_PLACE: Final = Pattern(
    r"""
^(?:(?:this |that |the )?(?:place|address)\s*[:,-]\s*)?(?:(?:my|the)\s+(?P<mine>home|house|apartment|flat|office
    |workplace|gym|school|university|studio|work|(?:favou?rite|usual|regular|local)\s+(?:[\w-]+\s+){0,2}?(?:caf[eé]
    |coffee shop|restaurant|bar|pub|bakery|park|beach|library|shop|store|spot|place|gym|pool))|(?P<bare>home
    |work))(?:'s address|\s+address)?\s*(?:\bis\b|'s\b|[:=])\s*(?P<is>\S.*)$
^I (?P<verb>live|work)\s+(?P<at>(?:at(?! home\b)|on|near|next to|across from)\s+.*(?-i:[A-Z]|\d).*)$
"""
)
_SOMEWHERE: Final = Pattern(
    r"^(?:at|near|next to|across from|opposite|located)\s+\S|^(?-i:[A-Z]|\d)|^(?:in|on|by|called|the)\s+.*(?-i:[A-Z\d])"
)
_NO_ADDRESS: Final = Pattern(
    r"^(?:at |from |in )?\d+(?:[:.]\d\d)?\s*(?:am|pm|to|-|–|o'clock|hours?|minutes?|days?|%|euros?|dollars?|usd|k|km"
    r"|miles?)\b|^(?:at )?\d+$|\b(?:today|right now|tonight|tomorrow)\b"
)
_KEEP_PLACE: Final = Pattern(
    r"^(?:please |can you |could you )*(?:remember|save|keep|note) (?:that|this|the) (?:place|address)\W*$"
)
_SAME_PLACE: Final = {**dict.fromkeys(("house", "apartment", "flat", "live"), "home"), "workplace": "work"}


def read_places(message: str) -> tuple[list[dict[str, str]], str]:
    """Return a message's places, and the text without them."""
    places: list[dict[str, str]] = []
    rest: list[str] = []
    for sentence in sentences(message):
        is_told = len(sentence) <= LONGEST_REQUEST and not QUOTED.match(sentence) and not is_question(sentence)
        is_told = is_told and not re.match(r"(?:if|suppose|imagine|what if|i wish|i'd)\b", sentence, re.IGNORECASE)
        found = [(part, _parse_place(part)) for part in CLAUSE.compiled.split(strip_preface(sentence)) if is_told]
        if any(place for _, place in found):
            places += [place for _, place in found if place]
            rest += [part for part, place in found if not place]
        elif not (places and _KEEP_PLACE.match(sentence)):  # "Please remember that place."
            rest.append(sentence)
    return places, "\n".join(rest)


def _parse_place(clause: str) -> dict[str, str] | None:
    match = _PLACE.match(clause.strip(" .!;,"))
    notes = match["is"] or match["at"] if match else ""
    if match is None or _NO_ADDRESS.search(notes) or not (match["verb"] or _SOMEWHERE.match(notes)):
        return None  # "my office is too loud"
    kind = " ".join((match["mine"] or match["bare"] or match["verb"]).casefold().split())
    kind = _SAME_PLACE.get(kind, kind)
    told = one_line(re.sub(r"^(?:located\s+)?(?:at|called)\s+|^located\s+", "", notes))[:MAX_PLACE_NOTES]
    return {"place_id": make_slug(kind, max_length=60), "place_name": kind[:1].upper() + kind[1:], "notes": told}
