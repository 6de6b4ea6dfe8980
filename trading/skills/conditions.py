"""What a line of a strategy means: `strategy.forms` has the grammar, `_MEANINGS` what its rules become. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from config.lib.words.forms import Grammar, Match, Misfit
from config.lib.words.typed import Word
from trading.skills import terms
from trading.skills.terms import Bound, Compare, Condition, HeldFor, Operand, Side, Sign, Term
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

    body: Condition | Either | Term
    side: Side = ""
    joint: str = ""
    is_only: bool = False
    has_fade: bool = False
    is_denied: bool = False
    is_side_last: bool = False


class _Figure(NamedTuple):
    """A number to compare with."""

    amount: float
    is_pct: bool
    rate: str  # `annual`, `payment` or empty


class _Parts:
    """The parts of a rule: its words, and what its rules became."""

    def __init__(self, parts: Sequence[Any], charts: Charts) -> None:
        self.words = [part for part in parts if isinstance(part, Word)]
        self.made = [part for part in parts if not isinstance(part, Word)]
        self.charts = charts

    def has(self, *concepts: str) -> bool:
        return any(word.type in concepts for word in self.words)

    def get(self, *concepts: str, otherwise: Any = None) -> Any:
        """Return the value of the first word of these concepts."""
        return next((word.value for word in self.words if word.type in concepts), otherwise)

    def find(self, kind: type) -> Any:
        """Return the first of a type that a rule became, or None."""
        return next((one for one in self.made if isinstance(one, kind)), None)

    def level(self, what: Any, amount: float = 0.0) -> Operand:
        """Return a value of the bars that the parts name. Raises NotUnderstood."""
        length = (
            self.find(Length) or self.get("LEN") or self.get("NUM", otherwise=self.get("PARAMS", otherwise=(0,))[0])
        )
        bars, interval = self.charts.count_bars(length, self.find(str) or "")
        return Operand(what, bars, amount, interval)

    def count_smoothed(self) -> int:
        """Return the bars of RSI, ADX or average ranges, 14 if none are named; 0 for what they cannot be."""
        params, length = self.get("PARAMS", otherwise=(14,)), self.get("LEN")
        bars, unit = length or Length(int(params[0]), "bar")
        return bars if 2 <= bars <= MOST_SMOOTHED and unit == "bar" and len(params) == 1 else 0


def _close(is_above: bool, level: Operand, *, is_not: bool = False) -> Compare:
    return Compare(Operand("close"), "above" if is_above else "below", level, is_not=is_not)


# --- Lines and the ends of a trade ---


def _make_way(parts: _Parts) -> Way:
    has, side = parts.has, parts.get("SIDE", "FORSIDE", otherwise="")
    return Way(parts.made[-1], side, "", has("ONLY"), has("FADE"), has("NOT"))


def _make_distance(parts: _Parts) -> Bound:
    amount, is_pct = parts.get("PCT", "NUM", "FACTOR"), parts.has("PCT")
    bars = 0 if is_pct else parts.count_smoothed()
    if not 0 < amount <= 100 or not (is_pct or bars):
        raise NotUnderstood(f"a distance is up to 100 % or 100 average ranges, of 2 to {MOST_SMOOTHED} bars")
    return Bound("target", amount, bars)


# --- Conditions ---


def _make_lasting(parts: _Parts) -> Condition | Either:
    condition, length = parts.made[0], parts.get("LEN") or Length(int(parts.get("NUM")), "bar")
    if length.unit != "bar" or not 1 <= length.number <= LONGEST_LASTING:
        raise NotUnderstood(f"it may last for 1 to {LONGEST_LASTING} bars or payments")
    if isinstance(condition, Compare):
        return replace(condition, times=length.number)
    return lambda fades: replace(condition(fades), times=length.number)


def _make_relation(parts: _Parts) -> str:
    if " " not in (bound := parts.get("MAX", "MIN", otherwise="at most")):
        raise NotUnderstood(f"“{bound}” is not in the grammar")  # "limit 20" compares nothing
    return ("crosses " if parts.has("CROSS") else "") + ("above" if parts.has("OVER", "MIN") else "below")


def _make_comparison(parts: _Parts) -> Compare:
    left, sign, right = [Operand("close"), *parts.made][-3:]
    if left.kind.is_numbered:
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


def _compare_number(left: Operand, sign: Sign, right: Operand | _Figure) -> Compare:
    is_funding = "funding" in left.what
    if not isinstance(right, _Figure) or right.is_pct != is_funding:
        raise NotUnderstood(f"{left} is compared with a number{' in %' if is_funding else ''}")
    if left.what == "funding" and not right.rate and abs(right.amount) >= 1:
        raise NotUnderstood("say whether this funding is of a payment or of a year")
    amount = right.amount * (PAYMENTS_PER_YEAR if right.rate == "payment" else 1)
    return Compare(Operand("annual funding") if right.rate else left, sign, Operand("number", amount=amount))


def _make_number(parts: _Parts) -> _Figure:
    if parts.has("LEN") and parts.get("LEN").span != timedelta(hours=8):
        raise NotUnderstood("funding is of a payment, of 8 hours, or of a year")
    rate = "annual" if parts.has("ANNUAL") else "payment" if parts.has("PER") else ""
    return _Figure(parts.get("NUM", "PCT"), parts.has("PCT"), rate)


def _make_reached(parts: _Parts) -> Compare:
    """Read `breaks the 20-bar high`, or the bare `20-bar high`."""
    close, level = [Operand("close"), *parts.made][-2:]
    return replace(_close(level.amount > 0 or "high" in level.what, level), left=close)


def _make_move(parts: _Parts) -> Compare:
    is_up = parts.get("MOVE") == "up"
    number = Operand("number", amount=parts.get("PCT") * (1 if is_up else -1))
    return Compare(parts.level("change"), "above" if is_up else "below", number)


def _make_deviations(parts: _Parts) -> Compare:
    is_above, bound = parts.made[-1].amount > 0, parts.get("OVER", "UNDER")
    if bound and "than" not in bound and parts.has("OVER") != is_above:
        raise NotUnderstood("say on which side of the band the close is")
    return _close(is_above, parts.made[-1])


def _make_zone(parts: _Parts) -> Compare:
    share, is_top = parts.find(float), parts.get("EDGE") == "top"
    return _close(is_top, replace(parts.made[-1], amount=1 - share if is_top else share))


def _make_calm(parts: _Parts) -> Compare:
    if not parts.has("ANNUAL") and parts.made[0].what == "funding":
        raise NotUnderstood("say “a year” for this funding")
    return Compare(Operand("annual funding size"), "below", Operand("number", amount=parts.get("PCT")))


def _make_hours(parts: _Parts) -> Condition:
    units = {"TIME": 1, "NUM": 60}
    times = [int(word.value * units[word.type]) for word in parts.words if word.type in units]
    if not parts.has("ZONE", "TIME") or not 0 <= min(times) <= max(times) <= 24 * 60:
        raise NotUnderstood("write hours such as “08:00 UTC”")
    start, end = [*times, 24 * 60][:2]
    return terms.InHours(0, start) if parts.has("BEFORE") and len(times) == 1 else terms.InHours(start, end)


def _make_near(parts: _Parts) -> terms.NearEvent:
    event: terms.NearEvent = parts.made[0]
    length = parts.get("LEN").span
    if not _NONE < length <= LONGEST_WINDOW:
        raise NotUnderstood("the calendar is looked at for three days at most")
    before, after = _NONE if parts.has("AFTER") else length, _NONE if parts.has("BEFORE") else length
    return replace(event, before=before, after=after)


# --- Conditions that go both ways ---


def _unless(forbidden: bool | None, problem: str, make: Either) -> Either:
    def check(fades: bool | None) -> Condition:
        if fades is forbidden:
            raise NotUnderstood(problem)
        return make(fades)

    return check


def _make_beyond(parts: _Parts) -> Either:
    """Read a close beyond either extreme: a breakout, which a fader must not take for granted."""
    is_close = any(word.value == "lowest_close" for word in parts.words)
    level = parts.level("highest close" if is_close else "high")
    return _unless(True, "say which side is bought, and which is sold", lambda fades: _close(True, level))


def _make_stretched(parts: _Parts) -> Either:
    """Read a close far from the mean, or in the outer part of the range."""
    level = parts.made[-1]
    if level.what == "range":
        level = replace(level, amount=1 - parts.find(float))
    elif level.what == "mean":
        level = replace(level, what="band", amount=parts.get("NUM"))
    problem = "say which side is bought, and which is sold, or begin with “fade”"
    return _unless(None, problem, lambda fades: _close(True, level).mirrored() if fades else _close(True, level))


def _make_opposite(parts: _Parts) -> Either:
    level = parts.level("low") if parts.has("LEN") else replace(parts.made[-1], what="low", amount=0.0)
    return lambda fades: _close(False, level)


# --- Values ---


def _make_gauge(parts: _Parts) -> Operand:
    what, bars = parts.get("GAUGE"), parts.count_smoothed()
    if not bars:
        raise NotUnderstood(f"{what} takes 2 to {MOST_SMOOTHED} bars")
    return Operand(what, bars)


def _make_band(parts: _Parts) -> Operand:
    bars, amount = (*parts.get("PARAMS", otherwise=(20,)), 2.0)[:2]
    return Operand("band", parts.charts.count_bars(bars)[0], amount * (-1 if parts.get("EDGE") == "bottom" else 1))


# What a rule becomes; a rule without an entry becomes its parts.
_MEANINGS: Final[dict[str, Callable[[_Parts], Any]]] = {
    "joint": lambda parts: "or" if parts.has("OR") else "," if len(parts.words) == parts.has("COMMA") else "and",
    **dict.fromkeys(("way", "out", "denied", "further"), _make_way),
    "sided": lambda parts: replace(_make_way(parts), is_side_last=True),
    "never": lambda parts: terms.NEVER,
    "kept": lambda parts: terms.KEPT,
    "risk": lambda parts: terms.RiskPct(min(parts.get("PCT"), 100.0)),
    "stop": lambda parts: replace(parts.made[0], kind="stop"),
    "target": lambda parts: parts.made[0],
    "distance": _make_distance,
    "limit": lambda parts: HeldFor(parts.get("LEN").span, parts.get("LEN").bars),
    "day_end": lambda parts: terms.DAY_END,
    "opposite_entry": lambda parts: terms.OPPOSITE_ENTRY,
    "lasting": _make_lasting,
    "relation": _make_relation,
    "comparison": _make_comparison,
    "reached": _make_reached,
    "move": _make_move,
    "no_extreme": lambda parts: _close("high" in parts.made[-1].what, parts.made[-1], is_not=True),
    "deviations": _make_deviations,
    "zone": _make_zone,
    "part": lambda parts: float(parts.get("PART", otherwise=0)) or parts.get("PCT") / 100,
    "sign": lambda parts: Compare(Operand("funding"), parts.get("SIGN"), Operand("number")),
    "calm": _make_calm,
    "regime": lambda parts: terms.RegimeIs(tuple(dict.fromkeys(parts.get("REGIME"))), parts.has("NOT")),
    "hours": _make_hours,
    "days": lambda parts: terms.OnDays(tuple(sorted({*map(int, ",".join(parts.get("DAY")).split(","))}))),
    "near": _make_near,
    "event_day": lambda parts: parts.made[0],
    "events": lambda parts: terms.NearEvent(
        tuple(dict.fromkeys(parts.get("EVENT", otherwise=()))), min_importance=IMPORTANT if parts.has("HIGH") else 0.0
    ),
    "beyond": _make_beyond,
    "stretched": _make_stretched,
    "opposite": _make_opposite,
    "returned": lambda parts: _unless(  # the way back to the mean: a fader arrives there, a follower falls back to it
        None, "say for which side it is above, and for which below", lambda fades: _close(bool(fades), parts.made[-1])
    ),
    "price": lambda parts: Operand("close", interval=parts.find(str) or ""),
    "chart": lambda parts: parts.charts.find_interval(parts.get("CHART", "LEN")),
    "gauge": _make_gauge,
    "funding": lambda parts: Operand("annual funding" if parts.has("ANNUAL") else "funding"),
    "volume": lambda parts: Operand("volume"),
    "number": _make_number,
    "mean_volume": lambda parts: parts.level("mean volume", parts.get("FACTOR", "NUM", otherwise=1.0)),
    "tide": lambda parts: parts.level(parts.get("EXTREME").replace("_", " ")),
    "average": lambda parts: parts.level("EMA" if parts.has("EMA") else "mean"),
    "band": _make_band,
    "bands": lambda parts: parts.level("band", parts.get("NUM") * (1 if parts.has("OVER") else -1)),
    "middle": lambda parts: parts.made[0],
    "range": lambda parts: parts.level("range", 0.5),
    "within": lambda parts: parts.get("LEN"),
}


def _read_match(match: Match, charts: Charts) -> list[Any]:
    parts = [one for part in match.parts for one in ([part] if isinstance(part, Word) else _read_match(part, charts))]
    make = _MEANINGS.get(match.name)
    return [make(_Parts(parts, charts))] if make else parts


@cache
def _load_grammar() -> Grammar:
    return Grammar(Path(__file__).with_name("strategy.forms").read_text(encoding="utf-8"))


def parse_line(part: str, text: str, charts: Charts) -> list[Way] | Term:
    """Return the ways of a line, or the term that it is as a whole. Raises NotUnderstood."""
    grammar = _load_grammar()
    words = type_words(text, grammar.types | {"EMPTY", "SPAN"})
    is_denied = bool(words) and not {"NOT", "WITHOUT", "FLAT"}.isdisjoint(words[0])
    if part == "Avoid" and not is_denied:
        raise NotUnderstood("begin with “No” or “Never”")
    try:
        match = grammar.match(words, "exit" if part not in {"Entry", "Avoid"} else "avoid" if is_denied else "entry")
    except Misfit as misfit:
        rest = text[next(iter(words[misfit.at].values())).start :].rstrip(" .") if misfit.at < len(words) else ""
        raise NotUnderstood(f"“{rest}” is not in the grammar" if rest else "it ends too early") from None
    ways: list[Way] = []
    joint = ""
    for item in _read_match(match, charts):
        if isinstance(item, Way):
            ways.append(replace(item, joint=joint))
        elif not isinstance(item, str):
            return item  # type: ignore[no-any-return]
        joint = item if isinstance(item, str) else ""
    return ways
