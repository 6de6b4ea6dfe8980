"""Distil trades into lessons by counting, ignoring quoted text."""

import re
from collections.abc import Iterable, Sequence
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

_GROUP: Final = re.compile(
    r"- (?P<name>\S+ \w+): (?P<trades>\d+ trades?), (?P<won>\d+) won, net (?P<net>-?\$[\d,.]+)"
    r"(?:; a trade (?P<low>-?\$[\d,.]+) to (?P<high>-?\$[\d,.]+))?: (?P<verdict>repeat|avoid|no verdict|too few trades)"
)
_VERDICTS: Final = {
    "repeat": "behaviour to repeat",
    "avoid": "not to be repeated as it was done",
    "no verdict": "no verdict yet",
    "too few trades": "too few to say more",
}


@dataclass(frozen=True, slots=True)
class _Trade:
    """What a line says; money in USD."""

    symbol: str
    side: str
    net: Decimal
    minutes: int
    fees: Decimal

    @property
    def kind(self) -> str:
        return f"{self.symbol} {self.side}"


def reflection_answer(request: str) -> str:
    """Return lessons as bullets of counts, sums and averages."""
    trades = [trade for line in _find_section(request, "## Closed trades") if (trade := _parse_trade(line))]
    groups = [group for line in _find_record(request) if (group := _GROUP.fullmatch(line))]
    if len(trades) < LEAST_TRADES:
        return f"- {format_count(len(trades), 'trade')}: too few to say anything; nothing to change."
    avoid = [_list_words(line) for line in _find_avoid_rules(request)]
    bullets = [
        _describe_wins(trades),
        *_by_kind(groups),
        _averages(trades),
        _held(trades),
        *_by_regime(groups),
        _sum_fees(trades),
    ]
    return "\n".join(f"- {_beside_avoid(bullet, avoid)}" for bullet in bullets if bullet)


def _find_section(request: str, heading: str) -> list[str]:
    """Return the lines of the last section with this heading."""
    _, found, rest = f"\n{request}".rpartition(f"\n{heading}")
    lines = rest.split("\n")[1:] if found else []
    return list(takewhile(lambda line: not line.startswith("#"), lines))


def _find_record(request: str) -> list[str]:
    """Return the lines of the record's groups, which stand before any text of others."""
    lines = dropwhile(lambda line: not line.startswith("## Record so far"), request.split("\n"))
    return list(takewhile(lambda line: line.startswith("- "), islice(lines, 1, None)))


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
    )


def _parse_amount(text: str) -> Decimal:
    return Decimal(re.sub(r"[$,+]", "", text).strip(".") or 0)


# --- Bullets ---


def _describe_wins(trades: Sequence[_Trade]) -> str:
    won = sum(trade.net > 0 for trade in trades)
    rate = format_pct(won / len(trades), places=0)
    return f"Won {won} of {len(trades)} trades ({rate}), net {format_usd(_sum_net(trades))} after fees."


def _by_kind(groups: Iterable[re.Match[str]]) -> list[str]:
    """Tell the symbols and sides that made or lost most."""
    kinds = [group for group in groups if not group["name"].startswith("regime ")]
    return [f"{group['name']}s: {_result(group)}." for group in kinds[:MOST_GROUPS]]


def _by_regime(groups: Iterable[re.Match[str]]) -> list[str]:
    """Tell the regime that cost most, where there is more than one."""
    regimes = [group for group in groups if group["name"].startswith("regime ")]
    if not regimes:
        return []
    worst = min(regimes, key=lambda group: (_parse_amount(group["net"]), group["name"]))
    name = worst["name"].removeprefix("regime ")
    return [f"Worst regime at the entry: {name}, {_result(worst)}."] if _parse_amount(worst["net"]) < 0 else []


def _result(group: re.Match[str]) -> str:
    """Describe a group; its verdict is that of the record."""
    told = f"net {group['net']} over {group['trades']}, {group['won']} won"
    between = f": a trade between {group['low']} and {group['high']} (about 90 %)" if group["low"] else ""
    return f"{told}; {_VERDICTS[group['verdict']]}{between}"


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


def _sum_net(trades: Iterable[_Trade]) -> Decimal:
    return sum((trade.net for trade in trades), Decimal(0))
