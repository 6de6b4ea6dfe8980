"""The topic of a fact, from its words."""

import re
from typing import Final

_TOPICS: Final = (
    ("tax", r"\btax(?:es|able)?\b|\bcapital gains\b"),
    ("risk", r"\brisk\w*\b|\bleverage\b|\bstops?\b|\bstop-loss\b|\bdraw ?downs?\b|\bloss(?:es)?\b|\bposition siz\w+"),
    ("style", r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|tone|emojis?|jargon|concise|communication)\b"),
    ("goal", r"\b(?:goals?|aims?|targets?|plans? to|wants? to|retire\w*|objectives?)\b"),
    ("session", r"\b(?:hours|sessions?|mornings?|evenings?|time ?zone|weekends?|schedule)\b"),
    ("account", r"\b(?:accounts?|exchanges?|brokers?|capital|portfolio|binance|kraken|coinbase|hyperliquid|bybit)\b"),
    ("symbols", r"\b(?:BTC|ETH|SOL|XRP|bitcoin|ethereum|solana|altcoins?|alts|symbols?|pairs?|coins?)\b"),
)


def guess_topic(text: str, heading: str = "") -> str:
    """Return the topic that the words of a line give away, else those of its heading."""
    for words in (text, heading):
        for topic, pattern in _TOPICS:
            if re.search(pattern, words, re.IGNORECASE):
                return topic
    return ""
