"""Verdicts on groups of trades; a verdict needs an interval without zero. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import Final

from config.lib.figures import format_count, format_usd
from config.lib.intervals import MIN_VALUES, Interval, mean_interval
from trading.models import RegimeTag, Trade

MAX_GROUPS: Final = 12  # lines of each kind in a prompt


class Verdict(StrEnum):
    REPEAT = "repeat"
    AVOID = "avoid"
    OPEN = "no verdict"
    TOO_FEW = "too few trades"


@dataclass(frozen=True, slots=True)
class Group:
    """Trades of one symbol and side, or of one regime."""

    name: str
    trades: int
    won: int
    net_usd: Decimal
    interval_usd: Interval | None  # of the mean net; with the other groups about 90 %

    @property
    def verdict(self) -> Verdict:
        """Whether the mean net differs from zero."""
        if self.trades < MIN_VALUES:
            return Verdict.TOO_FEW
        if self.interval_usd is None or self.interval_usd[0] <= 0 <= self.interval_usd[1]:
            return Verdict.OPEN
        return Verdict.REPEAT if self.interval_usd[0] > 0 else Verdict.AVOID


def judge_groups(trades: Iterable[Trade]) -> list[Group]:
    """Return the groups of closed trades by symbol and side, then by regime, the largest net first."""
    closed = list(trades)
    kinds = _split(closed, lambda trade: f"{trade.symbol} {trade.side}")
    regimes = _split(closed, lambda trade: f"regime {trade.entry_regime_tag}")
    regimes.pop(f"regime {RegimeTag.UNKNOWN}", None)
    if len(regimes) < 2:
        regimes = {}  # the same trades again
    compared = sum(len(nets) >= MIN_VALUES for nets in chain(kinds.values(), regimes.values()))
    return [
        _judge(name, nets, compared)
        for groups in (kinds, regimes)
        for name, nets in sorted(groups.items(), key=lambda item: (-abs(sum(item[1], Decimal(0))), item[0]))[
            :MAX_GROUPS
        ]
    ]


def _split(trades: Sequence[Trade], key: Callable[[Trade], str]) -> dict[str, list[Decimal]]:
    groups: dict[str, list[Decimal]] = {}
    for trade in trades:
        groups.setdefault(key(trade), []).append(trade.realized_pnl_usd)
    return groups


def _judge(name: str, nets: Sequence[Decimal], compared: int) -> Group:
    interval = mean_interval([float(net) for net in nets], groups=compared)
    return Group(name, len(nets), sum(net > 0 for net in nets), sum(nets, Decimal(0)), interval)


def record_lines(groups: Iterable[Group]) -> list[str]:
    """Return each group as a line of a prompt."""
    return [
        f"- {group.name}: {format_count(group.trades, 'trade')}, {group.won} won, net {format_usd(group.net_usd)}"
        f"{_format_interval(group.interval_usd)}: {group.verdict}"
        for group in groups
    ]


def _format_interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    low, high = (format_usd(Decimal(str(round(bound, 2)))) for bound in interval)
    return f"; a trade {low} to {high}"
