"""The subject of a fact: what it is about, and what it says of it.

A sentence that states a rule of trading has that rule as its subject. A table names the other subjects that have one
value at a time, by the concepts of the vocabulary that a line has. For all other lines the subject is their words.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from config.lib.words.compile import Refusal, compile_rule
from config.lib.words.lexer import Token
from config.lib.words.quantities import word_set
from config.lib.words.vocabulary import list_words
from memory.claims.line import Line, read_line
from memory.claims.validity import has_beginning

Values = frozenset[object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a line is about. `key` finds lines with the same subject."""

    key: str
    values: Values = frozenset()
    scope: frozenset[str] = frozenset()  # "on BTC", "at weekends", "average": where or of which the value holds
    owner: str = ""  # "my wife risks 5%": whose value it is, unless the user's
    is_denied: bool = False  # "I stopped scalping" has the value, denied
    is_added: bool = False  # "I also trade on Kraken" is beside what is known
    is_change: bool = False  # "now", "no longer", "moved": it says that something was otherwise
    is_turn: bool = False  # "I quit scalping", "I scalp again"
    is_begun: bool = False  # "from July": it begins at a moment of its own
    bound: str = ""  # max or min, of a limit
    is_single: bool = True  # a rule, or a subject of the table


@lru_cache(maxsize=2048)
def read_subject(text: str) -> Subject:
    """Return the subject of a line, whenever it holds."""
    line = read_line(text)
    found = _read_rule(text) or _read_rule(line.text)  # "for a day" may be a part of the rule, or its time
    for name, needed, read in _TABLE if found is None else ():
        if line.has(needed) and (found := read(name, line)) is not None:
            break
    if found is None:
        words = sorted(map(str, line.nouns))
        key = hashlib.sha256(" ".join(words).encode()).hexdigest() if words else ""
        found = Subject(key, is_single=False)
    return replace(
        found,
        owner=line.owner,
        is_change="CHANGE" in line.concepts,
        is_added="ALSO" in line.concepts,
        is_turn=line.is_turn,
        is_begun=has_beginning(text),
    )


# --- Rules ---


def _read_rule(text: str) -> Subject | None:
    """Return the subject of a sentence that states a rule with a limit."""
    rule = compile_rule(text, zone="UTC")
    named = None if isinstance(rule, Refusal) else rule.name_subject()
    return None if named is None else Subject(named.key, named.values, bound=named.bound)


# --- The table ---

_Read = Callable[[str, Line], Subject | None]


def _limit(units: str) -> _Read:
    """Return a reader of a limit: its number in these units, its bound and where it holds; "no limit" has none."""

    def read(name: str, line: Line) -> Subject | None:
        numbers = line.numbers(units)
        bounds = {str(bound.key) for bound in line.reading.of_kind("bound")} & {"max", "min"}
        if not numbers:
            said = {token.text for token in line.tokens}
            is_none = not said.isdisjoint({"no", "without"}) and bool(bounds) and not line.reading.of_kind("number")
            return Subject(name, scope=line.scope, is_denied=True) if is_none else None
        if any(term.polarity == "-" and not bounds for term in numbers):
            return None
        # "3x, not 5x" and "from 5x to 3x": the first said, the last reached.
        stated = [term for term in numbers if term.polarity == "+"] or numbers
        words = [token.text for token in line.tokens]
        is_moved = "from" in words and "to" in words[words.index("from") :]
        bound = "min" if bounds == {"min"} else "max" if bounds else ""
        value = stated[-1].key if is_moved else stated[0].key
        scope = line.scope - list_words("LOSE") if name.startswith("loss") else line.scope
        return Subject(name, frozenset({(value, _UNITS.get(stated[0].unit, ""), False)}), scope, bound=bound)

    return read


_UNITS: Final[Mapping[str, str]] = {"%": "pct", "$": "usd", "€": "eur", "£": "gbp"}


def _choice(concept: str) -> _Read:
    """Return a reader of names; of "from A to B" it takes B, of "A, not B" it takes A."""

    def read(name: str, line: Line) -> Subject | None:
        named = [one for one in line.found if one.concept == concept]
        words = [token.text for token in line.tokens]
        begins, ends = _find_part(words)
        part = [one for one in named if begins <= one.at < ends]
        is_whole = not part or (begins, ends) == (0, len(words))
        values = frozenset(one.value for one in part or named)
        scope = line.scope if concept in ("STYLE", "LENGTH") else frozenset[str]()
        return Subject(name, values, scope, is_denied=is_whole and line.is_ended)

    return read


_LEAVING: Final = word_set("quit left dropped swapped replaced")
_TOWARDS: Final = word_set("for by with")


def _find_part(words: list[str]) -> tuple[int, int]:
    """Return the part of a line that says the new name: behind "from A to", "quit A for", before "not"."""
    for at, word in enumerate(words):
        goals = {"to"} if word == "from" else _TOWARDS if word in _LEAVING else ()
        if goals and (to := next((n for n in range(at, len(words)) if words[n] in goals), None)):
            return to, len(words)
    for at, word in enumerate(words):
        if at and (word == "not" or words[at : at + 2] in (["instead", "of"], ["rather", "than"])):
            return 0, at
    return 0, len(words)


def _zone(name: str, line: Line) -> Subject | None:
    """Read a zone with its distance from UTC; beside a time of day it is the zone of that."""
    at = next(one.at for one in line.found if one.concept == "ZONECODE")
    # "From 9 to 17 UTC" has hours, too.
    if (line.numbers("time") or any(one.kind == "digits" for one in line.tokens[:at])) and not line.has("TIMEZONE"):
        return None
    shift = "".join(
        token.text for token in line.tokens[at + 1 : at + 3] if token.kind == "digits" or token.text in "+-"
    )
    code = f"{line.tokens[at].text}{shift if shift[-1:].isdigit() else ''}"
    return Subject(name, frozenset({code}), is_denied=line.is_ended)


def _captured(concept: str) -> _Read:
    """Return a reader of a proper name behind the words of a concept."""

    def read(name: str, line: Line) -> Subject | None:
        mark = next(one for one in line.found if one.concept == concept)
        # A place begins with a capital; "call me when", "call me in an hour" give no name.
        start = mark.at + mark.length
        words = [token.text for token in line.tokens]
        if words[start - 1] == "from" and "to" in words[start:]:
            start = words.index("to", start) + 1
        rest = line.tokens[start:]
        if concept == "CALLED":
            value = rest[:1] if rest and rest[0].text not in list_words("FILLER", "WHEN", "BEFORE", "IDLE") else []
        else:
            value = _take_capitals(rest)
        if not value or any(one.concept == "ENDED" and one.at < start for one in line.found):
            return None
        return Subject(name, frozenset({" ".join(token.text for token in value)}))

    return read


def _take_capitals(tokens: list[Token]) -> list[Token]:
    taken: list[Token] = []
    for token in tokens:
        is_name = token.kind == "word" and token.written[:1].isupper()
        if not is_name and not (taken and token.text in ("de", "la")):
            break
        taken.append(token)
    return taken


def _hours(name: str, line: Line) -> Subject | None:
    clocks = (str(term.key).partition(":") for term in line.numbers("time"))
    times = [int(hour) * 60 + int(minute[:2] or "0") for hour, _, minute in clocks]
    is_denied = bool(line.reading.of_kind("not"))
    if len(times) > 1:
        key = "hours avoided" if is_denied else name
        return Subject(key, frozenset({("from", times[0]), ("to", times[1])}), line.days)
    if not times:
        return None
    words = {token.text for token in line.tokens}
    is_before = not words.isdisjoint({"before", "until", "till", "by"})
    is_begin = is_before == is_denied or words.isdisjoint(_BEGINNING)
    return Subject(name, frozenset({("from" if is_begin else "to", times[0])}), line.days)


_BEGINNING: Final = word_set("from start begin open after before until till by")


def _use(name: str, line: Line) -> Subject | None:
    """Read "I don't use stops any more"; one with a figure is of something else."""
    is_used = not line.reading.of_kind("number")
    return Subject(name, frozenset({True}), line.scope, is_denied=line.is_ended) if is_used else None


def _symbols(name: str, line: Line) -> Subject | None:
    """Read "I only trade BTC and ETH". A plain "I trade BTC" excludes nothing."""
    reading = line.reading
    is_trading = line.has("TRADE") or line.tokens[0].text == "only" or "stick" in {token.text for token in line.tokens}
    if not is_trading or not reading.of_kind("only") or reading.of_kind("condition", "number"):
        return None
    scope = line.scope | line.days
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

# A subject, the concepts that a line about it has, and how its value is read. The first that fits counts.
_TABLE: Final[tuple[tuple[str, str, _Read], ...]] = (
    ("answer length", "ANSWER LENGTH", _choice("LENGTH")),
    ("answer language", "SPEAK LANGUAGE", _choice("LANGUAGE")),
    ("base currency", "BASECURRENCY CURRENCY", _choice("CURRENCY")),
    ("time zone", "ZONECODE", _zone),
    ("exchange", "EXCHANGE DEAL", _choice("EXCHANGE")),
    ("name", "CALLED", _captured("CALLED")),
    ("city", "LIVE", _captured("LIVE")),
    ("leverage", "LEVERAGE", _limit("x none")),
    ("loss per day", "DAYSTOP", _limit("% $ € £ none")),
    ("drawdown", "DRAWDOWN", _limit("% $ € £")),
    ("loss per day", "LOSE|ONELOSS|RISK PERDAY|FORDAY", _limit("% $ € £")),
    ("loss per week", "LOSE|ONELOSS|RISK PERWEEK", _limit("% $ € £")),
    ("loss per month", "LOSE|ONELOSS|RISK PERMONTH", _limit("% $ € £")),
    ("risk per trade", "RISK", _limit("%")),
    ("trades per day", "TRADE PERDAY", _limit("none")),
    ("trades per week", "TRADE PERWEEK", _limit("none")),
    ("open positions", "OPENPOSITIONS", _limit("none")),
    ("position size", "POSITIONSIZE", _limit("% $ € £")),
    ("losses in a row", "LOSE|ONELOSS STOP|PAUSE", _limit("none")),
    ("stop distance", "STOPLOSS", _limit("%")),
    ("profit target", "TARGET", _limit("% x")),
    ("account size", "ACCOUNTSIZE", _limit("$ € £ none")),
    ("retirement age", "RETIRE", _limit("none y")),
    ("risk per trade", "MAX PERTRADE", _limit("%")),
    ("stop required", "USESTOP", _use),
    ("trading hours", "SESSION", _hours),
    ("trading style", "STYLE", _choice("STYLE")),
    ("symbols", "ONLY", _symbols),
)
