"""Rule-based warnings about lessons (settled 34); they never block them.

Pure: the text, the avoid rules and the trades of the window in, findings out.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Final, Literal

from config.lib.search.terms import iter_terms
from config.lib.text import prompt_line

LEAST_TRADES: Final = 5  # below it everything is chance (seed 002)
SHARED_WORDS: Final = 2  # from which on a bullet speaks of an avoid rule

Side = Literal["long", "short"]


class Code(StrEnum):
    """What is wrong with lessons."""

    AGAINST_AVOID = "against_avoid"
    UNKNOWN_TIME = "unknown_time"
    UNKNOWN_TRADE = "unknown_trade"
    SMALL_SAMPLE = "small_sample"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the reader of lessons should know."""

    code: Code
    bullet: str  # empty: the lessons as a whole
    text: str  # for people


@dataclass(frozen=True, slots=True)
class WindowTrade:
    """A trade that the lessons were made of."""

    symbol: str
    side: str  # long or short
    times: tuple[datetime, ...]  # aware: its entry and its exit
    reasons: tuple[str, ...] = ()  # of the agent, which a line of the record quotes


def list_bullets(text: str) -> list[str]:
    """Return the lessons one by one, without their marks."""
    return [bullet for line in text.splitlines() if (bullet := BULLET_MARK.sub("", line.strip()).strip())]


def lint_lessons(
    text: str, *, avoid: Iterable[str], trades: Sequence[WindowTrade], symbols: Iterable[str] = ()
) -> list[Finding]:
    """Return findings by bullet, then overall; `avoid`: the hard rules.

    `symbols`: further ones that the skill knows; a bullet may name any, by its first part (BTC for BTC/USDT) too.
    """
    rules = [(rule, _content_words(rule)) for rule in avoid]
    window = _Window(trades, symbols)
    found = [
        Finding(code, bullet, said)
        for bullet in list_bullets(text)
        for code, said in _iter_findings(window.without_quotes(bullet), rules, window)
    ]
    if len(trades) < LEAST_TRADES:
        counted = "one trade" if len(trades) == 1 else f"{len(trades)} trades"
        found.append(Finding(Code.SMALL_SAMPLE, "", f"Rests on {counted}: below {LEAST_TRADES} there is too little."))
    return found


def _iter_findings(
    bullet: str, rules: Sequence[tuple[str, frozenset[str]]], window: "_Window"
) -> Iterator[tuple[Code, str]]:
    if not _NEGATION.search(bullet):
        words = _content_words(bullet)
        for rule, meant in rules:
            if len(words & meant) >= SHARED_WORDS:
                yield Code.AGAINST_AVOID, f"Speaks of what the strategy avoids, without a no: “{prompt_line(rule)}”."
    for named in dict.fromkeys(window.unknown_times(bullet)):
        yield Code.UNKNOWN_TIME, f"Names {named}, when no trade of the window began or ended."
    for symbol, side in dict.fromkeys(window.unknown_trades(bullet)):
        yield Code.UNKNOWN_TRADE, f"Names {symbol} {side}, of which there is no trade in the window."


BULLET_MARK: Final = re.compile(r"^(?:[-*+•–—]|\d{1,2}[.)])(?:\s+|$)")
# Words of every line about trading, and words that only forbid.
_LIGHT: Final = """
    trade traders trading position order strategy skill rule market use take make get keep let lesson always never
    avoid stay behaviour behavior repeat
"""
_NEGATION: Final = re.compile(
    r"\b(?:no|not|nor|never|none|nothing|neither|without|cannot|avoid\w*|refrain\w*|abstain\w*|skip\w*|refus\w*"
    r"|declin\w*|instead of|rather than|hold(?:ing)? off|sit(?:ting)? out|stay(?:ing)? (?:out|flat|away)"
    r"|keep(?:ing)? (?:out|away)|leave (?:it|them) alone"
    r"|(?:stop|quit|cease)(?:ped|ping|ting)? (?:\w+ing|all|any))\b|n['’]t\b",
    re.IGNORECASE,
)


def _content_words(text: str) -> frozenset[str]:
    """Return the stems of content words, without plain numbers."""
    words = {term.text for term in iter_terms(text) if not term.is_stop_word and not term.is_part}
    return frozenset(word for word in words if any(map(str.isalpha, word))) - _light_words()


@cache
def _light_words() -> frozenset[str]:
    return frozenset(term.text for term in iter_terms(_LIGHT))


_MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:May)|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_MONTH_NUMBERS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_DATE: Final = r"\d{4}-\d{2}-\d{2}"
_CLOCK: Final = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_MONTH: Final = rf"(?:{_MONTHS})\b\.?"
_TIME: Final = re.compile(
    rf"(?P<date>{_DATE})(?:(?:T|\s+|\s+at\s+)(?P<date_clock>{_CLOCK})(?::\d{{2}})?)?"
    rf"|(?<![\d:.,])(?P<clock>{_CLOCK})(?::\d{{2}})?(?![\d:])(?:\s*(?P<clock_half>[ap]m)\b)?"
    r"|(?<![\d:.,$])(?P<hour>1[0-2]|0?[1-9])\s?(?P<hour_half>[ap]m)\b"
    rf"|\b(?P<month>{_MONTH})\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b(?![:.,]?\d)"
    rf"|(?<![\d:.,$])(?P<day_first>[0-3]?\d)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month_last>{_MONTH})"
    rf"|\b(?P<weekday>{'|'.join(_DAYS)})s?\b",
    re.IGNORECASE,
)
_TO: Final = re.compile(r"\s*(?:utc)?\s*(?:-|–|—|\.\.+|to|and|until|till|through)\s*", re.IGNORECASE)

# Letters in capitals beside a side that are no symbol.
_NO_SYMBOLS: Final = frozenset(
    """
    A I ADX AND ATR AVOID BB BTFD CHOP CPI DO EMA EOD EV FOMC FOR GDP IN KEEP LONG LONGS MA MACD MAE MFE NEVER NFP NO
    NOT ON ONLY OR PERP PERPS PNL PPI RSI SHORT SHORTS SL SMA STOP THE TP USD USDC USDT UTC VWAP
    """.split()  # noqa: SIM905
)
# Not the side: "held too long", "long-term", "as long as".
_NO_SIDE: Final = re.compile(
    r"\b(?:(?:too|so|as|how|very|all (?:day|night)) (?:long|short)|(?:long|short)[- ](?:term|run|lived|times?|while"
    r"|enough|stops?|durations?|tails?|holding (?:time|period)s?))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@/:_-]*(?:\.[A-Za-z0-9]+)*")
_CLAUSE: Final = re.compile(
    r"[;!?]|[.,](?=\s|$)(?=\s*(?:but|while|whereas|yet|though)\b)|\.(?=\s|$)|\b(?:but|whereas|while)\b"
)
_SIDE_WORDS: Final[dict[str, Side]] = {
    "long": "long",
    "longs": "long",
    "longed": "long",
    "short": "short",
    "shorts": "short",
    "shorted": "short",
    "shorting": "short",
}


class _Window:
    """What the trades of the window name."""

    def __init__(self, trades: Sequence[WindowTrade], symbols: Iterable[str]) -> None:
        self._moments = sorted(at.astimezone(UTC) for trade in trades for at in trade.times)
        self._traded = {(trade.symbol, trade.side) for trade in trades}
        self._named: dict[str, set[str]] = {}  # by the ways to write them: symbols
        for symbol in chain(symbols, (trade.symbol for trade in trades)):
            for name in {symbol, re.split(r"[/:_-]", symbol)[0]}:
                self._named.setdefault(name, set()).add(symbol)
        quoted = {_quote_reason(reason) for trade in trades for reason in trade.reasons}
        self._quotes = sorted((f'"{reason}"' for reason in quoted if reason), key=len, reverse=True)

    def without_quotes(self, bullet: str) -> str:
        """Return a bullet without reasons that it quotes: they are data."""
        for quote in self._quotes:
            bullet = bullet.replace(quote, " ")
        return bullet

    def unknown_times(self, bullet: str) -> Iterator[str]:
        """Yield named times and ranges without an entry or exit."""
        named = list(_TIME.finditer(bullet))
        at = 0
        while at < len(named):
            one, other = named[at], named[at + 1] if at + 1 < len(named) else None
            if other is not None and _TO.fullmatch(bullet, one.end(), other.start()) and _same_kind(one, other):
                # An "and" may also list two times.
                if not self._has_any_between(one, other) and not (self._has_moment(one) and self._has_moment(other)):
                    yield bullet[one.start() : other.end()]
                at += 2
            else:
                if not self._has_moment(one):
                    yield one[0]
                at += 1

    def _has_moment(self, named: re.Match[str]) -> bool:
        return any(_matches_moment(moment, named) for moment in self._moments)

    def _has_any_between(self, one: re.Match[str], other: re.Match[str]) -> bool:
        if one["date"] and other["date"]:
            first, last = _parse_instant(one, time.min), _parse_instant(other, time.max)
            return any(first <= moment <= last for moment in self._moments)
        first_clock, last_clock = _parse_clock(one), _parse_clock(other)
        if first_clock is None or last_clock is None:
            return self._has_moment(one) and self._has_moment(other)
        clocks = [moment.time().replace(second=0, microsecond=0) for moment in self._moments]
        if first_clock <= last_clock:
            return any(first_clock <= clock <= last_clock for clock in clocks)
        return any(clock >= first_clock or clock <= last_clock for clock in clocks)  # over midnight

    def unknown_trades(self, bullet: str) -> Iterator[tuple[str, Side]]:
        """Yield the (symbol, side) pairs that the window lacks."""
        for clause in _CLAUSE.split(_NO_SIDE.sub(" ", bullet)):
            for name, side in _pair_sides(list(_split_words(clause, self._named)), self._named):
                if all((symbol, side) not in self._traded for symbol in self._named.get(name, ())):
                    yield name, side


def _quote_reason(reason: str) -> str:
    return prompt_line(reason).replace('"', "'")


def _split_words(clause: str, known: Collection[str]) -> Iterator[str]:
    """Yield a clause's words; split "BTC/ETH" unless it is a symbol."""
    for written in _WORD.findall(clause):
        word = written.rstrip("/:_-")
        yield from [word] if word in known else re.split(r"[/-]", word)


def _pair_sides(words: Sequence[str], known: Collection[str]) -> Iterator[tuple[str, Side]]:
    """Yield each symbol of a clause with the nearest side."""
    sides = {at: _SIDE_WORDS[word.lower()] for at, word in enumerate(words) if word.lower() in _SIDE_WORDS}
    sides = {at: side for at, side in sides.items() if words[at] not in known}
    if not sides:
        return
    for at, word in enumerate(words):
        nearest = min(sides, key=lambda place: abs(place - at))
        if word in known or (abs(nearest - at) == 1 and _looks_like_symbol(word)):
            yield word, sides[nearest]


def _looks_like_symbol(word: str) -> bool:
    return bool(re.fullmatch(r"@?[A-Z][A-Z0-9/:_-]+", word)) and word not in _NO_SYMBOLS


def _same_kind(one: re.Match[str], other: re.Match[str]) -> bool:
    if one["date"] or other["date"]:
        return bool(one["date"] and other["date"])
    return _parse_clock(one) is not None and _parse_clock(other) is not None


def _matches_moment(moment: datetime, named: re.Match[str]) -> bool:
    if named["weekday"]:
        return _DAYS[moment.weekday()] == named["weekday"].lower()
    if month := named["month"] or named["month_last"]:
        day = int(named["day"] or named["day_first"])
        return (moment.month, moment.day) == (_MONTH_NUMBERS.index(month[:3].lower()) + 1, day)
    if named["date"] and moment.date().isoformat() != named["date"]:
        return False
    clock = _parse_clock(named)
    return clock is None or moment.time().replace(second=0, microsecond=0) == clock


def _parse_clock(named: re.Match[str]) -> time | None:
    """Return a match's time of day; None if it names none."""
    if named["hour"]:
        return time(_parse_hour(int(named["hour"]), named["hour_half"]))
    written = named["clock"] or named["date_clock"]
    if not written:
        return None
    hour, minute = map(int, written.split(":"))
    return time(_parse_hour(hour, named["clock_half"]), minute)


def _parse_hour(hour: int, half: str | None) -> int:
    if half is None or hour > 12:
        return hour
    return hour % 12 + (12 if half.lower() == "pm" else 0)


def _parse_instant(named: re.Match[str], otherwise: time) -> datetime:
    try:
        day = date.fromisoformat(named["date"])
    except ValueError:
        day = date.min if otherwise == time.min else date.max  # there is no such day: it bounds nothing
    clock = _parse_clock(named)
    if clock is not None and otherwise == time.max:
        clock = clock.replace(second=59)
    return datetime.combine(day, otherwise if clock is None else clock, tzinfo=UTC)
