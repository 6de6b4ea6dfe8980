"""Titles and summaries made of the chat's own words; pure."""

import re
from collections.abc import Iterator
from typing import Final

from config.lib.search.terms import iter_terms
from config.lib.text import one_line
from config.lib.words.sentences import sentences

MAX_SUMMARY: Final = 1_200  # characters

_MAX_LINE: Final = 200
_SPEAKER = re.compile(r"^(?:- )?(?P<who>Person|Keel): (?P<text>.+)$")
MAX_WORDS: Final = 10
MAX_LENGTH: Final = 56  # characters

_MAX_WORD: Final = 24  # characters; longer ones are no words
_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_SPACE: Final = r"(?=[\s,.!:;–—-])[\s,.!:;–—-]+"
_GREETING: Final = re.compile(
    r"(?:(?:hi|hey|hello|hiya|howdy|yo|greetings|dear|(?:good )?(?:morning|afternoon|evening)|thanks|thank you|sorry"
    r"|ok(?:ay)?|well|so|also|and|actually|basically|anyway|by the way|(?:i )?hope you(?:'re| are))"
    r"(?: (?:there|keel|coach|again|all))*"
    rf"|(?:just )?(?:a |one )?(?:quick|more|last) (?:question|one|thing)){_SPACE}",
    re.IGNORECASE,
)
# Courtesy before what is asked for; a question word stays, for without it the title loses its sense.
_REQUEST: Final = re.compile(
    r"(?:(?:can|could|would|will) (?:you|u)(?: mind)?|please|pls|know|let me|(?:tell|show|give|remind) me"
    r"|explain(?: to me)?|help me(?: to)?|remember that"
    r"|i(?: want(?: you)? to|(?:'d| would) like(?: you)? to| was wondering| have a question about| need help with))"
    rf"{_SPACE}",
    re.IGNORECASE,
)
# A long sentence is cut before one of these words.
_JOINT: Final = re.compile(
    "(?:and|or|but|so|because|when|while|if|which|that|than|as|since|in|on|at|of|for|from|to|with|without|by|over"
    "|after|before|the|an?|my|every)"
)


def title_from(message: str) -> str:
    """Return the first sentence that says something, whole if short; empty for punctuation alone."""
    for sentence in filter(None, map(one_line, _END.split(message.replace("’", "'")))):
        asked = _strip(_GREETING, sentence.strip(" \"'“”`*#_<>()[]{}"))
        rest = _strip(_REQUEST, asked)
        words = [word[:_MAX_WORD] for word in rest.split()]
        if len(words) > 2 and not all(term.is_stop_word for term in iter_terms(rest)):
            return _finish(_cut(words), "?" if rest != asked else "")
    return _finish(" ".join(one_line(message)[:MAX_LENGTH].split()[:MAX_WORDS]), "")


def _strip(lead_in: re.Pattern[str], sentence: str) -> str:
    while match := lead_in.match(sentence):
        sentence = sentence[match.end() :]
    return sentence


def _finish(text: str, mark: str) -> str:
    title = text.rstrip(f" .,;:!{mark}")
    return title[:1].upper() + title[1:]


def _cut(words: list[str]) -> str:
    """Return the words that a title holds, of a longer sentence up to a comma or a joint."""
    kept = words[:MAX_WORDS]
    while kept[1:] and (
        len(" ".join(kept)) > MAX_LENGTH - (len(kept) < len(words))
        or (len(kept) < len(words) and _JOINT.fullmatch(kept[-1]))
    ):
        kept.pop()
    whole = " ".join(kept)
    if len(kept) == len(words):
        return whole
    head = whole.partition(", ")[0]
    return head if head != whole and head.count(" ") > 1 else f"{whole}…"


def title_by_rules(exchange: str) -> str:
    """Return the title that the person's first words make."""
    asked = next((text for who, text in _iter_said(exchange) if who == "Person"), exchange)
    return title_from(asked) or "A few first words"


def summarise_by_rules(request: str) -> str:
    """Summarise the user's statements and the newest numbers told."""
    kept: list[str] = []
    for who, said in reversed(list(dict.fromkeys(_iter_said(request)))):
        for sentence in reversed(list(sentences(said))):
            line = f"{who}: {sentence[:_MAX_LINE]}"
            is_telling = len(sentence.split()) > 1 and (who == "Person" or re.search(r"\d", sentence))
            if is_telling and len("\n".join([line, *kept])) <= MAX_SUMMARY:
                kept.insert(0, line)
    return "\n".join(kept) or "Nothing was said yet."


def _iter_said(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("Summary so far:", "").split("\n"):
        if match := _SPEAKER.match(line.strip()):
            yield match["who"], one_line(match["text"])
