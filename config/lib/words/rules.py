"""The rules that Keel can check: a class for each kind, with its fields, sentences, words and subject. Pure."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import BaseModel, Field, PlainSerializer

from config.lib.figures import DAY_MINUTES, format_count, format_quantity, format_span, format_time
from config.lib.words.markets import EVENT_LABELS, CalendarKind
from config.lib.words.quantities import join_words, map_words, word_set
from config.lib.words.rule_parts import BaseRule, RuleSentence, RuleSubject, Unread

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# The types of words (`typed.split_words`) that tell a subject of trading, and the concepts that rules are read from.
SUBJECTS: Final[Mapping[str, str]] = {
    **{"STOPLOSS": "stop", "LOSE": "loss", "TIME": "hours", "DAY": "days"},
    **{**map_words("leverage", "LEVERAGE MULT"), **map_words("size", "RISK USD PCT")},
    **{**map_words("trade", "TRADE PERTRADE"), **map_words("events", "EVENT CALENDAR")},
    **map_words("symbols", "SYMBOL MARKETS ALTS"),
}
CONCEPTS: Final = SUBJECTS.keys() | word_set(
    "NOT WITHOUT ONLY EXCEPT OUTSIDE MAX UNDER OVER MIN ACCOUNT BEFORE BY AFTER WHEN BETWEEN TO AND HOURS PERDAY FORDAY"
    " ONELOSS INROW STOP PAUSE OFF WITHIN AROUND EACHSIDE DAYOF HIGH OR MOST ALWAYS REQUIRED ZONE SPAN COIN FILLER"
    " HEDGE"
)

Positive = Annotated[Decimal, Field(gt=0, allow_inf_nan=False), PlainSerializer(str, when_used="json")]
Unit = Literal["pct", "usd"]  # pct: 0..100 of the equity
Mode = Literal["only", "never"]
Minute = Annotated[int, Field(ge=0, le=DAY_MINUTES)]
Span = Annotated[int, Field(ge=0, le=7 * DAY_MINUTES)]  # minutes


def _format_limit(limit: Decimal, unit: Unit, of: str) -> str:
    """Return a limit as `2% of equity`, or as `$500` in usd."""
    return f"{format_quantity(limit)}% of {of}" if unit == "pct" else f"${format_quantity(limit)}"


class RiskPerTrade(BaseRule):
    kind: Literal["risk_per_trade"] = "risk_per_trade"
    limits = "risk per trade"
    limit: Positive
    unit: Unit
    is_strict: bool = False  # below the limit, not at it

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        if not said.fits("RISK MAX|UNDER PCT|USD PERTRADE", "ACCOUNT TRADE"):
            return None
        return cls(limit=said.value("PCT|USD"), unit="pct" if said.has("PCT") else "usd", is_strict=said.has("UNDER"))

    def describe(self) -> str:
        bound = "Less than" if self.is_strict else "At most"
        return f"{bound} {_format_limit(self.limit, self.unit, 'equity')} at risk on each trade, to its stop"


class Leverage(BaseRule):
    kind: Literal["leverage"] = "leverage"
    limits = "leverage"
    limit: Positive
    is_strict: bool = False

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        if said.fits("NOT|WITHOUT LEVERAGE", "TRADE") and said.types[:2] != ["LEVERAGE", "NOT"]:
            return cls(limit=Decimal(1))
        named = said.fits("LEVERAGE MAX|UNDER MULT|NUMBER|TIMES", "TRADE PERTRADE ONLY")
        if not named and not said.fits("MAX|UNDER MULT", "TRADE PERTRADE ONLY"):
            return None
        return cls(limit=said.value("MULT|NUMBER|TIMES"), is_strict=said.has("UNDER"))

    def describe(self) -> str:
        return f"{'Less than' if self.is_strict else 'At most'} {format_quantity(self.limit)}x leverage"


class Symbols(BaseRule):
    kind: Literal["symbols"] = "symbols"
    mode: Mode
    symbols: Annotated[tuple[str, ...], Field(min_length=1)]  # of coins, such as BTC

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        allowed, symbols = "TRADE PERTRADE MARKETS", said.value("SYMBOL")
        is_of_majors = said.fits("SYMBOL ONLY NOT ALTS", allowed) and {*symbols} <= {"BTC", "ETH"}
        if is_of_majors or said.fits("SYMBOL ONLY", allowed):
            return cls(mode="only", symbols=symbols)
        if said.fits("SYMBOL NOT|EXCEPT", allowed) and said.spell().endswith(("SYMBOL", "MARKETS", "TRADE")):
            return cls(mode="never", symbols=symbols)
        return None

    def describe(self) -> str:
        if self.mode == "only":
            return f"Only {join_words(self.symbols, 'and')}"
        return f"No {join_words(self.symbols, 'or')}"


_HOUR_FORMS: Final[tuple[tuple[str, str], ...]] = (  # the types in order, and how to read their times
    (r"ONLY (?:BETWEEN )?(?:HOURS )?T (?:TO|AND|DASH|BEFORE) T|(?:BETWEEN )?T (?:TO|AND|DASH|BEFORE) T ONLY", "only"),
    (r"INSIDE (?:BETWEEN )?(?:HOURS )?T (?:TO|AND|DASH|BEFORE) T", "only"),
    (r"NOT (?:BETWEEN )?T (?:TO|AND|DASH|BEFORE) T", "never"),
    (r"NOT AFTER T|UNTIL T|ONLY BEFORE T|STOP (?:BEFORE |AFTER )?T", "until"),
    (r"NOT BEFORE T|ONLY (?:AFTER|BETWEEN) T", "since"),
    (r"NOT BEFORE T (?:AND |AND NOT )?AFTER T", "only"),
    (r"(?:NOT AFTER|UNTIL) T (?:AND |AND NOT )?BEFORE T", "swapped"),
)


class Hours(BaseRule):
    """Times of day at which trades open; `only` includes its end, `never` does not."""

    kind: Literal["hours"] = "hours"
    mode: Mode
    start: Minute
    end: Minute  # before the start: over midnight
    zone: str

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        if not said.has("TIME") and not said.has("NUMBER"):
            return None
        # "Not past 5 pm" came out as a maximum.
        spelled = said.spell(without="TRADE PERTRADE FORDAY").replace("MAX TIME", "UNTIL TIME")
        spelled = re.sub(r"\b(?:TIME|NUMBER)\b", "T", spelled)
        form = next((name for pattern, name in _HOUR_FORMS if re.fullmatch(pattern, spelled)), None)
        if form is None or len(said.zones) > 1:
            return None
        minutes = said.read_minutes()
        start, end = {
            "until": (0, minutes[0]),
            "since": (minutes[0], DAY_MINUTES),
            "swapped": (minutes[-1], minutes[0]),
        }.get(form, (minutes[0], minutes[-1]))
        if start in (end, end % DAY_MINUTES):
            raise Unread("Its hours are no part of the day, or all of it.")
        return cls(mode="never" if form == "never" else "only", start=start, end=end, zone=said.zone)

    def describe(self) -> str:
        words = "Trades open only" if self.mode == "only" else "No trade opens"
        if self.start == 0:
            span = f"until {format_time(self.end)}"
        elif self.end == DAY_MINUTES:
            span = f"from {format_time(self.start)} on"
        else:
            span = f"from {format_time(self.start)} to {format_time(self.end)}"
        return f"{words} {span}, {self.zone} time"

    def name_subject(self) -> RuleSubject:
        ends = frozenset({("from", self.start), ("to", self.end)})
        if self.mode == "never":
            return RuleSubject("hours avoided", ends)
        return RuleSubject("trading hours", ends - {("from", 0), ("to", DAY_MINUTES)})


class Days(BaseRule):
    kind: Literal["days"] = "days"
    mode: Mode
    days: Annotated[tuple[Annotated[int, Field(ge=0, le=6)], ...], Field(min_length=1)]  # 0: Monday
    zone: str

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        modes: dict[str, Mode] = {"DAY ONLY": "only", "DAY NOT|OFF": "never"}
        mode = next((mode for needed, mode in modes.items() if said.fits(needed, "TRADE PERTRADE ZONE")), None)
        return mode and cls(mode=mode, days=said.value("DAY"), zone=said.zone)

    def describe(self) -> str:
        names = [f"{WEEKDAYS[day]}s" for day in self.days]
        if self.mode == "only":
            return f"Trades open only on {join_words(names, 'and')}, {self.zone} time"
        return f"No trade opens on {join_words(names, 'or')}, {self.zone} time"

    def name_subject(self) -> RuleSubject | None:
        return RuleSubject("days", frozenset(self.days)) if self.mode == "only" else None


class TradesPerDay(BaseRule):
    kind: Literal["trades_per_day"] = "trades_per_day"
    limits = "trades per day"
    limit: Annotated[int, Field(ge=0)]
    zone: str

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        if not (said.fits("NUMBER|TIMES|MULT MAX|UNDER|ONLY PERDAY", "TRADE ZONE") and said.has("TRADE")):
            return None
        limit = said.value("NUMBER|TIMES|MULT")
        if limit != int(limit):
            raise Unread("Trades are counted in whole numbers.")
        return cls(limit=int(limit) - said.has("UNDER"), zone=said.zone)

    def describe(self) -> str:
        return f"At most {format_count(self.limit, 'trade')} opened in a day, {self.zone} time"


class DailyLoss(BaseRule):
    kind: Literal["daily_loss"] = "daily_loss"
    limits = "loss per day"
    limit: Positive
    unit: Unit
    zone: str

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        day = "PERDAY FORDAY" if said.is_daily else ""
        allowed = f"{day} ACCOUNT AFTER WHEN TRADE"
        is_stop = said.fits("LOSE PCT|USD STOP", f"{allowed} MAX")
        is_limit = said.fits("LOSE PCT|USD MAX|UNDER", day + " ACCOUNT")
        is_refusal = said.fits("LOSE PCT|USD NOT", allowed) and "NOT TRADE" in said.spell()
        if not day or not (is_stop or is_limit or is_refusal):
            return None
        return cls(limit=said.value("PCT|USD"), unit="pct" if said.has("PCT") else "usd", zone=said.zone)

    def describe(self) -> str:
        lost = _format_limit(self.limit, self.unit, "the account")
        return f"No trade opens for the rest of a day that lost {lost}, {self.zone} time"


_MOST_LOSSES: Final = 50  # "if I lose 500 in a day" is of money


class LossPause(BaseRule):
    kind: Literal["loss_pause"] = "loss_pause"
    losses: Annotated[int, Field(ge=1)]
    is_in_row: bool
    minutes: Span | None  # None: the rest of the day
    zone: str

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        allowed = "AFTER WHEN TRADE INROW PERDAY FORDAY SPAN"
        is_refusal = said.fits("NUMBER LOSE NOT", allowed) and "NOT TRADE" in said.spell()
        if not is_refusal and not said.fits("NUMBER LOSE STOP|PAUSE|OFF", allowed):
            return None
        losses = said.value("NUMBER")
        if losses != int(losses) or losses > _MOST_LOSSES:
            return None
        if said.is_daily == said.has("SPAN") or said.types.count("SPAN") > 1:
            raise Unread('It does not say for how long: write "for the day" or "for 2 hours".')
        is_in_row = said.has("INROW") or losses == 1
        if not said.is_daily and not is_in_row:
            raise Unread('It does not say which losses: write "in a row", or "for the day".')
        return cls(losses=int(losses), is_in_row=is_in_row, minutes=said.value("SPAN"), zone=said.zone)

    def describe(self) -> str:
        count = "a loss" if self.losses == 1 else f"{self.losses} losses{' in a row' if self.is_in_row else ''}"
        if self.minutes is None:
            return f"No trade opens for the rest of a day with {count}, {self.zone} time"
        return f"No trade opens for {format_span(self.minutes)} after {count}"

    def name_subject(self) -> RuleSubject:
        values = frozenset[object]({(self.losses, "", False), (self.is_in_row, self.minutes)})
        return RuleSubject("losses in a row", values)


_EVENT_FORMS: Final[tuple[tuple[str, str], ...]] = (
    (r"EVENT DAYOF|DAYOF EVENT", "day"),
    (r"WITHIN SPAN EVENT|(?:WITHIN )?SPAN EACHSIDE EVENT|EVENT SPAN EACHSIDE", "both"),
    (r"(?:WITHIN )?SPAN BEFORE EVENT", "before"),
    (r"(?:WITHIN )?SPAN AFTER EVENT", "after"),
    (r"(?:WITHIN )?SPAN BEFORE (?:AND )?SPAN AFTER EVENT", "each"),
)


class Events(BaseRule):
    """No entry around events: a span before and after them, or their whole day."""

    kind: Literal["events"] = "events"
    kinds: tuple[CalendarKind, ...]  # empty: all
    is_high: bool = False  # only those of high importance
    before: Span | None  # None, with `after`: the whole day
    after: Span | None
    zone: str

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        spelled = re.sub(r"HIGH (?=CALENDAR)", "", said.spell(without="TRADE PERTRADE")).replace("CALENDAR", "EVENT")
        if "EVENT" not in spelled or said.types.count("NOT") != 1 or len(said.zones) > 1:
            return None
        spelled = re.sub(r"^NOT | NOT$", "", spelled)
        form = next((name for pattern, name in _EVENT_FORMS if re.fullmatch(pattern, spelled)), None)
        if form is None:
            if spelled in ("EVENT", "AROUND EVENT"):
                raise Unread('It does not say how long around the event: write "within 30 minutes of".')
            return None
        spans = [word.value for word in said.words if word.type == "SPAN"] or [None]
        before, after = {"before": (spans[0], 0), "after": (0, spans[0])}.get(form, (spans[0], spans[-1]))
        kinds = tuple(CalendarKind(kind) for kind in said.value("EVENT") or ())
        return cls(kinds=kinds, is_high=said.has("HIGH"), before=before, after=after, zone=said.zone)

    def describe(self) -> str:
        names = join_words([EVENT_LABELS[kind] for kind in self.kinds], "or") or "any event in the calendar"
        names = f"{names} of high importance" if self.is_high else names
        if self.before is None or self.after is None:
            return f"No trade opens on a day with {names}, {self.zone} time"
        if self.before == self.after:
            return f"No trade opens within {format_span(self.before)} of {names}"
        spans = ((self.before, "before"), (self.after, "after"))
        words = " and the ".join(f"{format_span(span)} {side}" for span, side in spans if span)
        return f"No trade opens in the {words} {names}"

    def name_subject(self) -> RuleSubject:
        key = f"events {' '.join(sorted(self.kinds))} {self.is_high}"
        return RuleSubject(key, frozenset({("before", self.before), ("after", self.after)}))


class StopRequired(BaseRule):
    kind: Literal["stop_required"] = "stop_required"

    @classmethod
    def read(cls, said: RuleSentence) -> Self | None:
        allowed = "TRADE PERTRADE"
        always = said.fits("STOPLOSS", allowed) and (said.has("ALWAYS") or said.has("PERTRADE"))
        needed = said.fits("STOPLOSS REQUIRED", allowed)
        never_without = said.fits("NOT WITHOUT STOPLOSS", allowed) and said.spell().startswith("NOT")
        no_stop_no_trade = said.spell() == "NOT STOPLOSS NOT TRADE"
        return cls() if always or needed or never_without or no_stop_no_trade else None

    def describe(self) -> str:
        return "Each trade opens with a stop"

    def name_subject(self) -> RuleSubject:
        return RuleSubject("stop required", frozenset({True}))


Rule = RiskPerTrade | Leverage | Symbols | Hours | Days | TradesPerDay | DailyLoss | LossPause | Events | StopRequired


class _Payload(BaseModel):
    rule: Rule = Field(discriminator="kind")


KINDS: Final = tuple(model.model_fields["kind"].default for model in get_args(Rule))


def parse_rule(payload: Any) -> Rule:
    """Return the rule of a payload. Raises pydantic's ValidationError."""
    return _Payload(rule=payload).rule


def dump_rule(rule: Rule) -> dict[str, Any]:
    """Return the payload of a rule: plain JSON."""
    return rule.model_dump(mode="json")
