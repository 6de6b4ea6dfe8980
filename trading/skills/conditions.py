"""What a parsed line of a strategy means: each method is a rule of `strategy.lark`. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from config.lib.words.forms import Grammar, Match, Misfit
from config.lib.words.lexer import Clock
from config.lib.words.typed import Word
from trading.skills import terms
from trading.skills.terms import Bound, Compare, Condition, HeldFor, NearEvent, Operand, Quantity, RiskPct, Side, Term
from trading.skills.words import MOST_SMOOTHED, Charts, Length, NotUnderstood, type_words

LONGEST_WINDOW: Final = timedelta(days=3)  # around an event
LONGEST_LASTING: Final = 49  # bars or payments
PAYMENTS_PER_YEAR: Final = 3 * 365  # of eight hours each
IMPORTANT: Final = 0.7  # the least importance of an important event
_NONE: Final = timedelta(0)

Either = Callable[[bool | None], Condition]  # for a long, by whether the strategy fades moves; None: not known


@dataclass(frozen=True, slots=True)
class Way:
    """A way in or out, with the word that joins it to the one before."""

    body: "Condition | Either | Term"
    side: Side = ""
    joint: str = ""
    is_only: bool = False
    has_fade: bool = False
    is_side_last: bool = False
    is_denied: bool = False


class _Figure(NamedTuple):
    """A number to compare with; the rate is `annual`, `payment` or empty."""

    amount: float
    is_pct: bool
    rate: str


class _Minute(NamedTuple):
    """A minute of the day; a bare number is not clear."""

    minute: int
    is_clear: bool


class _Parts:
    """The parts of a rule: its words, and what its rules became."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.words = [part for part in parts if isinstance(part, Word)]
        self.made = [part for part in parts if not isinstance(part, Word)]

    def has(self, *concepts: str) -> bool:
        return any(word.type in concepts for word in self.words)

    def get(self, *concepts: str, otherwise: Any = None) -> Any:
        """Return the value of the first word of these concepts."""
        return next((word.value for word in self.words if word.type in concepts), otherwise)

    def find(self, kind: type) -> Any:
        """Return the first of a type that a rule became, or None."""
        return next((one for one in self.made if isinstance(one, kind)), None)


class _Meaning:
    """Turns the matches of a line into ways and terms: a method for each rule that becomes something of its own."""

    def __init__(self, charts: Charts) -> None:
        self._charts = charts

    def read(self, match: Match) -> list[Any]:
        """Return what a match becomes: the parts themselves for a rule without a method. Raises NotUnderstood."""
        parts = [made for part in match.parts for made in ([part] if isinstance(part, Word) else self.read(part))]
        method = getattr(self, match.name, None)
        return [method(_Parts(parts))] if method else parts

    # --- Lines ---

    def joint(self, parts: _Parts) -> str:
        return "or" if parts.has("OR") else "and" if parts.has("AND", "WITH", "EXCEPT", "WHEN", "DURING") else ","

    def way(self, parts: _Parts) -> Way:
        side = parts.get("SIDE", "FORSIDE", otherwise="")
        flags = {"is_only": parts.has("ONLY"), "has_fade": parts.has("FADE"), "is_denied": parts.has("NOT")}
        return Way(parts.made[-1], side, **flags)

    out = denied = further = way

    def sided(self, parts: _Parts) -> Way:
        return replace(self.way(parts), is_side_last=True)

    def never(self, parts: _Parts) -> Term:
        return terms.NEVER

    def kept(self, parts: _Parts) -> Term:
        return terms.KEPT

    def risk(self, parts: _Parts) -> Term:
        return RiskPct(min(parts.get("PCT"), 100.0))

    # --- Ends of a trade ---

    def stop(self, parts: _Parts) -> Term:
        return replace(parts.find(Bound), kind="stop")

    def target(self, parts: _Parts) -> Term:
        return cast(Term, parts.find(Bound))

    def distance(self, parts: _Parts) -> Term:
        amount, is_pct, params, length = parts.get("PCT", "NUM", "FACTOR"), *map(parts.get, ("PCT", "PARAMS", "LEN"))
        bars = 0 if is_pct else _count_smoothed(params, length)
        if not 0 < amount <= 100 or not (is_pct or bars):
            raise NotUnderstood(f"a distance is up to 100 % or 100 average ranges, of 2 to {MOST_SMOOTHED} bars")
        return Bound("target", amount, bars)

    def limit(self, parts: _Parts) -> Term:
        length: Length = parts.get("LEN")
        return HeldFor(bars=length.number) if length.unit == "bar" else HeldFor(length.span)

    def day_end(self, parts: _Parts) -> Term:
        return terms.DAY_END

    def opposite_entry(self, parts: _Parts) -> Term:
        return terms.OPPOSITE_ENTRY

    # --- Conditions ---

    def lasting(self, parts: _Parts) -> Condition | Either:
        condition, length = parts.made[0], parts.get("LEN", otherwise=Length(int(parts.get("NUM", otherwise=0)), "bar"))
        if length.unit != "bar" or not 1 <= length.number <= LONGEST_LASTING:
            raise NotUnderstood(f"it may last for 1 to {LONGEST_LASTING} bars or payments")
        if isinstance(condition, Compare):
            return replace(condition, times=length.number)
        return lambda fades: replace(condition(fades), times=length.number)

    def relation(self, parts: _Parts) -> str:
        if " " not in (bound := parts.get("MAX", "MIN", otherwise="at most")):
            raise NotUnderstood(f"“{bound}” is not in the grammar")  # "limit 20" compares nothing
        return ("crosses " if parts.has("CROSS") else "") + ("above" if parts.has("OVER", "MIN") else "below")

    def comparison(self, parts: _Parts) -> Compare:
        *left, sign, right = parts.made
        return _compare(left[0] if left else Operand("close"), sign, right)

    def reached(self, parts: _Parts) -> Compare:
        """Read `breaks the 20-bar high`, or the bare `20-bar high`."""
        level: Operand = parts.made[-1]
        is_up = level.amount > 0 if level.what == "band" else "high" in level.what
        return replace(_close(is_up, level), left=parts.made[0] if len(parts.made) > 1 else Operand("close"))

    def move(self, parts: _Parts) -> Compare:
        is_up = parts.get("MOVE") == "up"
        number = Operand("number", amount=parts.get("PCT") * (1 if is_up else -1))
        return Compare(self._level(parts, "change"), "above" if is_up else "below", number)

    def no_extreme(self, parts: _Parts) -> Compare:
        level = parts.made[-1]
        return _close("high" in level.what, level, is_not=True)

    def deviations(self, parts: _Parts) -> Compare:
        sign, bound = parts.made[-1].amount > 0, parts.get("OVER", "UNDER")
        if bound and "than" not in bound and parts.has("OVER") != sign:
            raise NotUnderstood("say on which side of the band the close is")
        return _close(sign, parts.made[-1])

    def zone(self, parts: _Parts) -> Compare:
        share, is_top = parts.find(float), parts.get("EDGE") == "top"
        return _close(is_top, replace(parts.made[-1], amount=1 - share if is_top else share))

    def part(self, parts: _Parts) -> float:
        return float(parts.get("PART")) if parts.has("PART") else parts.get("PCT") / 100

    def sign(self, parts: _Parts) -> Compare:
        return Compare(Operand("funding"), parts.get("SIGN"), Operand("number"))

    def calm(self, parts: _Parts) -> Compare:
        if not parts.has("ANNUAL") and parts.made[0].what == "funding":
            raise NotUnderstood("say “a year” for this funding")
        return Compare(Operand("annual funding size"), "below", Operand("number", amount=parts.get("PCT")))

    def regime(self, parts: _Parts) -> Condition:
        return terms.RegimeIs(tuple(dict.fromkeys(parts.get("REGIME"))), is_not=parts.has("NOT"))

    def hours(self, parts: _Parts) -> Condition:
        if not parts.has("ZONE") and not any(clock.is_clear for clock in parts.made):
            raise NotUnderstood("write hours such as “08:00 UTC”")
        start, end = [*(clock.minute for clock in parts.made), 24 * 60][:2]
        return terms.InHours(0, start) if len(parts.made) == 1 and parts.has("BEFORE") else terms.InHours(start, end)

    def clock(self, parts: _Parts) -> _Minute:
        value = parts.get("TIME", "NUM")
        minute = value.minute if isinstance(value, Clock) else -1 if value is None else int(value * 60)
        if not 0 <= minute < 24 * 60:
            raise NotUnderstood("it has a time that is no time of day")
        return _Minute(minute, parts.has("TIME"))

    def days(self, parts: _Parts) -> Condition:
        return terms.OnDays(tuple(sorted({int(day) for days in parts.get("DAY") for day in days.split(",")})))

    def near(self, parts: _Parts) -> Condition:
        length = parts.get("LEN").span
        if not _NONE < length <= LONGEST_WINDOW:
            raise NotUnderstood("the calendar is looked at for three days at most")
        before, after = _NONE if parts.has("AFTER") else length, _NONE if parts.has("BEFORE") else length
        return replace(parts.find(NearEvent), before=before, after=after)

    def event_day(self, parts: _Parts) -> Condition:
        return cast(Condition, parts.find(NearEvent))

    def events(self, parts: _Parts) -> Condition:
        kinds = tuple(dict.fromkeys(parts.get("EVENT", otherwise=())))
        return NearEvent(kinds, min_importance=IMPORTANT if parts.has("HIGH") else 0.0)

    # --- Conditions that go both ways ---

    def beyond(self, parts: _Parts) -> Either:
        """Read a close beyond either extreme: a breakout, which a fader must not take for granted."""
        is_close = any(word.value == "lowest_close" for word in parts.words)
        level = self._level(parts, "highest close" if is_close else "high")
        return _unless(True, "say which side is bought, and which is sold", lambda fades: _close(True, level))

    def stretched(self, parts: _Parts) -> Either:
        """Read a close far from the mean, or in the outer part of the range."""
        level = parts.made[-1]
        if level.what == "range":
            level = replace(level, amount=1 - parts.find(float))
        elif level.what == "mean":
            level = replace(level, what="band", amount=parts.get("NUM"))
        problem = "say which side is bought, and which is sold, or begin with “fade”"
        return _unless(None, problem, lambda fades: _close(True, level).mirrored() if fades else _close(True, level))

    def opposite(self, parts: _Parts) -> Either:
        level = self._level(parts, "low") if parts.has("LEN") else parts.made[-1]
        return lambda fades: _close(False, replace(level, what="low", amount=0.0))

    def returned(self, parts: _Parts) -> Either:
        """Read the way back to the mean: a fader arrives there, a follower falls back to it."""
        problem = "say for which side it is above, and for which below"
        return _unless(None, problem, lambda fades: _close(bool(fades), parts.made[-1]))

    # --- Values ---

    def price(self, parts: _Parts) -> Operand:
        return Operand("close", interval=parts.find(str) or "")

    def chart(self, parts: _Parts) -> str:
        return self._charts.find_interval(parts.get("CHART", "LEN"))

    def gauge(self, parts: _Parts) -> Operand:
        what, bars = parts.get("GAUGE"), _count_smoothed(parts.get("PARAMS"), parts.get("LEN"))
        if not bars:
            raise NotUnderstood(f"{what} takes 2 to {MOST_SMOOTHED} bars")
        return Operand(what, bars)

    def funding(self, parts: _Parts) -> Operand:
        return Operand("annual funding" if parts.has("ANNUAL") else "funding")

    def volume(self, parts: _Parts) -> Operand:
        return Operand("volume")

    def number(self, parts: _Parts) -> _Figure:
        if parts.has("LEN") and parts.get("LEN").span != timedelta(hours=8):
            raise NotUnderstood("funding is of a payment, of 8 hours, or of a year")
        rate = "annual" if parts.has("ANNUAL") else "payment" if parts.has("PER") else ""
        return _Figure(parts.get("NUM", "PCT"), parts.has("PCT"), rate)

    def mean_volume(self, parts: _Parts) -> Operand:
        return replace(self._level(parts, "mean volume"), amount=parts.get("FACTOR", "NUM", otherwise=1.0))

    def tide(self, parts: _Parts) -> Operand:
        return self._level(parts, cast(Quantity, parts.get("EXTREME").replace("_", " ")))

    def average(self, parts: _Parts) -> Operand:
        return self._level(parts, "EMA" if parts.has("EMA") else "mean")

    def band(self, parts: _Parts) -> Operand:
        bars, amount = parts.get("PARAMS", otherwise=(20, 2.0))
        return Operand("band", self._charts.count_bars(bars)[0], amount * (-1 if parts.get("EDGE") == "bottom" else 1))

    def bands(self, parts: _Parts) -> Operand:
        return self._level(parts, "band", parts.get("NUM") * (1 if parts.has("OVER") else -1))

    def range(self, parts: _Parts) -> Operand:
        return self._level(parts, "range", 0.5)

    def middle(self, parts: _Parts) -> Operand:
        return cast(Operand, parts.made[0])

    def within(self, parts: _Parts) -> Length:
        return cast(Length, parts.get("LEN"))

    def _level(self, parts: _Parts, what: Quantity, amount: float = 0.0) -> Operand:
        length = parts.find(Length) or parts.get("LEN") or parts.get("NUM") or parts.get("PARAMS")[0]
        bars, interval = self._charts.count_bars(length, parts.find(str) or "")
        return Operand(what, bars, amount, interval)


def _close(is_above: bool, level: Operand, *, is_not: bool = False) -> Compare:
    return Compare(Operand("close"), "above" if is_above else "below", level, is_not=is_not)


def _count_smoothed(params: tuple[float, ...] | None, length: Length | None) -> int:
    """Return the bars of RSI, ADX or average ranges, 14 if none are named; 0 for what they cannot be."""
    bars, unit = length or Length(int(params[0]) if params else 14, "bar")
    return bars if 2 <= bars <= MOST_SMOOTHED and unit == "bar" and len(params or ()) < 2 else 0


def _unless(forbidden: bool | None, problem: str, make: Either) -> Either:
    def check(fades: bool | None) -> Condition:
        if fades is forbidden:
            raise NotUnderstood(problem)
        return make(fades)

    return check


def _compare(left: Operand, sign: Any, right: Operand | _Figure) -> Compare:
    if left.what in terms.NUMBERED:
        return _compare_number(left, sign, right)
    if isinstance(right, _Figure):
        if left.what == "volume" or right.is_pct or right.rate:
            raise NotUnderstood(f"{left} is compared with a level")
        return Compare(left, sign, Operand("number", amount=right.amount))
    if left.what == "volume" and right.what == "mean":
        right = replace(right, what="mean volume", amount=1.0)
    if (left.what == "volume") is not (right.what == "mean volume"):
        raise NotUnderstood(f"{left} is not compared with {right}")
    # "The daily close above its 20-bar mean" is of daily bars, too.
    return Compare(left, sign, replace(right, interval=right.interval or left.interval))


def _compare_number(left: Operand, sign: Any, right: Operand | _Figure) -> Compare:
    is_funding = "funding" in left.what
    if not isinstance(right, _Figure) or right.is_pct != is_funding:
        raise NotUnderstood(f"{left} is compared with a number{' in %' if is_funding else ''}")
    amount = right.amount
    if right.rate == "payment":
        amount, left = amount * PAYMENTS_PER_YEAR, Operand("annual funding")
    elif right.rate == "annual":
        left = Operand("annual funding")
    elif left.what == "funding" and abs(amount) >= 1:
        raise NotUnderstood("say whether this funding is of a payment or of a year")
    return Compare(left, sign, Operand("number", amount=amount))


@cache
def _load_grammar() -> Grammar:
    return Grammar(Path(__file__).with_name("strategy.forms").read_text(encoding="utf-8"))


def parse_line(part: str, text: str, charts: Charts) -> list[Way | Term]:
    """Return the ways and terms of a line. Raises NotUnderstood. `part`: entry, exit or avoid."""
    grammar = _load_grammar()
    words = type_words(text, grammar.types | {"EMPTY", "SPAN"})
    is_denied = bool(words) and words[0].type in {"NOT", "WITHOUT", "FLAT"}
    if part == "avoid" and not is_denied:
        raise NotUnderstood("begin with “No” or “Never”")
    try:
        match = grammar.match(words, "avoid" if part == "entry" and is_denied else part)
    except Misfit as misfit:
        rest = text[words[misfit.at].start :].rstrip(" .") if misfit.at < len(words) else ""
        raise NotUnderstood(f"“{rest}” is not in the grammar" if rest else "it ends too early") from None
    found: list[Way | Term] = []
    joint = ""
    for item in _Meaning(charts).read(match):
        found += [] if isinstance(item, str) else [replace(item, joint=joint) if isinstance(item, Way) else item]
        joint = item if isinstance(item, str) else ""
    return found
