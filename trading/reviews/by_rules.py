"""Distil trades into lessons: their count and sum, and what the record says of their groups."""

import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import dropwhile, islice, takewhile
from typing import Final

from config.lib.figures import format_count, format_pct, format_usd
from trading.reviews.lessons import LEAST_TRADES, SHARED_WORDS, content_words

MOST_GROUPS: Final = 3  # symbols and sides, each a bullet

# What a reason says stands behind these, and counts for nothing.
_TRADE: Final = re.compile(r"- \S+ → \S+ \S+ (?:long|short) -?\$[\d,.]+ @ [\d,.]+ → [\d,.]+ (?P<net>[+-]?\$[\d,.]+) \(")
_GROUP: Final = re.compile(
    r"- (?P<name>\S+ \w+): \d+ trades?, \d+ won, net (?P<net>-?\$[\d,.]+): [a-z ]+ by the first \d+"
    r"(?: \(a trade [-$\d,.]+ to [-$\d,.]+\))?; next look at \d+"
)


def reflect_by_rules(request: str) -> str:
    """Return lessons as bullets: counts and sums, none of them a guess."""
    lines = _list_below(request[request.rfind("\n## Closed trades") + 1 :], "## Closed trades")
    trades = [_amount(one["net"]) for line in lines if (one := _TRADE.match(line))]
    if len(trades) < LEAST_TRADES:
        return f"- {format_count(len(trades), 'trade')}: too few to say anything; nothing to change."
    won = sum(net > 0 for net in trades)
    share, net = format_pct(won / len(trades), places=0), format_usd(sum(trades, Decimal(0)))
    groups = [found for line in _list_below(request, "## Record so far") if (found := _GROUP.fullmatch(line))]
    regimes = [found for found in groups if found["name"].startswith("regime ")]
    worst = min(regimes, key=lambda found: (_amount(found["net"]), found["name"]), default=None)
    bullets = [found[0] for found in groups if found not in regimes][:MOST_GROUPS]
    bullets += [worst[0]] if worst and _amount(worst["net"]) < 0 else []
    avoid = [content_words(line) for line in _list_below(request, "Avoid (hard rules)")]
    # A bullet with words of an avoid rule could be read as lifting the rule.
    kept = [one for one in bullets if all(len(content_words(one) & rule) < SHARED_WORDS for rule in avoid)]
    return "\n".join([f"- Won {won} of {len(trades)} trades ({share}), net {net} after fees.", *kept])


def _list_below(request: str, heading: str) -> Iterable[str]:
    """Return the items below the first line of a heading, which stands before any text of others."""
    lines = dropwhile(lambda line: not line.startswith(heading), request.split("\n"))
    return takewhile(lambda line: line.startswith("- "), islice(lines, 1, None))


def _amount(text: str) -> Decimal:
    return Decimal(re.sub(r"[$,+]", "", text).strip(".") or 0)
