"""Rules that change memory on request, report what was done, and answer from what is known."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from config.lib.text import parse_uuid
from config.lib.words.quantities import word_set
from config.lib.words.sentences import is_question, sentences, spell_out, strip_lead_in
from memory.claims.judge import judge_change
from offline.drafting import list_drafted
from offline.messages import COACH_TOOLS, LOOKUPS, Call, CallResult, FactLine, best_matches, key_words
from offline.requests import MAX_ARGUMENT, MemoryRequest, memory_requests, read_change, read_place
from offline.statements import passing_states
from offline.talk import ModelReply, Steps, Talk, follow_steps, say_text
from offline.telling import FORMS, SAYS, TEXTS, exact, listing, paragraphs, tell
from trading.asking.words import read_words

FACTS_PAGE: Final = "[facts page](/profile/facts/)"
WHICH: Final = "Which one should I forget? Say “forget that ...” with its words."
# What was done, and what could not be; the words are not repeated: they may have been refused as a secret.
_WRITES: Final = {
    "forget": ("I have forgotten", ""),
    "change": ("I have changed", ""),
    "remember": ("I have saved", "save that"),
    "confirm": ("I have noted that this still holds", ""),
    "place": ("I have saved the place", "save that"),
}
_OBJECTS: Final = word_set("trade trades trading market markets account accounts position positions")  # of many facts
_SAID: Final = FORMS["questions about the user"]


# --- Changes ---


def answer_conflict(talk: Talk) -> ModelReply | None:
    """After "does it replace that, or do both hold?": save what was held back."""
    if talk.results or SAYS["replaces or both"] not in talk.before or "replaces" not in _SAID.read(talk.text):
        return None
    waiting = [outcome for outcome in talk.earlier if outcome.held and outcome.conflicts_with]
    return ModelReply(tool_calls=(Call(waiting[-1].name, dict(waiting[-1].arguments)),)) if waiting else None


def change_named_fact(talk: Talk) -> ModelReply | None:
    """Change the one fact that this chat was opened for."""
    if talk.about is None:
        return None
    if "none" in _SAID.read(talk.text):
        return ModelReply(f"All right, it stays as it is: **{talk.about.text}**")
    request = read_change(talk.about, talk.text)
    return _carry_out(talk, [request]) if request else ModelReply(SAYS["what holds now"].format(talk.about.text))


def change_memory(talk: Talk) -> ModelReply | None:
    """Carry out a message's memory requests and statements."""
    # What goes into a draft is a rule of the strategy, not of the person.
    pieces = list(sentences(talk.text))
    places = {piece: place for piece in pieces if "place" in talk.acts and (place := read_place(piece))}
    aside = {*list_drafted(talk, pieces), *places}
    rest = "\n".join(piece for piece in pieces if piece not in aside) if aside else talk.text
    requests = [*places.values(), *memory_requests(rest, talk.known, talk.before, talk.earlier)]
    has_listed = any(outcome.name in LOOKUPS for outcome in talk.results)
    if "list" in talk.acts and not has_listed and (requests or "still" in talk.text.casefold().split()):
        # What was saved elsewhere since the prompt was written is to be edited, not doubled.
        return ModelReply(tool_calls=(Call("list", {}),))
    if requests:
        return _carry_out(talk, requests)
    note = passing_note(talk)
    return ModelReply(note) if note else None


def _carry_out(talk: Talk, requests: Sequence[MemoryRequest]) -> ModelReply:
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
            notes.append(f"I know this, and keep it as it is:\n\n{_list_facts(request.choices)}")
        elif request.tool:
            what = f"save “{given['fact']}”" if "fact" in given else "forget anything"
            notes.append(f"I cannot {what} here: this chat has no tool for it. You can do it on your {FACTS_PAGE}.")
        elif request.choices:
            near = "I know nothing that says just that. The nearest is:"
            head = near if len(request.choices) == 1 else "More than one thing I know could be meant:"
            notes.append(paragraphs(head, listing([fact.text for fact in request.choices]), WHICH))
        else:
            notes.append("I see nothing to forget: I know nothing about you in this chat yet.")
    return ModelReply("\n\n".join(notes[:1]), tuple(call for at, call in enumerate(calls) if call not in calls[:at]))


# --- Reports ---


def passing_note(talk: Talk) -> str:
    """Name the momentary states that were not saved, or ""."""
    passing = passing_states(talk.text)
    return f"I keep only what lasts, so I did not save “{passing[0]}”: it is the state of a moment." if passing else ""


def format_report(results: Sequence[CallResult], names: Mapping[str, str]) -> list[str]:
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


def failure(outcome: CallResult, names: Mapping[str, str]) -> str:
    """Explain a tool's refusal, or ask which fact is meant."""
    candidates = [exact(one, "fact") for one in outcome.entries("candidates")]
    reference = str(outcome.arguments.get("fact_id") or "")
    meant = names.get(reference, "that fact" if parse_uuid(reference) else reference)
    if candidates and outcome.name == "forget":
        asked = f"Several facts hold “{meant}”:" if len(candidates) > 1 else "I am not sure that you mean this:"
        return paragraphs(asked, listing(candidates), WHICH)
    if outcome.name in _WRITES:
        return f"I could not {_WRITES[outcome.name][1] or f'{outcome.name} “{meant}”'}: {outcome.told_error}"
    return f"`{outcome.tool}` could not answer: {outcome.told_error}"


def _format_text(outcome: CallResult) -> str:
    old = exact(outcome.before, "fact") or exact(outcome.as_row, "replaced")
    is_changed = outcome.name in {"change", "remember"} and not outcome.was_so and old
    return f"{old}** to **{outcome.changed_text()}" if is_changed else outcome.changed_text()


def _format_held(outcome: CallResult) -> str:
    if outcome.conflicts_with:
        known = f"it may contradict **{outcome.conflicts_with}**"
        return f"I have not saved **{outcome.held}** yet: {known}. {SAYS['replaces or both']}"
    return (
        f"I did not save **{outcome.held}**: there is text in view that you did not write, and I do not find this in"
        f" your own words. It waits for you on your {FACTS_PAGE}."
    )


# --- Questions about the user ---


def answer_about_user(talk: Talk) -> ModelReply | None:
    """Answer questions about the user from memory or lookups."""
    for sentence in sentences(talk.text):
        plain = spell_out(strip_lead_in(sentence))
        if "help" in FORMS["about Keel"].read(plain):
            continue
        asked = _SAID.read(plain)
        if "to tell" in asked:
            return ModelReply(TEXTS["what lasts"].strip())
        steps = _tell_all(talk, plain) if "all" in asked else None
        if steps is None and is_question(sentence) and "own" in asked:
            steps = _answer_question(talk, plain)
        if steps is not None:
            return follow_steps(steps, talk.results)
    return None


def _list_facts(facts: Sequence[FactLine]) -> str:
    """Return facts as the block has them, one a line."""
    return listing([f"{fact.text}{' (inferred)' if fact.inferred else ''}" for fact in facts])


def _tell_all(talk: Talk, question: str) -> Steps:
    listed = (yield (Call("list", {}),)) if "list" in talk.acts else []
    if not talk.known:
        failed = [failure(outcome, talk.names) for outcome in listed if outcome.error]
        return paragraphs(*failed) or _deny_knowledge(talk.acts)
    about = _SAID.read(question).find("about")
    if about is None:
        more = f"There may be more on your {FACTS_PAGE}, where you can change all of it."
        return paragraphs("This is what I know about you:", _list_facts(talk.known), more)
    if met := _find_matches(about["what"], talk, 0.0):
        return paragraphs("This is what I know about that:", _list_facts(met))
    return f"I know nothing about your {about['what'].strip()} yet. I know {len(talk.known)} other things about you."


def _deny_knowledge(acts: Collection[str]) -> str:
    """Say that nothing is known of the user, and how that changes."""
    if "remember" not in acts:
        return f"I know nothing about you in this chat. What you want known you can add on your {FACTS_PAGE}."
    how = f"Tell me something lasting, such as “I never trade alts”, or add it on your {FACTS_PAGE}"
    return f"I know nothing about you yet. {how}, and I will remember it."


def _answer_question(talk: Talk, question: str) -> Steps | None:
    """Answer a question about the user by facts in view or recalled."""
    asked, is_of_record = _SAID.read(question), read_words(question).is_of_record
    advice = "I work by rules and cannot judge beyond that." if "advice" in asked else ""
    # Where more can be looked up, half an answer does not keep from looking.
    least = 1.0 if is_of_record else 0.6 if talk.acts & LOOKUPS else 0.3 if advice else 0.5
    has_recalled = any(outcome.name == "recall" for outcome in talk.results)
    if not has_recalled and (facts := _find_matches(question, talk, least)):
        told = "You never said so; I inferred" if all(one.inferred for one in facts) else "You told me"
        return say_text(paragraphs(f"{told}:", _list_facts(facts), advice))
    if is_of_record or not ("for fact" in asked or advice):
        return None
    query = " ".join(key_words(question))[:MAX_ARGUMENT]
    if query and "recall" in talk.acts:
        return _recall(talk, query, advice)
    if "for fact" not in asked:
        return None
    unknown = f"That is not among what I know about you. {SAYS['tell me']}"
    return say_text(unknown if talk.known else _deny_knowledge(talk.acts))


def _recall(talk: Talk, query: str, advice: str) -> Steps:
    [recalled] = yield (Call("recall", {"query": query}),)
    told = f"I looked through all that I know about you and found nothing about that. {SAYS['tell me']}"
    if recalled.error:
        told = failure(recalled, talk.names)
    elif recalled.entries("preferences"):
        told = tell("recalled", recalled.as_row, most=5)
    return paragraphs(told, advice)


def _find_matches(question: str, talk: Talk, least: float) -> list[FactLine]:
    asked = _SAID.read(question)
    topic = next((topic for topic in ("session", "symbols", "risk") if topic in asked), "")
    about = [fact for fact in talk.known if topic and fact.topic == topic]
    words = (word for word in question.split() if word.casefold().strip(",?") not in _OBJECTS)
    return about or best_matches(re.sub(r"\b[\d.]+x\b", "leverage", " ".join(words)), talk.known, least=least)
