"""The subject of a fact, and whether a new statement about it excludes the old one.

A table names the subjects that have one value at a time: limits, exchange, time zone, base currency, name, city,
trading hours, trading style, symbols, answer length and language. For all other lines the subject is their words; lines
with the same words contradict each other when a number, a bound or a negation differs.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from config.lib.words.quantities import word_set
from memory.claims.claims import Reading, read_claims, stem_word
from memory.claims.support import contradicts
from memory.claims.validity import strip_dates

Verdict = Literal["same", "replaces", "unsure", "apart"]
Values = frozenset[object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a line is about. `key` finds lines with the same subject."""

    key: str
    values: Values = frozenset()
    scope: frozenset[str] = frozenset()  # "on BTC", "at weekends": where the value holds
    is_denied: bool = False  # "I stopped scalping" has the value, denied
    is_added: bool = False  # "I also trade on Kraken" is beside what is known
    bound: str = ""  # max or min, of a limit
    is_single: bool = True  # a subject of the table


def judge_change(old: str, new: str) -> Verdict:
    """Compare a known line with a new statement.

    `same`: the new line says nothing else. `replaces`: they cannot both hold. `unsure`: they may exclude each other, so
    the user has to be asked. `apart`: both can hold. Words that say when a line holds do not count.
    """
    before, after = read_subject(old), read_subject(new)
    if before.key != after.key:
        return "apart"
    if before.is_single:
        return _judge_values(before, after)
    old, new = strip_dates(old), strip_dates(new)
    if contradicts(old, new):
        return "unsure"
    return "same" if _list_words(old) == _list_words(new) else "apart"


@lru_cache(maxsize=2048)
def read_subject(text: str) -> Subject:
    """Return the subject of a line, whenever it holds."""
    text = strip_dates(text)
    reading = read_claims(text)
    for name, pattern in _TABLE.items():
        if pattern.search(text) and (subject := _READERS[name](name, text, reading)) is not None:
            return subject
    words = sorted({str(term.key) for term in reading.of_kind("word")})
    return Subject(hashlib.sha256(" ".join(words).encode()).hexdigest() if words else "", is_single=False)


def _judge_values(before: Subject, after: Subject) -> Verdict:
    if after.is_denied or before.is_denied:
        is_other = before.values.isdisjoint(after.values) or before.is_denied == after.is_denied
        return "same" if before == after else "apart" if is_other else "replaces"
    if before.scope != after.scope:
        return _judge_scopes(before, after)
    if before.values == after.values:
        return "same" if before.bound == after.bound or not (before.bound and after.bound) else "unsure"
    if before.bound != after.bound and {before.bound, after.bound} != {"", "max"}:
        return "apart"  # a minimum beside a maximum
    if before.key.startswith("leverage") and before.bound != after.bound:
        # "Max leverage is 5x" allows "I use 3x leverage".
        return _judge_limit(limit=before if before.bound else after, used=after if before.bound else before)
    if before.key == "trading hours" and _names(before).isdisjoint(_names(after)):
        return "apart"  # a beginning beside an end
    return "apart" if after.is_added else "replaces"


def _judge_limit(*, limit: Subject, used: Subject) -> Verdict:
    return "unsure" if _greatest(used) > _greatest(limit) else "apart"


def _judge_scopes(before: Subject, after: Subject) -> Verdict:
    """Judge a rule and its exception: the special one may be stricter, not looser."""
    if before.scope and after.scope:
        return "apart"
    general, special = (before, after) if after.scope else (after, before)
    if not general.bound or _greatest(special) <= _greatest(general):
        return "apart"
    return "unsure"


def _greatest(subject: Subject) -> float:
    numbers = [float(value[0]) for value in subject.values if isinstance(value, tuple) and _is_number(value[0])]
    return max(numbers, default=0.0)


def _is_number(value: object) -> bool:
    return not isinstance(value, str)


def _names(subject: Subject) -> set[object]:
    return {value[0] for value in subject.values if isinstance(value, tuple)}


def _list_words(text: str) -> tuple[bool, bool, list[str]]:
    """Return whether a line says "only", whether it denies, and its other words in order."""
    words = [
        stem_word(word) for word in _WORDS.findall(_CONTRACTED.sub("not", text.casefold())) if word not in _TRIFLES
    ]
    plain = [word for word in words if word != "onli" and word not in _DENIALS]
    return "onli" in words, not _DENIALS.isdisjoint(words), plain


_WORDS: Final = re.compile(r"[^\W_]+|%")
_CONTRACTED: Final = re.compile(r"\b(?:do|does|ca|wo|is|are)n['’]?t\b")
_DENIALS: Final = frozenset(map(stem_word, ("not", "never", "cannot", "avoid")))
_TRIFLES: Final = word_set(
    "a an the i my me user users s is am are do does have has had was be been would will ll ve m"
)


# --- The table ---

_Read = Callable[[str, str, Reading], Subject | None]
_SCOPE: Final = re.compile(
    r"\b(?:on|for|in|during|when|if|while|except|with|at)\s+(?:the\s+|my\s+)?(?P<what>[A-Za-z][\w/-]*)", re.IGNORECASE
)
_NO_SCOPE: Final = word_set(
    "a an any each every all one single trade trades position positions account accounts leverage risk total average"
    " most i i'm i've average max maximum percent general principle future order case capital equity it that this most"
    " least worst once row day week month"
)
_ALSO: Final = re.compile(r"\b(?:also|too|as well|in addition|besides|additionally|another)\b", re.IGNORECASE)
_ENDED: Final = re.compile(
    r"\b(?:stopped|stop|quit|no longer|any ?more|never|not|don['’]t|doesn['’]t|gave up|left|avoid|hate)\b",
    re.IGNORECASE,
)


def _read_scope(text: str) -> frozenset[str]:
    found = {match["what"].casefold().rstrip("s") for match in _SCOPE.finditer(text)}
    return frozenset(found - {word.rstrip("s") for word in _NO_SCOPE})


def _limit(*units: str) -> _Read:
    """Return a reader of a limit: its numbers in these units, its bound and where it holds."""

    def read(name: str, text: str, reading: Reading) -> Subject | None:
        numbers = [
            term for term in reading.of_kind("number") if term.unit in units or (term.unit == "" and "" in units)
        ]
        if not numbers or any(term.polarity == "-" and not reading.of_kind("bound") for term in numbers):
            return None
        # "3x, not 5x" and "from 5x to 3x": the first said, the last reached.
        stated = [term for term in numbers if term.polarity == "+"] or numbers
        term = stated[-1] if re.search(r"\bfrom\b.*\bto\b", text, re.IGNORECASE) else stated[0]
        bounds = {str(bound.key) for bound in reading.of_kind("bound")} & {"max", "min"}
        bound = "min" if bounds == {"min"} else "max" if bounds else ""
        return Subject(name, frozenset({(term.key, "")}), _read_scope(text), bound=bound)

    return read


def _choice(names: str) -> _Read:
    """Return a reader of names, a pattern; of "from A to B" it takes B, of "A, not B" it takes A."""
    pattern = re.compile(rf"(?<!\w)(?P<name>{names})(?!\w)", re.IGNORECASE)

    def read(name: str, text: str, reading: Reading) -> Subject | None:
        moved = re.search(
            r"\b(?:from\b.*?\bto|(?:quit|left|dropped|swapped|replaced)\b.*?\b(?:for|by|with))\b(?P<to>.*)"
            r"|(?P<kept>.*?)\b(?:not|instead of|rather than)\b",
            text,
            re.I,
        )
        part = text
        if moved is not None and pattern.search(moved["to"] or moved["kept"] or ""):
            part = moved["to"] or moved["kept"]
        words = (_STYLE_END.sub("", match["name"].casefold()) for match in pattern.finditer(part))
        found = frozenset(_ALIASES.get(word, word) for word in words)
        is_denied = part == text and bool(_ENDED.search(text))
        return Subject(name, found, is_denied=is_denied, is_added=bool(_ALSO.search(text))) if found else None

    return read


_STYLE_END: Final = re.compile(r"[ -]trad\w+$")  # "swing trader", "swing trading"
_ALIASES: Final = {
    "ib": "interactive brokers",
    "ibkr": "interactive brokers",
    "euros": "eur",
    "euro": "eur",
    "dollars": "usd",
    "dollar": "usd",
    "pounds": "gbp",
    "pound": "gbp",
    "swiss francs": "chf",
    "francs": "chf",
    "yen": "jpy",
    "scalper": "scalp",
    "scalping": "scalp",
    "scalps": "scalp",
    **dict.fromkeys(("brief", "concise", "terse", "shorter"), "short"),
    **dict.fromkeys(("detailed", "thorough", "longer", "in depth"), "long"),
}


def _captured(name: str, text: str, reading: Reading) -> Subject | None:
    """Read a proper name behind the words of the table's pattern."""
    match = _TABLE[name].search(text)
    if match is None or _ENDED.search(text[: match.end()]):
        return None
    return Subject(name, frozenset({match["value"].casefold().strip(" .,;")}), is_added=bool(_ALSO.search(text)))


def _hours(name: str, text: str, reading: Reading) -> Subject | None:
    times = [str(term.key) for term in reading.of_kind("number") if term.unit == "time"]
    if not times:
        return None
    begins = re.search(r"\b(?:from|start|begin|open|after(?! hours)|before)\b", text, re.IGNORECASE)
    if len(times) > 1:
        values = {("from", times[0]), ("to", times[1])}
    else:
        is_denied = bool(reading.of_kind("not"))
        is_before = bool(re.search(r"\b(?:before|until|till|by)\b", text, re.IGNORECASE))
        is_begin = (is_before == is_denied) if begins or is_before else True
        values = {("from" if is_begin else "to", times[0])}
    return Subject(name, frozenset(values), _read_days(text))


def _read_days(text: str) -> frozenset[str]:
    days = re.findall(r"\b(?:weekends?|weekdays?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b", text, re.IGNORECASE)
    return frozenset(day.casefold().rstrip("s") for day in days)


def _symbols(name: str, text: str, reading: Reading) -> Subject | None:
    """Read "I only trade BTC and ETH". A plain "I trade BTC" excludes nothing."""
    if not reading.of_kind("only") or reading.of_kind("condition", "number"):
        return None
    scope = _read_scope(text) | _read_days(text)
    words = [term for term in reading.of_kind("word") if str(term.key) not in _BESIDE_SYMBOLS | scope]
    is_assets = all(term.is_name or term.key in _ASSETS for term in words)
    denied = {str(term.key) for term in words if term.polarity == "-"}
    values = frozenset(str(term.key) for term in words) - denied
    # "Only BTC and ETH, no alts" says one thing twice.
    is_clear = denied <= _KINDS and (bool(denied) or not reading.of_kind("not"))
    return Subject(name, values, scope) if values and is_assets and is_clear and len(values) <= 8 else None


_BESIDE_SYMBOLS: Final = word_set("trade us hold bui symbol now perp")
_KINDS: Final = word_set("alt altcoin meme memecoin stock option futur forex fund etf spot shitcoin")
_ASSETS: Final = _KINDS | word_set("btc eth sol doge gold silver major index crypto")
_EXCHANGES: Final = (
    r"binance|kraken|coinbase|bybit|okx|bitstamp|bitget|kucoin|hyperliquid|dydx|deribit|gemini|bitfinex|mexc|gate\.io"
    r"|huobi|htx|bitmex|phemex|crypto\.com|etoro|ibkr|interactive brokers|robinhood|alpaca|oanda|saxo|degiro|schwab"
    r"|fidelity|ib"
)
_CURRENCIES: Final = (
    r"usd|eur|gbp|chf|jpy|aud|cad|nzd|sek|nok|dkk|pln|sgd|hkd|usdt|usdc|euros?|dollars?|pounds?|swiss francs|francs|yen"
    r"|btc"
)
_ZONES: Final = (
    r"utc(?:\s?[+-]\d{1,2}(?::\d\d)?)?|gmt(?:\s?[+-]\d{1,2})?|ces?t|[we]et|e[sd]t|p[sd]t|c[sd]t|bst|ist|jst"
    r"|[a-z]+/[a-z_]+"
)
_LANGUAGES: Final = "english|german|french|spanish|italian|portuguese|dutch|russian|chinese|japanese|polish|turkish"
_LENGTHS: Final = "short|brief|concise|terse|shorter|long|longer|detailed|thorough|in depth"
_STYLES: Final = r"scalper|scalping|scalps?|(?:day|swing)[ -]trad(?:e|es|er|ing)|position[ -]trad(?:er|ing)"
# Each name with its pattern; a line that begins with "|" continues the one before it.
_PATTERNS: Final = r"""
answer length: \b(?:answers?|repl(?:y|ies)|responses?|explanations?|keep it)\b
answer language: \b(?:answer|reply|respond|speak|write|talk)\b.*\bin\b
base currency: \b(?:base|home|account|reporting|main)\s+currency\b|\b(?:count|think|measure|report|account) in\b
time zone: \btime ?zone\b|\b(?:am|i'm|is|live|are) (?:in|on|at) (?:utc|gmt|c[eds]+t|e[sd]t|p[sd]t)\b
exchange: \b(?:trad\w*|exchange|broker|account|mov\w+|switch\w*|us(?:e|es|ing)|go|am|i'm|now|quit|left|swapped)\b
name: \b(?:my name is(?: now| spelled| actually)*
|call me)\s+(?!(?:when|if|at|on|before|later|back|in|an?|the)\b)(?P<value>[\w'’-]+)
city: (?:\b(?:lives?|living|based|resides?) in|\b(?:moved|relocated) (?:from [\w ]+ )?to|\bmy (?:home )?city is
|\bmy home town is|\bhome is(?: in)?)\s+(?-i:(?P<value>[A-ZÀ-Þ][\w'’-]+(?:\s+(?:de |la )?[A-ZÀ-Þ][\w'’-]+){0,2}))
leverage: \bleverage\b
drawdown: \bdrawdowns?\b
loss per day: \b(?:los[eis]\w*|risk)\b.*\b(?:a|per|each|every|daily|in (?:a|one)) ?day\b|\bdaily (?:loss|risk)
|\bloss(?:es)? (?:limit )?(?:per|a) day
loss per week: \b(?:los[eis]\w*|risk)\b.*\bweek\b|\bweekly (?:loss|risk)
loss per month: \b(?:los[eis]\w*|risk)\b.*\bmonth\b|\bmonthly (?:loss|risk)
risk per trade: \brisk(?:s|ing)?\b|\blimit\b.*\bper trade\b|^never more than \S+ (?:per|a) trade\b
trades per day: \btrades? (?:a|per|each|every) day\b|\bdaily trades?\b
trades per week: \btrades? (?:a|per|each|every) week\b
open positions: \bpositions? (?:at (?:once|a time|the same time)|open)\b
|\b(?:open|concurrent|simultaneous) positions?\b
position size: \bposition siz\w+\b|\bsize (?:of )?(?:each|every|a|per) (?:position|trade)\b|\b(?:each|per) position\b
losses in a row: \blosses\b.*\b(?:stop|break|pause|quit|done)\b|\b(?:stop|break|pause|quit|done)\b.*\bloss(?:es)?\b
stop distance: \b(?:my )?stops?(?:[- ]loss(?:es)?)? (?:is|are|at|of|to|distance|sits?|stays?)\b
profit target: \b(?:profit target|take[- ]profits?|target)\b.*\d
account size: \bmy (?:trading )?(?:account|capital)(?: size)? (?:is|has \w+ to|was|of|at)\b
retirement age: \bretir\w+ (?:at|by|when)\b
trading hours: \b(?:trad\w+|session|hours)\b
trading style: \b(?:trader|trad\w+|scalp\w*|style)\b
symbols: \b(?:trade|trades|trading|symbols|sticks? to)\b|^only\b
"""
_AMOUNTS: Final = ("drawdown", "loss per day", "loss per week", "loss per month", "position size")
_READERS: Final[dict[str, _Read]] = {
    "answer length": _choice(_LENGTHS),
    "answer language": _choice(_LANGUAGES),
    "base currency": _choice(_CURRENCIES),
    "time zone": _choice(_ZONES),
    "exchange": _choice(_EXCHANGES),
    "trading style": _choice(_STYLES),
    **dict.fromkeys(("name", "city"), _captured),
    "trading hours": _hours,
    "symbols": _symbols,
    "leverage": _limit("x", ""),
    "profit target": _limit("%", "x"),
    "retirement age": _limit("", "y"),
    **dict.fromkeys(("risk per trade", "stop distance"), _limit("%")),
    **dict.fromkeys(("trades per day", "trades per week", "open positions", "losses in a row"), _limit("")),
    **dict.fromkeys(_AMOUNTS, _limit("%", "$", "€", "£")),
    "account size": _limit("$", "€", "£", ""),
}
_TABLE: Final = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in (line.split(": ", 1) for line in _PATTERNS.replace("\n|", "|").split("\n")[1:-1])
}
