"""The words of a rule: a sentence becomes typed words, and no word is left out silently. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.lib.words.markets import replace_events, symbols_in
from config.lib.words.quantities import NUMBER_WORDS, SCALES, UNITS, parse_digits, word_set
from config.lib.words.rules import DAY_MINUTES


@dataclass(frozen=True, slots=True)
class Word:
    """A word or phrase with its type; the value of a number, time or name."""

    type: str
    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; `is_clear` unless it may be morning or evening."""

    minute: int
    is_clear: bool
    is_24h: bool


_PHRASES_OF: Final[Mapping[str, str]] = {
    "NOT": "never, no, not, avoid, avoids, avoiding, nothing, none, refuse to, stay away from, stays away from"
    ", stay out of, stays out of, steer clear of, steers clear of, nor, no longer, not any more, skip, skips",
    "WITHOUT": "without",
    "ONLY": "only, solely, exclusively",
    "EXCEPT": "but, except, other than, apart from",
    "OUTSIDE": "outside of, outside",
    "MAX": "at most, up to, no more than, not more than, no higher than, not higher than, no greater than, max, maximum"
    ", limit, limits, limited, cap, capped, caps, ceiling, or less, or lower, or below, or under, tops, at or below",
    "UNDER": "below, under, less than, lower than, fewer than, smaller than",
    "OVER": "more than, above, over, exceed, exceeds, exceeding, higher than, greater than, beyond, bigger than"
    ", larger than, past, later than",
    "MIN": "at least, minimum, min, no less than, not less than, or more, or higher, no fewer than",
    "RISK": "risk, risks, risking",
    "PERTRADE": "per trade, a trade, each trade, every trade, any trade, on one trade, in one trade, any one trade"
    ", a single trade, any single trade, every single trade, all trades, all my trades, per position, a position"
    ", any position, each position, every position, any single position",
    "ACCOUNT": "account, equity, capital, balance, portfolio, bankroll, account equity, account balance",
    "LEVERAGE": "leverage, leveraged",
    "TRADE": "trade, trades, trading, open, opens, opening, enter, enters, entering, take, takes, taking, place, places"
    ", entry, entries, position, positions, new trade, new trades, new position, new positions, new entries, touch"
    ", touches, more trades, more entries, further trades, any more trades",
    "MARKETS": "coin, coins, pair, pairs, market, markets, symbol, symbols",
    "ALTS": "alts, altcoins",
    "BEFORE": "before, until, till, earlier than, by, prior to, ahead of",
    "AFTER": "after, following",
    "WHEN": "once, when, if, whenever, as soon as",
    "BETWEEN": "between, from, during",
    "TO": "to",
    "AND": "and, or, as well as",
    "HOURS": "hours, trading hours",
    "PERDAY": "a day, per day, each day, every day, daily, in a day, in one day, in a single day, on the day"
    ", in the day, the day, that day, a single day",
    "FORDAY": "for the day, for today, until tomorrow, till tomorrow, for the rest of the day, the rest of the day"
    ", today, until the next day, till the next day, rest of the day, for that day",
    "LOSE": "lose, loses, losing, lost, loss, losses, down, losing trade, losing trades, losers, loser",
    "ONELOSS": "a loss, each loss, every loss, any loss, a losing trade, every losing trade, one loss, a loser",
    "INROW": "in a row, consecutive, back to back, straight, running",
    "STOP": "stop, stops, stopping, quit, quits, done, finished, finish, walk away, walks away, call it a day, log off"
    ", shut down, close the platform",
    "PAUSE": "pause, pauses, break, wait, waits, take a break, takes a break, take a pause, sit out, step away"
    ", stand aside, cool off, cooldown, take a time out",
    "OFF": "off",
    "WITHIN": "within",
    "AROUND": "around, near, close to",
    "EACHSIDE": "either side, each side, on either side, on each side, on both sides, before and after, before or after"
    ", either side of, each side of, both sides of",
    "DAYOF": "day of, days of, the day of, on the day of, day, days",
    "HIGH": "high impact, high importance, important",
    "CALENDAR": "events, event, scheduled events, calendar events, economic events, macro events, releases"
    ", news events",
    "STOPLOSS": "stop loss, stop losses, a stop loss, my stop loss, a stop order, a stop, the stop, my stop"
    ", hard stop, protective stop, stop order, stop orders"
    ", a hard stop, without stop, without stops, no stop",
    "ALWAYS": "always",
    "REQUIRED": "required, mandatory, compulsory, a must, obligatory",
}
_STOP_NOUNS: Final = {"without stop": "WITHOUT", "without stops": "WITHOUT", "no stop": "NOT"}
_FILLERS: Final = word_set(
    "i me my mine we our user trader the a an is are am be being will shall should must have has had need needs needed"
    " want wants of at for in on with it that this these any anything everything every each single ever really strictly"
    " rule please own keep keeps keeping stay stays use uses using used go goes get gets put set sets set to allow"
    " allowed do does myself there them then having make makes per"
)
HEDGES: Final = word_set(
    "usually mostly typically generally normally often sometimes rarely seldom try tries trying prefer prefers tend"
    " tends seem seems roughly approximately ideally plan plans probably maybe hope think consider aim aims goal almost"
    " nearly mainly primarily likes like about unless"
)
_DAYS: Final[dict[str, tuple[int, ...]]] = {
    **{
        name: (number,)
        for number, names in enumerate(
            (
                "monday mondays mon",
                "tuesday tuesdays tue tues",
                "wednesday wednesdays wed",
                "thursday thursdays thu thurs",
                "friday fridays fri",
                "saturday saturdays sat",
                "sunday sundays sun",
            )
        )
        for name in names.split()
    },
    **dict.fromkeys(("weekend", "weekends"), (5, 6)),
    **dict.fromkeys(("weekday", "weekdays"), (0, 1, 2, 3, 4)),
}
_ZONES: Final = {
    "utc": "UTC",
    "gmt": "UTC",
    "new york": "America/New_York",
    "new york time": "America/New_York",
    "ny time": "America/New_York",
    "london": "Europe/London",
    "london time": "Europe/London",
    "my time": "",
    "local time": "",
    "my local time": "",
}
_SPANS: Final = {"an hour": 60, "a hour": 60, "the hour": 60, "half an hour": 30, "a day": DAY_MINUTES}
_NOUN_TIMES: Final = {"noon": 12 * 60, "midday": 12 * 60, "midnight": DAY_MINUTES}
_UNIT_TYPES: Final = {"%": "PCT", "x": "MULT", "$": "USD", "€": "FOREIGN", "£": "FOREIGN"}
_SPAN_UNITS: Final = {"h": 60, "min": 1, "d": DAY_MINUTES}
_BY_PHRASE: Final = {phrase: kind for kind, phrases in _PHRASES_OF.items() for phrase in phrases.split(", ")}
_PHRASES: Final = sorted(map(str.split, (*_BY_PHRASE, *_DAYS, *_ZONES, *_SPANS, *_NOUN_TIMES)), key=len)
_LENGTHS: Final = {phrase[0]: len(phrase) for phrase in _PHRASES}  # of the longest that begins with a word

_TOKEN: Final = re.compile(
    r"(?P<zone>[A-Za-z]+/[A-Za-z_]+(?:/[A-Za-z_]+)?)|(?P<event>@[a-z_]+)"
    r"|(?P<time>\d{1,2}:\d\d(?:\s?[ap]\.?m\b\.?)?|\d{1,2}\s?[ap]\.?m\b\.?)"
    r"|(?P<number>[$€£]?\d+(?:,\d+)*(?:\.\d+)?)"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)?)|(?P<percent>[%×$€£])|(?P<dash>[-–—])|(?P<and>[&+/])|(?P<drop>[,.:()\"“”\s])"
    r"|(?P<strange>.)",
    re.IGNORECASE,
)
_CONTRACTED: Final = re.compile(
    r"\b(do|does|wo|ca|should|must|is|are|would|could|did)n['’]?t\b|\bcannot\b", re.IGNORECASE
)
_HYPHEN: Final = re.compile(r"(?<=\w)-(?=[^\W\d_])")  # "stop-loss", "30-minute"
_SHORTENED: Final = re.compile(r"['’](?:m|ll|ve|s|d|re)\b", re.IGNORECASE)


def split_words(text: str, *, zone: str, symbols: frozenset[str] = frozenset()) -> list[Word]:
    """Return the typed words of a sentence, unknown ones as UNKNOWN or HEDGE; `symbols` are further coins."""
    plain = _HYPHEN.sub(" ", _SHORTENED.sub("", _CONTRACTED.sub(" not ", replace_events(text, "@{} "))))
    tokens = [match for match in _TOKEN.finditer(plain) if match.lastgroup != "drop"]
    words: list[Word] = []
    at = 0
    while at < len(tokens):
        length, found = _read_token(tokens, at, zone, symbols)
        words += found
        at += length
    return words


_Reading = tuple[int, tuple[Word, ...]]  # how many tokens were read, and their words; a filler has none


def _read_token(tokens: Sequence[re.Match[str]], at: int, zone: str, symbols: frozenset[str]) -> _Reading:
    kind, text = str(tokens[at].lastgroup), tokens[at][0]
    if kind == "word":
        return _read_phrase(tokens, at, zone, symbols) or (1, _read_word(text, symbols))
    if kind == "number":
        return _read_number(tokens, at, parse_digits(text.lstrip("$€£")), text[0] if text[0] in "$€£" else "")
    if kind == "time":
        clock = _parse_clock(text)
        return 1, (Word("TIME" if clock else "UNKNOWN", clock, text),)
    if kind == "zone":
        return 1, (Word("ZONE", text, text) if _is_zone(text) else Word("UNKNOWN", None, text),)
    if kind == "event":
        return 1, (Word("EVENT", (text[1:],), text[1:]),)
    return 1, (Word({"dash": "DASH", "and": "AND"}.get(kind, "UNKNOWN"), None, text),)


def _read_phrase(tokens: Sequence[re.Match[str]], at: int, zone: str, symbols: frozenset[str]) -> _Reading | None:
    """Return the longest phrase or number in words that begins here."""
    first = tokens[at][0].lower()
    if (longest := _LENGTHS.get(first, 0)) == 0 and first not in NUMBER_WORDS:
        return None
    plain = [match[0].lower() if match.lastgroup == "word" else "" for match in tokens[at : at + longest + 1]]
    for length in range(min(longest, len(plain)), 0, -1):
        found = None if "" in plain[:length] else _find_phrase(phrase := " ".join(plain[:length]), zone)
        if found is None or (found.type == "STOPLOSS" and plain[length : length + 1] in (["trading"], ["opening"])):
            continue
        stops = (Word(_STOP_NOUNS[phrase], None, plain[0]),) if phrase in _STOP_NOUNS else ()
        return length, (*stops, found)
    if first in NUMBER_WORDS and first.upper() not in symbols:
        return _read_number(tokens, at, NUMBER_WORDS[first], "")
    return None


@lru_cache(2_000)
def _read_word(text: str, symbols: frozenset[str]) -> tuple[Word, ...]:
    if name := symbols_in(text) or ([text.upper()] if text.upper() in symbols else []):
        return (Word("SYMBOL", tuple(name), text),)
    plain = text.lower()
    if plain in _FILLERS:
        return ()
    return (Word("HEDGE" if plain in HEDGES else "UNKNOWN", None, text),)


def _find_phrase(phrase: str, zone: str) -> Word | None:
    if phrase in _DAYS:
        return Word("DAY", _DAYS[phrase], phrase)
    if phrase in _ZONES:
        return Word("ZONE", _ZONES[phrase] or zone, phrase)
    if phrase in _NOUN_TIMES:
        return Word("TIME", Clock(_NOUN_TIMES[phrase], is_clear=True, is_24h=True), phrase)
    if phrase in _SPANS and phrase != "a day":
        return Word("SPAN", _SPANS[phrase], phrase)
    kind = _BY_PHRASE.get(phrase)
    return None if kind is None else Word(kind, None, phrase)


def _read_number(tokens: Sequence[re.Match[str]], at: int, value: Fraction | str, money: str) -> _Reading:
    """Return a number with the scale and the unit behind it."""
    if not isinstance(value, Fraction):
        return 1, (Word("UNKNOWN", None, tokens[at][0]),)
    length, unit = 1, money
    following = [match[0].lower() for match in tokens[at + 1 : at + 4]]
    if following and following[0] in SCALES:
        value, length = value * SCALES[following.pop(0)], 2
    if following[:2] in (["a", "percent"], ["per", "cent"]):
        unit, length = "%", length + 2
    elif following and not unit and (following[0] in UNITS or following[0] == "×"):
        unit, length = UNITS.get(following[0], "x"), length + 1
    text = " ".join(match[0] for match in tokens[at : at + length]).replace(" %", "%").replace(" x", "x")
    if unit in _SPAN_UNITS:
        return length, (Word("SPAN", int(value * _SPAN_UNITS[unit]), text),)
    if unit == "x" and text.lower().endswith("times"):
        return length, (Word("TIMES", _to_decimal(value), text),)
    return length, (Word(_UNIT_TYPES.get(unit, "UNKNOWN") if unit else "NUMBER", _to_decimal(value), text),)


def _to_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _parse_clock(text: str) -> Clock | None:
    """Return the time of day, or None for one that does not exist."""
    digits, is_pm = re.sub(r"[^\d:]", "", text), "p" in text.lower()
    has_half = is_pm or "a" in text.lower()
    hour, minute = (int(part) for part in (digits if ":" in digits else f"{digits}:00").split(":"))
    if minute > 59 or hour > 24 or (hour == 24 and minute) or (has_half and not 1 <= hour <= 12):
        return None
    if has_half:
        return Clock((hour % 12 + 12 * is_pm) * 60 + minute, is_clear=True, is_24h=False)
    is_24h = hour > 12 or hour == 0 or digits.startswith("0")
    return Clock(hour * 60 + minute, is_clear=is_24h, is_24h=is_24h)


def read_bare_hour(value: Decimal) -> Clock | None:
    """Return the time of a number without minutes, as in "8 to 17"."""
    if value != int(value) or not 0 <= value <= DAY_MINUTES // 60:
        return None
    return Clock(int(value) * 60, is_clear=value > 12, is_24h=value > 12)


def _is_zone(name: str) -> bool:
    try:
        return bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError):
        return False
