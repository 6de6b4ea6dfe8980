"""Enums and intervals that models and schemas share."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

INTERVALS: Final[dict[str, timedelta]] = {
    "1m": timedelta(minutes=1),
    "5m": timedelta(minutes=5),
    "15m": timedelta(minutes=15),
    "30m": timedelta(minutes=30),
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
}
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


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
