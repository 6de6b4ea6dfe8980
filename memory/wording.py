"""What a fact's text may be: its shape, its category by topic, and the secrets that are never kept."""

import re
from typing import Final

from config.lib.errors import DomainError
from config.lib.text import one_line, slug

MIN_CONTENT: Final = 4
MAX_CONTENT: Final = 500
MAX_SUMMARY: Final = 200
MAX_BODY: Final = 4_000
MAX_TOPIC: Final = 32

# settled 6: the category follows from the topic when the tool does not give one.
_CATEGORY_BY_TOPIC: Final = {
    "risk": "profile",
    "goal": "profile",
    "session": "profile",
    "symbols": "finance_context",
    "account": "finance_context",
    "tax": "finance_context",
    "style": "response_style",
}

_SECRET_PATTERNS: Final = (
    # What is said to be one: "password is hunter2", "api key: ...".
    re.compile(
        r"\b(?:pass(?:word|phrase|code)|pwd|api[ _-]?(?:key|secret|token)|secret[ _-]?key|access[ _-]?token|private[ _-]?key"
        r"|seed[ _-]?phrase|recovery[ _-]?phrase|mnemonic|pin)\b\s*(?:is|are|=|:)\s*\S",
        re.IGNORECASE,
    ),
    # What looks like one: keys with a known prefix, JSON web tokens, PEM blocks, raw private keys.
    re.compile(r"\b(?:sk|pk|rk|xox[abpr]|gh[opsu]|glpat|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{16,}\b"),
    re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"),
    re.compile(r"BEGIN [A-Z ]*PRIVATE KEY"),
    re.compile(r"\b(?:0x)?[0-9a-fA-F]{64}\b"),
    # Identity and bank account numbers: US social security, IBAN.
    re.compile(r"\b\d{3}-\d{2}-\d{4}\b"),
    re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b"),
    re.compile(
        r"\b(?:account|acct|routing|passport|ssn|social security|tax id|national id)\b(?: (?:no|nr|number|id))?\.?"
        r"\s*(?:is|=|:|#)?\s*[A-Z]{0,3}\d[\d -]{5,}",
        re.IGNORECASE,
    ),
)
_CARD_NUMBER = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")


class FactRefused(DomainError):
    """The text cannot be a fact; the message says why and what to do."""


def fact_text(text: str) -> str:
    """Return the text as it is stored: one line of 4 to 500 characters.

    Raises:
        FactRefused: it is too short, too long, or holds a secret.
    """
    line = one_line(text)
    if not MIN_CONTENT <= len(line) <= MAX_CONTENT:
        raise FactRefused(f"A fact needs {MIN_CONTENT} to {MAX_CONTENT} characters; this one has {len(line)}.")
    refuse_secrets(line)
    return line


def refuse_secrets(text: str) -> None:
    """Raise FactRefused if the text holds a password, key, token, card, account or identity number (settled 12)."""
    if any(pattern.search(text) for pattern in _SECRET_PATTERNS) or _has_card_number(text):
        raise FactRefused(
            "This looks like a password, a key or a card, account or identity number. Keel never keeps those. "
            "Say it without the number and it can be remembered."
        )


def _has_card_number(text: str) -> bool:
    return any(_passes_luhn(re.sub(r"\D", "", match[0])) for match in _CARD_NUMBER.finditer(text))


def _passes_luhn(digits: str) -> bool:
    # ISO/IEC 7812-1: tells a card number from a price or a time stamp of the same length.
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in digits[::-2])) % 10 == 0


def topic_slug(text: str) -> str:
    """Return the topic as stored: a slug of at most 32 characters, maybe empty."""
    return slug(text, max_length=MAX_TOPIC)


def category_for(topic: str) -> str:
    """Return the category that a topic belongs to; `fact` for any other."""
    return _CATEGORY_BY_TOPIC.get(topic, "fact")
