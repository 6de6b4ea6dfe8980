"""Headlines from files: untrusted text, kept as one line."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from config.lib.text import one_line
from trading.market.imports.rows import Row, parse_instant, parse_number, parse_rows, read_rows, store_rows
from trading.models import NewsItem
from trading.skills.schemas import parse_symbols

NEWS_COLUMNS: Final = ("headline", "source", "published_at", "symbols", "sentiment")


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
