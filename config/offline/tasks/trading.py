"""Trade by two plain rules on the bars of the prompt.

Trend and breakout skills buy a close above the last highs and sell one below the last lows; the others trade back to
the mean from two deviations away. It goes by what the prompt says and nothing else. Pure.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean, pstdev
from typing import Final

from config.lib.figures import format_price
from config.offline.adapters import Call
from config.offline.facts import content_text
from config.offline.figures import Row

DECIDING: Final = "hold"  # the tool that is there when a trading agent is asked

_ROLES: Final = ("system", "user")
_LOOKBACK: Final = 20  # bars
_EXIT_BARS: Final = 10
_DEVIATIONS: Final = 2.0
_STOP_RANGES: Final = 3.0  # mean ranges of a bar
_CAP_USED: Final = 0.5  # of the largest position that is allowed

_SYMBOL: Final = r"([A-Z0-9@][A-Z0-9@/:._-]{0,31})"
_NUMBER: Final = r"([0-9][0-9,]{0,14}(?:\.[0-9]{1,12})?)"
_BARS = re.compile(rf"^## (Bars|Newest bars) {_SYMBOL} (\S+).*\n((?:- .*\n?)+)", re.MULTILINE)
_BAR = re.compile(rf"^- \S+ {_NUMBER} {_NUMBER} {_NUMBER} {_NUMBER} \S+$", re.MULTILINE)  # open, high, low, close
_CAP = re.compile(r"^Caps held by the engine: a position ([0-9]{1,3}(?:\.[0-9]+)?)% of equity", re.MULTILINE)
_STYLE = re.compile(r"^Style: ([a-z ]+),", re.MULTILINE)
_EQUITY = re.compile(rf"^Equity: \${_NUMBER};", re.MULTILINE)
_POSITION = re.compile(rf"^- {_SYMBOL} (long|short) [\d.]+ ", re.MULTILINE)
_REFUSED = re.compile(r"^## Last decision\n- \S+ refused (R[0-9]_[A-Z_]{1,40})\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Bar:
    high: float
    low: float
    close: float


def trading_call(messages: Sequence[Row]) -> Call:
    """Decide a tick: propose_order, close_position or hold."""
    system, seen = ("\n".join(content_text(one) for one in messages if one.get("role") == role) for role in _ROLES)
    portfolio = seen.partition("## Portfolio")[2].partition("\n## ")[0]
    held = dict(_POSITION.findall(portfolio))
    style = _STYLE.search(system)
    follows = style is not None and style[1] in {"trend", "breakout", "mixed"}
    markets = dict(_iter_markets(seen))
    for symbol, side in held.items():
        reason = _exit_reason(markets.get(symbol, ()), is_long=side == "long", follows=follows)
        if reason:
            return Call("close_position", {"symbol": symbol, "reason": reason})
    refused = _REFUSED.search(seen)
    if refused:
        return _hold_position(f"The last order was refused ({refused[1]}), so I wait")
    if "Halted:" in portfolio:
        return _hold_position("The deployment is halted")
    for symbol, bars in markets.items():
        signal = None if symbol in held else _find_signal(bars, follows=follows)
        if signal:
            return _propose_order(symbol, *signal, bars=bars, size=_find_size(system, portfolio))
    return _hold_position("No signal on the closed bars")


def _iter_markets(seen: str) -> Iterable[tuple[str, list[_Bar]]]:
    """Yield each symbol's bars at the skill's own interval."""
    sections = _BARS.findall(seen)
    own = next((interval for kind, _, interval, _ in reversed(sections) if kind == "Bars"), "")
    lines: dict[str, str] = {}
    for _, symbol, interval, text in sections:
        if interval == own:
            lines[symbol] = f"{lines.get(symbol, '')}{text}\n"
    for symbol, text in lines.items():
        yield symbol, [_Bar(*map(_parse_number, prices)) for _, *prices in _BAR.findall(text)]


def _parse_number(text: str) -> float:
    return float(text.replace(",", ""))


def _find_signal(bars: Sequence[_Bar], *, follows: bool) -> tuple[str, str] | None:
    """Return a side and why, or None."""
    if len(bars) <= _LOOKBACK:
        return None
    close, before = bars[-1].close, bars[-_LOOKBACK - 1 : -1]
    if follows:
        high, low = max(bar.high for bar in before), min(bar.low for bar in before)
        if close > high:
            return "long", f"close {_price(close)} above the {_LOOKBACK}-bar high {_price(high)}"
        if close < low:
            return "short", f"close {_price(close)} below the {_LOOKBACK}-bar low {_price(low)}"
        return None
    middle, deviation = _measure_band(bars)
    if abs(close - middle) <= _DEVIATIONS * deviation:
        return None
    side, word = ("short", "above") if close > middle else ("long", "below")
    return (
        side,
        f"close {_price(close)} more than {_DEVIATIONS:g} deviations {word} the {_LOOKBACK}-bar mean {_price(middle)}",
    )


def _exit_reason(bars: Sequence[_Bar], *, is_long: bool, follows: bool) -> str:
    if len(bars) <= _LOOKBACK:
        return ""
    close = bars[-1].close
    middle = _mean_of([bar.close for bar in bars[-_EXIT_BARS:]]) if follows else _measure_band(bars)[0]
    # A follower leaves when the price comes back to the mean, the other when it has arrived there.
    is_over = (close < middle) if is_long == follows else (close > middle)
    return (
        f"close {_price(close)} {'below' if close < middle else 'above'} the mean {_price(middle)}" if is_over else ""
    )


def _measure_band(bars: Sequence[_Bar]) -> tuple[float, float]:
    closes = [bar.close for bar in bars[-_LOOKBACK:]]
    return _mean_of(closes), pstdev(closes)


def _mean_of(values: Sequence[float]) -> float:
    # Plainly summed, the mean of a flat market can lie a hair beside its price, which would be a signal.
    return values[0] + fmean(value - values[0] for value in values)


def _find_size(system: str, portfolio: str) -> int:
    caps, equity = _CAP.findall(system), _EQUITY.search(portfolio)
    # The strategy's own words stand before the caps, and might read like them.
    return int(_parse_number(equity[1]) * float(caps[-1]) / 100 * _CAP_USED) if caps and equity else 0


def _propose_order(symbol: str, side: str, reason: str, *, bars: Sequence[_Bar], size: int) -> Call:
    if size <= 0:
        return _hold_position("There is no room for an order")
    room = _STOP_RANGES * fmean(bar.high - bar.low for bar in bars[-_LOOKBACK:])
    stop = round(bars[-1].close + (-room if side == "long" else room), 12)
    order = {"symbol": symbol, "side": side, "size_usd": size, "reason": reason}
    return Call("propose_order", order | ({"stop_price": float(f"{stop:.6g}")} if stop > 0 else {}))


def _price(value: float) -> str:
    return format_price(Decimal(str(value)))


def _hold_position(reason: str) -> Call:
    return Call("hold", {"reason": reason})
