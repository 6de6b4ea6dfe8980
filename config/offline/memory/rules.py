"""Rules that change memory on request."""

import re
from collections.abc import Sequence
from typing import Final

from config.lib.text import make_slug, one_line
from config.offline.coach.words import read_words
from config.offline.drafting.steps import list_drafted
from config.offline.facts import Call, Known, best_matches
from config.offline.figures import listing, paragraphs
from config.offline.memory.questions import fact_lines, look_up
from config.offline.memory.report import CONFLICT_QUESTION, WHICH
from config.offline.memory.requests import Request, memory_requests, read_change
from config.offline.phrases import FACTS_PAGE
from config.offline.reading.sentences import (
    CLAUSE,
    QUOTED,
    Pattern,
    is_question,
    sentences,
    spell_out,
    straight,
    strip_preface,
)
from config.offline.reading.statements import passing_states
from config.offline.talk import Reply, Talk
from memory.claims.subjects import judge_change
from memory.wording import MAX_PLACE_NOTES

_ASK_AGAIN: Final = "Tell me what holds now instead of “{}”: “it should say ...”; or say “forget it”."
_NONE: Final = Pattern(
    r"(?:no(?:ne|pe|thing)?|neither|cancel|never ?mind|stop|(?:leave|keep) (?:it|that|this|them)(?: as it is)?)[.! ]*$"
)
_WISH: Final = Pattern(
    r"^(?:(?:please )?(?:show|give|tell|list)|(?:i'd|i would) like to|i want to (?:see|know|buy|sell|go|long|short))\b"
)
_REPLACES: Final = Pattern(r"\b(?:replaces?|yes|both|new|instead|keep|latter)\b")
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
    if WHICH not in talk.before or talk.results or "forget" not in talk.acts:
        return None
    if _NONE.match(talk.text):
        return Reply("All right, I have forgotten nothing.")
    ids = {text: fact_id for fact_id, text in talk.names.items()}
    for outcome in talk.earlier:
        ids |= outcome.candidates
    calls = (Call("forget", {"fact_id": ids.get(text) or text}) for text in read_choice(talk.text, talk.before))
    return Reply(tool_calls=chosen) if (chosen := tuple(calls)) else None


def answer_conflict(talk: Talk) -> Reply | None:
    """After "does it replace that, or do both hold?": save what was held back."""
    if talk.results or CONFLICT_QUESTION not in talk.before or not _REPLACES.search(talk.text):
        return None
    waiting = [outcome for outcome in talk.earlier if outcome.held and outcome.conflicts_with]
    return Reply(tool_calls=(Call(waiting[-1].name, dict(waiting[-1].arguments)),)) if waiting else None


def change_named_fact(talk: Talk) -> Reply | None:
    """Change the one fact that this chat was opened for."""
    if talk.about is None:
        return None
    if _NONE.match(talk.text):
        return Reply(f"All right, it stays as it is: **{talk.about.text}**")
    request = read_change(talk.about, talk.text)
    return _carry_out(talk, [request]) if request else Reply(_ASK_AGAIN.format(talk.about.text))


def passing_note(talk: Talk) -> str:
    """Name the momentary states that were not saved, or ""."""
    passing = passing_states(talk.text)
    return f"I keep only what lasts, so I did not save “{passing[0]}”: it is the state of a moment." if passing else ""


def change_memory(talk: Talk) -> Reply | None:
    """Carry out a message's memory requests, statements and places."""
    requests: list[Request] = []
    # What goes into a draft is a rule of the strategy, not of the person.
    pieces = list(sentences(talk.text))
    drafted = [*list_drafted(talk, pieces), *filter(_is_request, pieces)]
    rest = "\n".join(piece for piece in pieces if piece not in drafted) if drafted else talk.text
    if "place" in talk.acts:
        places, rest = read_places(rest)
        requests += [Request("place", dict(place)) for place in places]
    requests += memory_requests(rest, talk.known, talk.before, talk.earlier)
    if talk.can_look("list") and (requests or re.search(r"\bstill\b", talk.text, re.IGNORECASE)):
        # What was saved elsewhere since the prompt was written is to be edited, not doubled.
        return look_up("list")
    if requests:
        return _carry_out(talk, requests)
    note = passing_note(talk)
    return Reply(note) if note else None


def _is_request(sentence: str) -> bool:
    """Tell whether a sentence asks to see something of the record, or for the check of a trade."""
    words = read_words(spell_out(straight(sentence)).rstrip(" .!?"))
    return bool(_WISH.match(words.text)) and words.is_covered and words.is_of_record


def _carry_out(talk: Talk, requests: Sequence[Request]) -> Reply:
    """Return the calls that requests become, or why there are none."""
    calls: list[Call] = []
    notes: list[str] = []
    for request in requests:
        given = request.arguments
        if request.tool == "change" and request.tool not in talk.acts and "forget" in talk.acts:
            ended = {name: given[name] for name in ("fact_id", "reason") if name in given}
            new = {name: value for name, value in given.items() if name not in ended}
            old = talk.names.get(ended["fact_id"], ended["fact_id"])
            # The store puts the new value of a subject in the place of the old one, which was true until now.
            is_enough = "reason" not in ended and judge_change(old, new["fact"]) in {"same", "replaces"}
            calls += [*([] if is_enough else [Call("forget", ended)]), Call("remember", new)]
        elif request.tool in talk.acts:
            calls.append(Call(request.tool, given))
        elif request.tool == "confirm":
            notes.append(f"I know this, and keep it as it is:\n\n{fact_lines([*request.choices])}")
        elif request.tool:
            what = f"save “{given['fact']}”" if "fact" in given else "forget anything"
            notes.append(f"I cannot {what} here: this chat has no tool for it. You can do it on your {FACTS_PAGE}.")
        elif request.choices:
            near = "I know nothing that says just that. The nearest is:"
            head = near if len(request.choices) == 1 else "More than one thing I know could be meant:"
            notes.append(paragraphs(head, listing([fact.text for fact in request.choices]), WHICH))
        else:
            notes.append("I see nothing to forget: I know nothing about you in this chat yet.")
    return Reply("\n\n".join(notes[:1]), tuple(call for at, call in enumerate(calls) if call not in calls[:at]))


_PLACE: Final = Pattern(
    r"""
^(?:(?:this |the )?(?:place|address)\s*[:,-]\s*)?(?:my |the )?(?P<mine>home|office|gym|school|university|studio
    |(?P<home>house|apartment|flat)|(?P<work>workplace)|(?:favou?rite|usual|local) [\w -]{3,30}?)
    (?: is|'s|:) (?P<is><WHERE>)$
^I (?:(?P<live>live)|(?P<at>work)) (?P<where>(?:at|on|near) <WHERE>)$
""",
    WHERE=r"(?!.*\b(?:\d to \d|today|now|tonight|tomorrow|minutes?|hours?|am|pm)\b)(?=.*(?-i:[A-Z]))"
    r"(?:(?:at|near|on|in|called) |(?-i:[A-Z])|\d).{2,120}",
)
_KEEP_PLACE: Final = Pattern(
    r"^(?:please |can you )*(?:remember|save|keep|note) (?:that|this|the) (?:place|address)\W*$"
)


def read_places(message: str) -> tuple[list[dict[str, str]], str]:
    """Return a message's places ("my gym is at 5 Pine St"), and the text without them."""
    places: list[dict[str, str]] = []
    rest: list[str] = []
    for sentence in sentences(message):
        is_told = not QUOTED.match(sentence) and not is_question(sentence)
        for part in CLAUSE.compiled.split(strip_preface(sentence)) if is_told else [sentence]:
            if met := _PLACE.match(part.strip(" .!;,")):
                kind = (
                    "home"
                    if met["home"] or met["live"]
                    else "work"
                    if met["work"] or met["at"]
                    else met["mine"].lower()
                )
                name = {"place_id": make_slug(kind, max_length=60), "place_name": kind.capitalize()}
                told = re.sub(r"^(?:at|called) ", "", met["is"] or met["where"])
                places.append({**name, "notes": one_line(told)[:MAX_PLACE_NOTES]})
            elif not (places and _KEEP_PLACE.match(sentence)):  # "Please remember that place."
                rest.append(part if places else sentence)
    return places, "\n".join(dict.fromkeys(rest))
