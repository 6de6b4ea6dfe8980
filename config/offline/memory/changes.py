"""Rules that change memory on request."""

import re
from collections.abc import Sequence
from typing import Final

from config.lib.text import normal_form
from config.offline.adapters import Call
from config.offline.drafting.steps import of_draft
from config.offline.facts import Known, best_matches
from config.offline.memory.edits import read_change
from config.offline.memory.links import asked_link, may_link
from config.offline.memory.places import read_places
from config.offline.memory.questions import fact_lines, look_up
from config.offline.memory.report import CONFLICT_QUESTION, WHICH, WHICH_ONE
from config.offline.memory.requests import (
    MAX_ARGUMENT,
    Request,
    find_affirmed,
    find_reference,
    may_affirm,
    memory_requests,
    remember_statement,
)
from config.offline.phrases import FACTS_PAGE
from config.offline.reading.pointing import pointed_lines
from config.offline.reading.sentences import Pattern, sentences
from config.offline.reading.statements import Statement, passing_states, topic_of
from config.offline.talk import Reply, Talk

_ASK_AGAIN: Final = "Tell me in one sentence what holds now instead of "
_OR_FORGET: Final = ", or say “forget it”."
_ASKED_ABOUT = re.compile(rf"^{_ASK_AGAIN}“(?P<fact>.+)”{re.escape(_OR_FORGET)}$", re.MULTILINE)
_NONE: Final = Pattern(r"(?:no(?:ne|thing)?|neither|cancel|never ?mind|stop|leave (?:it|them))\b")
_REPLACES: Final = Pattern(r"\b(?:replaces?|yes|both|new|instead|keep|latter)\b")
_NOT_HERE: Final = f"here: this chat has no tool for it. You can do it on your {FACTS_PAGE}."


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
    if act == "change" and not given:
        return None
    chosen = pointed_lines(talk.text, [line[2:].strip() for line in talk.before.splitlines() if line.startswith("- ")])
    calls = [Call(act, {"fact_id": ids.get(text) or text, **given}) for text in chosen]
    return Reply(tool_calls=tuple(calls)) if calls else None


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
    change, reference = read_change(fact, talk.text), find_reference(fact)
    if change.act == "keep":
        return Reply(f"All right, it stays as it is: **{fact.text}**")
    if change.act in {"forget", "confirm"}:
        return _carry_out(talk, [Request(change.act, {"fact_id": reference})])
    if change.act == "change":
        new = Statement(change.content, topic_of(change.content) or fact.topic, "asserted")
        return _carry_out(talk, [Request("forget", {"fact_id": reference}), remember_statement(new, reference)])
    return Reply(f"{_ASK_AGAIN}“{fact.text}”{_OR_FORGET}")


def change_memory(talk: Talk) -> Reply | None:
    """Carry out a message's memory requests, statements and places."""
    requests, affirmed, is_open = _read_wishes(talk)
    if talk.can_look("list") and (requests or affirmed or is_open):
        # What was saved elsewhere since the prompt was written is to be edited, not doubled.
        return look_up("list")
    if requests:
        return _carry_out(talk, requests)
    if affirmed and "confirm" in talk.acts:
        return Reply(_format_choice(affirmed[0], WHICH["confirm"]))
    if affirmed:
        return Reply(f"I know this, and keep it as it is:\n\n{fact_lines(affirmed[0])}")
    if is_open and may_link(talk.text):
        return Reply("I do not find both facts. Name each by words that stand in it: “link my goal and my risk limit”.")
    if is_open:
        return Reply(
            "I find nothing I know that this affirms. If something has changed, tell me what holds now, as a plain"
            " sentence."
        )
    note = passing_note(talk)
    return Reply(note) if note else None


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


def _carry_out(talk: Talk, requests: Sequence[Request]) -> Reply:
    """Return the calls that requests become, or why there are none."""
    calls: list[Call] = []
    notes: list[str] = []
    for request in requests:
        if request.tool == "forget" and _is_place(request, talk):
            notes.append(f"I cannot take a place out of the memory here; you can do it on your {FACTS_PAGE}.")
        elif request.replaces and "change" in talk.acts and any(_forgets(call, request.replaces) for call in calls):
            calls = [call for call in calls if not _forgets(call, request.replaces)]
            calls.append(Call("change", {**request.arguments, "fact_id": request.replaces}))
        elif request.tool in talk.acts:
            calls.append(Call(request.tool, request.arguments))
    if calls or notes:
        return Reply("\n\n".join(notes), tuple(calls))
    refused = next((request for request in requests if request.tool), None)
    if refused is not None and refused.tool == "remember":
        return Reply(f"I cannot save “{refused.arguments['fact']}” {_NOT_HERE}")
    if refused is not None:
        return Reply(f"I cannot forget anything {_NOT_HERE}")
    unclear = next((request for request in requests if request.choices), None)
    nothing = "I see nothing to forget: I know nothing about you in this chat yet."
    return Reply(_format_choice(unclear.choices, WHICH_ONE) if unclear else nothing)


def _read_wishes(talk: Talk) -> tuple[list[Request], list[list[Known]], bool]:
    """Return requests, the facts that a message affirms, and whether it affirms or relates facts not in view."""
    requests: list[Request] = []
    # What goes into a draft is a rule of the strategy, not of the person.
    pieces = list(sentences(talk.text))
    drafted = of_draft(talk, pieces)
    rest = "\n".join(piece for piece in pieces if piece not in drafted) if drafted else talk.text
    if "place" in talk.acts:
        places, rest = read_places(rest)
        requests += [Request("place", dict(place)) for place in places]
    groups, unaffirmed = find_affirmed(rest, talk.known, talk.before, talk.earlier)
    if "confirm" in talk.acts:
        requests += [Request("confirm", {"fact_id": find_reference(group[0])}) for group in groups if len(group) == 1]
        rest = unaffirmed
    is_open = "confirm" in talk.acts and may_affirm(rest)
    if "link" in talk.acts:
        link, rest = asked_link(rest, talk.known)
        is_open |= may_link(talk.text)
        if link and link.one and link.other:
            ends = {"fact_id": find_reference(link.one), "other_id": find_reference(link.other)}
            requests.append(Request("link", {**ends, "relation": link.relation}))
    return requests + memory_requests(rest, talk.known, talk.before, talk.earlier), groups, is_open


def _forgets(call: Call, reference: str) -> bool:
    return call.name == "forget" and call.arguments.get("fact_id") == reference


def _is_place(request: Request, talk: Talk) -> bool:
    words = str(request.arguments.get("fact_id"))
    is_fact = any(words in {fact.id, fact.text, fact.text[:MAX_ARGUMENT]} for fact in talk.known)
    return not is_fact and bool(best_matches(words, talk.places, least=0.5))


def _format_choice(facts: Sequence[Known], question: str) -> str:
    lines = "\n".join(f"- {known.text}" for known in facts)
    intro = (
        "I know nothing that says just that. The nearest is:"
        if len(facts) == 1
        else "More than one thing I know could be meant:"
    )
    return f"{intro}\n\n{lines}\n\n{question}"
