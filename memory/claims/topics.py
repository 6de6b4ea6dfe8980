"""The topic of a fact: by its words, else by its subject."""

from typing import Final

from config.lib.words.lexer import find_meanings, read_tokens, take_number
from memory.claims.subjects import read_subject

# Subjects whose lines may have none of the words below.
_BY_SUBJECT: Final = {
    **dict.fromkeys(("exchange", "base currency", "account size"), "account"),
    **dict.fromkeys(("profit target", "retirement age"), "goal"),
    **dict.fromkeys(("leverage", "open positions", "trades per day", "trades per week"), "risk"),
    **dict.fromkeys(("time zone", "trading hours"), "session"),
    **dict.fromkeys(("answer language", "answer length", "trading style"), "style"),
    "symbols": "symbols",
}
_ORDER: Final = ("tax", "style", "goal", "risk", "session", "symbols", "account")  # the first one that a line has
_BY_CONCEPT: Final = {"COIN": "symbols", "DAY": "session", "ZONECODE": "session", "EXCHANGE": "account"}


def guess_topic(text: str, heading: str = "") -> str:
    """Return the topic of a line by its words, else by its subject, else by the words of its heading."""
    return _find_by_words(text) or _BY_SUBJECT.get(read_subject(text).key, "") or _find_by_words(heading)


def _find_by_words(text: str) -> str:
    tokens = read_tokens(text)
    found = {one.value for one in find_meanings(tokens, ("TOPIC",))}
    found |= {_BY_CONCEPT[one.concept] for one in find_meanings(tokens, _BY_CONCEPT)}
    numbers = (take_number(tokens, at) for at, token in enumerate(tokens) if token.kind == "digits")
    found |= {"risk"} if any(number is not None and number.unit == "x" for number in numbers) else set()
    found |= {"session"} if any(token.kind == "clock" for token in tokens) else set()
    return next((topic for topic in _ORDER if topic in found), "")
