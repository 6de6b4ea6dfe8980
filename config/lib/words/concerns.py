"""What a statement or a message of a trader concerns: subjects such as leverage, stop or hours. Pure.

"My stop is always 2%" and "Where do I put it if I am wrong?" share no word. Both concern the stop, as the
vocabulary says. Facts keep their subjects among their search terms, so that one look-up finds those of a message.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from config.lib.search.terms import list_terms
from config.lib.words.compile import Refusal, compile_rule
from config.lib.words.lexer import Token, find_phrase, has_phrase, read_tokens
from config.lib.words.rules import CONCEPTS, SUBJECTS
from config.lib.words.typed import split_words
from config.lib.words.vocabulary import find_meaning, find_stems, list_words

RULE: Final = "rule"  # the subject of each statement that reads as a rule
_WORDS: Final = re.compile(r"[^\W_]+")
_HELP: Final = 500  # characters in which a message says that it asks for help


def find_subjects(message: str) -> frozenset[str]:
    """Return the subjects of a message that plans something or asks for advice; of others none."""
    words, is_order = set(_WORDS.findall(message.casefold())), "trade" in _read_phrases(message)
    is_plan = is_order or "?" in message or not words.isdisjoint(list_words("SELF", "JUDGED"))
    if not is_plan or asks_for_knowledge(message):
        return frozenset()
    return read_subjects(message) | ({RULE} if is_order else set())


def asks_for_knowledge(message: str) -> bool:
    """Tell whether a message asks for something that no fact about its author tells, as "What is margin?"."""
    words = _WORDS.findall(message.casefold())
    if not words:
        return True
    tokens = read_tokens(message[:_HELP])
    if has_phrase(tokens, "GENERAL") or _asks_for_help(words, tokens):
        return True
    if not list_words("SELF").isdisjoint(words):
        return False
    verbs = list_words("AUXILIARY")
    if find_meaning(words[0], "ASKS") is not None:
        return not verbs.isdisjoint(words)  # "What size for a short?" has none
    is_judged = any(word[0].isdigit() for word in words) or not list_words("JUDGED").isdisjoint(words)
    return find_meaning(words[0], "ERRAND") is not None or (words[0] in verbs and not is_judged)


def _asks_for_help(words: Sequence[str], tokens: Sequence[Token]) -> bool:
    """Tell whether a message asks how the site works ("How do I export my trades?"), or asks Keel to say something."""
    if words[0] in ("how", "where") and words[2:3] == ["i"]:
        return find_phrase(tokens, 3, {"SITE"}) is not None
    if any(word[0].isdigit() for word in words):
        return False
    is_told = find_phrase(tokens, 0, {"SITE"}) is not None and tokens[-1].text != "?"
    is_asked = words[1:2] == ["you"] and find_phrase(tokens, 0, {"ASKING"}) is not None
    return is_told or (is_asked and "trade" not in _read_phrases(" ".join(words)))


@lru_cache(2_000)
def read_subjects(text: str) -> frozenset[str]:
    """Return the subjects that a text names, of trading and of a few daily things; coins by their symbols, too."""
    words = split_words(text, CONCEPTS, zone="UTC")
    coins = {name for word in words if word.type == "SYMBOL" for name in word.value}
    return frozenset({SUBJECTS[word.type] for word in words if word.type in SUBJECTS} | coins | _read_phrases(text))


def mark_statement(text: str) -> frozenset[str]:
    """Return the subjects of a statement, with RULE if it reads as a rule of trading."""
    is_rule = not isinstance(compile_rule(text, zone="UTC"), Refusal)
    return read_subjects(text) | ({RULE} if is_rule else set())


def _read_phrases(text: str) -> set[str]:
    """Return the subjects of the phrases in a text, in any ending."""
    return {subject for subjects in find_stems(list_terms(text), "CONCERN") for subject in subjects.split(",")}
