"""Lessons: read from a model's answer, and warned about by rules (settled 34), which never block them. Pure."""

import re
from calendar import day_name
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from functools import cache
from itertools import chain, pairwise
from typing import Final, Literal

from config.lib.llm.tokens import count_tokens
from config.lib.search.terms import iter_terms
from config.lib.text import prompt_line
from config.lib.words.lexer import find_phrases, read_tokens
from config.lib.words.moments import take_moment
from config.lib.words.vocabulary import find_meaning
from trading.models import Trade
from trading.models.trades import MAX_LESSONS

MAX_LESSON_TOKENS: Final = 300  # seed 002
MAX_READ: Final = 20_000  # characters of an answer that are looked at
MAX_BULLETS: Final = 100
MAX_BULLET: Final = 400  # characters
LEAST_TRADES: Final = 5  # below it everything is chance (seed 002)
SHARED_WORDS: Final = 2  # from which on a bullet speaks of an avoid rule

Side = Literal["long", "short"]


class Code(StrEnum):
    AGAINST_AVOID = "against_avoid"
    UNKNOWN_TIME = "unknown_time"
    UNKNOWN_TRADE = "unknown_trade"
    SMALL_SAMPLE = "small_sample"


@dataclass(frozen=True, slots=True)
class LessonFinding:
    code: Code
    bullet: str  # empty: the lessons as a whole
    text: str  # for people


def parse_lessons(answer: str, *, is_torn: bool = False) -> str:
    """Return an answer's bullets, or its lines, as `- ` lines, cut to the limits between bullets.

    `is_torn`: the answer broke off, so that its last bullet may lack its end.
    """
    bullets = list(dict.fromkeys(map(_clean_bullet, _split_bullets(answer[:MAX_READ])[:MAX_BULLETS])))
    bullets = [bullet for bullet in bullets if any(map(str.isalnum, bullet))]
    if (is_torn or len(answer) > MAX_READ) and len(bullets) > 1:
        bullets.pop()
    kept: list[str] = []
    for bullet in bullets:
        text = "\n".join([*kept, f"- {bullet}"])
        if len(text) > MAX_LESSONS or count_tokens(text) > MAX_LESSON_TOKENS:
            break
        kept.append(f"- {bullet}")
    return "\n".join(kept)


def _split_bullets(answer: str) -> list[str]:
    """Return the bullets as written; join wrapped lines."""
    bullets: list[str] = []
    prose: list[str] = []
    is_open = False  # an indented line goes on with the bullet above it
    for line in answer.splitlines():
        text = line.strip()
        mark = BULLET_MARK.match(text)
        if mark:
            bullets.append(text[mark.end() :])
        elif text and is_open and line[0].isspace():
            bullets[-1] += f" {text}"
            continue
        elif text and not text.startswith("#") and not text.endswith(":"):
            prose.append(text)
        is_open = mark is not None
    return bullets or prose


def _clean_bullet(text: str) -> str:
    line = prompt_line(text.replace("**", "").replace("__", ""))
    if len(line) <= MAX_BULLET and count_tokens(line) < MAX_LESSON_TOKENS:
        return line
    # A character is four tokens at most.
    return f"{line[: MAX_BULLET if line.isascii() else MAX_LESSON_TOKENS // 4 - 1]}…"


def list_bullets(text: str) -> list[str]:
    """Return the lessons one by one, without their marks."""
    return [bullet for line in text.splitlines() if (bullet := BULLET_MARK.sub("", line.strip()).strip())]


def lint_lessons(
    text: str, *, avoid: Iterable[str], trades: Sequence[Trade], symbols: Iterable[str] = ()
) -> list[LessonFinding]:
    """Return findings by bullet, then overall; `avoid`: the hard rules; `symbols`: further ones."""
    rules = [(rule, content_words(rule)) for rule in avoid]
    window = _TradedWindow(trades, symbols)
    found = [
        LessonFinding(code, bullet, said)
        for bullet in list_bullets(text)
        for code, said in _iter_findings(bullet, rules, window)
    ]
    if len(trades) < LEAST_TRADES:
        counted = "one trade" if len(trades) == 1 else f"{len(trades)} trades"
        found.append(
            LessonFinding(Code.SMALL_SAMPLE, "", f"Rests on {counted}: below {LEAST_TRADES} there is too little.")
        )
    return found


def _iter_findings(
    bullet: str, rules: Sequence[tuple[str, frozenset[str]]], window: "_TradedWindow"
) -> Iterator[tuple[Code, str]]:
    for quote in window.quotes:  # they are data
        bullet = bullet.replace(quote, " ")
    if not _is_denied(bullet):
        words = content_words(bullet)
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


def _is_denied(bullet: str) -> bool:
    """Tell whether a bullet has a no, or stops doing something; "keep the stop" does not."""
    pairs = pairwise(token.text for token in read_tokens(bullet))
    return any(find_phrases(bullet, "NOT", "WITHOUT", "INSTEAD")) or any(
        find_meaning(one, "CEASE") is not None and (other.endswith("ing") or other in ("all", "any"))
        for one, other in pairs
    )


def content_words(text: str) -> frozenset[str]:
    """Return the stems of content words, without plain numbers."""
    words = {term.text for term in iter_terms(text) if not term.is_stop_word and not term.is_part}
    return frozenset(word for word in words if any(map(str.isalpha, word))) - _light_words()


@cache
def _light_words() -> frozenset[str]:
    return frozenset(term.text for term in iter_terms(_LIGHT))


_FORMS: Final = ("%Y-%m-%d %H:%M", "%Y-%m-%d", "%m-%d", "%H:%M", "%A")
_TO: Final = re.compile(r"\s*(?:utc)?\s*(?:-|–|—|\.\.+|to|and|until|till|through)\s*", re.IGNORECASE)

# Letters in capitals beside a side that are no symbol.
_NO_SYMBOLS: Final = frozenset(
    """
    A I ADX AND ATR AVOID BB BTFD CHOP CPI DO EMA EOD EV FOMC FOR GDP IN KEEP LONG LONGS MA MACD MAE MFE NEVER NFP NO
    NOT ON ONLY OR PERP PERPS PNL PPI RSI SHORT SHORTS SL SMA STOP THE TP USD USDC USDT UTC VWAP
    """.split()  # noqa: SIM905
)
_WORD: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@/:_-]*(?:\.[A-Za-z0-9]+)*")
_SYMBOL: Final = re.compile(r"@?[A-Z][A-Z0-9/:_-]+")
_CLAUSE: Final = re.compile(
    r"[;!?]|[.,](?=\s|$)(?=\s*(?:but|while|whereas|yet|though)\b)|\.(?=\s|$)|\b(?:but|whereas|while)\b"
)


class _TradedWindow:
    def __init__(self, trades: Sequence[Trade], symbols: Iterable[str]) -> None:
        times = ("entry_tick_at", "entry_at", "exit_tick_at", "exit_at")
        known = [at for trade in trades for name in times if (at := getattr(trade, name)) is not None]
        moments = [at.astimezone(UTC) for at in known]
        self._moments = {f"{at:%Y-%m-%d %H:%M}" for at in moments}
        self._times = {f"{at:{form}}" for at in moments for form in _FORMS}
        self._traded = {(trade.symbol, trade.side) for trade in trades}
        self._named: dict[str, set[str]] = {}  # by the ways to write them: symbols
        for symbol in chain(symbols, (trade.symbol for trade in trades)):
            for name in {symbol, re.split(r"[/:_-]", symbol)[0]}:
                self._named.setdefault(name, set()).add(symbol)
        quoted = {
            prompt_line(reason).replace('"', "'")
            for trade in trades
            for reason in (trade.entry_reason, trade.exit_reason)
        }
        self.quotes = sorted((f'"{reason}"' for reason in quoted if reason), key=len, reverse=True)

    def unknown_times(self, bullet: str) -> Iterator[str]:
        """Yield named times and ranges without an entry or exit."""
        named = list(_find_times(bullet))
        at = 0
        while at < len(named):
            (start, end, first), (begin, until, last) = named[at], named[at + 1] if at + 1 < len(named) else named[at]
            is_range = (
                first[4:5] == last[4:5] == "-" or first[2:3] == last[2:3] == ":"
            )  # of dates with years, or clocks
            if is_range and _TO.fullmatch(bullet, end, begin):
                # An "and" may also list two times.
                if not self._has_any_between(first, last) and not {first, last} <= self._times:
                    yield bullet[start:until]
                at += 2
            else:
                if first not in self._times:
                    yield bullet[start:end]
                at += 1

    def _has_any_between(self, first: str, last: str) -> bool:
        is_clock = first[2] == ":"
        if first > last and not is_clock:
            return True  # there is no such day: it bounds nothing
        texts = {text[-len(first) :] for text in self._moments} if is_clock else self._moments
        edges = [(text[: len(first)], text[: len(last)]) for text in texts]
        if first <= last:
            return any(first <= begin and end <= last for begin, end in edges)
        return any(first <= begin or end <= last for begin, end in edges)  # over midnight

    def unknown_trades(self, bullet: str) -> Iterator[tuple[str, Side]]:
        """Yield the (symbol, side) pairs that the window lacks."""
        for start, end, _ in [*find_phrases(bullet, "NOSIDE")][::-1]:  # "held too long" names no side
            bullet = f"{bullet[:start]} {bullet[end:]}"
        for clause in _CLAUSE.split(bullet):
            words: list[str] = []
            for written in _WORD.findall(clause):
                word = written.rstrip("/:_-")
                words += [word] if word in self._named else re.split(r"[/-]", word)
            for name, side in _pair_sides(words, self._named):
                if all((symbol, side) not in self._traded for symbol in self._named.get(name, ())):
                    yield name, side


def _pair_sides(words: Sequence[str], known: Collection[str]) -> Iterator[tuple[str, Side]]:
    """Yield each symbol of a clause with the nearest side."""
    sides: dict[int, Side] = {}
    for at, word in enumerate(words):
        if word not in known and word.lower().startswith(("long", "short")) and find_meaning(word.lower(), "SIDE"):
            sides[at] = "long" if word.lower().startswith("long") else "short"
    if not sides:
        return
    for at, word in enumerate(words):
        nearest = min(sides, key=lambda place: abs(place - at))
        looks_like_symbol = _SYMBOL.fullmatch(word) and word not in _NO_SYMBOLS
        if word in known or (abs(nearest - at) == 1 and looks_like_symbol):
            yield word, sides[nearest]


def _find_times(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where a text names dates, times of day and weekdays, and how they are spelled in `_FORMS`."""
    tokens, at = read_tokens(text), 0
    while at < len(tokens):
        day = find_meaning(tokens[at].text.removesuffix("'s"), "DAY") or ""
        is_day = day.isdecimal() and "day" in tokens[at].text  # "sat" may be a verb
        length, spelled = take_moment(text, tokens, at) or (1, day_name[int(day)] if is_day else "")
        if spelled and len(spelled) != len("2026-03"):
            yield tokens[at].start, tokens[at + length - 1].end, spelled
        at += length
