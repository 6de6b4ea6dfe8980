"""From a user's message to what only some assistants can do: affirm a fact, relate two, note a place, change one named.

As with statements, precision goes before recall: what no pattern knows is left to the other rules.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.lib.offline.facts import Known, Outcome, best_matches, is_uuid
from config.lib.offline.memory.requests import memory_requests, pointed_at
from config.lib.offline.reading.patterns import CLAUSE, NOT_LASTING, QUOTED, SUPPOSITION
from config.lib.offline.reading.sentences import is_question, sentences, straight, strip_lead_in, strip_preface
from config.lib.offline.reading.statements import MAX_FACT, MIN_FACT, topic_of
from config.lib.text import normal_form, one_line, slug

MAX_NOTES: Final = 500  # characters, the limit of a place
_LONGEST_SENTENCE: Final = 300
_MAX_SPLITS: Final = 8

_YES = r"^(?:(?:yes|yep|yeah|yup|right|correct|indeed|exactly)\b[,.!:;-]*\s+)?"
_THAT_HOLDS = re.compile(
    _YES + r"(?:(?:that|this|it)(?:'s| is| does|'ll)?\s+)?(?:still|remains?)\s+"
    r"(?:holds?|true|right|correct|valid|appl(?:y|ies)|stands?|accurate|the (?:case|same|plan|rule))[.! ]*$",
    re.IGNORECASE,
)
_STILL = re.compile(_YES + r"(?P<what>still\s+\S.*|(?:I|my)\b.{0,200}?\bstill\b.+)$", re.IGNORECASE)
_NEGATION = re.compile(r"n't\b|\b(?:not?|never|avoid|without|hate|dislike|stop(?:ped)?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

_LINK = re.compile(r"^(?:please\s+|can you\s+|could you\s+)?(?:link|connect|relate)\s+(?P<rest>.+)$", re.IGNORECASE)
_BETWEEN = re.compile(r"\s+(?:and|with|to)\s+", re.IGNORECASE)
_AS = re.compile(r"\s+as (?P<relation>[a-z_]+(?:[ -][a-z_]+){0,3})$", re.IGNORECASE)
_VERB = re.compile(
    r"\s+(?P<verb>contradicts?|conflicts? with|supports?|explains?|depends? on|relates? to|is related to"
    r"|follows? from|limits?)\s+",
    re.IGNORECASE,
)
_RELATIONS: Final = {
    **dict.fromkeys(["contradict", "contradicts", "conflict", "conflicts"], "contradicts"),
    **dict.fromkeys(["support", "supports"], "supports"),
    **dict.fromkeys(["explain", "explains"], "explains"),
    **dict.fromkeys(["depend", "depends"], "depends_on"),
    **dict.fromkeys(["relate", "relates", "is"], "relates_to"),
    **dict.fromkeys(["follow", "follows"], "follows_from"),
    **dict.fromkeys(["limit", "limits"], "limits"),
}
_THE_FACT = re.compile(r"^(?:(?:the )?(?:facts?|memory|memories)\b(?: that\b)?|that)\s*[:,]?\s+", re.IGNORECASE)

_SPOT = (
    r"(?:caf[eé]|coffee shop|restaurant|bar|pub|bakery|diner|park|beach|library|bookshop|bookstore|museum|cinema"
    r"|theat(?:er|re)|gym|pool|supermarket|grocery store|shop|store|spot|place|hotel|trail)"
)
_PLACE_IS = re.compile(
    r"^(?:(?:my|the)\s+(?P<mine>home|house|apartment|flat|office|workplace|gym|school|university|studio"
    rf"|(?:favou?rite|usual|regular|local)\s+(?:[\w-]+\s+){{0,2}}?{_SPOT})|my (?P<my>work)|(?P<bare>home|work))"
    r"(?:'s address|\s+address)?\s*(?:\bis\b|'s\b|[:=])\s*(?P<notes>\S.*)$",
    re.IGNORECASE,
)
_LIVE_AT = re.compile(r"^I live\s+(?P<notes>(?:at(?! home\b)|on|near|next to|across from)\s+.+)$", re.IGNORECASE)
_WORK_AT = re.compile(r"^I work\s+(?P<notes>(?:at|from|on)\s+\d.+)$", re.IGNORECASE)
_SOMEWHERE = re.compile(r"^(?:at|near|next to|across from|opposite|located)\s+\S", re.IGNORECASE)
_AT = re.compile(r"^I live\s+(?P<notes>(?:at(?! home\b)|on|near|next to|across from)\s+.+)$", re.IGNORECASE)
_WORK_AT = re.compile(r"^I work\s+(?P<notes>(?:at|from|on)\s+\d.+)$", re.IGNORECASE)
_SOMEWHERE = re.compile(r"^(?:at|near|next to|across from|opposite|located)\s+\S", re.IGNORECASE)
_AT = re.compile(r"^(?:located\s+)?(?:at|called)\s+|^located\s+", re.IGNORECASE)
_AN_ADDRESS = re.compile(r"^(?:[A-Z]|\d)|^(?:in|on|by|behind|around|called|the)\s+.*[A-Z\d]")
_NO_ADDRESS = re.compile(
    r"^(?:at |from |in )?\d+(?:[:.]\d\d)?\s*(?:am|pm|to|-|–|o'clock|hours?|minutes?|days?|%|euros?|dollars?|usd|k"
    r"|km|miles?)\b"
    r"|^(?:at )?\d+$",
    re.IGNORECASE,
)
_SAME_PLACE: Final = {"house": "home", "apartment": "home", "flat": "home", "workplace": "work"}

_DROP = re.compile(
    r"^(?:please\s+)?(?:forget|delete|remove|erase|drop)(?:\s+(?:about\s+)?(?:it|this|that|this (?:one|fact)"
    r"|that (?:one|fact)|the fact|everything|completely|altogether|entirely))*[.! ]*$"
    r"|^(?:it|that|this)(?:'s| is) (?:no longer true|not true any ?more|gone)[.! ]*$"
    r"|^I (?:no longer|don't|do not) (?:want|need) (?:it|this|that)(?: any ?more)?[.! ]*$",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"^(?:nothing|no(?:pe)?|none|cancel|never ?mind|stop|leave (?:it|that|this)(?: (?:as it is|alone|be))?"
    r"|keep (?:it|that|this)(?: as it is)?|it(?:'s| is) (?:fine|right|correct)(?: as it is)?)[.! ]*$",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"^(?:(?:yes|ok|okay|sure|hi|hello|hey|help|please|thanks?|thank you|keel|I(?:'d| would) like to|I want to"
    r"|let's|let us|change|update|edit|correct|it|this|that|the fact|one|fact)\b[,.!? ]*)+$",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"^(?:(?:please\s+)?(?:(?:change|update|set|correct|replace|edit)\s+(?:it|this|that|the fact)?\s*(?:to|with|by"
    r"|into)|make\s+(?:it|this|that)|(?:it|that|this)\s+(?:should|must)\s+(?:now\s+)?(?:say|read|be)"
    r"|(?:it|that|this)(?:'s| is)(?:\s+now)?(?!\s+(?:wrong|not|no longer))|what holds now is)\b"
    r"|(?:now|instead|rather)\b[,:]?)"
    r"\s*(?:that\b)?[:,]?\s*",
    re.IGNORECASE,
)
_END_NOW = re.compile(r"\s+(?:now|instead|from now on)$", re.IGNORECASE)
_TOKEN = re.compile(r"[$€£]?\d+(?:[.,:]\d+)*(?:[%×]|[a-z]{1,3}\b)?", re.IGNORECASE)
_VALUE = re.compile(rf"^(?:[a-z]+\s+)?{_TOKEN.pattern}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """Two facts that the user relates; None where their words mean no one fact."""

    one: Known | None
    other: Known | None
    relation: str


@dataclass(frozen=True, slots=True)
class Change:
    """What the user answered to "what should change?"; `unclear` needs another question."""

    act: str  # forget, keep, confirm, change or unclear
    content: str = ""


def affirmed(
    message: str, known: Sequence[Known], before: str = "", earlier: Sequence[Outcome] = ()
) -> tuple[list[list[Known]], str]:
    """Return what sentences affirm ("yes, still funds only"), several facts where any can be meant, and the rest."""
    groups, rest = [], []
    for sentence in sentences(message):
        facts = _affirmed(straight(strip_lead_in(sentence)), known, before, earlier)
        if facts and len(sentence) <= _LONGEST_SENTENCE and not sentence.endswith("?"):
            groups.append(facts)
        else:
            rest.append(sentence)
    return groups, "\n".join(rest) if groups else message


def may_affirm(message: str) -> bool:
    """Tell whether a message has the form of an affirmation, of whatever fact."""
    plain = (straight(strip_lead_in(sentence)) for sentence in sentences(message) if not sentence.endswith("?"))
    return any(_THAT_HOLDS.match(text) or _STILL.match(text) for text in plain if len(text) <= _LONGEST_SENTENCE)


def asked_link(message: str, known: Sequence[Known]) -> tuple[Link | None, str]:
    """Read "link A and B" and, where both are known, "A contradicts B"; return it and the rest of the message."""
    pieces = list(sentences(message))
    for at, sentence in enumerate(pieces):
        if (plain := _link_form(sentence)) and (link := _link(plain, known)):
            return link, "\n".join(pieces[:at] + pieces[at + 1 :])
    return None, message


def may_link(message: str) -> bool:
    """Tell whether a message asks to link facts, whichever."""
    return any(_LINK.match(_link_form(sentence)) for sentence in sentences(message))


def read_places(message: str) -> tuple[list[dict[str, str]], str]:
    """Return the places of a message as `place_id`, `place_name` and `notes`, and the text without them."""
    places, rest = [], []
    for sentence in sentences(message):
        is_told = len(sentence) <= 2 * _LONGEST_SENTENCE and not QUOTED.match(sentence) and not is_question(sentence)
        found = [(part, _place(part)) for part in CLAUSE.split(strip_preface(sentence))] if is_told else []
        if any(place for _, place in found):
            places += [place for _, place in found if place]
            rest += [part for part, place in found if not place]
        else:
            rest.append(sentence)
    return places, "\n".join(rest)


def read_change(fact: Known, answer: str) -> Change:
    """Read what the user wants of the one fact they were asked about; the content is what holds from now on."""
    plain = straight(one_line(strip_lead_in(answer.strip())))
    if not 0 < len(plain) <= 4 * MAX_FACT:
        return Change("unclear")
    for act, pattern in (("forget", _DROP), ("confirm", _THAT_HOLDS), ("keep", _KEEP)):
        if pattern.match(plain):
            return Change(act)
    if _SAYS_NOTHING.match(plain) or is_question(plain):
        return Change("unclear")
    requests = memory_requests(answer, [fact])
    replaced = [request.arguments["fact"] for request in requests if request.replaces]
    if replaced:
        return Change("change", replaced[0])
    if any(request.tool == "forget" for request in requests):
        # "That's wrong" says that it should change, not how.
        return Change("unclear" if "reason" in requests[0].arguments else "forget")
    return _new_words(fact, answer, [request.arguments["fact"] for request in requests if request.tool == "remember"])


def _new_words(fact: Known, answer: str, stated: Sequence[str]) -> Change:
    pieces = list(sentences(answer))
    said = strip_preface(one_line(pieces[0]))
    marked = _NOW.match(said)
    said = _END_NOW.sub("", (said[marked.end() :] if marked else said).strip(' .!;,"“”'))
    content = _with_value(fact.text, said)
    if content is None and stated and not marked:
        related = [known.text for known in best_matches(fact.text, [Known(text) for text in stated])]
        # What is said of something else replaces this fact only when nothing else was said.
        content = next(iter(related or (stated if len(pieces) == 1 else [])), "")
    if content is None:
        said = one_line(" ".join([said, *pieces[1:]])).rstrip(" .!;,")
        content = said[:1].upper() + said[1:] if marked or len(said.split()) > 1 else ""
    return Change("change", content) if MIN_FACT <= len(content) <= MAX_FACT else Change("unclear")


def _can_mean(fact: str, words: str) -> bool:
    """Tell whether words may affirm a fact: they deny if it denies, and name no number that it does not."""
    numbers = set(_NUMBER.findall(words))
    return bool(_NEGATION.search(straight(fact))) == bool(_NEGATION.search(words)) and numbers <= set(
        _NUMBER.findall(fact)
    )


def _affirmed(plain: str, known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> list[Known]:
    if len(plain) > _LONGEST_SENTENCE:
        return []
    if _THAT_HOLDS.match(plain):
        return list(pointed_at(known, before, earlier))
    match = _STILL.match(plain)
    if match is None:
        return []
    facts = [fact for fact in known if _can_mean(fact.text, match["what"])]
    return best_matches(match["what"], facts, topic=topic_of(match["what"]), least=0.6)


def _link_form(sentence: str) -> str:
    plain = straight(strip_lead_in(sentence)).rstrip(" .!;")
    return "" if len(plain) > _LONGEST_SENTENCE or plain.endswith("?") else plain


def _link(plain: str, known: Sequence[Known]) -> Link | None:
    if asked := _LINK.match(plain):
        rest, relation = asked["rest"], "relates_to"
        if named := _AS.search(rest):
            rest, relation = rest[: named.start()], slug(named["relation"], max_length=40).replace("-", "_")
        return _best_split(rest, list(_BETWEEN.finditer(rest)), known, relation)
    verbs = list(_VERB.finditer(plain))
    if not verbs:
        return None
    link = _best_split(plain, verbs, known, _RELATIONS[verbs[0]["verb"].casefold().split()[0]])
    return link if link and link.one else None


def _best_split(text: str, splits: Sequence[re.Match[str]], known: Sequence[Known], relation: str) -> Link | None:
    """Return the link of the first split whose both sides are facts; else of the first one."""
    links = [
        Link(_the_one(text[: split.start()], known), _the_one(text[split.end() :], known), relation)
        for split in splits[:_MAX_SPLITS]
    ]
    full = (link for link in links if link.one and link.other and link.one != link.other)
    return next(full, Link(None, None, relation) if links else None)


def _the_one(words: str, known: Sequence[Known]) -> Known | None:
    words = _THE_FACT.sub("", words.strip(" \"“”'")).strip(" \"“”'")
    if is_uuid(words):
        return next((fact for fact in known if fact.id == words), None)
    same = [fact for fact in known if normal_form(fact.text) == normal_form(words)]
    found = same or best_matches(words, known, topic=topic_of(words), least=0.5)
    return found[0] if len(found) == 1 else None


def _place(clause: str) -> dict[str, str] | None:
    plain = clause.strip(" .!;,")
    if len(plain) > _LONGEST_SENTENCE or NOT_LASTING.search(plain) or SUPPOSITION.search(plain):
        return None
    if match := _PLACE_IS.match(plain):
        said = next(filter(None, (match["mine"], match["my"], match["bare"])))
        kind = " ".join(said.casefold().split())
    elif match := _LIVE_AT.match(plain):
        kind = "home"
    elif match := _WORK_AT.match(plain):
        kind = "work"
    else:
        return None
    notes = match["notes"]
    if _NO_ADDRESS.match(notes) or not (_SOMEWHERE.match(notes) or _AN_ADDRESS.match(notes)):
        return None  # "my office is too loud"
    kind = _SAME_PLACE.get(kind, kind)
    told = one_line(_AT.sub("", notes))[:MAX_NOTES]
    return {"place_id": slug(kind, max_length=60), "place_name": kind[:1].upper() + kind[1:], "notes": told}


def _with_value(fact: str, said: str) -> str | None:
    """Return the fact with a bare value ("55", "age 55", "3x") in the place of its only number."""
    if len(_NUMBER.findall(fact)) != 1 or not _VALUE.match(said):
        return None
    value = next(_TOKEN.finditer(said))[0]
    place = _NUMBER if _NUMBER.fullmatch(value) else _TOKEN  # a bare number keeps the unit
    return place.sub(lambda _: value, fact)
