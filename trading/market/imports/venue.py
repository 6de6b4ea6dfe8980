"""Bars and funding rates from venues, by ccxt.

ccxt takes seconds to import and brings an HTTP client, so it is imported when a venue is first asked. What may come
out of here: rows of ours, VenueRefused and VenueUnavailable; never an exception of ccxt's.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, TypeVar

from config.lib.errors import DomainError
from config.lib.text import one_line
from trading.market.imports.bars import CSV_COLUMNS, parse_bar
from trading.market.imports.rows import parse_instant, parse_number
from trading.models import Bar, FundingRate
from trading.models.choices import INTERVALS

logger = logging.getLogger(__name__)

T = TypeVar("T")
TIMEOUT_SECONDS: Final = 20
PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 30.0)  # seconds between tries; venues count requests by the minute
SETTLING: Final = timedelta(seconds=5)  # a bar that has just ended may change still, and our clock may be ahead
BARS_A_PAGE: Final = 200  # where a venue does not say; none is known to give fewer
MAX_BARS_A_PAGE: Final = 5000
HOURS_A_PAGE: Final = 100  # of funding: at one payment an hour, the most that each known venue gives at once
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SETTLED_IN: Final = ("USDC", "USDT", "USD")  # the first that a venue has


class VenueRefused(DomainError):
    """The venue lacks the data or sent impossible data."""


class VenueUnavailable(DomainError):
    """The venue did not answer; earlier pages are stored."""


def open_venue(name: str, credentials: Mapping[str, str] | None = None) -> Any:
    """Return a rate-limited ccxt client. Raises VenueRefused."""
    ccxt = _import_ccxt()
    if name not in ccxt.exchanges:
        near = get_close_matches(name, ccxt.exchanges, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise VenueRefused(f"{name} is no venue that ccxt knows.{hint}")
    return getattr(ccxt, name)({"enableRateLimit": True, "timeout": TIMEOUT_SECONDS * 1000, **(credentials or {})})


def ask_account(client: Any, method: str, params: Mapping[str, Any]) -> Any:
    """Return the answer of an account's endpoint. Raises VenueRefused, VenueUnavailable, which never repeat a key."""
    ccxt = _import_ccxt()
    try:
        return getattr(client, method)(dict(params))
    except ccxt.BadSymbol:
        return []  # a market of another product of the venue
    except ccxt.AuthenticationError:
        raise VenueRefused(f"{client.name} refused the key. Check it, and the addresses it is bound to.") from None
    except ccxt.OperationFailed:
        raise VenueUnavailable(f"{client.name} did not answer. Keel asks again in a few minutes.") from None
    except ccxt.BaseError as error:
        raise VenueRefused(f"{client.name} refused the question ({type(error).__name__}).") from None


def find_market(venue: Any, symbol: str, *, market: str = "") -> str:
    """Return the venue's name of a symbol's perpetual. Raises VenueRefused, VenueUnavailable."""
    markets: Mapping[str, Mapping[str, Any]] = _ask_venue(venue, venue.load_markets)
    named = market or symbol
    if named in markets:
        return named
    if market:
        raise VenueRefused(f"{venue.id} has no market {market}.")
    perpetuals = []
    for one in markets.values():
        is_alive = one.get("active") is not False  # None: the venue does not say
        if one.get("swap") and is_alive and str(one.get("base")).upper() == symbol:
            settled = [*SETTLED_IN, one.get("settle")].index(one.get("settle"))
            perpetuals.append((not one.get("linear"), settled, str(one["symbol"])))
    if not perpetuals:
        raise VenueRefused(f"{venue.id} has no perpetual of {symbol}; name the market with --market.")
    return min(perpetuals)[2]


def fetch_bars(
    venue: Any, *, market: str, symbol: str, interval: str, since: datetime, until: datetime, now: datetime
) -> Iterator[list[Bar]]:
    """Yield pages of closed bars, oldest first, without repeats. Raises VenueRefused, VenueUnavailable.

    A page is empty where a venue has forgotten. `until` is exclusive.
    """
    if interval not in (venue.timeframes or {}):
        raise VenueRefused(f"{venue.id} has no bars of {interval}; import shorter ones, which are aggregated.")
    length, source = INTERVALS[interval], f"{venue.id} {market}"[:80]
    parse = partial(parse_bar, symbol=symbol, interval=interval, source=source)
    limit = min(venue.feature_value(market, "fetchOHLCV", "limit") or BARS_A_PAGE, MAX_BARS_A_PAGE)
    until = min(until, now - SETTLING - length + timedelta(milliseconds=1))
    while since < until:
        # Both ends are named and hold no more than a page, since some venues give the newest of a range and others
        # the oldest.
        end = min(since + limit * length, until)
        rows = _ask_venue(venue, venue.fetch_ohlcv, market, interval, _to_ms(since), limit, {"until": _to_ms(end) - 1})
        try:
            page = [parse(dict(zip(CSV_COLUMNS, row, strict=False))) for row in rows if None not in row[:5]]
        except ValueError as error:
            raise VenueRefused(f"{source} sent an invalid bar: {error}.") from error
        found = {bar.opened_at: bar for bar in page if since <= bar.opened_at < end}
        yield [found[at] for at in sorted(found)]
        since = max(found) + length if found else end


def fetch_funding(
    venue: Any, *, market: str, symbol: str, since: datetime, until: datetime, hours: int | None = None
) -> Iterator[FundingRate]:
    """Yield the funding payments in a range, oldest first. Raises VenueRefused, VenueUnavailable.

    `hours` between two payments are by default the nearer neighbour's; one payment alone needs it.
    """
    if not venue.has.get("fetchFundingRateHistory"):
        raise VenueRefused(f"{venue.id} gives no history of funding.")
    paid = _fetch_payments(venue, market, since, until)
    before, current = None, next(paid, None)
    while current is not None:
        after = next(paid, None)
        gaps = [later[0] - earlier[0] for earlier, later in ((before, current), (current, after)) if earlier and later]
        if hours is None and not gaps:
            raise VenueRefused(
                f"{venue.id} has one payment in that range. Give the hours between payments with --hours."
            )
        apart = hours or min(24, round(min(gaps) / timedelta(hours=1)))  # more: the venue lost some
        source = f"{venue.id} {market}"[:80]
        try:
            rate = round(parse_number(current[1]), 12)  # the precision of the column
        except ValueError as error:
            raise VenueRefused(f"{source} sent an invalid funding rate: {error}.") from error
        if abs(rate) > 1 or not 1 <= apart <= 24:
            raise VenueRefused(f"{source} sent an invalid funding rate: {rate} for {apart} hours.")
        yield FundingRate(symbol=symbol, at=current[0], rate=rate, hours=apart, source=source)
        before, current = current, after


def _fetch_payments(venue: Any, market: str, since: datetime, until: datetime) -> Iterator[tuple[datetime, Any]]:
    while since < until:
        end = min(since + timedelta(hours=HOURS_A_PAGE), until)
        history = venue.fetch_funding_rate_history
        rows = _ask_venue(venue, history, market, _to_ms(since), HOURS_A_PAGE, {"until": _to_ms(end) - 1})
        rates = {parse_instant(row["timestamp"]): row["fundingRate"] for row in rows}
        yield from sorted((at, rate) for at, rate in rates.items() if since <= at < end)
        since = end


def _ask_venue(venue: Any, call: Callable[..., T], *arguments: Any) -> T:
    ccxt = _import_ccxt()
    for tries, pause in enumerate((*PAUSES, None), start=1):
        try:
            return call(*arguments)
        except ccxt.OperationFailed as error:  # the network, a rate limit, an answer cut short: may pass
            if pause is None:
                raise VenueUnavailable(
                    f"{venue.id} did not answer in {tries} tries. {_describe_error(error)}"
                ) from error
            logger.warning("%s did not answer (%s); again in %g seconds", venue.id, type(error).__name__, pause)
            time.sleep(pause)
        except ccxt.BaseError as error:
            raise VenueRefused(f"{venue.id} refused. {_describe_error(error)}") from error
    raise AssertionError("the last try returns or raises")


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(str(error))[:200]}"


def _to_ms(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _import_ccxt() -> Any:
    try:
        import ccxt  # noqa: PLC0415, TID251 - takes three seconds
    except ImportError as error:
        raise VenueRefused(
            'Venues are read with ccxt, which is not installed here: make venues, or docs/operations.md, "Packages".'
        ) from error
    return ccxt
