"""Answer questions about the user from memory or lookups."""

import re
from typing import Any, Final

from config.lib.words.sentences import Pattern, is_question, sentences, spell_out, strip_lead_in
from config.offline.adapters import LOOKUPS
from config.offline.coach.telling import tell
from config.offline.facts import Call, Known, best_matches, key_words
from config.offline.figures import paragraphs
from config.offline.memory.report import failure
from config.offline.memory.requests import MAX_ARGUMENT
from config.offline.phrases import FACTS_PAGE, HELP, knows_nothing
from config.offline.talk import Reply, Talk
from trading.asking.words import read_words

_ALL: Final = Pattern(
    r"""
\bwhat (?:do|did|can|else do|have) you (?:know|remember|have|recall|learned|saved|stored)\b|\bwho am i\b|^my facts\b
\bwhat does (?:the )?(?:advisor|coach|companion|keel) know\b
\bwhat (?:have i|did i) (?:told|tell) you\b|\bdo you (?:know|remember|recall) (?:me|anything|who i am)\b
\b(?:tell me|list|show)(?: me)?(?: all)?(?: of)? (?:(?:my|your|the)\b.*\b(?:facts|memor(?:y|ies)|preferences)\b
    |what you know)|\bwhat(?:'s|’s| is) in your memory\b|^(?:please )?list(?: all)?(?: of)? my \w
"""
)
_ABOUT: Final = Pattern(
    r"(?:\babout (?:my|me and)|^(?:please )?list(?: all)?(?: of)? my(?! (?:stored )?(?:facts|memor|preferences)))"
    r" (?P<what>[^?.!]+)"
)
_MINE: Final = Pattern(r"\b(?:I|my|me|mine)\b")
_FOR_FACT: Final = Pattern(
    r"(?:what|which|who|where|when|how (?:much|many|old|long|high|big))\b.{0,40}\b(?:am I|my|do I|did I|I)\b"
)
_ADVICE: Final = Pattern(r"(?:should|shall|can|could|may|would|is|are|do you think)\b")
_TO_TELL: Final = Pattern(r"what (?:should|can|could|shall) I tell you\b|what (?:do|should) you (?:want|need) to know")
_TOPICS: Final = {
    "session": Pattern(r"^when (?:do|am|can) I\b|\bwhat (?:time|hours)\b"),
    "symbols": Pattern(
        r"^what (?:do|did) I (?:say I )?trade\b|\b(?:which|what) (?:symbols|coins|markets|pairs)\b|\ballowed to trade\b"
    ),
    "risk": Pattern(r"^what are my (?:own |trading )?rules\b|\bcan I (?:lose|risk)\b"),
}
_LASTING: Final = """\
What lasts and bounds a trade: risk, hours, markets and goals.

- how much you risk per trade and your highest leverage
- the markets you trade, and those you never touch
- the hours and days at which you trade
- what the account is for, and the drawdown you accept
- how you like answers"""
_OBJECTS: Final = Pattern(r"\b(?:trad(?:es?|ing)|markets?|accounts?|positions?)\b")  # many facts have them
_TIMES: Final = re.compile(r"\b\d+(?:\.\d+)?x\b")
_TELL_ME: Final = "Tell me, as a plain sentence, and I will remember it."


def answer_about_user(talk: Talk) -> Reply | None:
    """Answer questions about the user from memory or lookups."""
    for sentence in sentences(talk.text):
        plain = spell_out(strip_lead_in(sentence))
        if HELP.match(plain):
            continue
        if _TO_TELL.match(plain):
            return Reply(_LASTING)
        if _ALL.search(plain):
            return _tell_all(talk, plain)
        is_asked = is_question(sentence) and _MINE.search(plain)
        if is_asked and (answer := _answer_question(talk, plain)) is not None:
            return answer
    return None


def look_up(act: str, **arguments: Any) -> Reply:
    """Return the call of an act that looks something up."""
    return Reply(tool_calls=(Call(act, arguments),))


def fact_lines(facts: list[Known]) -> str:
    """Return facts as the block has them, one a line."""
    return "\n".join(fact.line for fact in facts)


def _tell_all(talk: Talk, question: str) -> Reply:
    if talk.can_look("list"):
        return look_up("list")
    if not talk.known:
        failed = [failure(outcome, talk.names) for outcome in talk.results if outcome.name in LOOKUPS and outcome.error]
        return Reply(paragraphs(*failed) or knows_nothing(talk.acts))
    about = _ABOUT.search(question)
    if about is None:
        more = f"There may be more on your {FACTS_PAGE}, where you can change all of it."
        return Reply(f"This is what I know about you:\n\n{fact_lines(talk.known)}\n\n{more}")
    if met := _find_matches(about["what"], talk, 0.0):
        return Reply(f"This is what I know about that:\n\n{fact_lines(met)}")
    return Reply(
        f"I know nothing about your {about['what'].strip()} yet. I know {len(talk.known)} other things about you."
    )


def _answer_question(talk: Talk, question: str) -> Reply | None:
    """Answer a question about the user by facts in view or recalled."""
    recalled = next((outcome for outcome in talk.results if outcome.name == "recall"), None)
    advice = "I work by rules and cannot judge beyond that." if _ADVICE.match(question) else ""
    if recalled is None:
        # Where more can be looked up, half an answer does not keep from looking.
        is_of_record = read_words(question).is_of_record
        least = 1.0 if is_of_record else 0.6 if talk.acts & LOOKUPS else 0.3 if advice else 0.5
        facts = _find_matches(question, talk, least)
        if facts:
            told = "You never said so; I inferred" if all(one.inferred for one in facts) else "You told me"
            return Reply(paragraphs(f"{told}:", fact_lines(facts), advice))
        if is_of_record or not (_FOR_FACT.match(question) or advice):
            return None
        query = " ".join(key_words(question))[:MAX_ARGUMENT]
        if query and talk.can_look("recall"):
            return look_up("recall", query=query)
        nothing = f"That is not among what I know about you. {_TELL_ME}" if talk.known else knows_nothing(talk.acts)
        return Reply(nothing) if _FOR_FACT.match(question) else None
    told = f"I looked through all that I know about you and found nothing about that. {_TELL_ME}"
    if recalled.error:
        told = failure(recalled, talk.names)
    elif recalled.entries("preferences"):
        told = tell("recalled", recalled.as_row, most=5)
    return Reply(paragraphs(told, advice))


def _find_matches(question: str, talk: Talk, least: float) -> list[Known]:
    topic = next((topic for topic, pattern in _TOPICS.items() if pattern.search(question)), "")
    about = [fact for fact in talk.known if topic and fact.topic == topic]
    question = _TIMES.sub("leverage", _OBJECTS.compiled.sub("", question))
    return about or best_matches(question, talk.known, least=least)
