"""Read a sentence as one rule, or refuse with a reason. Pure.

Each word has a type (`words.split_words`); a rule fits only if it accounts for all of them. So a sentence that says
more than the rule is refused, never read in part.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from pydantic import ValidationError

from config.lib.words import rules as grammar
from config.lib.words.lexer import Clock
from config.lib.words.markets import CalendarKind
from config.lib.words.quantities import word_set
from config.lib.words.rules import Rule
from config.lib.words.typed import Word, read_bare_hour, split_words

_BOUNDS: Final = word_set("MAX UNDER OVER MIN")
_TRADING: Final = word_set(
    "TRADE PERTRADE LEVERAGE RISK SYMBOL TIME DAY LOSE ONELOSS EVENT CALENDAR STOPLOSS PERDAY PCT USD MULT"
)
_RULING: Final = word_set("NOT ONLY STOP STOPLOSS WITHOUT OFF PAUSE") | _BOUNDS


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: str
    is_near: bool  # it sounds like a rule of trading


class _Unread(Exception):
    """The words fit a rule but for one thing, which the message names."""


@lru_cache(5_000)  # a page asks for the same facts again
def compile_rule(text: str, *, zone: str, symbols: frozenset[str] = frozenset()) -> Rule | Refusal:
    """Return the rule that a sentence states, times in the user's zone; `symbols` are coins that its author traded."""
    words = split_words(text, zone=zone, symbols=symbols)
    is_near = _is_near(words)
    if (reason := _refuse_words(text, words)) or not words:
        return Refusal(reason or "It says nothing that a trade could keep or break.", is_near)
    sentence = _RuleSentence(words, zone)
    try:
        found = [rule for read in _READERS if (rule := read(sentence)) is not None]
    except _Unread as error:
        return Refusal(str(error), is_near)
    except ValidationError:
        return Refusal("One of its numbers is too large or too small.", is_near)
    if len(found) == 1:
        return found[0]
    return Refusal(_explain_misfit(text, sentence, zone, symbols), is_near)


def _is_near(words: Sequence[Word]) -> bool:
    types = {word.type for word in words}
    return not types.isdisjoint(_TRADING) and not types.isdisjoint(_RULING)


def _refuse_words(text: str, words: Sequence[Word]) -> str:
    by_type = {word.type: word.text for word in reversed(words)}
    if text.rstrip().endswith("?"):
        return "It is a question."
    if "HEDGE" in by_type:
        return f'It says "{by_type["HEDGE"]}", so it is no fixed rule.'
    if "UNKNOWN" in by_type:
        return f'Keel cannot read "{by_type["UNKNOWN"]}" as part of a rule.'
    if "FOREIGN" in by_type:
        return "Keel counts in US dollars. Write the amount in $ or in percent."
    return ""


def _explain_misfit(text: str, sentence: "_RuleSentence", zone: str, symbols: frozenset[str]) -> str:
    split = (part.strip() for part in re.split(r"[;.,]\s+|\s+(?:and|but)\s+", text))
    parts = [part for part in split if 0 < len(part) < len(text)]
    if sum(not isinstance(compile_rule(part, zone=zone, symbols=symbols), Refusal) for part in parts) > 1:
        return "It states more than one rule. Save each as a fact of its own."
    if sentence.has("MIN"):
        return "It sets a minimum. Keel checks limits, not minimums."
    figures = [word.text for word in sentence.words if word.type in ("PCT", "USD", "MULT")]
    if figures and _BOUNDS.isdisjoint(sentence.types):
        return f'It does not say whether {figures[0]} is the most. Write "at most {figures[0]}".'
    if {"TIME", "DAY"} & {*sentence.types} and not {"ONLY", "NOT", "STOP"} & {*sentence.types}:
        return 'It says when you trade, but neither "only" nor "never".'
    return "Its words together fit none of the rules that Keel can check."


class _RuleSentence:
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
    done: list[Word] = []
    for word in words:
        if word.type == "ONELOSS":
            done += [] if has_figure else [Word("NUMBER", Decimal(1), "a")]
            done.append(replace(word, type="LOSE"))
        else:
            done.append(word)
    return done


def _read_risk(said: _RuleSentence) -> Rule | None:
    if not said.fits("RISK MAX|UNDER PCT|USD PERTRADE", "ACCOUNT TRADE"):
        return None
    unit: grammar.Unit = "pct" if said.has("PCT") else "usd"
    return grammar.RiskPerTrade(limit=said.value("PCT|USD"), unit=unit, is_strict=said.has("UNDER"))


def _read_leverage(said: _RuleSentence) -> Rule | None:
    if said.fits("NOT|WITHOUT LEVERAGE", "TRADE") and said.types[:2] != ["LEVERAGE", "NOT"]:
        return grammar.Leverage(limit=Decimal(1))
    named = said.fits("LEVERAGE MAX|UNDER MULT|NUMBER|TIMES", "TRADE PERTRADE ONLY")
    if not named and not said.fits("MAX|UNDER MULT", "TRADE PERTRADE ONLY"):
        return None
    return grammar.Leverage(limit=said.value("MULT|NUMBER|TIMES"), is_strict=said.has("UNDER"))


def _read_symbols(said: _RuleSentence) -> Rule | None:
    allowed = "TRADE PERTRADE MARKETS"
    if said.fits("SYMBOL ONLY", allowed):
        return grammar.Symbols(mode="only", symbols=said.value("SYMBOL"))
    if said.fits("SYMBOL ONLY NOT ALTS", allowed) and {*said.value("SYMBOL")} <= {"BTC", "ETH"}:
        return grammar.Symbols(mode="only", symbols=said.value("SYMBOL"))
    if said.fits("SYMBOL NOT|EXCEPT", allowed) and said.spell().endswith(("SYMBOL", "MARKETS", "TRADE")):
        return grammar.Symbols(mode="never", symbols=said.value("SYMBOL"))
    return None


def _read_days(said: _RuleSentence) -> Rule | None:
    allowed = "TRADE PERTRADE ZONE"
    if said.fits("DAY ONLY", allowed):
        return grammar.Days(mode="only", days=said.value("DAY"), zone=said.zone)
    if said.fits("DAY NOT|OFF", allowed):
        return grammar.Days(mode="never", days=said.value("DAY"), zone=said.zone)
    return None


_HOUR_FORMS: Final[tuple[tuple[str, str], ...]] = (  # the types in order, and how to read their times
    (r"ONLY (?:BETWEEN )?(?:HOURS )?T (?:TO|AND|DASH|BEFORE) T|(?:BETWEEN )?T (?:TO|AND|DASH|BEFORE) T ONLY", "only"),
    (r"INSIDE (?:BETWEEN )?(?:HOURS )?T (?:TO|AND|DASH|BEFORE) T", "only"),
    (r"NOT (?:BETWEEN )?T (?:TO|AND|DASH|BEFORE) T", "never"),
    (r"NOT AFTER T|UNTIL T|ONLY BEFORE T|STOP (?:BEFORE |AFTER )?T", "until"),
    (r"NOT BEFORE T|ONLY (?:AFTER|BETWEEN) T", "since"),
    (r"NOT BEFORE T (?:AND |AND NOT )?AFTER T", "only"),
    (r"(?:NOT AFTER|UNTIL) T (?:AND |AND NOT )?BEFORE T", "swapped"),
)


def _read_hours(said: _RuleSentence) -> Rule | None:
    if not said.has("TIME") and not said.has("NUMBER"):
        return None
    # "Not past 5 pm" came out as a maximum.
    spelled = said.spell(without="TRADE PERTRADE FORDAY").replace("MAX TIME", "UNTIL TIME")
    spelled = re.sub(r"\b(?:TIME|NUMBER)\b", "T", spelled)
    form = next((name for pattern, name in _HOUR_FORMS if re.fullmatch(pattern, spelled)), None)
    if form is None or len(said.zones) > 1:
        return None
    clocks = [_read_clock(word) for word in said.words if word.type in ("TIME", "NUMBER")]
    _refuse_unclear(clocks, is_zone_named=said.is_zone_named)
    minutes = [clock.minute for clock in clocks]
    start, end = {
        "until": (0, minutes[0]),
        "since": (minutes[0], grammar.DAY_MINUTES),
        "swapped": (minutes[-1], minutes[0]),
    }.get(form, (minutes[0], minutes[-1]))
    if start in (end, end % grammar.DAY_MINUTES):
        raise _Unread("Its hours are no part of the day, or all of it.")
    return grammar.Hours(mode="never" if form == "never" else "only", start=start, end=end, zone=said.zone)


def _read_clock(word: Word) -> Clock:
    clock = word.value if word.type == "TIME" else read_bare_hour(word.value)
    if clock is None:
        raise _Unread(f'"{word.text}" is no time of day.')
    return clock


def _refuse_unclear(clocks: Sequence[Clock], *, is_zone_named: bool) -> None:
    if any(clock.is_24h for clock in clocks) or all(clock.is_clear for clock in clocks):
        return
    raise _Unread("Its times may be of the morning or of the evening. Write them as 09:00, 17:00 or 5 pm.")


def _read_trades_per_day(said: _RuleSentence) -> Rule | None:
    if not (said.fits("NUMBER|TIMES|MULT MAX|UNDER|ONLY PERDAY", "TRADE ZONE") and said.has("TRADE")):
        return None
    limit = said.value("NUMBER|TIMES|MULT")
    if limit != int(limit):
        raise _Unread("Trades are counted in whole numbers.")
    return grammar.TradesPerDay(limit=int(limit) - said.has("UNDER"), zone=said.zone)


def _read_daily_loss(said: _RuleSentence) -> Rule | None:
    day = "PERDAY FORDAY" if said.has("PERDAY") or said.has("FORDAY") else ""
    allowed = f"{day} ACCOUNT AFTER WHEN TRADE"
    is_stop = said.fits("LOSE PCT|USD STOP", f"{allowed} MAX")
    is_limit = said.fits("LOSE PCT|USD MAX|UNDER", day + " ACCOUNT")
    is_refusal = said.fits("LOSE PCT|USD NOT", allowed) and "NOT TRADE" in said.spell()
    if not day or not (is_stop or is_limit or is_refusal):
        return None
    return grammar.DailyLoss(limit=said.value("PCT|USD"), unit="pct" if said.has("PCT") else "usd", zone=said.zone)


_MOST_LOSSES: Final = 50  # "if I lose 500 in a day" is of money


def _read_pause(said: _RuleSentence) -> Rule | None:
    allowed = "AFTER WHEN TRADE INROW PERDAY FORDAY"
    if not (
        said.fits("NUMBER LOSE STOP|PAUSE|OFF", f"{allowed} SPAN")
        or (said.fits("NUMBER LOSE NOT", f"{allowed} SPAN") and "NOT TRADE" in said.spell())
    ):
        return None
    losses, is_day = said.value("NUMBER"), said.has("PERDAY") or said.has("FORDAY")
    if losses != int(losses) or losses > _MOST_LOSSES:
        return None
    if is_day == said.has("SPAN") or said.types.count("SPAN") > 1:
        raise _Unread('It does not say for how long: write "for the day" or "for 2 hours".')
    is_in_row = said.has("INROW") or losses == 1
    if not is_day and not is_in_row:
        raise _Unread('It does not say which losses: write "in a row", or "for the day".')
    return grammar.LossPause(losses=int(losses), is_in_row=is_in_row, minutes=said.value("SPAN"), zone=said.zone)


_EVENT_FORMS: Final[tuple[tuple[str, str], ...]] = (
    (r"EVENT DAYOF|DAYOF EVENT", "day"),
    (r"WITHIN SPAN EVENT|(?:WITHIN )?SPAN EACHSIDE EVENT|EVENT SPAN EACHSIDE", "both"),
    (r"(?:WITHIN )?SPAN BEFORE EVENT", "before"),
    (r"(?:WITHIN )?SPAN AFTER EVENT", "after"),
    (r"(?:WITHIN )?SPAN BEFORE (?:AND )?SPAN AFTER EVENT", "each"),
)


def _read_events(said: _RuleSentence) -> Rule | None:
    spelled = re.sub(r"HIGH (?=CALENDAR)", "", said.spell(without="TRADE PERTRADE")).replace("CALENDAR", "EVENT")
    if "EVENT" not in spelled or said.types.count("NOT") != 1 or len(said.zones) > 1:
        return None
    spelled = re.sub(r"^NOT | NOT$", "", spelled)
    form = next((name for pattern, name in _EVENT_FORMS if re.fullmatch(pattern, spelled)), None)
    if form is None:
        if spelled in ("EVENT", "AROUND EVENT"):
            raise _Unread('It does not say how long around the event: write "within 30 minutes of".')
        return None
    spans = [word.value for word in said.words if word.type == "SPAN"] or [None]
    before, after = {"before": (spans[0], 0), "after": (0, spans[0])}.get(form, (spans[0], spans[-1]))
    kinds = tuple(CalendarKind(kind) for kind in said.value("EVENT") or ())
    return grammar.Events(kinds=kinds, is_high=said.has("HIGH"), before=before, after=after, zone=said.zone)


def _read_stop(said: _RuleSentence) -> Rule | None:
    allowed = "TRADE PERTRADE"
    always = said.fits("STOPLOSS", allowed) and (said.has("ALWAYS") or said.has("PERTRADE"))
    needed = said.fits("STOPLOSS REQUIRED", allowed)
    never_without = said.fits("NOT WITHOUT STOPLOSS", allowed) and said.spell().startswith("NOT")
    no_stop_no_trade = said.spell() == "NOT STOPLOSS NOT TRADE"
    return grammar.StopRequired() if always or needed or never_without or no_stop_no_trade else None


_READERS: Final[tuple[Callable[[_RuleSentence], Rule | None], ...]] = (
    _read_risk,
    _read_leverage,
    _read_symbols,
    _read_days,
    _read_hours,
    _read_trades_per_day,
    _read_daily_loss,
    _read_pause,
    _read_events,
    _read_stop,
)
