"""Read an answer to "what should change?" about one fact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.lib.text import one_line
from config.offline.facts import Known, best_matches
from config.offline.memory.requests import THAT_HOLDS, memory_requests, replace_value
from config.offline.reading.sentences import Pattern, is_question, sentences, straight, strip_lead_in, strip_preface
from memory.wording import MAX_CONTENT, MIN_CONTENT

_DROP: Final = Pattern(
    r"""
^(?:please\s+)?(?:forget|delete|remove|erase|drop)(?:\s+(?:about\s+)?(?:it|this|that|(?:this|that) (?:one|fact)
    |the fact|everything|completely|altogether|entirely))*[.! ]*$
^(?:it|that|this)(?:'s| is) (?:no longer true|not true any ?more|gone)[.! ]*$
^I (?:no longer|don't|do not) (?:want|need) (?:it|this|that)(?: any ?more)?[.! ]*$
"""
)
_KEEP: Final = Pattern(
    r"^(?:nothing|no(?:pe)?|none|cancel|never ?mind|stop|leave (?:it|that|this)(?: (?:as it is|alone|be))?"
    r"|keep (?:it|that|this)(?: as it is)?|it(?:'s| is) (?:fine|right|correct)(?: as it is)?)[.! ]*$"
)
_SAYS_NOTHING: Final = Pattern(
    r"^(?:(?:yes|ok|okay|sure|hi|hello|hey|help|please|thanks?|thank you|keel|I(?:'d| would) like to|I want to"
    r"|let's|let us|change|update|edit|correct|it|this|that|the fact|one|fact)\b[,.!? ]*)+$"
)
_NOW: Final = Pattern(
    r"^(?:(?:please\s+)?(?:(?:change|update|set|correct|replace|edit)\s+(?:it|this|that|the fact)?\s*(?:to|with|by"
    r"|into)|make\s+(?:it|this|that)|(?:it|that|this)\s+(?:should|must)\s+(?:now\s+)?(?:say|read|be)|(?:it|that"
    r"|this)(?:'s| is)(?:\s+now)?(?!\s+(?:wrong|not|no longer))|what holds now is)\b|(?:now|instead|rather)\b[,:]?)"
    r"\s*(?:that\b)?[:,]?\s*"
)
_END_NOW: Final = Pattern(r"\s+(?:now|instead|from now on)$")


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
    if replaced := [request.arguments["fact"] for request in requests if request.replaces]:
        return Change("change", replaced[0])
    if any(request.tool == "forget" for request in requests):
        # "That's wrong" says that it should change, not how.
        return Change("unclear" if "reason" in requests[0].arguments else "forget")
    return _new_words(fact, answer, [request.arguments["fact"] for request in requests if request.tool == "remember"])


def _new_words(fact: Known, answer: str, stated: Sequence[str]) -> Change:
    pieces = list(sentences(answer))
    said = strip_preface(one_line(pieces[0]))
    marked = _NOW.match(said)
    said = _END_NOW.compiled.sub("", (said[marked.end() :] if marked else said).strip(' .!;,"“”'))
    content = replace_value(fact.text, said)
    if content is None and stated and not marked:
        related = [known.text for known in best_matches(fact.text, [Known(text) for text in stated])]
        # A statement on another subject replaces this fact only when it is the only statement.
        content = next(iter(related or (stated if len(pieces) == 1 else [])), "")
    if content is None:
        said = one_line(" ".join([said, *pieces[1:]])).rstrip(" .!;,")
        content = said[:1].upper() + said[1:] if marked or len(said.split()) > 1 else ""
    return Change("change", content) if MIN_CONTENT <= len(content) <= MAX_CONTENT else Change("unclear")
