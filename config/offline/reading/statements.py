"""Find lasting first-person statements in a message, in English.

Precision over recall: a question, a supposition, a quotation or a passing state (today's positions, this
week's PnL) is never a fact. Whoever wants something kept that no pattern knows says "remember that ...".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from config.lib.text import normal_form, one_line
from config.offline.reading import patterns
from config.offline.reading.sentences import sentences, straight, strip_lead_in
from memory.claims.subjects import read_subject
from memory.wording import MAX_CONTENT, MIN_CONTENT

MAX_FACTS = 10  # of one message
_LONGEST_SENTENCE = 700  # longer ones are prose that was pasted; they are read only after "remember that"

Confidence = Literal["asserted", "inferred"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One lasting statement, in the user's own words."""

    text: str
    topic: str  # risk, symbols, session, goal, style, account, tax or empty
    confidence: Confidence
    is_correction: bool = False  # corrects an earlier statement


def read_statements(message: str) -> list[Statement]:
    """Return at most MAX_FACTS distinct lasting statements, in order."""
    found: dict[str, Statement] = {}
    for statement in _iter_statements(message):
        found.setdefault(normal_form(statement.text), statement)
    return list(found.values())[:MAX_FACTS]


def passing_states(message: str) -> list[str]:
    """Return passing states that the user asks to remember."""
    asked = [rest for sentence in sentences(message) if (rest := _parse_explicit(sentence))]
    return [_tidy_clause(rest) for rest in asked if patterns.NOT_LASTING.search(straight(rest))]


def topic_of(text: str) -> str:
    """Return the topic of a statement, or "" when no word gives it away."""
    plain = straight(text)
    return next((topic for topic, pattern in patterns.TOPICS if pattern.search(plain)), "")


def _iter_statements(message: str) -> Iterator[Statement]:
    in_list = False
    for sentence in sentences(message):
        bullet = patterns.BULLET.match(sentence)
        sentence = sentence[bullet.end() :] if bullet else sentence
        rest = _parse_explicit(sentence)
        if rest == "":  # "Remember these:", followed by a list
            in_list = True
            continue
        in_list = in_list and bullet is not None
        if rest is None and not in_list:
            yield from _plain_statements(sentence)
        else:
            yield from _explicit_statements(sentence if rest is None else rest)


def _parse_explicit(sentence: str) -> str | None:
    """Return the text after "remember that", "" or None."""
    sentence = strip_lead_in(sentence)
    match = patterns.EXPLICIT.match(straight(sentence))
    if match is None:
        return None
    rest = sentence[match.end() :].strip()
    return rest if rest or match[0].rstrip().endswith(":") else None


def _explicit_statements(rest: str) -> Iterator[Statement]:
    for clause in patterns.CLAUSE.split(rest):
        if not patterns.NOT_LASTING.search(straight(clause)):
            yield from _make_statement(re.sub(r"^to\s+", "", clause), "asserted")


def _plain_statements(sentence: str) -> Iterator[Statement]:
    if len(sentence) > _LONGEST_SENTENCE or patterns.QUOTED.match(sentence) or sentence.rstrip().endswith("?"):
        return
    sentence = strip_lead_in(sentence)
    marker = patterns.CORRECTION.match(straight(sentence))
    if marker:
        sentence = strip_lead_in(sentence[marker.end() :])
    for clause in _iter_clauses(sentence):
        plain = straight(clause)
        hedge = patterns.HEDGE.match(plain)
        if _is_lasting(plain[hedge.end() :] if hedge else plain):
            hedged = hedge or patterns.HEDGED_VERB.match(plain)
            yield from _make_statement(clause, "inferred" if hedged else "asserted", is_correction=bool(marker))


def _iter_clauses(sentence: str) -> Iterator[str]:
    """Yield a sentence's clauses, split at `and I`, `, my` and the like."""
    start = 0
    for match in patterns.CLAUSE.finditer(sentence):
        clause = sentence[start : match.start()]
        if _is_lasting(straight(clause)):
            yield clause
            start = match.end()
    yield sentence[start:]


def _is_lasting(plain: str) -> bool:
    if patterns.QUESTION.match(plain) or patterns.SUPPOSITION.search(plain) or patterns.NOT_LASTING.search(plain):
        return False
    if patterns.FOR_NOW.search(patterns.FROM_NOW_ON.sub("", plain)) and topic_of(plain) != "goal":
        return False
    bare = plain.rstrip(" .!;,")
    if any(patterns.LASTING.match(text) for text in (bare, patterns.HEDGED_VERB.sub("I", bare))):
        return True
    # A value of a limit, an exchange, a city or the like lasts, however it is put.
    return bool(patterns.OWN_PRESENT.match(bare)) and read_subject(bare).is_single


def _make_statement(clause: str, confidence: Confidence, *, is_correction: bool = False) -> Iterator[Statement]:
    text = _tidy_clause(clause)
    if len(text) >= MIN_CONTENT:
        yield Statement(text, topic_of(text), confidence, is_correction)


def _tidy_clause(clause: str) -> str:
    """Return a clause as one capitalised line without its lead-in."""
    text = one_line(strip_lead_in(clause.strip())).rstrip(" .!?;,:")
    if len(text) > MAX_CONTENT:
        text = text[: MAX_CONTENT - 1].rsplit(" ", 1)[0][: MAX_CONTENT - 1] + "…"
    return text[:1].upper() + text[1:]
