"""Read conditions from words. Each word must be consumed, or the line is not understood. Pure."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final, cast

from config.lib.words.markets import EventKind
from trading.models.choices import WEEKDAYS
from trading.skills.terms import (
    NUMBERED,
    Compare,
    Condition,
    InHours,
    NearEvent,
    OnDays,
    Operand,
    Quantity,
    RegimeIs,
    Sign,
)
from trading.skills.words import CHART, LEN, MOST_SMOOTHED, NUM, Charts, NotUnderstood, Words, make_span

LONGEST_WINDOW: Final = timedelta(days=3)  # around an event
PAYMENTS_PER_YEAR: Final = 3 * 365  # of eight hours each

Sided = tuple[Condition, bool]  # and whether its mirror image is meant, too
_Make = Callable[[re.Match[str], Charts], Condition]
_MakeBoth = Callable[[re.Match[str], Charts, bool | None], Condition]  # for a long; the flag tells a fader


def take_condition(words: Words, *, fades: bool | None, is_exit: bool = False) -> Sided:
    """Consume a condition. Raises NotUnderstood. `fades`: the strategy trades against moves; None: not known."""
    condition, goes_both_ways = _take_one(words, fades, is_exit=is_exit)
    if isinstance(condition, Compare) and (found := words.take(_LASTING)):
        condition = replace(condition, times=int(found[1]))
    return condition, goes_both_ways


def _take_one(words: Words, fades: bool | None, *, is_exit: bool) -> Sided:
    for pattern, make in _CONDITIONS:
        if found := words.take(pattern):
            return make(found, words.charts), False
    for pattern, make_both in _EXIT_WAYS if is_exit else _ENTRY_WAYS:
        if found := words.take(pattern):
            return make_both(found, words.charts, fades), True
    return _take_comparison(words), False


# --- Values ---

_EXTREME: Final = r"highest high|lowest low|highest close|lowest close|high|low"
_RANGE: Final = rf"(?:range of )?(?:last )?{LEN}(?: range)?"
_LEVELS: Final = tuple(
    map(
        re.compile,
        (
            rf"(?P<k>{NUM}) deviations (?P<edge>above|below|over|under) {LEN} mean\b",
            rf"(?P<edge>upper|lower) (?:bollinger )?band\b(?: ?\((?P<n>\d+);(?P<k>{NUM})\))?",
            rf"{CHART}{LEN} (?P<name>{_EXTREME}|mean|ema)\b",
            rf"{CHART}(?P<n>\d+) (?P<name>mean|ema)\b",
            rf"{CHART}(?P<name>mean|ema) ?\((?P<n>\d+)\)",
            rf"{CHART}(?P<name>{_EXTREME}|highest|lowest|mean|ema) (?:of|in|over) (?:last )?{LEN}",
            rf"{CHART}last {LEN} (?P<name>{_EXTREME}|mean)\b",
            rf"(?P<name>middle|mid ?point) of {_RANGE}",
        ),
    )
)
_GAUGE: Final = re.compile(r"(?:(?P<n>\d+) bar )?(?P<name>rsi|adx)\b(?: ?\((?P<m>\d+)\))?")
_CLOSE: Final = re.compile(rf"{CHART}(?:(?:bar |last )?(?:close|closing price|price|market)\b|bar(?= closes))")
_FUNDING: Final = re.compile(r"(annual )?funding(?: rate)?\b( annual)?")
_VOLUME: Final = re.compile(r"volume\b")
_MEAN_VOLUME: Final = re.compile(rf"(?:(?P<k>{NUM}) ?(?:x|times) )?(?:{LEN} mean(?: volume)?\b)")
_NUMBER: Final = re.compile(rf"(-?{NUM})(%?)(?![\d.;a-z]| bar)( annual| per (?:8 ?h(?:our)?s?|payment))?")
_NAMES: Final[dict[str, Quantity]] = {
    "highest high": "high",
    "lowest low": "low",
    "highest": "high",
    "lowest": "low",
    "ema": "EMA",
}


def _make_level(found: re.Match[str], charts: Charts, what: Quantity, amount: float = 0.0) -> Operand:
    bars, interval = charts.count_bars(found)
    return Operand(what, bars, amount, interval)


def _take_level(words: Words) -> Operand | None:
    """Consume a price level, such as `20 bar mean`. Raises NotUnderstood."""
    found = next((match for pattern in _LEVELS if (match := words.take(pattern))), None)
    if found is None:
        return None
    groups = found.groupdict()
    if edge := groups.get("edge"):
        amount = float(groups["k"] or 2) * (1 if edge in {"above", "over", "upper"} else -1)
        return _make_level(found, words.charts, "band", amount) if groups["n"] else Operand("band", 20, amount)
    name = groups["name"]
    if name.startswith("mid"):
        return _make_level(found, words.charts, "range", 0.5)
    return _make_level(found, words.charts, _NAMES.get(name) or cast(Quantity, name))


def _take_value(words: Words) -> Operand | None:
    """Consume what can stand on the left of a comparison. Raises NotUnderstood."""
    if level := _take_level(words):
        return level
    if found := words.take(_GAUGE):
        what, bars = cast(Quantity, found["name"].upper()), int(found["n"] or found["m"] or 14)
        if not 2 <= bars <= MOST_SMOOTHED:
            raise NotUnderstood(f"{what} takes 2 to {MOST_SMOOTHED} bars")
        return Operand(what, bars)
    if found := words.take(_FUNDING):
        return Operand("annual funding" if found[1] or found[2] else "funding")
    if words.take(_VOLUME):
        return Operand("volume")
    if found := words.take(_CLOSE):
        return Operand("close", interval=words.charts.find_interval(found["chart"]))
    return None


# --- Comparisons ---

_VERB: Final = r"(?:(?:closes?|breaks?|trades?|rises?|falls?|drops?|dips?|moves?|goes|gets|turns?|stays?|back) )*"
_SIGNS: Final[tuple[tuple[re.Pattern[str], Sign], ...]] = (
    (re.compile(r"cross(?:es|ing)?(?: back)? (?:above|over|up through)\b"), "crosses above"),
    (re.compile(r"cross(?:es|ing)?(?: back)? (?:below|under|down through)\b"), "crosses below"),
    (re.compile(rf"{_VERB}(?:above|over|higher than|greater than|more than|exceeds|at least)\b"), "above"),
    (re.compile(rf"{_VERB}(?:below|under|lower than|less than|beneath|at most)\b"), "below"),
)
_REACHES: Final = re.compile(r"(?:breaks?(?: of| through)?|touches|hits|makes?)\b")
_LASTING: Final = re.compile(
    r"for (?:at least )?([1-9]|[1-4]\d) (?:straight |consecutive )?(?:bar|closes?|payments?)\b"
)
_TIDE: Final = {"high": 1, "highest close": 1, "low": -1, "lowest close": -1}


def _take_comparison(words: Words) -> Compare:
    left = _take_value(words)
    sign = next((sign for pattern, sign in _SIGNS if words.take(pattern)), None)
    if sign is None:
        return _take_reached(words, left)
    left = left or Operand("close")
    if left.what in NUMBERED:
        return _compare_number(words, left, sign)
    right = _take_right(words, left)
    # "The daily close above its 20-bar mean" is of daily bars, too.
    return Compare(left, sign, replace(right, interval=right.interval or left.interval) if right.bars else right)


def _take_reached(words: Words, left: Operand | None) -> Compare:
    """Read `breaks the 20-bar high`, or the bare `20-bar high`."""
    level = left if left and left.what in _TIDE else None
    if level is None and words.take(_REACHES):
        level = _take_level(words)
    tide = 0 if level is None else _TIDE.get(level.what, 0) or (level.what == "band" and level.amount)
    if level is None or not tide or (left is not None and left is not level and left.what != "close"):
        raise words.refuse()
    close = left if left is not None and left.what == "close" else Operand("close")
    return Compare(close, "above" if tide > 0 else "below", level)


def _take_right(words: Words, left: Operand) -> Operand:
    if left.what == "volume":
        if found := words.take(_MEAN_VOLUME):
            return _make_level(found, words.charts, "mean volume", float(found["k"] or 1))
    elif level := _take_level(words):
        return level
    elif (found := words.take(_NUMBER)) and not found[2] and not found[3]:
        return Operand("number", amount=float(found[1]))
    raise NotUnderstood(f"“{words.rest or 'nothing'}” is no level to compare {left} with")


def _compare_number(words: Words, left: Operand, sign: Sign) -> Compare:
    found, is_funding = words.take(_NUMBER), "funding" in left.what
    if found is None or bool(found[2]) != is_funding:
        raise NotUnderstood(f"{left} is compared with a number{' in %' if is_funding else ''}")
    amount, span = float(found[1]), (found[3] or "").strip()
    if span.startswith("per 8"):
        amount, left = amount * PAYMENTS_PER_YEAR, Operand("annual funding")
    elif span == "annual":
        left = Operand("annual funding")
    elif left.what == "funding" and abs(amount) >= 1:
        raise NotUnderstood("say whether this funding is of a payment or of a year")
    return Compare(left, sign, Operand("number", amount=amount))


# --- Other conditions ---

_EVENT_WORDS: Final[dict[str, str]] = {
    EventKind.FOMC: r"fomc(?: (?:meeting|statement|decision)s?)?|fed (?:meeting|decision)s?",
    EventKind.CPI: r"cpi(?: (?:release|print)s?)?",
    EventKind.NFP: r"nfp|(?:non farm )?payrolls",
    EventKind.PPI: r"ppi",
    EventKind.GDP: r"gdp",
    EventKind.TOKEN_UNLOCK: r"token unlocks?",
    EventKind.OPTIONS_EXPIRY: r"options? expir(?:y|ies)",
    "important": r"(?:high importance|high impact|important|major) (?:event|news|release)s?",
    "any": r"(?:(?:any|scheduled|macro|calendar) )*events?",
}


def _list_of(one: str) -> str:
    return rf"(?:{one})(?:(?:, or |, and |, | or | and |/)(?:{one}))*"


_REGIMES: Final = _list_of("chop(?:py)?|trend(?:ing)?|shock")
_DAYS: Final = _list_of(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b")
_EVENTS: Final = rf"(?P<what>{_list_of('|'.join(_EVENT_WORDS.values()))})"
_CLOCK: Final = r"\d{1,2}(?::\d\d)?(?: ?[ap]m)?"
_SPAN: Final = r"(?P<n>\d{1,3}) ?(?P<u>minute|min|hour|h|day)s?"


def _close(is_above: bool, level: Operand, *, is_not: bool = False) -> Compare:
    return Compare(Operand("close"), "above" if is_above else "below", level, is_not=is_not)


def _make_regime(found: re.Match[str], charts: Charts) -> Condition:
    names = tuple(dict.fromkeys(re.findall(r"chop|trend|shock", found["names"])))
    return RegimeIs(names, is_not=bool(found.groupdict().get("no")))


def _make_clock(found: re.Match[str], charts: Charts) -> Condition:
    groups = found.groupdict()
    times = [text for text in (groups["a"], groups.get("b")) if text]
    if not found["utc"] and not any(":" in text or "m" in text for text in times):
        raise NotUnderstood("write hours such as “08:00 UTC”")
    start, end = [*map(_parse_clock, times), 24 * 60][:2]
    return InHours(0, start) if (groups.get("word") or "") in {"before", "until"} else InHours(start, end)


def _parse_clock(text: str) -> int:
    hour, minute = map(int, re.findall(r"\d+", f"{text}:00")[:2])
    hour = hour % 12 + 12 * ("pm" in text) if text.endswith("m") else hour
    if hour > 23 or minute > 59:
        raise NotUnderstood(f"“{text}” is no time of day")
    return 60 * hour + minute


def _make_days(found: re.Match[str], charts: Charts) -> Condition:
    if found["days"].startswith("week"):
        return OnDays((5, 6) if "end" in found["days"] else (0, 1, 2, 3, 4))
    return OnDays(
        tuple(sorted({WEEKDAYS.index(name) for name in re.findall(rf"\b({'|'.join(WEEKDAYS)})", found["days"])}))
    )


def _make_event(found: re.Match[str], charts: Charts) -> Condition:
    groups, none = found.groupdict(), timedelta(0)
    kinds = [kind for kind, words in _EVENT_WORDS.items() if re.search(rf"\b(?:{words})", found["what"])]
    length, where = make_span(found) if groups.get("n") else none, groups.get("where")
    if length > LONGEST_WINDOW:
        raise NotUnderstood("the calendar is looked at for three days at most")
    is_all = bool({"any", "important"} & {*kinds})
    importance = 0.7 if "important" in kinds and "any" not in kinds else 0.0
    before, after = none if where == "after" else length, none if where == "before" else length
    return NearEvent(() if is_all else tuple(kinds), before, after, importance)


def _make_move(found: re.Match[str], charts: Charts) -> Condition:
    is_up = found["verb"].startswith(("r", "g", "u"))
    number = Operand("number", amount=float(found["k"]) * (1 if is_up else -1))
    return Compare(_make_level(found, charts, "change"), "above" if is_up else "below", number)


def _make_no_extreme(found: re.Match[str], charts: Charts) -> Condition:
    level = _make_level(found, charts, cast(Quantity, found["name"]))
    return _close(level.what == "high", level, is_not=True)


def _make_deviations(found: re.Match[str], charts: Charts) -> Condition:
    is_above = found["edge"] in {"above", "over"}
    band = _make_level(found, charts, "band", float(found["k"]) * (1 if is_above else -1))
    return _close(is_above, band)


def _make_zone(found: re.Match[str], charts: Charts) -> Condition:
    is_top, share = found["edge"] in {"top", "upper"}, _measure_part(found["part"])
    level = _make_level(found, charts, "range", 1 - share if is_top else share)
    return _close(is_top, level)


def _measure_part(part: str) -> float:
    parts = {"tenth": 0.1, "fifth": 0.2, "quarter": 0.25, "third": 1 / 3, "half": 0.5}
    return parts.get(part) or float(part.rstrip("%")) / 100


def _make_funding_sign(found: re.Match[str], charts: Charts) -> Condition:
    return Compare(Operand("funding"), "above" if found["sign"] == "positive" else "below", Operand("number"))


def _make_calm_funding(found: re.Match[str], charts: Charts) -> Condition:
    if "annual" not in found[0]:
        raise NotUnderstood("say “a year” for this funding")
    return Compare(Operand("annual funding size"), "below", Operand("number", amount=float(found["k"])))


_PRICE: Final = r"(?:(?:close|price) )?"
_PART: Final = rf"(?P<part>tenth|fifth|quarter|third|half|\d\d?%) of {_RANGE}"
_EDGE: Final = "(?P<edge>above|below|over|under)"
_CONDITIONS: Final[tuple[tuple[re.Pattern[str], _Make], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (
            rf"(?:hourly )?regime (?:turns? |becomes )?(?:to )?(?P<no>not )?(?:in )?(?P<names>{_REGIMES})\b",
            _make_regime,
        ),
        (rf"(?P<no>not )?(?:in |during )?(?P<names>{_REGIMES}) (?:regime|market)s?\b", _make_regime),
        (rf"(?:between |from )?(?P<a>{_CLOCK}) ?(?:and|to|until|-) ?(?P<b>{_CLOCK})(?P<utc> utc)?\b", _make_clock),
        (rf"(?P<word>after|before|until|from) (?P<a>{_CLOCK})(?P<utc> utc|(?<=[:m\d]{{2}}))\b(?! ?[\w%])", _make_clock),
        (r"(?:on |at |over |during )?(?P<days>weekends?|weekdays?)\b", _make_days),
        (rf"(?:on |during )?(?P<days>{_DAYS})", _make_days),
        (rf"(?:within|in|less than) {_SPAN} (?P<where>before|after|of|around|from) {_EVENTS}\b", _make_event),
        (rf"{_SPAN} (?P<where>before|around) {_EVENTS}\b", _make_event),
        (rf"(?:on )?(?:days? of )?{_EVENTS} days?\b", _make_event),
        (
            rf"{_PRICE}(?P<verb>falls?|drops?|down|loses|rises?|gains?|up)(?: by)?(?: more than)? (?P<k>{NUM})%"
            rf" (?:in|over|within|during) (?:last )?{LEN}",
            _make_move,
        ),
        (rf"{_PRICE}(?:(?:made|makes|with) )?no {LEN} (?P<name>high|low)\b", _make_no_extreme),
        (rf"{_PRICE}(?:more than )?(?P<k>{NUM}) deviations {_EDGE} {LEN} mean\b", _make_deviations),
        (rf"{_PRICE}(?:(?:in|inside|within) )?(?P<edge>top|upper|bottom|lower) {_PART}", _make_zone),
        (r"funding(?: rate)? (?P<sign>negative|positive)\b", _make_funding_sign),
        (rf"(?:annual )?funding(?: rate)? (?:back )?(?:inside|within) (?P<k>{NUM})%(?: annual)?", _make_calm_funding),
    )
)

# --- Conditions that go both ways ---


def _make_beyond(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read a close beyond either extreme: a breakout, which a fader must not take for granted."""
    if fades:
        raise NotUnderstood("say which side is bought, and which is sold")
    what: Quantity = "highest close" if found.groupdict().get("of") == "close" else "high"
    return _close(True, _make_level(found, charts, what))


def _make_stretched(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read a close far from the mean, or in the outer part of the range."""
    if fades is None:
        raise NotUnderstood("say which side is bought, and which is sold, or begin with “fade”")
    if part := found.groupdict().get("part"):
        level = _make_level(found, charts, "range", 1 - _measure_part(part))
    else:
        level = _make_level(found, charts, "band", float(found["k"]))
    follow = _close(True, level)
    return follow.mirrored() if fades else follow


def _make_opposite(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    return _close(False, _make_level(found, charts, "low"))


def _make_return(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read the way back to the mean: a fader arrives there, a follower falls back to it."""
    if fades is None:
        raise NotUnderstood("say for which side it is above, and for which below")
    is_middle = found["name"].startswith("mid")
    what: Quantity = "range" if is_middle else "EMA" if found["name"] == "ema" else "mean"
    return _close(fades, _make_level(found, charts, what, 0.5 if is_middle else 0.0))


_BOTH: Final = r"(?:highs? (?:or|and|/) lows?|high/low|range|channel|extremes?)"
_EITHER: Final = r"(?:highest or lowest|high or low) ?(?P<of>close|price)?"
_BEYOND: Final = r"(?:beyond|outside|out of|breaks?(?: out of)?)(?: of)?"
_BACK: Final = "(?:back (?:through|across|inside|to|at)|reaches|returns to|comes back to|touches|at)"
_AT: Final = r"(?:(?:beyond|at|through|on) )?"
_ENTRY_WAYS: Final[tuple[tuple[re.Pattern[str], _MakeBoth], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rf"{_PRICE}{_BEYOND} {LEN} {_BOTH}\b", _make_beyond),
        (rf"{_PRICE}{_BEYOND} {_EITHER} (?:of|in|over) (?:last )?{LEN}", _make_beyond),
        (rf"{LEN} break ?outs?\b", _make_beyond),
        (rf"break ?outs? (?:of|from) (?:last )?{LEN}(?: {_BOTH})?", _make_beyond),
        (rf"{_PRICE}(?:more than )?(?P<k>{NUM}) deviations (?:away )?from {LEN} mean\b", _make_stretched),
        (rf"{_PRICE}(?:outside|beyond) (?:bollinger )?bands ?\((?P<n>\d+);(?P<k>{NUM})\)", _make_stretched),
        (rf"{_PRICE}(?:(?:in|inside|within) )?outer {_PART}", _make_stretched),
    )
)
_EXIT_WAYS: Final[tuple[tuple[re.Pattern[str], _MakeBoth], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rf"{_PRICE}{_AT}opposite (?:extreme|side|end|edge) of {_RANGE}", _make_opposite),
        (rf"{_PRICE}{_AT}opposite {LEN} extreme\b", _make_opposite),
        (rf"{_PRICE}{_BACK} {CHART}{LEN} (?P<name>mean|ema)\b", _make_return),
        (rf"{_PRICE}{_BACK} (?P<name>mean) of (?:last )?{LEN}", _make_return),
        (rf"{_PRICE}(?:{_BACK} )?(?P<name>middle|mid ?point) of {_RANGE}", _make_return),
    )
)
