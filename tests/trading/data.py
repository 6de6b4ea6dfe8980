"""The real data that tests may read where it is there; it is no part of the repository."""

import csv
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

import pytest

from tests.source import ROOT

FOLDER = ROOT.parent / "shared" / "data"
FILLS = FOLDER / "hyperliquid-user-fills.json"
BARS = FOLDER / "btc-perp-1m-2022-01.csv.gz"

needs_fills = pytest.mark.skipif(not FILLS.exists(), reason="the real fills are not on this machine")
needs_bars = pytest.mark.skipif(not BARS.exists(), reason="the real bars are not on this machine")

Row = tuple[datetime, Decimal, Decimal, Decimal, Decimal]


@cache
def real_minutes() -> tuple[Row, ...]:
    """Return the one-minute bars as (opened_at, open, high, low, close)."""
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    with gzip.open(BARS, "rt") as file:
        for row in csv.DictReader(file):
            at = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
            yield at, Decimal(row["open"]), Decimal(row["high"]), Decimal(row["low"]), Decimal(row["close"])


@cache
def real_hours() -> tuple[Row, ...]:
    """Return the whole hours of them."""
    hours: dict[datetime, list[Row]] = {}
    for row in real_minutes():
        hours.setdefault(row[0].replace(minute=0, second=0, microsecond=0), []).append(row)
    return tuple(
        (at, rows[0][1], max(row[2] for row in rows), min(row[3] for row in rows), rows[-1][4])
        for at, rows in hours.items()
        if len(rows) == 60
    )
