"""Headlines and funding rates from files. Headlines are untrusted text, kept as one line."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from config.lib.text import one_line
from trading.market.imports.events import parse_symbols
from trading.market.imports.rows import Row, parse_instant, parse_number, parse_rows, read_rows, store_rows
from trading.models import FundingRate, NewsItem
from trading.skills.schemas import symbol_name

NEWS_COLUMNS: Final = ("headline", "source", "published_at", "symbols", "sentiment")
FUNDING_COLUMNS: Final = ("symbol", "time", "rate", "hours")


def read_news(path: Path) -> Iterator[NewsItem]:
    """Yield the headlines of a file. Raises FileRefused."""
    return parse_rows(path, read_rows(path, {"headline", "source", "published_at"}), _parse_item)


def _parse_item(row: Row) -> NewsItem:
    headline, source = one_line(str(row["headline"] or ""))[:300], one_line(str(row["source"] or ""))[:80]
    published_at, sentiment = parse_instant(row["published_at"]), row.get("sentiment")
    rated = None if sentiment in (None, "") else float(parse_number(sentiment))
    if not headline or not source:
        raise ValueError("headline or source is empty")
    if rated is not None and not -1 <= rated <= 1:
        raise ValueError("sentiment lies between -1 and 1")
    return NewsItem(
        key=make_news_key(source, headline, published_at),
        headline=headline,
        source=source,
        published_at=published_at,
        symbols=parse_symbols(row.get("symbols")),
        sentiment=rated,
    )


def make_news_key(source: str, headline: str, published_at: datetime) -> str:
    """Return a headline's key."""
    return sha256(f"{source}|{headline}|{published_at.isoformat()}".encode()).hexdigest()


def store_news(items: Iterable[NewsItem]) -> int:
    """Upsert headlines; return how many."""
    return store_rows(NewsItem, items, unique=["key"], update=["symbols", "sentiment", "is_simulated"])


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
