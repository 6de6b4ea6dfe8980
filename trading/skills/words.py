"""Words of strategies: one spelling for each, lengths in bars, and distances. Pure."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from config.lib.words.quantities import NUMBER_WORDS
from trading.models.choices import INTERVALS
from trading.skills.terms import Bound

MOST_BARS: Final = 500
MOST_SMOOTHED: Final = 50  # bars of RSI, ATR and ADX, which need several times as many to settle

_TENS: Final = "|".join(word for word, number in NUMBER_WORDS.items() if number >= 20)
_ONES: Final = "|".join(word for word, number in NUMBER_WORDS.items() if 1 <= number <= 9)
_TEENS: Final = "|".join(word for word, number in NUMBER_WORDS.items() if 10 <= number < 20)
_NUMBER_WORD: Final = re.compile(rf"\b(?:(?:{_TENS})(?:[- ](?:{_ONES}))?|{_TEENS}|{_ONES})\b")
_REWRITES: Final = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"[\u2018\u2019\u201c\u201d'\"*]", ""),
        (r"[\u2013\u2014\u2212]", "-"),
        (r"(\d),(\d{3})\b", r"\1\2"),
        (r"(?<=[a-z])-(?=\w)|(?<=\d)-(?=[a-z])", " "),
        (r"\bhalf an? hour\b", "30 minutes"),
        (r"\ban? year\b|\bper year\b|\bannuali[sz]ed\b", "annual"),
        (r"\ban? (?=minute|hour|day|bar)", "1 "),
        (r" ?(?:%|\bper ?cent\b|\bpct\b)", "%"),
        (r"\baverage (?:true )?ranges?\b", "atr"),
        (r"\bexponential (?:moving )?average\b", "ema"),
        (r"\b(?:simple )?moving averages?\b|\b(?:average|sma|ma|mean)s?\b", "mean"),
        (r"\b(?:standard deviation|std dev|sigma|deviation)s?\b", "deviations"),
        (r"\b(?:candle|candlestick|period|bar)s?\b", "bar"),
        (r"\b(?:previous|prior|past|preceding)\b", "last"),
        (r"\btwice\b", "2 times"),
        (r" ?>=? ?", " above "),
        (r" ?<=? ?", " below "),
        (r"\bdont\b|\bdo not\b", "never"),
        (r"\((\d+)[,/] ?(\d+(?:\.\d+)?)\)", r"(\1;\2)"),
        (r"\b(?:the|an?|its|it|is|are|has|have|been|be|currently|exactly|new)\b", ""),
        (r"\s+", " "),
        (r" (?=[,:;])", ""),
    )
)

NUM: Final = r"\d+(?:\.\d+)?"
# These name their groups, so that a pattern has each of them once.
LEN: Final = r"(?P<n>\d{1,4}) ?(?P<u>bar|hour|day|week|h|d)s?\b"
CHART: Final = r"(?:(?P<chart>\d{1,2} ?(?:minute|min|m|hour|h|day|d|week|w)s?|hourly|daily|weekly)(?: chart| bar)? )?"
DISTANCE: Final = (
    rf"(?P<amount>{NUM}) ?(?:(?P<pct>%)|(?:x |times )?atr\b(?: ?\((?P<atr>\d+)\)| of (?:last )?(?P<atr_of>\d+) bar)?)"
)


class NotUnderstood(Exception):
    """A line says what no term can express; the text says why."""


@dataclass(frozen=True, slots=True)
class Charts:
    own: str
    higher: tuple[str, ...] = ()

    def find_interval(self, name: str | None) -> str:
        """Return the interval that words name; empty for the skill's own. Raises NotUnderstood."""
        if not name:
            return ""
        number, unit = re.findall(r"^\d*|[a-z]", name)[:2]
        interval = {"60m": "1h", "24h": "1d"}.get(f"{number or 1}{unit}", f"{number or 1}{unit}")
        if interval == self.own:
            return ""
        if interval not in self.higher:
            raise NotUnderstood(f"the skill sees no {interval} bars; add them to its higher timeframes")
        return interval

    def count_bars(self, found: re.Match[str]) -> tuple[int, str]:
        """Return how many bars of which interval a length such as `20 day` is. Raises NotUnderstood."""
        groups = found.groupdict()
        number, unit, interval = int(groups["n"]), groups.get("u") or "bar", self.find_interval(groups.get("chart"))
        bars, left = number, timedelta(0)
        if unit in {"day", "d", "week"}:
            interval = self.find_interval(f"1{unit[0]}")
        elif unit in {"hour", "h"}:
            bars, left = divmod(timedelta(hours=number), INTERVALS[interval or self.own])
        if left or not 2 <= bars <= MOST_BARS:
            raise NotUnderstood(f"{number} {unit}s are not 2 to {MOST_BARS} whole bars")
        return bars, interval


class Words:
    """A line that is consumed from its start."""

    def __init__(self, text: str, charts: Charts) -> None:
        line = _NUMBER_WORD.sub(
            lambda found: str(sum(NUMBER_WORDS[word] for word in re.split("[- ]", found[0]))), text.casefold()
        )
        for pattern, new in _REWRITES:
            line = pattern.sub(new, line)
        own = rf"{charts.own[:-1]} ?{charts.own[-1]}\w*" + {"1h": "|hourly", "1d": "|daily"}.get(charts.own, "")
        line = re.sub(rf"\b(?:{own}) (?=(?:close|price|bar|chart)\b)", "", line)
        self.rest, self.charts = line.strip(" .,;:!-"), charts

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume a pattern at the start; None if it is not there."""
        found = pattern.match(self.rest)
        if found is not None:
            self.rest = self.rest[found.end() :].lstrip()
        return found

    def refuse(self) -> NotUnderstood:
        """Return the error about what is left."""
        return NotUnderstood(f"\u201c{self.rest}\u201d is not in the grammar" if self.rest else "it ends too early")


def make_bound(kind: Literal["stop", "target"], found: re.Match[str]) -> Bound:
    """Return the stop or target at a distance that a pattern with DISTANCE found. Raises NotUnderstood."""
    bars = 0 if found["pct"] else int(found["atr"] or found["atr_of"] or 14)
    if not 0 < float(found["amount"]) <= 100 or not (found["pct"] or 2 <= bars <= MOST_SMOOTHED):
        raise NotUnderstood(f"a distance is up to 100 % or 100 average ranges, of 2 to {MOST_SMOOTHED} bars")
    return Bound(kind, float(found["amount"]), bars)


def make_span(found: re.Match[str]) -> timedelta:
    """Return the time that `n` and `u` say."""
    return timedelta(**{{"m": "minutes", "h": "hours", "d": "days"}[found["u"][0]]: int(found["n"])})
