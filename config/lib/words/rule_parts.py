"""What the kinds of rules share: the sentence that states one, and their base. Pure."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar, Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from config.lib.figures import DAY_MINUTES
from config.lib.words.lexer import Clock
from config.lib.words.typed import Word


class Unread(Exception):
    """The words fit a rule but for one thing, which the message names."""


class RuleSentence:
    """The typed words of a sentence, lists merged and comparisons resolved."""

    def __init__(self, words: Sequence[Word], zone: str) -> None:
        zones = {word.value for word in words if word.type == "ZONE"}
        self.zones = zones
        self.zone = zones.pop() if len(zones) == 1 else zone
        self.is_zone_named = any(word.type == "ZONE" for word in words)
        merged = _merge_lists([word for word in words if word.type != "ZONE"])
        self.words = _expand_losses(_resolve_comparisons(merged))
        self.types = [word.type for word in self.words]

    def has(self, kind: str) -> bool:
        """Tell whether a word has this type."""
        return kind in self.types

    def value(self, kinds: str) -> Any:
        """Return the value of the first word of these types."""
        return next((word.value for word in self.words if word.type in kinds.split("|")), None)

    def fits(self, needed: str, allowed: str = "") -> bool:
        """Tell whether each needed type (`A|B`: one of two) occurs once, and else only allowed ones."""
        groups = [set(group.split("|")) for group in needed.split()]
        may = {*allowed.split(), "ALWAYS"}
        if self.is_zone_named and "ZONE" not in may:
            return False
        counts = [sum(kind in group for kind in self.types) for group in groups]
        return all(count == 1 for count in counts) and set(self.types) <= may.union(*groups)

    def spell(self, without: str = "") -> str:
        """Return the types in order."""
        return " ".join(kind for kind in self.types if kind not in {*without.split(), "ALWAYS"})

    @property
    def is_daily(self) -> bool:
        return self.has("PERDAY") or self.has("FORDAY")

    def read_minutes(self) -> list[int]:
        """Return its times of day. Raises Unread."""
        clocks = [_read_clock(word) for word in self.words if word.type in ("TIME", "NUMBER")]
        if any(clock.is_24h for clock in clocks) or all(clock.is_clear for clock in clocks):
            return [clock.minute for clock in clocks]
        raise Unread("Its times may be of the morning or of the evening. Write them as 09:00, 17:00 or 5 pm.")


class RuleSubject(NamedTuple):
    """What a rule is about, and what it says of it: of two rules with one key the later replaces the other."""

    key: str
    values: frozenset[object]
    bound: str = ""  # max, of a limit


class BaseRule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    limits: ClassVar[str] = ""  # what its field `limit` bounds, in words

    @classmethod
    @abstractmethod
    def read(cls, said: RuleSentence) -> Self | None:
        """Return the rule that a sentence states; None: no such rule. Raises Unread, ValidationError."""

    @abstractmethod
    def describe(self) -> str:
        """Return the rule in plain words, as its owner confirms it."""

    def name_subject(self) -> RuleSubject | None:
        """Return what it is about; None: it holds beside others of its kind."""
        if not self.limits:
            return None
        limit, unit, is_strict = (getattr(self, name, "") for name in ("limit", "unit", "is_strict"))
        return RuleSubject(self.limits, frozenset({(limit, unit, bool(is_strict))}), "max")


_LISTED: Final = frozenset({"SYMBOL", "DAY", "EVENT"})


def _merge_lists(words: Sequence[Word]) -> list[Word]:
    """Merge "BTC, ETH and SOL", "Monday to Friday", "no DOGE and no SHIB", and repeated words for trading."""
    merged: list[Word] = []
    for word in words:
        tail = [other.type for other in merged[-3:]]
        if word.type == "DAY" and tail[-2:] == ["DAY", "TO"]:
            first, last = merged[-2].value[0], word.value[-1]
            days = tuple(day % 7 for day in range(first, last + 1 + 7 * (last < first)))
            merged[-2:] = [replace(merged[-2], value=tuple(sorted(set(days))))]
        elif word.type in _LISTED and (at := _find_joined(merged, [*tail, word.type])):
            merged[at:] = [_join(merged[at], word)]
        elif word.type == "TO" and tail[-1:] not in (["DAY"], ["TIME"], ["NUMBER"]):
            continue
        elif not (word.type in ("TRADE", "PERDAY", "FORDAY") and tail[-1:] == [word.type]):
            merged.append(word)
    return merged


def _find_joined(words: Sequence[Word], types: Sequence[str]) -> int:
    """Return the place, from the end, of the word that the last of these types goes on with; 0 without one."""
    for joint in ((), ("AND",), ("NOT",), ("AND", "NOT")):
        at = -1 - len(joint)
        is_joined = types[at - 1 :] == [types[-1], *joint, types[-1]]
        if is_joined and ("NOT" not in joint or any(word.type == "NOT" for word in words[:at])):
            return at
    return 0


def _join(one: Word, other: Word) -> Word:
    values = tuple(dict.fromkeys((*one.value, *other.value)))
    return replace(one, value=tuple(sorted(values)) if one.type == "DAY" else values)


# A negation turns these words that follow it.
_TURNED: Final = {"OVER": "MAX", "UNDER": "MIN", "EXCEPT": "ONLY", "OUTSIDE": "INSIDE"}
_BETWEEN: Final = frozenset({"TRADE", "PERTRADE", "RISK", "LEVERAGE", "LOSE", "PERDAY", "ALWAYS"})


def _resolve_comparisons(words: Sequence[Word]) -> list[Word]:
    """Turn "never ... more than" into a maximum, which uses the negation up."""
    done: list[Word] = []
    for word in words:
        if word.type in _TURNED:
            at = next((n for n in range(len(done) - 1, -1, -1) if done[n].type not in _BETWEEN), None)
            if at is not None and done[at].type == "NOT":
                del done[at]
                word = replace(word, type=_TURNED[word.type])
        done.append(word)
    return done


def _expand_losses(words: Sequence[Word]) -> list[Word]:
    """Read "a loss" as one loss, unless a figure says how large."""
    has_figure = any(word.type in ("PCT", "USD", "NUMBER") for word in words)
    one = [] if has_figure else [Word("NUMBER", Decimal(1), "a")]
    parts = ([*one, replace(word, type="LOSE")] if word.type == "ONELOSS" else [word] for word in words)
    return [word for part in parts for word in part]


def _read_clock(word: Word) -> Clock:
    """Return the time of a word; a number is an hour, as in "8 to 17"."""
    hour = word.value
    if isinstance(hour, Clock):
        return hour
    if hour != int(hour) or not 0 <= hour <= DAY_MINUTES // 60:
        raise Unread(f'"{word.text}" is no time of day.')
    return Clock(int(hour) * 60, is_clear=hour > 12, is_24h=hour > 12)
