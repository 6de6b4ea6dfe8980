"""What each word of a question means.

A question is understood when the vocabulary covers it: a word that has no meaning there is another subject, and no row
of the table of questions answers it, unless it can only describe ("deeply").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

from config.lib.search.terms import STOP_WORDS, porter_stem
from config.lib.words.lexer import Token, find_phrase, read_tokens, take_number
from config.lib.words.markets import events_in, symbols_in
from config.lib.words.quantities import map_words, meets, word_set
from config.lib.words.vocabulary import Meaning, find_meaning, map_stems
from trading.asking.periods import AHEAD, DAY, PeriodRefused, parse_period, take_period
from trading.asking.query import GROUPS, MEASURES

# The tags of the concepts that other readers know, too; of a phrase with two meanings, ASK goes first.
_TAG_OF: Final = {
    **{"COIN": "coin", "EVENT": "kind", "CALENDAR": "event", "DAY": "day", "RISK": "risk", "LEVERAGE": "leverage"},
    **{
        "ACCOUNT": "account",
        "LOSE": "result=lost",
        "TRADE": "trade",
        "NOT": "not",
        **map_words("stop", "STOPLOSS STOP"),
    },
    **{**map_words("limit", "MAX MIN"), **map_words("over", "OVER UNDER"), **map_words("idle", "ONLY BE")},
    **map_words("near", "BEFORE AFTER BETWEEN AROUND"),
}
# What a tag means before another one, behind one (`<`), and else.
_BESIDE: Final = {
    "do": {"near": "doing", "period": "doing", "ahead": "doing", "day": "doing", "last": "doing", "": "idle"},
    "limit": {"drawdown": "idle", "position": "size", "size": "size", "": "limit"},
    "leverage": {"rule": "idle", "limit": "idle", "": "unknown"},
    "release": {"<kind": "idle", "<release": "idle", "": "unknown"},
    "stop": {"number": "stop", "": "unknown"},
    "over": {"number": "unknown", "": "idle"},
    "than": {"number": "unknown", "": "more+versus"},
    "number": {"<last": "few+number", "": "number"},
    "account": {"<me": "equity", "": "unknown"},
}
_WEEKDAYS: Final = tuple(GROUPS["weekday"].choices)
# What Keel cannot answer from the record: other subjects, limits, and what did not happen.
_NOT_OURS: Final = ("unknown|foreign", "limit -broken", "not -why")
_OF_RECORD: Final = {
    *MEASURES,
    *("result", "group", "low", "top", "position", "agent", "backtest", "learn", "broken", "unrealised", "versus"),
    *("strategy", "reject", "side", "trade", "coin"),
}
_MEASURED: Final = {"net", "fees", "count", "win_rate", "expectancy", "result", "holding", "average", "top", "low"}
_DESCRIBING: Final = word_set("ly ed ing est en ive ile ble ful")
_BEFORE_NOUN: Final = word_set("a an the my our your his her their of on in for from by about with at")


@dataclass(frozen=True, slots=True)
class Words:
    """A question in terms of the vocabulary."""

    text: str
    tags: frozenset[str]  # `^how` is its first word
    given: dict[str, str]  # the words or values of tags: measure, group, side, symbol, period ...
    amount: int  # of rows; 0 when that is not said
    is_covered: bool  # no word of it is unknown
    symbols: list[str]
    kinds: list[str]  # of events

    @property
    def is_of_record(self) -> bool:
        """Whether it is about trades, positions or agents rather than what the user said."""
        return not self.tags.isdisjoint(_OF_RECORD)

    def has(self, wanted: str) -> bool:
        """Tell whether it meets "a b|c -d": a, one of b and c, and no d."""
        return meets(self.tags, wanted)


@dataclass(slots=True)
class _Piece:
    tag: str  # several with `+`, each with its value if it has one
    said: str
    amount: int = 0


def read_words(text: str) -> Words:
    """Read a plain sentence by the vocabulary."""
    pieces = _cut(text)
    given: dict[str, str] = {}
    tags: set[str] = set()
    for piece, tag in zip(pieces, _list_meant([piece.tag for piece in pieces]), strict=True):
        for one in tag.split("+"):
            name, _, value = one.partition("=")
            tags |= {name, one}
            if name in ("period", "ahead"):
                given[name] = piece.said
            elif name == "strategy":
                given["skill"] = f"{given.get('skill', '')} {piece.said}".strip()
            elif value and value not in given.get(name, "").split(","):
                given[name] = f"{given[name]},{value}" if name in given else value
    said = [piece.said.casefold().removesuffix("'s") for piece in pieces]
    tags |= {f"^{' '.join(said).partition(' ')[0]}"}
    tags |= {"measured"} if tags & _MEASURED else set()
    tags |= {"size"} if meets(tags, "much|count may coin -trade") else set()
    is_one = "last" in tags and "trade" in said
    amount = 1 if is_one else next((piece.amount for piece in pieces if piece.amount), 0)
    is_covered = not any(meets(tags, wanted) for wanted in _NOT_OURS)
    return Words(text, frozenset(tags), given, amount, is_covered, symbols_in(text), events_in(text))


def _list_meant(tags: Sequence[str]) -> Iterator[str]:
    """Yield what tags mean beside their neighbours."""
    for before, tag, after in zip(["", *tags], tags, [*tags[1:], "."], strict=False):
        beside = _BESIDE.get(tag, {"": tag})
        yield next(beside[one] for one in (after, f"<{before}", "") if one in beside)


def _cut(text: str) -> list[_Piece]:
    """Return the phrases, numbers and words of a sentence with their tags; "." stands at both ends for the phrases."""
    edge = Token("mark", ".", 0, 0, "")
    tokens = [edge, *(token for token in read_tokens(text) if token.kind != "end"), edge]
    pieces: list[_Piece] = []
    at, end = 0, len(text)  # where a name ended, which a word that nobody knows continues
    while at < len(tokens):
        length, piece = _read_piece(text, tokens, at)
        if piece.tag == "unknown" and text[end : tokens[at].start].isspace():
            piece.tag = "strategy"
        pieces += [piece] if piece.tag else []
        at += length
        end = tokens[at - 1].end if piece.tag == "strategy" else end
    return pieces


def _read_piece(text: str, tokens: Sequence[Token], at: int) -> tuple[int, _Piece]:
    """Return how many tokens go together, and what they mean; marks mean nothing by themselves."""
    token = tokens[at]
    if period := take_period(text, tokens, at):
        return period[0], _Piece("ahead" if period[1].startswith(AHEAD) else "period", period[1])
    own, common = find_phrase(tokens, at, ("ASK",)), find_phrase(tokens, at, _TAG_OF)
    word = token.text.removesuffix("'s")
    tag = own[1].value if own else find_tag(word) if token.kind == "word" else ""
    length = own[0] if own else 1
    if common and (not tag or common[0] > length):
        length, tag = common[0], _name_common(common[1], tokens[at + common[0] - 1].text)
    elif not tag and (number := take_number(tokens, at)):
        is_whole = isinstance(number.value, Fraction) and number.value.denominator == 1
        is_plain = (is_whole or token.kind == "digits") and number.unit in ("", "$", "%", "x")
        is_count = is_whole and not number.unit and (token.kind == "word" or token.text.isdecimal())
        is_count &= tokens[at + number.length - 1].text != "k"
        return number.length, _Piece("number" if is_plain else "unknown", word, int(number.value) if is_count else 0)
    elif not tag and token.kind != "mark":
        tag = _judge_unknown(token, tokens[at - 1])
    return length, _Piece(tag, " ".join(one.written for one in tokens[at : at + length]))


def _name_common(meaning: Meaning, last: str) -> str:
    """Return the tag of a meaning that other readers know, too."""
    if meaning.concept == "DAY":
        days = ",".join(_WEEKDAYS[int(day)] for day in meaning.value.split(","))
        return f"weekday={days}" if "," in days else f"day+weekday={days}"
    return "unknown" if last == "than" else _TAG_OF[meaning.concept]  # "larger than": no measure is named


def find_tag(word: str) -> str:
    """Return the tag of a word in any ending, "" for one of no question."""
    return find_meaning(word, "ASK") or (map_stems("ASK").get(porter_stem(word), "") if len(word) > 3 else "")


def _judge_unknown(token: Token, before: Token) -> str:
    """Return "idle" for a word that describes, by its ending; one behind an article or a preposition is a noun."""
    word, is_name = token.text.removesuffix("'s"), token.written[0].isupper() and token.start
    if word.replace("'", "") in STOP_WORDS:
        return "idle"
    if any(word[3:].endswith(ending) for ending in _DESCRIBING) and before.text not in _BEFORE_NOUN:
        return "idle"
    return "strategy" if is_name and not find_meaning(word.upper(), "COIN") else "unknown"


def find_window(words: Words, now: datetime) -> tuple[datetime, datetime, str] | None:
    """Return the instants ahead that a question names, by days in UTC, and its words for them; None without any."""
    said = words.given.get("ahead") or words.given.get("period", "")
    if weekday := words.given.get("weekday"):
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        first = day + DAY * ((_WEEKDAYS.index(weekday[:3]) - day.weekday()) % 7)
        is_weekend = weekday == "sat,sun"
        named = "at the weekend" if is_weekend else f"on {first:%A}"
        return max(first, now), first + DAY * (1 + is_weekend), f"{named} (in UTC)"
    try:
        period = parse_period(said, zone=ZoneInfo("UTC"), now=now, is_ahead=True)
    except PeriodRefused:  # such as March to May in April
        return None
    if period is None or period.starts_at is None or period.ends_at is None or period.ends_at <= now:
        return None
    named = f"in the {said}" if period.starts_at == now else f"{said} (in UTC)"
    return max(period.starts_at, now), period.ends_at, named
