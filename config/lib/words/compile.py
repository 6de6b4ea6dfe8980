"""Read a sentence as one rule, or refuse with a reason. Pure.

Each word has a type (`words.split_words`); a rule fits only if it accounts for all of them. So a sentence that says
more than the rule is refused, never read in part.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, get_args

from pydantic import ValidationError

from config.lib.words.quantities import word_set
from config.lib.words.rule_parts import RuleSentence, Unread
from config.lib.words.rules import CONCEPTS, SUBJECTS, Rule
from config.lib.words.typed import Word, split_words

_BOUNDS: Final = word_set("MAX UNDER OVER MIN")
_TRADING: Final = SUBJECTS.keys() - {"MARKETS", "ALTS"} | {"ONELOSS", "PERDAY"}
_RULING: Final = word_set("NOT ONLY STOP STOPLOSS WITHOUT OFF PAUSE") | _BOUNDS


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: str
    is_near: bool  # it sounds like a rule of trading


@lru_cache(5_000)  # a page asks for the same facts again
def compile_rule(text: str, *, zone: str, symbols: frozenset[str] = frozenset()) -> Rule | Refusal:
    """Return the rule that a sentence states, times in the user's zone; `symbols` are coins that its author traded."""
    words = split_words(text, CONCEPTS, zone=zone, symbols=symbols)
    is_near = _is_near(words)
    if (reason := _refuse_words(text, words)) or not words:
        return Refusal(reason or "It says nothing that a trade could keep or break.", is_near)
    sentence = RuleSentence(words, zone)
    try:
        found: list[Rule] = [rule for kind in get_args(Rule) if (rule := kind.read(sentence)) is not None]
    except Unread as error:
        return Refusal(str(error), is_near)
    except ValidationError:
        return Refusal("One of its numbers is too large or too small.", is_near)
    if len(found) == 1:
        return found[0]
    return Refusal(_explain_misfit(text, sentence, zone, symbols), is_near)


def _is_near(words: Sequence[Word]) -> bool:
    types = {word.type for word in words}
    return not types.isdisjoint(_TRADING) and not types.isdisjoint(_RULING)


def _refuse_words(text: str, words: Sequence[Word]) -> str:
    by_type = {word.type: word.text for word in reversed(words)}
    if text.rstrip().endswith("?"):
        return "It is a question."
    if "HEDGE" in by_type:
        return f'It says "{by_type["HEDGE"]}", so it is no fixed rule.'
    if "UNKNOWN" in by_type:
        return f'Keel cannot read "{by_type["UNKNOWN"]}" as part of a rule.'
    if "FOREIGN" in by_type:
        return "Keel counts in US dollars. Write the amount in $ or in percent."
    return ""


def _explain_misfit(text: str, sentence: RuleSentence, zone: str, symbols: frozenset[str]) -> str:
    split = (part.strip() for part in re.split(r"[;.,]\s+|\s+(?:and|but)\s+", text))
    parts = [part for part in split if 0 < len(part) < len(text)]
    if sum(not isinstance(compile_rule(part, zone=zone, symbols=symbols), Refusal) for part in parts) > 1:
        return "It states more than one rule. Save each as a fact of its own."
    if sentence.has("MIN"):
        return "It sets a minimum. Keel checks limits, not minimums."
    figures = [word.text for word in sentence.words if word.type in ("PCT", "USD", "MULT")]
    if figures and _BOUNDS.isdisjoint(sentence.types):
        return f'It does not say whether {figures[0]} is the most. Write "at most {figures[0]}".'
    if {"TIME", "DAY"} & {*sentence.types} and not {"ONLY", "NOT", "STOP"} & {*sentence.types}:
        return 'It says when you trade, but neither "only" nor "never".'
    return "Its words together fit none of the rules that Keel can check."
