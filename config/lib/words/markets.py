"""Names of markets and scheduled events."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final


class EventKind(StrEnum):
    """The kinds of scheduled events (settled 33)."""

    FOMC = "fomc"
    CPI = "cpi"
    NFP = "nfp"
    PPI = "ppi"
    GDP = "gdp"
    TOKEN_UNLOCK = "token_unlock"  # noqa: S105  an event
    OPTIONS_EXPIRY = "options_expiry"
    UPGRADE = "upgrade"
    OTHER = "other"


EVENT_LABELS: Final = {
    EventKind.FOMC: "Fed decision",
    EventKind.CPI: "Consumer prices",
    EventKind.NFP: "Jobs report",
    EventKind.PPI: "Producer prices",
    EventKind.GDP: "Growth",
    EventKind.TOKEN_UNLOCK: "Token unlock",
    EventKind.OPTIONS_EXPIRY: "Options expiry",
    EventKind.UPGRADE: "Network upgrade",
    EventKind.OTHER: "Other",
}


# Names people write, and the symbols that stand for them. Words of everyday English only count in capitals.
_NAMES: Final = {
    "BTC": "bitcoin|btc|xbt",
    "ETH": "ethereum|ether|eth",
    "SOL": "solana",
    "XRP": "ripple|xrp",
    "DOGE": "dogecoin|doge",
    "BNB": "bnb",
    "ADA": "cardano",
    "AVAX": "avalanche|avax",
    "LINK": "chainlink",
    "LTC": "litecoin|ltc",
    "DOT": "polkadot",
    "MATIC": "polygon|matic",
    "SUI": "sui",
    "APT": "aptos",
    "ARB": "arbitrum",
    "OP": "",
    "NEAR": "",
    "ATOM": "",
    "TRX": "tron|trx",
    "PEPE": "pepe",
    "SHIB": "shib",
    "HYPE": "hyperliquid",
    "TON": "toncoin",
    "UNI": "uniswap",
    "AAVE": "aave",
}
# Any of them in a pattern without regard to case, each once, or a pattern that repeats it would never end;
# `symbols_in` says which one it is, if it is one.
COIN: Final = "|".join(
    sorted({name.lower() for symbol in _NAMES for name in (symbol, *_NAMES[symbol].split("|")) if name})
)
_IN_CAPITALS = re.compile(rf"(?<![\w/-])(?:{'|'.join(_NAMES)})(?![\w])")
_BY_NAME = re.compile(
    rf"(?<!\w)(?:{'|'.join(f'(?P<{symbol}>{names})' for symbol, names in _NAMES.items() if names)})(?!\w)",
    re.IGNORECASE,
)
_SOL = re.compile(r"(?<!\w)sol(?!\w)", re.IGNORECASE)

_QUOTE = re.compile(r"(?:USD[TC]?|PERP)$")

_KINDS: Final = (
    ("cpi", r"cpi|inflation (?:print|data|report|number)s?"),
    ("fomc", r"fomc|the fed|fed (?:meeting|decision|day)|rate (?:decision|cut|hike)s?|powell"),
    ("nfp", r"nfp|non-?farm(?: payrolls?)?|payrolls?|jobs (?:report|data|number)s?"),
    ("ppi", r"ppi"),
    ("gdp", r"gdp"),
    ("token_unlock", r"(?:token )?unlocks?"),
    ("options_expiry", r"(?:options? )?expir(?:y|ies|ation)|opex"),
    ("upgrade", r"(?:network )?upgrade|hard fork"),
)
EVENT: Final = "|".join(names for _, names in _KINDS)
_ANY_EVENT: Final = re.compile(rf"\b(?:{EVENT})\b", re.IGNORECASE)
_EVENTS: Final = tuple((kind, re.compile(rf"\b(?:{names})\b", re.IGNORECASE)) for kind, names in _KINDS)


def symbols_in(text: str) -> list[str]:
    """Return the symbols that a text names, in its order, each once."""
    found = [(match.start(), match[0]) for match in _IN_CAPITALS.finditer(text)]
    found += [(match.start(), str(match.lastgroup)) for match in _BY_NAME.finditer(text)]
    found += [(match.start(), "SOL") for match in _SOL.finditer(text)]
    return list(dict.fromkeys(symbol for _, symbol in sorted(found)))


def is_market(symbol: str, named: Sequence[str]) -> bool:
    """Tell whether a venue's symbol is of the coins, or any."""
    return not named or not _list_names(symbol).isdisjoint(named)


@lru_cache(1024)
def _list_names(symbol: str) -> frozenset[str]:
    return frozenset((symbol, re.split(r"[^A-Z0-9]", symbol.upper(), maxsplit=1)[0], find_base(symbol)))


def find_base(symbol: str) -> str:
    """Return the coin of a venue's symbol: BTC of BTCUSDT or BTC/USDT:USDT."""
    base = re.split(r"[^A-Z0-9]", symbol.upper(), maxsplit=1)[0]
    return _QUOTE.sub("", base) or base


def events_in(text: str) -> list[str]:
    """Return the kinds of scheduled events that a text names."""
    return [kind for kind, pattern in _EVENTS if pattern.search(text)]


def replace_events(text: str, form: str) -> str:
    """Return a text with the names of events replaced by their kinds, as `form` writes them."""
    for kind, pattern in _EVENTS if _ANY_EVENT.search(text) else ():
        text = pattern.sub(form.format(kind), text)
    return text
