"""Enums and intervals that models and schemas share."""

from datetime import timedelta
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
