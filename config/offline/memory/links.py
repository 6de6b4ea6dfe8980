"""Read links between two facts: "link my goal and my risk limit"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.lib.text import make_slug, normal_form
from config.offline.facts import Known, best_matches, is_uuid
from config.offline.reading.sentences import LONGEST_REQUEST, Pattern, sentences, straight, strip_lead_in
from config.offline.reading.statements import topic_of

_MAX_SPLITS: Final = 8

_LINK: Final = Pattern(r"^(?:please\s+|can you\s+|could you\s+)?(?:link|connect|relate)\s+(?P<rest>.+)$")
_BETWEEN: Final = Pattern(r"\s+(?:and|with|to)\s+")
_AS: Final = Pattern(r"\s+as (?P<relation>[a-z_]+(?:[ -][a-z_]+){0,3})$")
_VERB: Final = Pattern(
    r"\s+(?P<verb>contradict|conflict|support|explain|depend|relate|is related|follow|limit)s?(?: (?:with|on|to"
    r"|from))?\s+"
)
_RELATIONS: Final = {
    "conflict": "contradicts",
    "depend": "depends_on",
    "relate": "relates_to",
    "follow": "follows_from",
}
_THE_FACT: Final = Pattern(r"^(?:(?:the )?(?:facts?|memory|memories)\b(?: that\b)?|that)\s*[:,]?\s+")


@dataclass(frozen=True, slots=True)
class Link:
    """Two facts to link; None where a match is ambiguous."""

    one: Known | None
    other: Known | None
    relation: str


def asked_link(message: str, known: Sequence[Known]) -> tuple[Link | None, str]:
    """Parse "link A and B", "A contradicts B"; return the rest too."""
    pieces = list(sentences(message))
    for at, sentence in enumerate(pieces):
        if (plain := _link_form(sentence)) and (link := _parse_link(plain, known)):
            return link, "\n".join(pieces[:at] + pieces[at + 1 :])
    return None, message


def may_link(message: str) -> bool:
    """Tell whether a message asks to link facts, whichever."""
    return any(_LINK.match(_link_form(sentence)) for sentence in sentences(message))


def _link_form(sentence: str) -> str:
    plain = straight(strip_lead_in(sentence)).rstrip(" .!;")
    return "" if len(plain) > LONGEST_REQUEST or plain.endswith("?") else plain


def _parse_link(plain: str, known: Sequence[Known]) -> Link | None:
    if asked := _LINK.match(plain):
        rest, relation = asked["rest"], "relates_to"
        if named := _AS.search(rest):
            rest, relation = rest[: named.start()], make_slug(named["relation"], max_length=40).replace("-", "_")
        return _best_split(rest, list(_BETWEEN.compiled.finditer(rest)), known, relation)
    verbs = list(_VERB.compiled.finditer(plain))
    if not verbs:
        return None
    verb = verbs[0]["verb"].casefold().removeprefix("is related").removeprefix("relate")
    link = _best_split(plain, verbs, known, _RELATIONS.get(verb, f"{verb}s" if verb else "relates_to"))
    return link if link and link.one else None


def _best_split(text: str, splits: Sequence[re.Match[str]], known: Sequence[Known], relation: str) -> Link | None:
    """Return the first complete link, or else an empty one."""
    links = [
        Link(_the_one(text[: split.start()], known), _the_one(text[split.end() :], known), relation)
        for split in splits[:_MAX_SPLITS]
    ]
    full = (link for link in links if link.one and link.other and link.one != link.other)
    return next(full, Link(None, None, relation) if links else None)


def _the_one(words: str, known: Sequence[Known]) -> Known | None:
    words = _THE_FACT.compiled.sub("", words.strip(" \"“”'")).strip(" \"“”'")
    if is_uuid(words):
        return next((fact for fact in known if fact.id == words), None)
    same = [fact for fact in known if normal_form(fact.text) == normal_form(words)]
    found = same or best_matches(words, known, topic=topic_of(words), least=0.5)
    return found[0] if len(found) == 1 else None
