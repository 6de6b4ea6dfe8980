"""Limits on a fact's text, its category, and secrets never saved."""

import re
from collections.abc import Collection
from typing import Any, Final, Self

from django.db import models

from config.lib.errors import DomainError
from config.lib.text import clean_text, fold_lookalikes, make_slug, one_line
from config.lib.words.lexer import find_phrases

MIN_CONTENT: Final = 4
MAX_CONTENT: Final = 500
MAX_SUMMARY: Final = 200
MAX_BODY: Final = 4_000
MAX_TOPIC: Final = 32
MAX_RELATION: Final = 40
MAX_PLACE_ID: Final = 100
MAX_PLACE_NAME: Final = 120
MAX_PLACE_NOTES: Final = 500


class FactCategory(models.TextChoices):
    """The subject of a fact, in the order of the advisor's headings, with all that is said of it; the label is last."""

    tokens: int  # seed 001: the budget in the advisor's block, estimated
    topics: str  # settled 6: they decide the category when the tool gives none
    for_advisor: str  # what it is, in the prompt of the advisor
    for_extractor: str  # the same in the prompt that learns from closed chats

    PROFILE = (
        *("profile", 300, "risk goal session", "stable facts about the person (risk tolerance, time horizon, age)"),
        *("stable facts about the user", "Profile"),
    )
    FINANCE_CONTEXT = (
        *("finance_context", 500, "symbols account tax", "accounts, tax, constraints"),
        *("accounts, tax, instruments, constraints", "Finance context"),
    )
    RESPONSE_STYLE = "response_style", 200, "style", "how to communicate", "how to answer", "Response style"
    FACT = "fact", 500, "", "other durable one-offs", "anything else", "Facts"

    def __new__(cls, value: str, *description: Any) -> Self:
        category = str.__new__(cls, value)
        category._value_ = value
        category.tokens, category.topics, category.for_advisor, category.for_extractor = description
        return category


CATEGORY_BY_TOPIC: Final = {topic: category.value for category in FactCategory for topic in category.topics.split()}
# What may follow the name of a secret, "for Kraken", and what introduces its value.
_OF: Final = r"(?: (?:for|to|of|on|at|in)(?: [\w'’.-]+){1,4}?)?"
_IS: Final = r"\s*(?:is\b|=|:)?\s*"
_NAMED_IDS: Final = "routing|passport|ssn|social security|tax id|national id"
_ID_NUMBER: Final = r"[A-Z]{0,3}\d[\d -]{5,}"
# An amount of money is not an account number.
_CURRENCIES: Final = (
    *(r"usd[tc]?", "eur", "gbp", "chf", "jpy", "aud", "cad", "sgd", "hkd", "thb", "btc", "eth"),
    *("dollars?", "euros?", "pounds?", "francs?", "yen", "baht"),
)
_NO_AMOUNT: Final = rf"\b(?!\s?(?:{'|'.join(_CURRENCIES)})\b|\s?[$€£¥]|[.,]\d)"

# Secrets by their name, in any case: "password is hunter2", "my API key for Kraken: ...".
_BY_NAME: Final = (
    *(
        rf"\b(?:{name})\b{_OF}\s*(?:\b(?:is|are)\b|=|:)\s*\S"
        for name in (
            *("pass(?:word|phrase|code)", "pwd", "mnemonic", "(?:seed|recovery)[ _-]?phrase"),
            *("api[ _-]?(?:key|secret|token)", "(?:secret|private)[ _-]?key", "access[ _-]?token"),
        )
    ),
    # A pin needs a number, because traders also mention pin bars.
    rf"\bpin\b{_OF}\s*(?:\bis\b|=|:)?\s*\d{{4,}}",
    rf"\b(?:account|acct|{_NAMED_IDS})\.? ?(?:(?:no|nr|number|id)\b\.?|#)\s*(?:is\b|=|:|#)?\s*{_ID_NUMBER}",
    rf"\b(?:{_NAMED_IDS})\b{_IS}{_ID_NUMBER}",
    # After "account" without "number" may come its size or a date.
    *(
        rf"\b(?:account|acct)\b{_IS}{number}{_NO_AMOUNT}"
        for number in (
            *(r"(?!usd|eur|gbp|chf|jpy)[A-Z]{1,3}\d{6,}", r"\d{8,}"),
            r"(?!(?:19|20)\d\d-\d\d)\d{2,}(?:-\d{2,}){2,}",
        )
    ),
)
# Secrets by their form: known key prefixes, JSON web tokens, PEM blocks, raw private keys, exchange keys; then the
# numbers of US social security and IBAN.
_BY_FORM: Final = (
    r"\b(?:sk|pk|rk|xox[abpr]|gh[opsu]|glpat)[-_][A-Za-z0-9_-]{16,}\b",
    r"\bkeel_\d+_[\w-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}",
    r"BEGIN [A-Z ]*PRIVATE KEY",
    r"\b(?:0x)?[0-9a-fA-F]{64}\b",
    r"\b(?!0x)(?=[a-zA-Z\d+/]*[a-z])(?=[a-zA-Z\d+/]*[A-Z])(?=[a-zA-Z\d+/]*\d)[a-zA-Z\d+/]{40,}",
    r"\b\d{3}-\d{2}-\d{4}\b",
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b",
)
_SECRETS: Final = (*(re.compile(form, re.IGNORECASE) for form in _BY_NAME), *map(re.compile, _BY_FORM))
# Card numbers with valid first digits: in one piece, in fours, and as American Express prints them.
_CARDS: Final = (
    *(r"[3-6]\d{12,18}", r"2[2-7]\d{14}", r"(?:[3-6]\d|2[2-7])\d\d(?:[ -]\d{4}){3}(?:[ -]?\d{1,3})?"),
    r"3[47]\d\d[ -]\d{6}[ -]\d{5}",
)
_CARD_NUMBER: Final = re.compile(rf"(?<![\d.])(?:{'|'.join(_CARDS)})(?![\d.]?\d)")

# Soft hyphens, zero-width and tag characters: they split words where no reader sees it. Joiners of scripts stay.
_HIDDEN: Final = re.compile("[\u00ad\u200b\u2060-\u2064\U000e0000-\U000e007f]")


class FactRefused(DomainError):
    """A refused text; the message gives reason and remedy."""


class SecretRefused(FactRefused):
    """A text with a secret, which no message repeats."""


def parse_content(text: str) -> str:
    """Return a fact's text as stored. Raises FactRefused (length, secret)."""
    line = stored_line(text)
    if not MIN_CONTENT <= len(line) <= MAX_CONTENT:
        raise FactRefused(f"A fact needs {MIN_CONTENT} to {MAX_CONTENT} characters; this one has {len(line)}.")
    refuse_secrets(line)
    return line


def stored_line(text: str) -> str:
    """Return a text as one line without hidden or look-alike letters."""
    return fold_lookalikes(one_line(text))


def parse_summary(text: str) -> str:
    """Return the shorter line as stored. Raises FactRefused (length, secret)."""
    return check_text("A summary", stored_line(text), MAX_SUMMARY)


def parse_detail(text: str) -> str:
    """Return the detail as stored. Raises FactRefused (length, secret)."""
    return check_text("The detail of a fact", fold_lookalikes(_HIDDEN.sub("", clean_text(text))).strip(), MAX_BODY)


def check_text(what: str, text: str, most: int) -> str:
    """Return a text of at most so many characters. Raises FactRefused (length, secret)."""
    if len(text) > most:
        raise FactRefused(f"{what} has at most {most} characters; this one has {len(text)}.")
    refuse_secrets(one_line(text))
    return text


def refuse_secrets(text: str) -> None:
    """Raise FactRefused for a secret or identity number (settled 12)."""
    cards = (re.sub(r"\D", "", match[0]) for match in _CARD_NUMBER.finditer(text))
    if any(pattern.search(text) for pattern in _SECRETS) or any(map(_passes_luhn, cards)):
        raise SecretRefused(
            "This looks like a password, a key or a card, account or identity number. Keel never keeps those. "
            "Say it without the number and it can be remembered."
        )


def _passes_luhn(digits: str) -> bool:
    # ISO/IEC 7812-1: distinguishes a card number from a price or time stamp of equal length.
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in digits[::-2])) % 10 == 0


def parse_topic(text: str) -> str:
    """Return the topic as stored, a slug. Raises FactRefused (secret)."""
    refuse_secrets(one_line(text))
    return make_slug(text, max_length=MAX_TOPIC)


def find_category(topic: str, content: str = "") -> str:
    """Return the category of a fact with this topic, by default `fact`."""
    # A style of trading is no style of answers.
    if topic == "style" and any(find_phrases(content, "CRAFT")) and not any(find_phrases(content, "WORDED", "SAIDHOW")):
        return "profile"
    return CATEGORY_BY_TOPIC.get(topic, "fact")


def filter_topic(topic: str, content: str, in_use: Collection[str]) -> str:
    """Return the topic if it is known, in use or in the content; "" for other words, since prompts show it first."""
    words = make_slug(content, max_length=MAX_CONTENT).split("-")
    is_known = find_category(topic) != "fact" or topic in in_use
    return topic if is_known or set(topic.split("-")) <= set(words) else ""
