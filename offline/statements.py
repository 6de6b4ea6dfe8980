"""Find lasting statements of the user in a message, in English, by the form of their clauses.

One table weighs the forms of a clause: who speaks of whom, how the verb stands, what bounds it, and what points at a
moment. A clause whose weights come to zero or more is kept; `no` rules it out. The weights were fitted to the labelled
sentences of the tests, and rounded. Whoever wants something kept that no form knows says "remember that ...".
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from config.lib.text import normal_form, one_line
from config.lib.words.lexer import MASK, skip_phrases
from config.lib.words.sentences import (
    find_clauses,
    parse_request,
    sentences,
    split_clauses,
    strip_correction,
    strip_lead_in,
)
from memory.claims.statements import keep_statements
from memory.claims.subjects import read_subject
from memory.claims.topics import guess_topic
from memory.wording import MAX_CONTENT, MIN_CONTENT
from offline.messages import FactLine
from offline.telling import FORMS

MAX_FACTS: Final = 10  # of one message
_LONGEST_SENTENCE: Final = 700  # longer ones are prose that was pasted; they are read only after "remember that"

_BULLET = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_BIAS: Final = -6
_SUBJECT: Final = 3  # for a value of the store's table of subjects
_NEVER: Final = -100
_APART: Final = -5  # below it a clause belongs to no other
_MOMENT: Final = frozenset({"no supposition", "no open", "-6 state", "-4 time"})
_FRAMES, _EVIDENCE = FORMS["frames of a statement"], FORMS["evidence of what lasts"]


def read_statements(message: str) -> list[FactLine]:
    """Return at most MAX_FACTS distinct lasting statements, in order."""
    found: dict[str, FactLine] = {}
    in_list, before = False, ""
    for sentence in sentences(keep_statements(message).replace(MASK, "\n")):
        bullet = _BULLET.match(sentence)
        sentence = sentence[bullet.end() :] if bullet else sentence
        rest = _parse_explicit(sentence)
        if rest is not None and "pointing" in _FRAMES.read(sentence.rstrip(" .!")):  # "remember that place"
            rest = sentence = before or " "
        before = sentence
        if rest == "":  # "Remember these:", followed by a list
            in_list = True
            continue
        in_list = in_list and bullet is not None
        if rest is None and not in_list:
            statements = [*_plain_statements(sentence)]
        else:
            clauses = [clause for clause in split_clauses(rest or sentence) if not _is_of_moment(clause)]
            statements = [_make_statement(re.sub(r"^to\s+", "", clause)) for clause in clauses]
        for statement in statements:
            found.setdefault(normal_form(statement.text), statement)
    return [statement for statement in found.values() if len(statement.text) >= MIN_CONTENT][:MAX_FACTS]


def passing_states(message: str) -> list[str]:
    """Return passing states that the user asks to remember."""
    asked = [rest for sentence in sentences(message) if (rest := _parse_explicit(sentence))]
    return [_tidy_clause(rest) for rest in asked if _is_of_moment(rest)]


def weigh(clause: str) -> int:
    """Return the evidence that a clause tells what lasts: from 0 on it does."""
    plain = clause.strip(" .!;,")
    hedge = _FRAMES.read(plain).find("hedge")
    plain = f"{hedge['own']} {hedge['more']}" if hedge else plain
    said = _EVIDENCE.read(plain)
    rows = [row for row in _EVIDENCE.rows if row in said]
    if any(row.startswith("no") for row in rows):
        return _NEVER
    is_own = "own" in rows and read_subject(plain).is_single
    return _BIAS + sum(int(row.split()[0]) for row in rows if row != "own") + (_SUBJECT if is_own else 0)


def _is_of_moment(clause: str) -> bool:
    """Tell whether a clause speaks of a moment, though it was asked to be remembered."""
    said = _EVIDENCE.read(clause.strip(" .!;,"))
    return any(row in said for row in _MOMENT)


def _parse_explicit(sentence: str) -> str | None:
    """Return the text after "remember that", "" or None."""
    sentence = strip_lead_in(sentence)
    rest = parse_request(sentence)
    return rest if rest or sentence.rstrip().endswith(":") else None


def _plain_statements(sentence: str) -> Iterator[FactLine]:
    sentence = strip_lead_in(skip_phrases(sentence, "FROMNOW")) if len(sentence) <= _LONGEST_SENTENCE else ""
    ended = _FRAMES.read(sentence.rstrip(" .!")).find("after all")
    sentence = ended["said"] if ended else sentence
    rest = strip_correction(sentence)
    begun = rest != sentence
    for clause in _iter_lasting(strip_lead_in(rest) if begun else sentence):
        line = _make_statement(clause)
        yield replace(line, inferred="hedge" in _FRAMES.read(clause), is_correction=begun or ended is not None)


def _iter_lasting(sentence: str) -> Iterator[str]:
    """Yield the clauses that last. A clause that says little by itself goes on with the one before it."""
    found: list[tuple[str, int, int]] = []
    clauses, held = find_clauses(sentence), -1
    for start, end in clauses:
        begin, held = (held if held >= 0 else start), -1
        text = sentence[begin:end]
        if end < len(sentence) and "condition" in _FRAMES.read(text):  # "When I lose twice, I stop"
            held = begin
            continue
        subject = "I " if "now" in _FRAMES.read(text) else ""
        weight = weigh(subject + text)
        if weight >= 0:
            found.append((subject, begin, end))
        elif weight > _APART and found:
            found[-1] = (*found[-1][:2], end)
    if not found and clauses[1:] and weigh(sentence) >= 0:
        found = [("", 0, len(sentence))]
    yield from (subject + sentence[begin:end] for subject, begin, end in found)


def _make_statement(clause: str) -> FactLine:
    text = _tidy_clause(clause)
    return FactLine(text, guess_topic(text))


def _tidy_clause(clause: str) -> str:
    """Return a clause as one capitalised line without its lead-in."""
    text = skip_phrases(one_line(strip_lead_in(clause.strip())).rstrip(" .!?;,:"), "FROMNOW")
    if len(text) > MAX_CONTENT:
        text = text[: MAX_CONTENT - 1].rsplit(" ", 1)[0][: MAX_CONTENT - 1] + "…"
    return text[:1].upper() + text[1:]
