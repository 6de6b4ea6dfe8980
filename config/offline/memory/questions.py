"""Answer questions about the user from memory or lookups."""

import re
from typing import Any, Final

from config.lib.words.clauses import Forms
from config.lib.words.quantities import word_set
from config.lib.words.sentences import is_question, sentences, spell_out, strip_lead_in
from config.offline.adapters import LOOKUPS
from config.offline.coach.telling import tell
from config.offline.facts import Call, Known, best_matches, key_words
from config.offline.figures import paragraphs
from config.offline.memory.report import failure
from config.offline.memory.requests import MAX_ARGUMENT
from config.offline.phrases import FACTS_PAGE, asks_for_help, knows_nothing
from config.offline.talk import Reply, Talk
from trading.asking.words import read_words

_ASKED: Final = Forms("""
to tell: ^ what can|could|shall|should i tell you / ^ what do|should you want|need to know
all: what else? do|did|can|have you RECALLED / who am i / ^ my facts / what does the? SELVES know
    / what is in your memory / what did|have i told|tell you
    / do you know|remember|recall me|anything / do you know|remember|recall who i am
    / TELLIT all? of? my|your|the ... KEPTTHINGS / TELLIT all? of? what you know / ^ please? list all? of? my .
about: about my what( !?|.|!+ ) / about me and what( !?|.|!+ )
    / ^ please? list all? of? my what( !stored|KEPTTHINGS !?|.|!* )
own: i|my|me|mine
for fact: ^ FACTUAL ... i|my
advice: ^ ADVISE
session: ^ when do|am|can i / what time|hours
symbols: ^ what do|did i say? i? trade / which|what symbols|coins|markets|pairs / allowed to trade
risk: ^ what are my own|trading? rules / can i lose|risk
""")
_LASTING: Final = """\
What lasts and bounds a trade: risk, hours, markets and goals.

- how much you risk per trade and your highest leverage
- the markets you trade, and those you never touch
- the hours and days at which you trade
- what the account is for, and the drawdown you accept
- how you like answers"""
_OBJECTS: Final = word_set("trade trades trading market markets account accounts position positions")  # of many facts
_TELL_ME: Final = "Tell me, as a plain sentence, and I will remember it."


def answer_about_user(talk: Talk) -> Reply | None:
    """Answer questions about the user from memory or lookups."""
    for sentence in sentences(talk.text):
        plain = spell_out(strip_lead_in(sentence))
        if asks_for_help(plain):
            continue
        asked = _ASKED.read(plain)
        if "to tell" in asked:
            return Reply(_LASTING)
        if "all" in asked:
            return _tell_all(talk, plain)
        is_asked = is_question(sentence) and "own" in asked
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
    about = _ASKED.read(question).find("about")
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
    asked = _ASKED.read(question)
    advice = "I work by rules and cannot judge beyond that." if "advice" in asked else ""
    if recalled is None:
        # Where more can be looked up, half an answer does not keep from looking.
        is_of_record = read_words(question).is_of_record
        least = 1.0 if is_of_record else 0.6 if talk.acts & LOOKUPS else 0.3 if advice else 0.5
        facts = _find_matches(question, talk, least)
        if facts:
            told = "You never said so; I inferred" if all(one.inferred for one in facts) else "You told me"
            return Reply(paragraphs(f"{told}:", fact_lines(facts), advice))
        if is_of_record or not ("for fact" in asked or advice):
            return None
        query = " ".join(key_words(question))[:MAX_ARGUMENT]
        if query and talk.can_look("recall"):
            return look_up("recall", query=query)
        nothing = f"That is not among what I know about you. {_TELL_ME}" if talk.known else knows_nothing(talk.acts)
        return Reply(nothing) if "for fact" in asked else None
    told = f"I looked through all that I know about you and found nothing about that. {_TELL_ME}"
    if recalled.error:
        told = failure(recalled, talk.names)
    elif recalled.entries("preferences"):
        told = tell("recalled", recalled.as_row, most=5)
    return Reply(paragraphs(told, advice))


def _find_matches(question: str, talk: Talk, least: float) -> list[Known]:
    asked = _ASKED.read(question)
    topic = next((topic for topic in ("session", "symbols", "risk") if topic in asked), "")
    about = [fact for fact in talk.known if topic and fact.topic == topic]
    words = (word for word in question.split() if word.casefold().strip(",?") not in _OBJECTS)
    return about or best_matches(re.sub(r"\b[\d.]+x\b", "leverage", " ".join(words)), talk.known, least=least)
