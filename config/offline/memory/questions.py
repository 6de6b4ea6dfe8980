"""Answer questions about the user from memory or lookups."""

import re
from typing import Any, Final

from config.offline.adapters import LOOKUPS, Call
from config.offline.facts import Known, Outcome, best_matches, key_words
from config.offline.memory.report import failure, found_rows
from config.offline.memory.requests import MAX_ARGUMENT
from config.offline.phrases import FACTS_PAGE, knows_nothing
from config.offline.reading.sentences import is_question, sentences, strip_lead_in
from config.offline.reading.statements import topic_of
from config.offline.talk import Reply, Talk

HELP: Final = re.compile(
    r"(?:/?help|what can (?:you|i) (?:do|ask|say)|how (?:do|does) (?:you|this|it) work)\b", re.IGNORECASE
)
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mine)\b", re.IGNORECASE)
_ASKS_FOR_ALL = re.compile(
    r"\bwhat (?:do|did|can|else do) you (?:know|remember|have|recall)\b.*\b(?:me|my|mine|i)\b|\bwhat (?:have i"
    r"|did i) (?:told|tell) you\b|\bwhat have you (?:learned|learnt|saved|remembered|stored)\b|\bwho am i\b"
    r"|\bdo you (?:know|remember|recall) (?:me|anything|who i am)\b|\btell me what you know\b|\b(?:list"
    r"|show)(?: me)?(?: all)?(?: of)? (?:my|your|the|what you know)\b.*\b(?:facts|memor(?:y|ies)|know|preferences)\b"
    r"|^(?:please )?list(?: all)?(?: of)? my \w|\bwhat(?:'s|’s| is) in your memory\b|^my facts\b",
    re.IGNORECASE,
)
_ASKS_FOR_PLACES = re.compile(
    r"\b(?:what|which|list|show|know|remember)\b.{0,60}\bplaces\b|\bplaces (?:do )?you (?:know|remember)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:\babout (?:my|me and)|^(?:please )?list(?: all)?(?: of)? my(?! (?:stored )?(?:facts|memor|preferences)))"
    r" (?P<what>[^?.!]+)",
    re.IGNORECASE,
)
_ASKS_FOR_FACT = re.compile(
    r"(?:what|which|who|where|when|how (?:much|many|old|long|high|big))\b.{0,40}\b(?:am I|my|do I|did I|I)\b",
    re.IGNORECASE,
)
_ASKS_ABOUT_USER = re.compile(
    r"(?:what|which|who|where|when|how|why|do|did|am|have|should|shall|can|could|may|would|is|are|remind me)\b",
    re.IGNORECASE,
)
_ASKS_ADVICE = re.compile(r"(?:should|shall|can|could|may|would|is|are|do you think)\b", re.IGNORECASE)


def answer_about_user(talk: Talk) -> Reply | None:
    """Answer questions about the user from memory or lookups."""
    for sentence in sentences(talk.text):
        plain = strip_lead_in(sentence)
        if HELP.match(plain):
            continue
        if "place" in talk.acts and _ASKS_FOR_PLACES.search(plain):
            return look_up("read") if not talk.places and talk.can_look("read") else Reply(_all_places(talk))
        if _ASKS_FOR_ALL.search(plain):
            return _tell_all(talk, plain)
        if is_question(sentence) and _ASKS_ABOUT_USER.match(plain) and _FIRST_PERSON.search(plain):
            answer = _answer_question(talk, plain)
            if answer is not None:
                return answer
    return None


def look_up(act: str, **arguments: Any) -> Reply:
    """Return the call of an act that looks something up."""
    return Reply(tool_calls=(Call(act, arguments),))


def _tell_all(talk: Talk, question: str) -> Reply:
    if talk.can_look("list"):
        return look_up("list")
    if talk.can_look("read") and not talk.known and not talk.places:
        return look_up("read")
    failed = [failure(outcome, talk.names) for outcome in talk.results if outcome.name in LOOKUPS and outcome.error]
    known = _all_known(talk, question) if talk.known or talk.places or not failed else ""
    return Reply("\n\n".join(filter(None, [*failed, known])))


def _answer_question(talk: Talk, question: str) -> Reply | None:
    """Answer a question about the user by facts in view or recalled."""
    recalled = [outcome for outcome in talk.results if outcome.name == "recall"]
    # Where more can be looked up, half an answer does not keep from looking.
    least = 0.6 if talk.acts & LOOKUPS else 0.0
    matches = [] if recalled else _find_matches(question, talk.known, least)
    if matches:
        told = "You told me" if any(not fact.inferred for fact in matches) else "You never said so; I inferred"
        return Reply(f"{told}:\n\n{fact_lines(matches)}{_no_judgement(question)}")
    if places := [] if recalled else best_matches(question, talk.places, least=0.5):
        return Reply(f"You told me:\n\n{fact_lines(places)}{_no_judgement(question)}")
    is_for_fact = _ASKS_FOR_FACT.match(question)
    if is_for_fact or _ASKS_ADVICE.match(question):
        query = " ".join(key_words(question))[:MAX_ARGUMENT]
        if query and talk.can_look("recall"):
            return look_up("recall", query=query)
        if talk.can_look("read"):
            return look_up("read")
    if recalled:
        return Reply(_format_recalled(talk, recalled[-1], question))
    if not is_for_fact:
        return None
    if not talk.known:
        return Reply(knows_nothing(talk.acts))
    return Reply("That is not among what I know about you. Tell me, as a plain sentence, and I will remember it.")


def _format_recalled(talk: Talk, outcome: Outcome, question: str) -> str:
    if outcome.error:
        return failure(outcome, talk.names)
    if outcome.rows:
        return f"This is what I found about that:\n\n{found_rows(outcome)}{_no_judgement(question)}"
    return (
        "I looked through all that I know about you and found nothing about that. Tell me, as a plain sentence, and I"
        f" will remember it.{_no_judgement(question)}"
    )


def _all_known(talk: Talk, question: str) -> str:
    about = _ABOUT.search(question)
    matches = _find_matches(about["what"], talk.known) if about else []
    if about and not matches:
        matches = best_matches(about["what"], talk.places, least=0.5)
    if matches:
        return f"This is what I know about that:\n\n{fact_lines(matches)}"
    if not talk.known and not talk.places:
        return knows_nothing(talk.acts)
    if about:
        count = len(talk.known) + len(talk.places)
        return f"I know nothing about your {about['what'].strip()} yet. I know {count} other things about you."
    told = [f"This is what I know about you:\n\n{fact_lines(talk.known)}"] if talk.known else []
    told += [f"The places I know of:\n\n{fact_lines(talk.places)}"] if talk.places else []
    return "\n\n".join([*told, f"There may be more on your {FACTS_PAGE}, where you can change all of it."])


def _all_places(talk: Talk) -> str:
    if talk.places:
        return f"The places I know of:\n\n{fact_lines(talk.places)}"
    return "I know no places yet. Tell me of one: “my home is at 123 Main St, Seattle”."


def _find_matches(question: str, known: list[Known], least: float = 0.0) -> list[Known]:
    topic = next((topic for topic, pattern in _TOPIC_QUESTIONS if pattern.search(question)), topic_of(question))
    matches = best_matches(question, known, topic=topic, least=least)
    return matches or [fact for fact in known if topic and fact.topic == topic]


_TOPIC_QUESTIONS = (
    ("session", re.compile(r"^when\b|\bwhat (?:time|hours)\b", re.IGNORECASE)),
    ("symbols", re.compile(r"^what do I trade\b|\b(?:which|what) (?:symbols|coins|markets|pairs)\b", re.IGNORECASE)),
)


def fact_lines(facts: list[Known]) -> str:
    """Return facts as the block has them, one a line."""
    return "\n".join(fact.line for fact in facts)


def _no_judgement(question: str) -> str:
    if not _ASKS_ADVICE.match(question):
        return ""
    return "\n\nI work by rules and cannot judge beyond that."
