"""Find the facts that a message affirms; precision before recall."""

import re
from collections.abc import Sequence

from config.offline.facts import Known, Outcome, best_matches
from config.offline.memory.requests import pointed_at
from config.offline.reading.patterns import NUMBER
from config.offline.reading.sentences import LONGEST_REQUEST, sentences, straight, strip_lead_in
from config.offline.reading.statements import topic_of

_YES = r"^(?:(?:yes|yep|yeah|yup|right|correct|indeed|exactly)\b[,.!:;-]*\s+)?"
THAT_HOLDS = re.compile(
    _YES + r"(?:(?:that|this|it)(?:'s| is| does|'ll)?\s+)?(?:still|remains?)\s+"
    r"(?:holds?|true|right|correct|valid|appl(?:y|ies)|stands?|accurate|the (?:case|same|plan|rule))[.! ]*$",
    re.IGNORECASE,
)
_STILL = re.compile(_YES + r"(?P<what>still\s+\S.*|(?:I|my)\b.{0,200}?\bstill\b.+)$", re.IGNORECASE)
_NEGATION = re.compile(r"n't\b|\b(?:not?|never|avoid|without|hate|dislike|stop(?:ped)?)\b", re.IGNORECASE)


def find_affirmed(
    message: str, known: Sequence[Known], before: str = "", earlier: Sequence[Outcome] = ()
) -> tuple[list[list[Known]], str]:
    """Return the affirmed facts, ambiguous ones together, and the rest."""
    groups, rest = [], []
    for sentence in sentences(message):
        facts = _match_affirmed(straight(strip_lead_in(sentence)), known, before, earlier)
        if facts and len(sentence) <= LONGEST_REQUEST and not sentence.endswith("?"):
            groups.append(facts)
        else:
            rest.append(sentence)
    return groups, "\n".join(rest) if groups else message


def may_affirm(message: str) -> bool:
    """Tell whether a message may affirm a fact."""
    plain = (straight(strip_lead_in(sentence)) for sentence in sentences(message) if not sentence.endswith("?"))
    return any(THAT_HOLDS.match(text) or _STILL.match(text) for text in plain if len(text) <= LONGEST_REQUEST)


def _can_mean(fact: str, words: str) -> bool:
    """Tell whether words may affirm a fact: same polarity and numbers."""
    denies_alike = bool(_NEGATION.search(straight(fact))) == bool(_NEGATION.search(words))
    return denies_alike and set(NUMBER.findall(words)) <= set(NUMBER.findall(fact))


def _match_affirmed(plain: str, known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> list[Known]:
    if len(plain) > LONGEST_REQUEST:
        return []
    if THAT_HOLDS.match(plain):
        return list(pointed_at(known, before, earlier))
    match = _STILL.match(plain)
    if match is None:
        return []
    facts = [fact for fact in known if _can_mean(fact.text, match["what"])]
    return best_matches(match["what"], facts, topic=topic_of(match["what"]), least=0.6)
