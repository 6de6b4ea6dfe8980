"""Rules that change memory on request."""

from collections.abc import Sequence
from typing import Final

from config.lib.words.clauses import Forms
from config.lib.words.sentences import sentences
from config.offline.drafting import list_drafted
from config.offline.facts import Call
from config.offline.figures import listing, paragraphs
from config.offline.memory.questions import fact_lines, look_up
from config.offline.memory.report import CONFLICT_QUESTION, WHICH
from config.offline.memory.requests import Request, memory_requests, read_change, read_place
from config.offline.phrases import FACTS_PAGE
from config.offline.statements import passing_states
from config.offline.talk import Reply, Talk
from memory.claims.judge import judge_change

_ASK_AGAIN: Final = "Tell me what holds now instead of “{}”: “it should say ...”; or say “forget it”."
_ANSWERS: Final = Forms("""
none: ^ REFUSAL .|!* $ / ^ leave|keep it|that|this|them as? it? is? .|!* $
replaces: REPLACES
""")


def answer_conflict(talk: Talk) -> Reply | None:
    """After "does it replace that, or do both hold?": save what was held back."""
    if talk.results or CONFLICT_QUESTION not in talk.before or "replaces" not in _ANSWERS.read(talk.text):
        return None
    waiting = [outcome for outcome in talk.earlier if outcome.held and outcome.conflicts_with]
    return Reply(tool_calls=(Call(waiting[-1].name, dict(waiting[-1].arguments)),)) if waiting else None


def change_named_fact(talk: Talk) -> Reply | None:
    """Change the one fact that this chat was opened for."""
    if talk.about is None:
        return None
    if "none" in _ANSWERS.read(talk.text):
        return Reply(f"All right, it stays as it is: **{talk.about.text}**")
    request = read_change(talk.about, talk.text)
    return _carry_out(talk, [request]) if request else Reply(_ASK_AGAIN.format(talk.about.text))


def passing_note(talk: Talk) -> str:
    """Name the momentary states that were not saved, or ""."""
    passing = passing_states(talk.text)
    return f"I keep only what lasts, so I did not save “{passing[0]}”: it is the state of a moment." if passing else ""


def change_memory(talk: Talk) -> Reply | None:
    """Carry out a message's memory requests and statements."""
    # What goes into a draft is a rule of the strategy, not of the person.
    pieces = list(sentences(talk.text))
    drafted = list_drafted(talk, pieces)
    places = {piece: place for piece in pieces if "place" in talk.acts and (place := read_place(piece))}
    aside = {*drafted, *places}
    rest = "\n".join(piece for piece in pieces if piece not in aside) if aside else talk.text
    requests = [*places.values(), *memory_requests(rest, talk.known, talk.before, talk.earlier)]
    if talk.can_look("list") and (requests or "still" in talk.text.casefold().split()):
        # What was saved elsewhere since the prompt was written is to be edited, not doubled.
        return look_up("list")
    if requests:
        return _carry_out(talk, requests)
    note = passing_note(talk)
    return Reply(note) if note else None


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
