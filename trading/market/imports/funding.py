"""Funding rates from files."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from trading.market.imports.rows import Row, parse_instant, parse_number, parse_rows, read_rows, store_rows
from trading.models import FundingRate
from trading.skills.schemas import symbol_name

FUNDING_COLUMNS: Final = ("symbol", "time", "rate", "hours")


def read_funding(path: Path, *, source: str) -> Iterator[FundingRate]:
    """Yield the funding rates of a file; default 8 hours. Raises FileRefused."""

    def parse(row: Row) -> FundingRate:
        rate, hours = parse_number(row["rate"]), int(parse_number(row.get("hours") or 8))
        if abs(rate) > 1 or not 1 <= hours <= 24:
            raise ValueError("rate is a fraction, hours lie between 1 and 24")
        symbol, at = symbol_name(str(row["symbol"])), parse_instant(row["time"])
        return FundingRate(symbol=symbol, at=at, rate=rate, hours=hours, source=source)

    return parse_rows(path, read_rows(path, {"symbol", "time", "rate"}), parse)


def store_funding(rates: Iterable[FundingRate]) -> int:
    """Upsert funding rates; return how many."""
    update = ["rate", "hours", "source", "is_simulated"]
    return store_rows(FundingRate, rates, unique=["symbol", "at"], update=update)


def find_newest_funding(symbol: str) -> datetime | None:
    """Return the instant of the newest real rate."""
    rows = FundingRate.objects.filter(symbol=symbol, is_simulated=False).order_by("-at")
    return rows.values_list("at", flat=True).first()
