"""Distil trades into lessons by counting, ignoring quoted text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import dropwhile, islice, takewhile
from typing import Final

from config.lib.figures import format_count, format_pct, format_usd
from config.lib.search.terms import iter_terms

LEAST_TRADES: Final = 5  # below it everything is chance
MOST_GROUPS: Final = 3  # symbols and sides, each a bullet

_TRADE: Final = re.compile(
    r"- \S+ → \S+ \S+ (?:long|short) -?\$[\d,.]+ @ [\d,.]+ → [\d,.]+"
    r" (?P<net>[+-]?\$[\d,.]+) \([+-]?[\d.]+%\) \d+m(?: \([^()]*\))?(?: \[\w+\])?(?: \"[^\"]*\")?"
    r"(?: \| regime=\w+ exit=\w* MFE=\S+ MAE=\S+ fees=(?P<fees>-?\$[\d,.]+))?(?: \"[^\"]*\")?"
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

    net: Decimal
    fees: Decimal


def reflection_answer(request: str) -> str:
    """Return lessons as bullets of counts, sums and averages."""
    _, found, rest = f"\n{request}".rpartition("\n## Closed trades")
    lines = takewhile(lambda line: not line.startswith("#"), rest.split("\n")[1:]) if found else ()
    trades = [_Trade(_amount(one["net"]), _amount(one["fees"])) for line in lines if (one := _TRADE.fullmatch(line))]
    if len(trades) < LEAST_TRADES:
        return f"- {format_count(len(trades), 'trade')}: too few to say anything; nothing to change."
    groups = [group for line in _list_below(request, "## Record so far") if (group := _GROUP.fullmatch(line))]
    regimes = [group for group in groups if group["name"].startswith("regime ")]
    worst = min(regimes, key=lambda group: (_amount(group["net"]), group["name"]), default=None)
    won, lost = [one for one in trades if one.net > 0], [one for one in trades if one.net < 0]
    fees = sum((trade.fees for trade in trades), Decimal(0))
    bullets = [
        f"Won {len(won)} of {len(trades)} trades ({format_pct(len(won) / len(trades), places=0)}), net"
        f" {format_usd(_net(trades))} after fees.",
        *[f"{group['name']}s: {_result(group)}." for group in groups if group not in regimes][:MOST_GROUPS],
        _compare(won, lost),
    ]
    if worst and _amount(worst["net"]) < 0:
        bullets.append(f"Worst regime at the entry: {worst['name'].removeprefix('regime ')}, {_result(worst)}.")
    if fees > 0:
        each = f"{format_count(len(trades), 'trade')}, {format_usd(fees / len(trades))} each"
        bullets.append(f"Fees took {format_usd(fees)} over {each}.")
    avoid = [_list_words(line) for line in _list_below(request, "Avoid (hard rules)")]
    return "\n".join(f"- {_beside_avoid(bullet, avoid)}" for bullet in bullets if bullet)


def _list_below(request: str, heading: str) -> Iterable[str]:
    """Return the items below the first line of a heading, which stands before any text of others."""
    lines = dropwhile(lambda line: not line.startswith(heading), request.split("\n"))
    return takewhile(lambda line: line.startswith("- "), islice(lines, 1, None))


def _amount(text: str | None) -> Decimal:
    return Decimal(re.sub(r"[$,+]", "", text or "").strip(".") or 0)


def _net(trades: Iterable[_Trade]) -> Decimal:
    return sum((trade.net for trade in trades), Decimal(0))


def _result(group: re.Match[str]) -> str:
    """Describe a group; its verdict is that of the record."""
    told = f"net {group['net']} over {group['trades']}, {group['won']} won"
    between = f": a trade between {group['low']} and {group['high']} (about 90 %)" if group["low"] else ""
    return f"{told}; {_VERDICTS[group['verdict']]}{between}"


def _compare(won: Sequence[_Trade], lost: Sequence[_Trade]) -> str:
    if not won or not lost:
        return ""
    gain, loss = _net(won) / len(won), -_net(lost) / len(lost)
    which = "the smaller" if gain < loss else "the larger" if gain > loss else "as large"
    return (
        f"The average winner made {format_usd(gain)} (n={len(won)}), the average loser lost {format_usd(loss)} "
        f"(n={len(lost)}): the winner is {which}."
    )


def _beside_avoid(bullet: str, avoid: Iterable[frozenset[str]]) -> str:
    """Return a bullet, noting that an avoid rule stays in force."""
    words = _list_words(bullet)
    is_beside = any(len(words & rule) >= 2 for rule in avoid)
    return f"{bullet.rstrip('.')}; that does not lift the avoid rule." if is_beside else bullet


def _list_words(text: str) -> frozenset[str]:
    return frozenset(term.text for term in iter_terms(text) if not term.is_stop_word)
