"""Names of markets and scheduled events."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from config.lib.words.lexer import find_phrases


class CalendarKind(StrEnum):
    """The kinds of scheduled events."""

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
    CalendarKind.FOMC: "Fed decision",
    CalendarKind.CPI: "Consumer prices",
    CalendarKind.NFP: "Jobs report",
    CalendarKind.PPI: "Producer prices",
    CalendarKind.GDP: "Growth",
    CalendarKind.TOKEN_UNLOCK: "Token unlock",
    CalendarKind.OPTIONS_EXPIRY: "Options expiry",
    CalendarKind.UPGRADE: "Network upgrade",
    CalendarKind.OTHER: "Other",
}


_QUOTE = re.compile(r"(?:USD[TC]?|PERP)$")


def symbols_in(text: str) -> list[str]:
    """Return the symbols that a text names, in its order, each once."""
    return list(dict.fromkeys(meaning.value for _, _, meaning in find_phrases(text, "COIN")))


def events_in(text: str) -> list[str]:
    """Return the kinds of scheduled events that a text names."""
    found = {meaning.value for _, _, meaning in find_phrases(text, "EVENT")}
    return [kind.value for kind in CalendarKind if kind in found]


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
