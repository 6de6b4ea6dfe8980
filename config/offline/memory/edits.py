"""Read an answer to "what should change?" about one fact."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from config.lib.text import one_line
from config.offline.facts import Known, best_matches
from config.offline.memory.affirmations import THAT_HOLDS
from config.offline.memory.requests import memory_requests
from config.offline.reading.patterns import NUMBER
from config.offline.reading.sentences import is_question, sentences, straight, strip_lead_in, strip_preface
from memory.wording import MAX_CONTENT, MIN_CONTENT

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
    r"|into)|make\s+(?:it|this|that)|(?:it|that|this)\s+(?:should|must)\s+(?:now\s+)?(?:say|read|be)|(?:it|that"
    r"|this)(?:'s| is)(?:\s+now)?(?!\s+(?:wrong|not|no longer))|what holds now is)\b|(?:now|instead|rather)\b[,:]?)"
    r"\s*(?:that\b)?[:,]?\s*",
    re.IGNORECASE,
)
_END_NOW = re.compile(r"\s+(?:now|instead|from now on)$", re.IGNORECASE)
_TOKEN = re.compile(r"[$€£]?\d+(?:[.,:]\d+)*(?:[%×]|[a-z]{1,3}\b)?", re.IGNORECASE)
_VALUE = re.compile(rf"^(?:[a-z]+\s+)?{_TOKEN.pattern}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """What the user answered to "what should change?"; `unclear` needs another question."""

    act: str  # forget, keep, confirm, change or unclear
    content: str = ""


def read_change(fact: Known, answer: str) -> Change:
    """Parse the wanted change of the one fact asked about."""
    plain = straight(one_line(strip_lead_in(answer.strip())))
    if not 0 < len(plain) <= 4 * MAX_CONTENT:
        return Change("unclear")
    for act, pattern in (("forget", _DROP), ("confirm", THAT_HOLDS), ("keep", _KEEP)):
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
        # A statement on another subject replaces this fact only when it is the only statement.
        content = next(iter(related or (stated if len(pieces) == 1 else [])), "")
    if content is None:
        said = one_line(" ".join([said, *pieces[1:]])).rstrip(" .!;,")
        content = said[:1].upper() + said[1:] if marked or len(said.split()) > 1 else ""
    return Change("change", content) if MIN_CONTENT <= len(content) <= MAX_CONTENT else Change("unclear")


def _with_value(fact: str, said: str) -> str | None:
    """Return the fact with its only number replaced ("55", "3x")."""
    if len(NUMBER.findall(fact)) != 1 or not _VALUE.match(said):
        return None
    value = next(_TOKEN.finditer(said))[0]
    place = NUMBER if NUMBER.fullmatch(value) else _TOKEN  # a bare number keeps the unit
    return place.sub(lambda _: value, fact)
