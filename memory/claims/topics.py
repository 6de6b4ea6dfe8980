"""The topic of a fact: by its words, else by its subject."""

from typing import Final

from config.lib.words.markets import COIN
from config.lib.words.sentences import parse_table, straight
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
_TOPICS: Final = r"""
tax: \btax(?:es|able)?\b|\bcapital gains\b
style: \b(?:answers?|repl(?:y|ies)|explanations?|emojis?|jargon|bullet points)\b
    |^(?:please )?(?:answer|reply|speak|write|explain|talk|give me)\b
goal: \b(?:my (?:\w+ )*?|the )(?:goal|aim|target|plan|dream)\b|\bsaving (?:up )?for\b
    |^(?:I (?:want|aim|plan|hope|need|am trying)|I'm trying|I'd like) to\b
risk: \bleverage\b|\b\d+(?:\.\d+)?\s?[x×](?!\w)|\bstop(?:s|ped)?\b|\bdrawdowns?\b|\brisk\w*\b|\blos(?:e|ing|s|ses)\b
    |\bper trade\b|\bposition siz\w+\b|\bexposure\b|\bovertrad\w+\b|\baverag\w+ down\b|\bmax(?:imum)?\b(?!.*\bhours?\b)
session: \b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\butc\b|\bsessions?\b|\b(?:morning|afternoon|evening|night)s?\b
    |\bovernight\b|\bweek(?:end|day)s?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bhours?\b|\btime ?zone\b
symbols: \b(?:<COIN>|gold|alt(?:coin)?s?|coins?|memes?|majors|symbols?|pairs?|perps?|futures|options|stocks|forex
    |markets?)\b
account: \b(?:accounts?|capital|brokers?|exchanges?|wallets?|currency|binance|bybit|coinbase|kraken|okx)\b
"""


def guess_topic(text: str, heading: str = "") -> str:
    """Return the topic of a line by its words, else by its subject, else by the words of its heading."""
    return _find_by_words(text) or _BY_SUBJECT.get(read_subject(text).key, "") or _find_by_words(heading)


def _find_by_words(text: str) -> str:
    plain = straight(text)
    return next((topic for topic, words in parse_table(_TOPICS, COIN=COIN).items() if words.search(plain)), "")
