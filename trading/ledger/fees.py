"""Fees in coins, converted to dollars at the bar of the fill."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

from trading.ledger.executions import DOLLARS, Execution
from trading.models import Bar
from trading.models.choices import INTERVALS

MAX_AGE: Final = timedelta(days=1)  # of a bar that prices a fee


_Bars = dict[timedelta, tuple[list[datetime], list[Decimal]]]  # by length, when they opened and their closes


def price_fees(fills: Iterable[Execution]) -> list[Execution]:
    """Return the fills with fees in dollars; a fee stays in a coin that has no price then."""
    read_day = lru_cache(maxsize=64)(_read_day)
    return [_price_fee(fill, read_day) for fill in fills]


def _price_fee(fill: Execution, read_day: Callable[[str, date], _Bars]) -> Execution:
    coin, amount = fill.fee_coin.upper(), fill.fee_in_coin
    if not coin or coin in DOLLARS or not amount:
        return replace(fill, fee_usd=fill.fee_usd if amount is None else amount, fee_coin="", fee_in_coin=None)
    # A fee in the coin that was traded is worth the price of its own fill.
    traded = fill.symbol.split("/")[0].split(":")[-1]
    price = fill.price if coin == traded else _find_price(read_day(coin, fill.at.date()), fill.at)
    return replace(fill, fee_coin=coin, fee_usd=None if price is None else amount * price)


def _find_price(bars: _Bars, at: datetime) -> Decimal | None:
    """Return the close of the shortest bar around an instant, else of the last bar before it."""
    before: list[tuple[datetime, Decimal]] = []
    for length, (opened, closes) in bars.items():
        place = bisect_right(opened, at) - 1
        if place >= 0 and at < opened[place] + length:
            return closes[place]
        if place >= 0 and at - opened[place] - length <= MAX_AGE:
            before.append((opened[place] + length, closes[place]))
    return max(before)[1] if before else None


def _read_day(coin: str, day: date) -> _Bars:
    """Return the real bars of a coin that may price a fee of a day, the shortest first."""
    begin = datetime.combine(day, time.min, UTC)
    near = (begin - 2 * MAX_AGE, begin + MAX_AGE)
    rows = Bar.objects.filter(symbol=coin, is_simulated=False, opened_at__range=near).order_by("opened_at")
    bars: _Bars = {length: ([], []) for length in INTERVALS.values()}
    for interval, opened_at, close in rows.values_list("interval", "opened_at", "close"):
        opened, closes = bars[INTERVALS[interval]]
        opened.append(opened_at)
        closes.append(close)
    return bars
