"""Distil trades into lessons by counting, ignoring quoted text."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import dropwhile, islice, takewhile
from typing import Final

from config.lib.figures import format_count, format_duration, format_pct, format_usd
from config.lib.search.terms import iter_terms

LEAST_TRADES: Final = 5  # below it everything is chance
MOST_GROUPS: Final = 3  # symbols and sides, each a bullet

_TRADE: Final = re.compile(
    r"- \S+ → \S+ (?P<symbol>\S+) (?P<side>long|short) -?\$[\d,.]+ @ [\d,.]+ → [\d,.]+"
    r" (?P<net>[+-]?\$[\d,.]+) \(-?[\d.]+%\) (?P<minutes>\d+)m(?: \[\w+\])?(?: \"[^\"]*\")?"
    r"(?: \| regime=(?P<regime>\w+) exit=\w* MFE=\S+ MAE=\S+ fees=(?P<fees>-?\$[\d,.]+))?(?: \"[^\"]*\")?"
)


@dataclass(frozen=True, slots=True)
class _Trade:
    """What a line says; money in USD."""

    symbol: str
    side: str
    net: Decimal
    minutes: int
    fees: Decimal
    regime: str

    @property
    def kind(self) -> str:
        return f"{self.symbol} {self.side}"


def reflection_answer(request: str) -> str:
    """Return lessons as bullets of counts, sums and averages."""
    trades = [trade for line in _find_section(request, "## Closed trades") if (trade := _parse_trade(line))]
    if len(trades) < LEAST_TRADES:
        return f"- {format_count(len(trades), 'trade')}: too few to say anything; nothing to change."
    avoid = [_list_words(line) for line in _find_avoid_rules(request)]
    bullets = [
        _describe_wins(trades),
        *_by_kind(trades),
        _averages(trades),
        _held(trades),
        *_by_regime(trades),
        _sum_fees(trades),
    ]
    return "\n".join(f"- {_beside_avoid(bullet, avoid)}" for bullet in bullets if bullet)


def _find_section(request: str, heading: str) -> list[str]:
    """Return the lines of the last section with this heading."""
    _, found, rest = f"\n{request}".rpartition(f"\n{heading}")
    lines = rest.split("\n")[1:] if found else []
    return list(takewhile(lambda line: not line.startswith("#"), lines))


def _find_avoid_rules(request: str) -> list[str]:
    lines = dropwhile(lambda line: not line.startswith("Avoid (hard rules)"), request.split("\n"))
    return list(takewhile(lambda line: line.startswith("- "), islice(lines, 1, None)))


def _parse_trade(line: str) -> _Trade | None:
    match = _TRADE.fullmatch(line)
    if match is None:
        return None
    return _Trade(
        symbol=match["symbol"],
        side=match["side"],
        net=_parse_amount(match["net"]),
        minutes=int(match["minutes"][:9]),
        fees=_parse_amount(match["fees"] or "$0"),
        regime=match["regime"] or "unknown",
    )


def _parse_amount(text: str) -> Decimal:
    return Decimal(re.sub(r"[$,+]", "", text).strip(".") or 0)


# --- Bullets ---


def _describe_wins(trades: Sequence[_Trade]) -> str:
    won = sum(trade.net > 0 for trade in trades)
    rate = format_pct(won / len(trades), places=0)
    return f"Won {won} of {len(trades)} trades ({rate}), net {format_usd(_sum_net(trades))} after fees."


def _by_kind(trades: Sequence[_Trade]) -> list[str]:
    """Tell the symbols and sides that made or lost most."""
    groups = _group_trades(trades, lambda trade: trade.kind)
    largest = sorted(groups.items(), key=lambda group: (-abs(_sum_net(group[1])), group[0]))[:MOST_GROUPS]
    return [f"{kind}s: {_result(group)}." for kind, group in largest]


def _by_regime(trades: Sequence[_Trade]) -> list[str]:
    """Tell the regime that cost most, where there is more than one."""
    groups = _group_trades(trades, lambda trade: trade.regime)
    groups.pop("unknown", None)
    if len(groups) < 2:
        return []
    regime, group = min(groups.items(), key=lambda item: (_sum_net(item[1]), item[0]))
    return [f"Worst regime at the entry: {regime}, {_result(group)}."] if _sum_net(group) < 0 else []


def _result(group: Sequence[_Trade]) -> str:
    won = sum(trade.net > 0 for trade in group)
    told = f"net {format_usd(_sum_net(group))} over {format_count(len(group), 'trade')}, {won} won"
    if len(group) < LEAST_TRADES:
        return f"{told}; too few to say more"
    return f"{told}; {'behaviour to repeat' if _sum_net(group) > 0 else 'not to be repeated as it was done'}"


def _averages(trades: Sequence[_Trade]) -> str:
    won, lost = _split_trades(trades)
    if not won or not lost:
        return ""
    gain, loss = _sum_net(won) / len(won), -_sum_net(lost) / len(lost)
    which = "the smaller" if gain < loss else "the larger" if gain > loss else "as large"
    return (
        f"The average winner made {format_usd(gain)} (n={len(won)}), the average loser lost {format_usd(loss)} "
        f"(n={len(lost)}): the winner is {which}."
    )


def _split_trades(trades: Sequence[_Trade]) -> tuple[list[_Trade], list[_Trade]]:
    return [trade for trade in trades if trade.net > 0], [trade for trade in trades if trade.net < 0]


def _held(trades: Sequence[_Trade]) -> str:
    won, lost = _split_trades(trades)
    if not lost:
        return ""
    longest = max(lost, key=lambda trade: (trade.minutes, -trade.net, trade.kind))
    told = (
        f"The loser that was held longest: {longest.kind}, {_format_span(longest.minutes)}, {format_usd(longest.net)}"
    )
    if not won:
        return f"{told}."
    held, for_won = (sum(trade.minutes for trade in group) // len(group) for group in (lost, won))
    return f"{told}; losers were held {_format_span(held)} on average, winners {_format_span(for_won)}."


def _format_span(minutes: int) -> str:
    return format_duration(timedelta(minutes=minutes))


def _sum_fees(trades: Sequence[_Trade]) -> str:
    fees = sum((trade.fees for trade in trades), Decimal(0))
    if fees <= 0:
        return ""
    count = format_count(len(trades), "trade")
    return f"Fees took {format_usd(fees)} over {count}, {format_usd(fees / len(trades))} each."


def _beside_avoid(bullet: str, avoid: Iterable[frozenset[str]]) -> str:
    """Return a bullet, noting that an avoid rule stays in force."""
    words = _list_words(bullet)
    if any(len(words & rule) >= 2 for rule in avoid):
        return f"{bullet.rstrip('.')}; that does not lift the avoid rule."
    return bullet


def _list_words(text: str) -> frozenset[str]:
    return frozenset(term.text for term in iter_terms(text) if not term.is_stop_word)


def _group_trades(trades: Iterable[_Trade], key: Callable[[_Trade], str]) -> dict[str, list[_Trade]]:
    groups: dict[str, list[_Trade]] = {}
    for trade in trades:
        groups.setdefault(key(trade), []).append(trade)
    return groups


def _sum_net(trades: Iterable[_Trade]) -> Decimal:
    return sum((trade.net for trade in trades), Decimal(0))
