"""Read from a fact's words when it holds: "until March", "for two weeks", "from Monday".

Patterns find a cue and the date behind it; the library `dateparser` computes the instant. Habits have no dates: "I
trade from Monday to Friday", "I hold for two days" and "I trade until 17:00" set none. When in doubt, no date is set,
because a wrong end would silently drop a rule from the prompts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from typing import Any, Final, Literal, cast

from config.lib.words.moments import MONTH_PATTERN

_DAYS: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_MONTHS: Final = rf"(?:{MONTH_PATTERN})"
_YEAR: Final = r"20\d\d"
_UNIT: Final = r"(?:hour|day|week|fortnight|month|quarter|year)s?"
_COUNT: Final = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|fifteen|twenty|thirty|sixty"
    r"|ninety|a couple of|half an?|another)"
)
_DURATION: Final = rf"{_COUNT}\s+(?:more\s+|full\s+|whole\s+)?{_UNIT}"
_DATE: Final = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}"
    rf"|(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTHS}(?:,?\s+{_YEAR})?"
    rf"|{_MONTHS}\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d|:)(?:,?\s+{_YEAR})?|{_MONTHS}(?:\s+(?:of\s+)?{_YEAR})?"
    rf"|the\s+\d{{1,2}}(?:st|nd|rd|th)|(?:(?:next|this|coming)\s+)?{_DAYS}|tomorrow|tonight|today"
    rf"|(?:the\s+)?(?:next|coming|following)\s+(?:week|month|quarter|year)"
    rf"|(?:the\s+)?end\s+of\s+(?:(?:the|this|next)\s+)?(?:day|week|month|quarter|year|{_MONTHS}(?:\s+{_YEAR})?|{_YEAR})"
    rf"|(?:year|month)(?:['’]s)?[\s-]end|{_YEAR})(?![\w%-])"
)
_TIME: Final = r"(?:,?\s+(?:at\s+)?(?P<{}>\d{{1,2}}:\d\d|\d{{1,2}}(?::\d\d)?\s?[ap]m)\b)?"
_UNTIL: Final = r"(?P<to>until|till|['’]?til|up\s+until|through|thru|{more})\s+"
_ENDS: Final = (
    rf"\b{_UNTIL.format(more='up to and including')}(?:and\s+including\s+)?(?P<end>{_DATE}){_TIME.format('end_time')}"
    r"(?P<inclusive>\s+\(?(?:inclusive|included)\)?)?"
)
_BEGINS: Final = (
    rf"\b(?P<cue>from|starting(?:\s+(?:from|on|in))?|beginning(?:\s+(?:on|in))?|as\s+of|effective(?:\s+from)?)\s+"
    rf"(?P<begin>{_DATE}|in\s+{_DURATION}){_TIME.format('begin_time')}(?P<on>\s+on(?:wards?)?\b|\s+forward\b)?"
)
_SPAN: Final = re.compile(
    rf"{_BEGINS}\s*(?:,\s*)?{_UNTIL.format(more='to|-|–')}(?P<end>{_DATE}){_TIME.format('end_time')}", re.IGNORECASE
)
_UNTIL_DATE: Final = re.compile(_ENDS, re.IGNORECASE)
_FROM_DATE: Final = re.compile(_BEGINS, re.IGNORECASE)
_FOR: Final = re.compile(
    rf"\b(?:(?:for|over|during|in|within)\s+(?P<definite>the\s+(?:next|coming|following)\s+(?:{_COUNT}\s+)?{_UNIT})"
    rf"|for\s+(?P<duration>{_DURATION}))\b(?!\s+(?:or|and)\s+more|\s+at\s+(?:a|most|least)|-)",
    re.IGNORECASE,
)
_THIS: Final = re.compile(
    r"(?:^|\b(?:for|during)\s+)(?P<period>this\s+(?:week|month|quarter|year))\b|\bfor\s+(?P<day>today|tonight)\b",
    re.IGNORECASE,
)

# A habit repeats, so its weekday or duration is no date; the past is over.
_HABIT: Final = re.compile(
    r"\b(?:when|whenever|if|after|once|every|each|always|usually|often|mostly|typically|generally|normally|at least"
    r"|at most|more than|less than|longer than|average|never (?:hold|keep|carry))\b",
    re.IGNORECASE,
)
_HOLDING: Final = re.compile(
    r"\b(?:hold|holds|holding|carry|carries|ride|rides|wait|waits|let|lets|leave|leaves|last|lasts|run|runs|sleep"
    r"|keep\s+(?:\w+\s+)?(?:positions?|trades?|winners?|losers?|runners?|longs?|shorts?|them|it))\b",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:have|has|had|been|was|were|did|used|traded|worked|lived|held|lost|made|won(?!['’]t)|got|went|gained|blew|began"
    r"|started|stopped|ran|took|bought|sold)\b|['’]ve\b",
    re.IGNORECASE,
)
# Behind other words "from March" may belong to a noun ("notes from March"), unless the words announce a change.
_PLAN: Final = re.compile(
    r"\b(?:will|won['’]?t|going to|gonna|want|plan|only|no|not|never|half|max(?:imum)?|limit|at most|stop|start|switch"
    r"|move|moving|trade|trading|use|using|risk|risking|am|are|is)\b|['’](?:ll|m)\b",
    re.IGNORECASE,
)
_IS_REPEATING: Final = re.compile(rf"(?:{_DAYS}|the\s+\d{{1,2}}(?:st|nd|rd|th))", re.IGNORECASE)
_PERIOD_START: Final = re.compile(r"(?:the\s+)?(?:next|coming|following)\s+(week|month|quarter|year)", re.IGNORECASE)
_PERIOD_END: Final = re.compile(
    r"(?:the\s+)?(?:end\s+of\s+|this\s+|(?=today|tonight|year|month))(?:(?P<next>next)\s+)?(?:the\s+|this\s+)?"
    rf"(?P<what>day|week|month|quarter|year|today|tonight|{_MONTHS}(?:\s+{_YEAR})?|{_YEAR})(?:['’]s)?(?:[\s-]end)?",
    re.IGNORECASE,
)
_IS_YEAR: Final = re.compile(_YEAR)
_SLASHED: Final = re.compile(r"(\d{1,2})/(\d{1,2})/\d{2,4}")

Size = Literal["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Validity:
    """When a fact holds (aware UTC; the end is exclusive). None: from now on, or without an end."""

    begins: datetime | None = None
    ends: datetime | None = None

    @property
    def is_bounded(self) -> bool:
        return self.begins is not None or self.ends is not None


ALWAYS: Final = Validity()


def may_have_dates(text: str) -> bool:
    """Tell whether a text may say when it holds. Cheap, so that most texts need no zone and no library."""
    return any(pattern.search(text) for pattern in (_UNTIL_DATE, _FROM_DATE, _FOR, _THIS))


def read_validity(text: str, *, now: datetime, zone: tzinfo) -> Validity:
    """Return when a fact holds by its words, said at `now` by a user in `zone`; dates of the past count as none."""
    clock = _Clock(now, zone)
    begins = ends = None
    for kind, match in _find_cues(text):
        if kind == "begins" and begins is None:
            begins = clock.read(match["begin"], match["begin_time"])
        elif kind == "span":
            begins = clock.read(match["begin"], match["begin_time"])
            is_through = not match["to"].lower().endswith("til") and not match["to"].lower().startswith("till")
            ends = clock.read(match["end"], match["end_time"], after=begins, is_inclusive=is_through)
        elif kind == "ends" and ends is None:
            is_through = match["to"].lower() in {"through", "thru", "up to and including"} or bool(match["inclusive"])
            is_through = is_through or "and including" in match[0].lower()
            ends = clock.read(match["end"], match["end_time"], after=begins, is_inclusive=is_through)
        elif kind == "for" and ends is None:
            ends = clock.add(match["definite"] or match["duration"], begins)
        elif kind == "this" and ends is None:
            ends = clock.read(match["period"] or match["day"], None)
    begins = begins if begins is not None and begins > now else None
    ends = ends if ends is not None and ends > (begins or now) else None
    return Validity(begins, ends)


def has_beginning(text: str) -> bool:
    """Tell whether a text says from when it holds."""
    return any(kind in ("begins", "span") for kind, _ in _find_cues(text))


@lru_cache(maxsize=2048)
def strip_dates(text: str) -> str:
    """Return a text without the words that say when it holds."""
    for _, match in _find_cues(text):
        text = text.replace(match[0], " ")
    return " ".join(text.split()).strip(" ,;.")


def _find_cues(text: str) -> list[tuple[str, re.Match[str]]]:
    """Return the cues of a text that are no habits."""
    spans = list(_SPAN.finditer(text))
    if spans:
        return [("span", match) for match in spans[:1] if not _is_habitual(text, match, match["begin"])]
    cues = list(_iter_cues(text))
    return sorted(cues, key=lambda cue: (cue[0] != "begins", cue[1].start()))


def _iter_cues(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    for match in _FROM_DATE.finditer(text):
        if _is_announced(text, match) and not _is_habitual(text, match, match["begin"]):
            yield "begins", match
    for match in _UNTIL_DATE.finditer(text):
        if not _is_habitual(text, match, match["end"]):
            yield "ends", match
    for match in _FOR.finditer(text):
        lead = text[: match.start()]
        is_vague = match["duration"] is not None and (
            _HABIT.search(text) or _HOLDING.search(text) or _PAST.search(text)
        )
        if not is_vague and not _PAST.search(lead):
            yield "for", match
    for match in _THIS.finditer(text):
        if not _PAST.search(text):
            yield "this", match


def _is_habitual(text: str, match: re.Match[str], date: str) -> bool:
    """Tell whether a date that comes round again stands in a habit, or the words are about the past."""
    if _IS_REPEATING.fullmatch(date):
        if _HABIT.search(text) or _HOLDING.search(text) or date.lower().endswith("days"):
            return True
        if "to" in match.groupdict() and "begin" in match.groupdict():
            return True  # "from Monday to Friday"
    return bool(_PAST.search(text[: match.start()]) and _IS_YEAR.search(date) is None)


def _is_announced(text: str, match: re.Match[str]) -> bool:
    """Tell whether "from March" dates the statement and not one of its nouns."""
    before = text[: match.start()].strip()
    is_first = not before or before[-1] in ".;:,!?"
    if is_first or match["on"] or match["cue"].lower() != "from":
        return True
    return _PLAN.search(before) is not None and not text[match.end() :].strip(" .,;!")


class _Clock:
    """Dates as said at one moment in one zone."""

    def __init__(self, now: datetime, zone: tzinfo) -> None:
        self._zone = zone
        self._here = now.astimezone(zone).replace(tzinfo=None)

    def read(
        self, date: str, time: str | None, *, after: datetime | None = None, is_inclusive: bool = False
    ) -> datetime | None:
        """Return the instant of a date: its first moment, or with `is_inclusive` the first one after it."""
        here = self._here if after is None else max(self._here, after.astimezone(self._zone).replace(tzinfo=None))
        local, size = self._find_start(date, here)
        if local is None:
            return None
        if time is not None:
            at = _parse(time, local, "absolute-time")
            return None if at is None else self._to_utc(local.replace(hour=at.hour, minute=at.minute))
        return self._to_utc(_add(local, size) if is_inclusive and size else local)

    def add(self, duration: str, begins: datetime | None) -> datetime | None:
        """Return the end of a duration that starts now or at `begins`."""
        here = self._here if begins is None else begins.astimezone(self._zone).replace(tzinfo=None)
        plain = re.sub(r"(?i)\b(?:the|next|coming|following|more|full|whole)\s+", "", duration).strip()
        plain = re.sub(r"(?i)^(?=(?:hour|day|week|fortnight|month|quarter|year)s?$)", "1 ", plain)
        plain = re.sub(r"(?i)^a couple of", "2", re.sub(r"(?i)^another", "1", plain))
        if half := re.fullmatch(r"(?i)half an?\s+(day|year)", plain):
            plain = {"day": "12 hours", "year": "6 months"}[half[1].lower()]
        plain = re.sub(r"(?i)^(?:an?|1|one)\s+quarter$", "3 months", plain)
        local = _parse(f"in {plain}", here, "relative-time")
        return None if local is None else self._to_utc(local)

    def _find_start(self, date: str, here: datetime) -> tuple[datetime | None, Size | None]:
        """Return the first moment of a date and its size; no size for the end of a period."""
        plain = " ".join(date.lower().split())
        today = here.replace(hour=0, minute=0, second=0, microsecond=0)
        if match := _PERIOD_START.fullmatch(plain):
            size = cast("Size", match[1])
            return _add(_floor(today, size), size), size
        if match := _PERIOD_END.fullmatch(plain):
            return self._find_end(match, today), None
        if plain.startswith("in "):
            return _parse(plain, here, "relative-time"), "day"
        if plain in {"tomorrow", "today", "tonight"}:
            return today + timedelta(days=plain == "tomorrow"), "day"
        slashed = _SLASHED.fullmatch(plain)
        if slashed and int(slashed[1]) <= 12 and int(slashed[2]) <= 12 and slashed[1] != slashed[2]:
            return None, "day"  # the day or the month comes first
        plain = re.sub(r"^(?:next|this|coming|the)\s+", "", plain)
        if re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", plain):
            return _find_day_of_month(int(plain[:-2]), today), "day"
        if re.fullmatch(_YEAR, plain):
            return today.replace(year=int(plain), month=1, day=1), "year"
        is_month = re.fullmatch(rf"{_MONTHS}(?:\s+(?:of\s+)?{_YEAR})?", plain) is not None
        local = _parse(plain, here, "absolute-time")
        return (None if local is None else _floor(local, "day")), "month" if is_month else "day"

    def _find_end(self, match: re.Match[str], today: datetime) -> datetime | None:
        """Return the first moment after a period, such as "the end of March" or "this week"."""
        what = match["what"]
        if what in {"today", "tonight"}:
            return today + timedelta(days=1)
        if what in {"day", "week", "month", "quarter", "year"}:
            size = cast("Size", what)
            end = _add(_floor(today, size), size)
            return _add(end, size) if match["next"] else end
        # From the month before, because the end of this month is meant too.
        start, length = self._find_start(what, today - timedelta(days=today.day))
        return None if start is None or length is None else _add(start, length)

    def _to_utc(self, local: datetime) -> datetime:
        return local.replace(tzinfo=self._zone).astimezone(UTC)


def _floor(moment: datetime, size: Size) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match size:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case "year":
            return day.replace(month=1, day=1)
    return day


def _add(start: datetime, size: Size) -> datetime:
    """Return the start of the next period."""
    if size in {"day", "week"}:
        return start + timedelta(days=7 if size == "week" else 1)
    months = start.month - 1 + {"month": 1, "quarter": 3, "year": 12}[size]
    return start.replace(year=start.year + months // 12, month=months % 12 + 1)


def _find_day_of_month(day: int, today: datetime) -> datetime | None:
    """Return the next such day, today excluded."""
    first = today.replace(day=1)
    for _ in range(3):
        if day <= (_add(first, "month") - first).days and first.replace(day=max(1, day)) > today:
            return first.replace(day=max(1, day))
        first = _add(first, "month")
    return None


def _parse(text: str, here: datetime, parser: Literal["absolute-time", "relative-time"]) -> datetime | None:
    """Return the local time of a date in words, the next one where it comes round again."""
    settings: dict[str, Any] = {"RELATIVE_BASE": here, "PARSERS": [parser], "PREFER_DATES_FROM": "future"}
    settings |= {"PREFER_DAY_OF_MONTH": "first" if parser == "absolute-time" else "current", "DATE_ORDER": "DMY"}
    # Without these the library would ask the machine for its zone.
    settings |= {"TIMEZONE": "UTC", "RETURN_AS_TIMEZONE_AWARE": False}
    try:
        found: datetime | None = _get_parser()(text, languages=["en"], settings=settings)
    except (ValueError, OverflowError):
        return None
    return found


@cache
def _get_parser() -> Any:
    import dateparser  # noqa: PLC0415 - takes 0.4 s, and few facts name a date

    return dateparser.parse
