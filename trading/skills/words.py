"""Read conditions from words. Each word must be consumed, or the line is not understood. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, cast

from trading.models.choices import INTERVALS, EventKind
from trading.skills.terms import (
    Compare,
    Condition,
    Distance,
    InHours,
    LastBar,
    NearEvent,
    OnDays,
    Operand,
    Quantity,
    RegimeIs,
    Sign,
)

MOST_BARS: Final = 500
LONGEST_WINDOW: Final = timedelta(days=3)  # around an event
MOST_SMOOTHED: Final = 50  # bars of RSI and its like, which need several times as many to settle

_ONES: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TENS: Final = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_WORD_NUMBER: Final = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_ONES[:9])}))?|({'|'.join(_ONES)}))\b", re.IGNORECASE
)
_REWRITES: Final = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"[‘’'“”\"*]", ""),
        (r"[–—−]", "-"),
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
        (r"\b(?:previous|prior|past|preceding|trailing)\b", "last"),
        (r"\bdont\b|\bdo not\b", "never"),
        (r"\((\d+)[,/] ?(\d+(?:\.\d+)?)\)", r"(\1;\2)"),
        (r"\b(?:the|an?|its|it|is|are|has|have|been|be|currently|exactly|new)\b", ""),
        (r"\s+", " "),
        (r" (?=[,:;])", ""),
    )
)

_NUM: Final = r"\d+(?:\.\d+)?"
# These name their groups, so that a pattern has each of them once.
_LEN: Final = r"(?P<n>\d+) ?(?P<u>bar|hour|day|week|h|d)s?\b"
_CHART: Final = r"(?:(?P<chart>\d+ ?(?:minute|min|m|hour|h|day|d|week|w)s?|hourly|daily|weekly)(?: chart| bar)? )?"
_EXTREME: Final = r"highest high|lowest low|highest close|lowest close|high|low"
_RANGE: Final = rf"(?:range of )?(?:last )?{_LEN}(?: range)?"


class NotUnderstood(Exception):
    """A line says what no term can express; the text says why."""


@dataclass(frozen=True, slots=True)
class Charts:
    """The bars that a skill sees."""

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

    def __init__(self, line: str, charts: Charts) -> None:
        own = rf"{charts.own[:-1]} ?{charts.own[-1]}\w*" + {"1h": "|hourly", "1d": "|daily"}.get(charts.own, "")
        self.rest, self.charts = re.sub(rf"\b(?:{own}) (?=(?:close|price|bar|chart)\b)", "", line), charts

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume a pattern at the start; None if it is not there."""
        found = pattern.match(self.rest)
        if found is not None:
            self.rest = self.rest[found.end() :].lstrip()
        return found


def normalise(text: str) -> str:
    """Return a line in lower case, with one spelling for each word of the grammar."""
    line = _WORD_NUMBER.sub(_write_digits, text.casefold())
    for pattern, new in _REWRITES:
        line = pattern.sub(new, line)
    return line.strip(" .,;:!-")


def _write_digits(found: re.Match[str]) -> str:
    ten, one, small = found.groups()
    return str(_TENS.get(ten, 0) + (_ONES.index(one or small) + 1 if one or small else 0))


# --- Values ---

_LEVELS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<k>{_NUM}) deviations (?P<edge>above|below|over|under) {_LEN} mean\b",
        rf"(?P<edge>upper|lower) (?:bollinger )?band\b(?: ?\((?P<n>\d+);(?P<k>{_NUM})\))?",
        rf"{_CHART}{_LEN} (?P<name>{_EXTREME}|mean|ema)\b",
        rf"{_CHART}(?P<n>\d+) (?P<name>mean|ema)\b",
        rf"{_CHART}(?P<name>mean|ema) ?\((?P<n>\d+)\)",
        rf"{_CHART}(?P<name>{_EXTREME}|highest|lowest|mean|ema) (?:of|in|over) (?:last )?{_LEN}",
        rf"{_CHART}last {_LEN} (?P<name>{_EXTREME}|mean)\b",
        rf"(?P<name>middle|mid ?point) of {_RANGE}",
    )
)
_GAUGES: Final = re.compile(
    r"(?:(?P<n>\d+) bar )?(?P<name>rsi|adx|chop(?:piness)?(?: index)?|er|efficiency(?: ratio)?)\b(?: ?\((?P<m>\d+)\))?"
)
_CLOSE: Final = re.compile(rf"{_CHART}(?:bar |last )?(?:close|closing price|price|market)\b|bar(?= closes)")
_FUNDING: Final = re.compile(r"(annual )?funding(?: rate)?\b( annual)?")
_VOLUME: Final = re.compile(r"volume\b")
_MEAN_VOLUME: Final = re.compile(rf"(?:(?P<k>{_NUM}) ?(?:x|times) )?(?:{_LEN} mean(?: volume)?\b)")
_NUMBER: Final = re.compile(rf"(-?{_NUM})(%?)(?![\d.;a-z])( annual| per (?:8 ?h(?:our)?s?|payment))?")
_NAMES: Final[dict[str, Quantity]] = {
    "highest high": "high",
    "lowest low": "low",
    "highest": "high",
    "lowest": "low",
    "ema": "EMA",
    "rsi": "RSI",
    "adx": "ADX",
    "chop": "CHOP",
    "er": "ER",
    "eff": "ER",
    "cho": "CHOP",
}
_USUAL: Final = {"RSI": 14, "ADX": 14, "CHOP": 14, "ER": 24}


def _take_level(words: Words) -> Operand | None:
    """Consume a price level, such as `20 bar mean`. Raises NotUnderstood."""
    found = next((match for pattern in _LEVELS if (match := words.take(pattern))), None)
    if found is None:
        return None
    groups = found.groupdict()
    bars, interval = words.charts.count_bars(found) if groups["n"] else (20, "")
    if edge := groups.get("edge"):
        return Operand("band", bars, float(groups["k"] or 2) * (1 if edge in {"above", "over", "upper"} else -1), interval)
    name = groups["name"]
    if name.startswith("mid"):
        return Operand("range", bars, 0.5, interval)
    return Operand(_NAMES.get(name) or cast(Quantity, name), bars, interval=interval)


def _take_value(words: Words) -> Operand | None:
    """Consume what can stand on the left of a comparison. Raises NotUnderstood."""
    if level := _take_level(words):
        return level
    if found := words.take(_GAUGES):
        what = _NAMES[found["name"][:3]] if found["name"][:4] != "chop" else "CHOP"
        bars = int(found["n"] or found["m"] or _USUAL[what])
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


# --- Conditions. Those that go both ways are read for a long that follows the move. ---

_VERB: Final = r"(?:(?:closes?|breaks?|trades?|rises?|climbs?|falls?|drops?|dips?|moves?|goes|gets|turns?|stays?|back) )*"
_SIGNS: Final[tuple[tuple[re.Pattern[str], Sign], ...]] = (
    (re.compile(r"cross(?:es|ing)?(?: back)? (?:above|over|up through)\b"), "crosses above"),
    (re.compile(r"cross(?:es|ing)?(?: back)? (?:below|under|down through)\b"), "crosses below"),
    (re.compile(rf"{_VERB}(?:above|over|higher than|greater than|more than|exceeds|at least)\b"), "above"),
    (re.compile(rf"{_VERB}(?:below|under|lower than|less than|beneath|at most)\b"), "below"),
)
_REACHES: Final = re.compile(r"(?:breaks?(?: of| through)?|touches|hits|makes?)\b")
_LASTING: Final = re.compile(r"(?:for )(?:at least )?(\d+) (?:straight |consecutive )?(?:bar|closes?|payments?)\b(?: in row)?")
_NUMBERED: Final = {"RSI", "ADX", "CHOP", "ER", "funding", "annual funding"}
_TIDE: Final = {"high": 1, "highest close": 1, "low": -1, "lowest close": -1}

Sided = tuple[Condition, bool]  # and whether its mirror image is meant, too


def take_condition(words: Words, *, fades: bool | None, is_exit: bool = False) -> Sided | None:
    """Consume a condition; None if none begins here.

    `fades`: whether the strategy trades against moves; None: not known. Raises NotUnderstood.
    """
    for pattern, make in _CONDITIONS:
        if found := words.take(pattern):
            return make(found, words.charts), False
    for pattern, make_both in _EXIT_WAYS if is_exit else _BOTH_WAYS:
        if found := words.take(pattern):
            return make_both(found, words.charts, fades), True
    return _take_comparison(words)


def _take_comparison(words: Words) -> Sided | None:
    before = words.rest
    left = _take_value(words)
    sign = next((sign for pattern, sign in _SIGNS if words.take(pattern)), None)
    if sign is None:
        compare = _take_reached(words, left)
        if compare is None:
            words.rest = before
        return None if compare is None else (compare, False)
    left = left or Operand("close")
    if left.what in _NUMBERED:
        compare = _compare_number(words, left, sign)
    else:
        right = _take_right(words, left)
        # "The daily close above its 20-bar mean" is of daily bars, too.
        compare = Compare(left, sign, replace(right, interval=right.interval or left.interval) if right.bars else right)
    lasting = words.take(_LASTING)
    return replace(compare, times=int(lasting[1])) if lasting else compare, False


def _take_reached(words: Words, left: Operand | None) -> Compare | None:
    """Read `breaks the 20-bar high`, or the bare `20-bar high`."""
    level = left if left and left.what in _TIDE else None
    if level is None and words.take(_REACHES):
        level = _take_level(words)
    tide = 0 if level is None else _TIDE.get(level.what, 0) or (level.what == "band" and level.amount)
    if level is None or not tide or (left is not None and left is not level and left.what != "close"):
        return None
    close = left if left is not None and left.what == "close" else Operand("close")
    return Compare(close, "above" if tide > 0 else "below", level)


def _take_right(words: Words, left: Operand) -> Operand:
    if left.what == "volume":
        if found := words.take(_MEAN_VOLUME):
            bars, interval = words.charts.count_bars(found)
            return Operand("mean volume", bars, float(found["k"] or 1), interval)
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
        amount, left = amount * 3 * 365, Operand("annual funding")
    elif span == "annual":
        left = Operand("annual funding")
    elif left.what == "funding" and abs(amount) >= 1:
        raise NotUnderstood("say whether this funding is of a payment or of a year")
    return Compare(left, sign, Operand("number", amount=amount))



# --- Conditions of other kinds ---

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
_SPAN: Final = r"(?P<n>\d+) ?(?P<u>minute|min|hour|h|day)s?"
_WEEK: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")


def _make_regime(found: re.Match[str], charts: Charts) -> Condition:
    names = tuple(dict.fromkeys(re.findall(r"chop|trend|shock", found["names"])))
    return RegimeIs(names, is_not=bool(found.groupdict().get("no")))


def _make_clock(found: re.Match[str], charts: Charts) -> Condition:
    first, last = found["a"], found.groupdict().get("b") or ""
    if not found["utc"] and ":" not in first + last and "m" not in first + last:
        raise NotUnderstood("write hours such as “08:00 UTC”")
    start, end = _parse_clock(first), _parse_clock(last) if last else 24 * 60
    return InHours(0, start) if (found.groupdict().get("word") or "").startswith(("before", "until")) else InHours(start, end)


def _parse_clock(text: str) -> int:
    hour, minute = re.findall(r"\d+", f"{text}:00")[:2]
    hours = int(hour) % 12 + 12 * ("pm" in text) if text.endswith("m") else int(hour)
    if hours > 24 or int(minute) > 59:
        raise NotUnderstood(f"“{text}” is no time of day")
    return 60 * hours + int(minute)


def _make_days(found: re.Match[str], charts: Charts) -> Condition:
    if found["days"].startswith("week"):
        return OnDays((5, 6) if "end" in found["days"] else (0, 1, 2, 3, 4))
    return OnDays(tuple(sorted({_WEEK.index(name) for name in re.findall(r"\b(mo|tu|we|th|fr|sa|su)", found["days"])})))


def _make_event(found: re.Match[str], charts: Charts) -> Condition:
    kinds = [kind for kind, words in _EVENT_WORDS.items() if re.search(rf"\b(?:{words})", found["what"])]
    is_all = bool({"any", "important"} & {*kinds})
    groups = found.groupdict()
    number, unit, where = int(groups.get("n") or 0), groups.get("u") or "h", groups.get("where") or ""
    length = timedelta(**{{"m": "minutes", "h": "hours", "d": "days"}[unit[0]]: number})
    if length > LONGEST_WINDOW:
        raise NotUnderstood("the calendar is looked at for three days at most")
    return NearEvent(
        () if is_all else tuple(kinds),
        before=length if where != "after" else timedelta(0),
        after=length if where != "before" else timedelta(0),
        min_importance=0.7 if "important" in kinds and "any" not in kinds else 0.0,
    )


def _make_move(found: re.Match[str], charts: Charts) -> Condition:
    bars, interval = charts.count_bars(found)
    is_up = found["verb"].startswith(("r", "g", "u"))
    number = Operand("number", amount=float(found["k"]) * (1 if is_up else -1))
    return Compare(Operand("change", bars, interval=interval), "above" if is_up else "below", number)


def _make_no_extreme(found: re.Match[str], charts: Charts) -> Condition:
    bars, interval = charts.count_bars(found)
    level = Operand(cast(Quantity, found["name"]), bars, interval=interval)
    return Compare(Operand("close"), "above" if level.what == "high" else "below", level, is_not=True)


def _make_deviations(found: re.Match[str], charts: Charts) -> Condition:
    bars, interval = charts.count_bars(found)
    is_above = found["edge"] in {"above", "over"}
    band = Operand("band", bars, float(found["k"]) * (1 if is_above else -1), interval)
    return Compare(Operand("close"), "above" if is_above else "below", band)


def _make_zone(found: re.Match[str], charts: Charts) -> Condition:
    bars, interval = charts.count_bars(found)
    is_top = found["edge"] in {"top", "upper"}
    share = _measure_part(found["part"])
    return Compare(
        Operand("close"), "above" if is_top else "below", Operand("range", bars, 1 - share if is_top else share, interval)
    )


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
_ZONE: Final = rf"(?:(?:in|inside|within) )?{{}} (?P<part>tenth|fifth|quarter|third|half|{_NUM}%) of {_RANGE}"
_CONDITIONS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Charts], Condition]], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rf"(?:hourly )?regime (?:turns? |becomes )?(?:to )?(?P<no>not )?(?:in )?(?P<names>{_REGIMES})\b", _make_regime),
        (rf"(?:in |during )?(?P<names>{_REGIMES}) (?:regime|market)s?\b", _make_regime),
        (rf"(?:between |from )?(?P<a>{_CLOCK}) ?(?:and|to|until|-) ?(?P<b>{_CLOCK})(?P<utc> utc)?\b", _make_clock),
        (rf"(?P<word>after|before|until|from) (?P<a>{_CLOCK})(?P<utc> utc)?\b(?! ?(?:bar|h|min|day))", _make_clock),
        (r"(?:on |at |over |during )?(?P<days>weekends?|weekdays?)\b", _make_days),
        (rf"(?:on |during )?(?P<days>{_DAYS})", _make_days),
        (rf"(?:within|in|less than) {_SPAN} (?P<where>before|after|of|around|from) {_EVENTS}\b", _make_event),
        (rf"{_SPAN} (?P<where>before|around) {_EVENTS}\b", _make_event),
        (rf"(?:on )?(?:days? of )?{_EVENTS} days?\b", _make_event),
        (
            rf"{_PRICE}(?P<verb>falls?|drops?|down|loses|rises?|gains?|up)(?: by)?(?: more than)? (?P<k>{_NUM})%"
            rf" (?:in|over|within|during) (?:last )?{_LEN}",
            _make_move,
        ),
        (rf"{_PRICE}(?:(?:made|makes|with) )?no {_LEN} (?P<name>high|low)\b", _make_no_extreme),
        (rf"{_PRICE}(?:more than )?(?P<k>{_NUM}) deviations (?P<edge>above|below|over|under) {_LEN} mean\b", _make_deviations),
        (rf"{_PRICE}{_ZONE.format('(?P<edge>top|upper|bottom|lower)')}", _make_zone),
        (r"funding(?: rate)? (?P<sign>negative|positive)\b", _make_funding_sign),
        (rf"(?:annual )?funding(?: rate)? (?:back )?(?:inside|within) (?P<k>{_NUM})%(?: annual)?", _make_calm_funding),
        (r"(?:last )?bar close[sd] (?:up|higher|green)\b", lambda found, charts: LastBar(is_up=True)),
        (r"(?:last )?bar close[sd] (?:down|lower|red)\b", lambda found, charts: LastBar(is_up=False)),
    )
)


# --- Both ways ---


def _make_beyond(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read a close beyond either extreme: a breakout, unless the words say that it is faded."""
    bars, interval = charts.count_bars(found)
    if fades:
        raise NotUnderstood("say which side is bought, and which is sold")
    what: Quantity = "highest close" if found.groupdict().get("of") == "close" else "high"
    return Compare(Operand("close"), "above", Operand(what, bars, interval=interval))


def _make_stretched(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read a close far from the mean, or in the outer part of the range."""
    if fades is None:
        raise NotUnderstood("say which side is bought, and which is sold, or begin with “fade”")
    groups = found.groupdict()
    bars, interval = charts.count_bars(found) if groups["n"] else (20, "")
    if part := groups.get("part"):
        level = Operand("range", bars, 1 - _measure_part(part), interval)
    else:
        level = Operand("band", bars, float(groups["k"] or 2), interval)
    follow = Compare(Operand("close"), "above", level)
    return follow.mirrored() if fades else follow


def _make_inward(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    return LastBar(is_up=bool(fades))


def _make_opposite(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read the extreme against a breakout. Only exits say so."""
    bars, interval = charts.count_bars(found)
    return Compare(Operand("close"), "below", Operand("low", bars, interval=interval))


def _make_return(found: re.Match[str], charts: Charts, fades: bool | None) -> Condition:
    """Read the way back to the mean: a fader arrives there, a follower falls back to it."""
    if fades is None:
        raise NotUnderstood("say for which side it is above, and for which below")
    bars, interval = charts.count_bars(found)
    what: Quantity = "range" if found["name"].startswith("mid") else "EMA" if found["name"] == "ema" else "mean"
    level = Operand(what, bars, 0.5 if what == "range" else 0.0, interval)
    return Compare(Operand("close"), "above" if fades else "below", level)


_RETURNS: Final = "back (?:through|across|inside|to|at)|reaches|returns to|comes back to|touches|at"
_BOTH: Final = r"(?:highs? (?:or|and|/) lows?|high/low|range|channel|extremes?)"
_BOTH_WAYS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Charts, bool | None], Condition]], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rf"{_PRICE}(?:beyond|outside|out of|breaks?(?: out of)?)(?: of)? {_LEN} {_BOTH}\b", _make_beyond),
        (
            rf"{_PRICE}(?:beyond|outside|breaks?)(?: of)? (?:highest or lowest|high or low) ?(?P<of>close|price)?"
            rf" (?:of|in|over) (?:last )?{_LEN}",
            _make_beyond,
        ),
        (rf"{_LEN} break ?outs?\b", _make_beyond),
        (rf"break ?outs? (?:of|from) (?:last )?{_LEN}(?: {_BOTH})?", _make_beyond),
        (rf"{_PRICE}(?:more than )?(?P<k>{_NUM}) deviations (?:away )?from {_LEN} mean\b", _make_stretched),
        (rf"{_PRICE}(?:outside|beyond) (?:bollinger )?bands\b(?: ?\((?P<n>\d+);(?P<k>{_NUM})\))?", _make_stretched),
        (rf"{_PRICE}{_ZONE.format('outer')}", _make_stretched),
        (r"(?:last )?bar close[sd] inwards?\b", _make_inward),
    )
)
_EXIT_WAYS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Charts, bool | None], Condition]], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rf"{_PRICE}(?:(?:beyond|at|through|on) )?opposite (?:extreme|side|end|edge) of {_RANGE}", _make_opposite),
        (rf"{_PRICE}(?:(?:beyond|at|through|on) )?opposite {_LEN} extreme\b", _make_opposite),
        (rf"{_PRICE}(?:{_RETURNS}) {_CHART}{_LEN} (?P<name>mean|ema)\b", _make_return),
        (rf"{_PRICE}(?:{_RETURNS}) (?P<name>mean) of (?:last )?{_LEN}", _make_return),
        (rf"{_PRICE}(?:(?:{_RETURNS}) )?(?P<name>middle|mid ?point) of {_RANGE}", _make_return),
    )
)

# --- Distances ---

DISTANCE: Final = rf"(?P<amount>{_NUM}) ?(?:(?P<pct>%)|(?:x |times )?atr\b(?: ?\((?P<atr>\d+)\)| of (?:last )?(?P<atr_of>\d+) bar)?)"


def make_distance(found: re.Match[str]) -> Distance:
    """Return the distance that a pattern with DISTANCE found. Raises NotUnderstood."""
    bars = 0 if found["pct"] else int(found["atr"] or found["atr_of"] or 14)
    if not 0 < float(found["amount"]) <= 100 or bars > MOST_SMOOTHED:
        raise NotUnderstood("a distance is up to 100 % or 100 average ranges, of up to 50 bars")
    return Distance(float(found["amount"]), bars)
