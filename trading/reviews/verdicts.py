"""Verdicts on groups of trades, decided at planned looks; a verdict needs an interval without zero. Pure.

A record is read at each reflection, and an interval of 90 % that is right at one look is wrong at some look of many:
an agent without any edge read a false verdict in more than half of all records. So a group is decided only when it has
10, 20, 40 ... trades, on its first ones in the order of exit. Look j (from 0) spends 1 / ((j + 1)(j + 2)) of the 10 %;
these shares add up to one. In between the last decision stands.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from config.lib.figures import format_count, format_usd
from trading.models import RegimeTag, TradeSide
from trading.record.performance import Figure, measure_sum

MAX_GROUPS: Final = 12  # lines of each kind in a prompt
FIRST_LOOK: Final = 10  # trades; each further look at twice as many
_REGIMES: Final = len(RegimeTag) - 1  # without the unknown one


class Advice(StrEnum):
    REPEAT = "repeat"
    AVOID = "avoid"
    OPEN = "no verdict"
    TOO_FEW = "too few trades"


class ClosedNet(NamedTuple):
    """What a closed trade says of its groups."""

    symbol: str
    side: str
    regime: str  # at the entry
    net_usd: Decimal


@dataclass(frozen=True, slots=True)
class TradeGroup:
    """Trades of one symbol and side, or of one regime."""

    name: str
    trades: int
    won: int
    net_usd: float
    decided: Figure | None  # the trades of the last planned look; its interval holds over all looks and groups together

    @property
    def verdict(self) -> Advice:
        """Whether the mean net differs from zero, as decided at the last planned look."""
        if self.decided is None:
            return Advice.TOO_FEW
        low, high = self.decided.interval or (None, None)
        if low is not None and low > 0:
            return Advice.REPEAT
        return Advice.AVOID if high is not None and high < 0 else Advice.OPEN

    @property
    def next_look(self) -> int:
        """The number of trades at which the group is decided next."""
        return FIRST_LOOK if self.decided is None else 2 * self.decided.trades


def judge_groups(trades: Iterable[ClosedNet], *, symbols: Collection[str]) -> list[TradeGroup]:
    """Return the groups of a record by symbol and side, then by regime, the largest net first.

    The trades are all of the record, in the order of exit: a cut would move the first ones. `symbols` are those of the
    skill: how many groups are compared may not grow with the record, since that would be a look, too.
    """
    closed = list(trades)
    kinds = _split(closed, lambda trade: f"{trade.symbol} {trade.side}")
    regimes = _split(closed, lambda trade: f"regime {trade.regime}")
    regimes.pop(f"regime {RegimeTag.UNKNOWN}", None)
    if len(regimes) < 2:
        regimes = {}  # the same trades again
    compared = max(len(TradeSide) * len(symbols) + _REGIMES, len(kinds) + len(regimes))
    judged: list[TradeGroup] = []
    for named in (kinds, regimes):
        groups = [_judge(name, nets, compared) for name, nets in named.items()]
        judged += sorted(groups, key=lambda group: (-abs(group.net_usd), group.name))[:MAX_GROUPS]
    return judged


def _split(trades: Sequence[ClosedNet], key: Callable[[ClosedNet], str]) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for trade in trades:
        groups.setdefault(key(trade), []).append(float(trade.net_usd))
    return groups


def _judge(name: str, nets: Sequence[float], compared: int) -> TradeGroup:
    total = measure_sum(nets).value or 0.0
    return TradeGroup(name, len(nets), sum(net > 0 for net in nets), total, decide_at_looks(nets, compared))


def decide_at_looks(nets: Sequence[float], compared: int) -> Figure | None:
    """Return the figure by which a group is decided, None before its first look.

    `nets` in the order of exit; `compared` groups are decided side by side. It is a function of the trades alone.
    """
    look, length = -1, FIRST_LOOK
    while length <= len(nets):
        look, length = look + 1, 2 * length
    return None if look < 0 else measure_sum(nets[: length // 2], compared * (look + 1) * (look + 2))


def record_lines(groups: Iterable[TradeGroup]) -> list[str]:
    """Return each group that was decided as a line of a prompt; smaller ones say nothing."""
    lines = []
    for group in groups:
        if (decided := group.decided) is None:
            continue
        low, high = decided.interval or (None, None)
        interval = f" (a trade {_format_usd(low)} to {_format_usd(high)})" if low is not None else ""
        lines.append(
            f"- {group.name}: {format_count(group.trades, 'trade')}, {group.won} won, net {_format_usd(group.net_usd)}:"
            f" {group.verdict} by the first {decided.trades}{interval}; next look at {group.next_look}"
        )
    return lines


def _format_usd(amount: float | None) -> str:
    return format_usd(Decimal(str(round(amount or 0.0, 2))))
