"""Verdicts on groups of trades; a verdict needs an interval without zero. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import Final

from config.lib.figures import format_count, format_usd
from config.lib.intervals import MIN_VALUES
from trading.models import RegimeTag, Trade
from trading.record.performance import Figure, measure_sum

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
    won: int
    net: Figure  # the intervals of all groups together cover about 90 %

    @property
    def verdict(self) -> Verdict:
        """Whether the mean net differs from zero."""
        if self.net.trades < MIN_VALUES:
            return Verdict.TOO_FEW
        low, high = self.net.interval or (None, None)
        if low is not None and low > 0:
            return Verdict.REPEAT
        return Verdict.AVOID if high is not None and high < 0 else Verdict.OPEN


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
        Group(name, sum(net > 0 for net in nets), measure_sum([float(net) for net in nets], compared))
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


def record_lines(groups: Iterable[Group]) -> list[str]:
    """Return each group as a line of a prompt."""
    return [
        f"- {group.name}: {format_count(group.net.trades, 'trade')}, {group.won} won,"
        f" net {_format_usd(group.net.value)}{_format_interval(group.net)}: {group.verdict}"
        for group in groups
    ]


def _format_interval(net: Figure) -> str:
    low, high = net.interval or (None, None)
    return f"; a trade {_format_usd(low)} to {_format_usd(high)}" if low is not None else ""


def _format_usd(amount: float | None) -> str:
    return format_usd(Decimal(str(round(amount or 0.0, 2))))
