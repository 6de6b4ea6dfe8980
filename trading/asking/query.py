"""A question to the record: measure, group, filters, period. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from config.lib.errors import DomainError
from trading.asking.periods import Period, parse_period
from trading.models import ExitKind, RegimeTag, TradeSide
from trading.models.choices import WEEKDAYS, EventKind
from trading.skills.schemas import symbol_name

MEASURES: Final[Mapping[str, str]] = {
    "net": "Net",
    "count": "Trades",
    "win_rate": "Win rate",
    "expectancy": "Expectancy",
    "profit_factor": "Profit factor",
    "fees": "Fees",
    "funding": "Funding",
    "holding": "Holding time",
    "mfe": "Best excursion",
    "mae": "Worst excursion",
    "drawdown": "Drawdown of closed trades",
    "r": "R multiple",
}
EACH_TRADE: Final = "trade"
GROUPS: Final[Mapping[str, str]] = {
    "symbol": "Symbol",
    "side": "Side",
    "skill": "Skill",
    "version": "Version of the skill",
    "deployment": "Deployment or account",
    "record": "Own trades or agents'",
    "regime": "Regime at entry",
    "exit": "Closed by",
    "result": "Won or lost",
    "hour": "Hour of the entry",
    "weekday": "Weekday of the entry",
    "month": "Month of the exit",
    "event": "Event around the entry",
    "rule": "Own rules",
    EACH_TRADE: "Each trade",
}
RESULTS: Final = ("won", "lost", "even")
RECORDS: Final[Mapping[str, str]] = {"own": "Own trades", "agents": "Agents' trades"}
NO_EVENT: Final = "none"
VERDICTS: Final[Mapping[str, str]] = {
    "broken": "Broke a rule",
    "unknown": "Cannot tell",
    "kept": "Kept the rules",
    "none": "No rule then",
}  # of all rules, the worst first
_OF_MANY: Final = frozenset({"count", "win_rate", "profit_factor", "drawdown"})  # a single trade has no such value
EVENTS: Final = (*(kind.value for kind in EventKind), "any", NO_EVENT)
MAX_VALUES: Final = 24  # of one filter
Values = tuple[str, ...]


class QueryRefused(DomainError):
    """The words ask for something that the record cannot answer."""


@dataclass(frozen=True, slots=True)
class TradeQuery:
    """A question to the closed trades of the owner in scope."""

    zone: ZoneInfo
    measure: str = "net"
    group: str = ""
    where: Mapping[str, Values] = field(default_factory=dict)  # by filter, as in FILTERS
    period: Period | None = None  # of the exit

    @property
    def is_of_trade(self) -> bool:
        """Whether a single trade has a value of the measure."""
        return self.measure not in _OF_MANY

    @property
    def words(self) -> dict[str, str]:
        """The query as `parse_query` reads it, and as an address holds it."""
        period = self.period.words if self.period else ""
        found = {"measure": self.measure, "group": self.group, "period": period}
        found |= {name: ",".join(values) for name, values in self.where.items()}
        return {name: text for name, text in found.items() if text}


def parse_query(words: Mapping[str, str], *, zone: ZoneInfo, now: datetime) -> TradeQuery:
    """Return the question that words ask; empty ones ask nothing. Raises QueryRefused, PeriodRefused."""
    given = {name: text.strip() for name, text in words.items() if text.strip()}
    filters = {name: text for name, text in given.items() if name not in ("measure", "group", "period")}
    if unknown := filters.keys() - FILTERS.keys():
        raise QueryRefused(f'Trades cannot be filtered by "{min(unknown)[:60]}"; choose among {", ".join(FILTERS)}.')
    query = TradeQuery(
        zone=zone,
        measure=parse_choice(given.get("measure", "net"), MEASURES, "measure"),
        group=parse_choice(given["group"], GROUPS, "group") if "group" in given else "",
        where={name: FILTERS[name](text) for name, text in filters.items()},
        period=parse_period(given.get("period", ""), zone=zone, now=now),
    )
    if query.group == EACH_TRADE and not query.is_of_trade:
        raise QueryRefused(f"A single trade has no {MEASURES[query.measure].lower()}; choose another group.")
    return query


def parse_choice(text: str, known: Mapping[str, str] | Values, what: str) -> str:
    """Return a known value. Raises QueryRefused."""
    value = text.strip().lower().replace(" ", "_")
    if value not in known:
        raise QueryRefused(f'"{text[:60]}" is no {what} of trades; choose among {", ".join(known)}.')
    return value


def _choices_of(known: Values, what: str) -> Callable[[str], Values]:
    return lambda text: tuple(parse_choice(value, known, what) for value in _split(text))


def _split(text: str) -> Values:
    values = tuple(dict.fromkeys(value.strip() for value in text.split(",") if value.strip()))
    if not 0 < len(values) <= MAX_VALUES:
        raise QueryRefused(f"A filter takes 1 to {MAX_VALUES} values, with commas between them.")
    return values


def parse_symbol(text: str) -> str:
    """Return a symbol as it is stored. Raises QueryRefused."""
    try:
        return symbol_name(text)
    except ValueError as error:
        raise QueryRefused(f'"{text[:60]}" is no symbol: {error}.') from error


def _parse_hours(text: str) -> Values:
    """Return the hours of `14` or `9-17`; a span ends before its last hour and may pass midnight."""
    hours: list[int] = []
    for part in _split(text):
        first, dash, end = part.partition("-")
        if not (first.isascii() and first.isdigit() and (end.isascii() and end.isdigit() if dash else not end)):
            raise QueryRefused(f'"{part[:60]}" is no hour; write 14, or 9-17 for 09:00 to 17:00.')
        low, high = int(first), int(end) if dash else int(first) + 1
        if low > 23 or high > 24:
            raise QueryRefused("Hours are 0 to 23.")
        hours += [hour % 24 for hour in range(low, high if high > low else high + 24)]
    return tuple(f"{hour:02}" for hour in dict.fromkeys(hours))


def _parse_weekdays(text: str) -> Values:
    return tuple(parse_choice(value[:3], WEEKDAYS, "weekday") for value in _split(text))


def _parse_versions(text: str) -> Values:
    values = _split(text)
    if not all(value.isascii() and value.isdigit() and len(value) < 7 for value in values):
        raise QueryRefused("Versions are numbers, such as 2 or 1,2.")
    return tuple(str(int(value)) for value in values)


def parse_id(text: str) -> str:
    """Return the id of a deployment. Raises QueryRefused."""
    try:
        return str(UUID(text))
    except ValueError as error:
        raise QueryRefused("Give the deployment's id.") from error


FILTERS: Final[Mapping[str, Callable[[str], Values]]] = {
    "symbol": lambda text: tuple(dict.fromkeys(map(parse_symbol, _split(text)))),
    "side": _choices_of(tuple(TradeSide.values), "side"),
    "skill": lambda text: (text[:200],),  # an id or a name
    "version": _parse_versions,
    "deployment": lambda text: (parse_id(text),),
    "record": _choices_of(tuple(RECORDS), "record"),
    "regime": _choices_of(tuple(RegimeTag.values), "regime"),
    "exit": _choices_of(tuple(ExitKind.values), "way to close"),
    "result": _choices_of(RESULTS, "result"),
    "hour": _parse_hours,
    "weekday": _parse_weekdays,
    "event": _choices_of(EVENTS, "event"),
    "rule": _choices_of(tuple(VERDICTS), "verdict"),
}
QUESTION: Final = ("measure", "group", "period", *FILTERS)  # the words of a question
