"""A question to the record: measure, group, filters, period. Pure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from config.lib.errors import DomainError
from trading.asking.periods import NamedPeriod, parse_period
from trading.models import ExitKind, MarketEvent, RegimeTag, TradeSide
from trading.models.choices import WEEKDAYS
from trading.record.performance import (
    Figure,
    measure_fall,
    measure_mean,
    measure_profit_factor,
    measure_sum,
    measure_win_rate,
)
from trading.skills.schemas import symbol_name

NET: Final = "realized_pnl_usd"
EACH_TRADE: Final = "trade"
RECORDS: Final[Mapping[str, str]] = {"own": "Own trades", "agents": "Agents' trades"}
NO_EVENT: Final = "none"
VERDICTS: Final[Mapping[str, str]] = {
    "broken": "Broke a rule",
    "unknown": "Cannot tell",
    "kept": "Kept the rules",
    "none": "No rule then",
}  # of all rules, the worst first
_EVENTS: Final = {**dict(MarketEvent._meta.get_field("kind").flatchoices), "any": "Any event", NO_EVENT: "No event"}
MAX_VALUES: Final = 24  # of one filter
Values = tuple[str, ...]


class QueryRefused(DomainError):
    """The words ask for something that the record cannot answer."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured of trades, and how its figure is taken."""

    label: str
    unit: str  # usd, count, fraction, ratio, minutes or r
    take: Callable[[Sequence[float], int], Figure]
    columns: tuple[str, ...] = (NET,)  # the first one holds a trade's value
    is_of_trade: bool = True  # whether a single trade has such a value


@dataclass(frozen=True, slots=True)
class Facet:
    """What trades are grouped by; what has choices or a parser is a filter, too."""

    label: str
    columns: tuple[str, ...]  # that tell a trade's group
    choices: Mapping[str, str] = field(default_factory=dict)  # with their labels
    column: str = ""  # on which the database filters
    parse: Callable[[str], Values] | None = None


@dataclass(frozen=True, slots=True)
class TradeQuery:
    """A question to the closed trades of the owner in scope."""

    zone: ZoneInfo
    measure: str = "net"
    group: str = ""
    where: Mapping[str, Values] = field(default_factory=dict)  # by filter, as in FILTERS
    period: NamedPeriod | None = None  # of the exit

    @property
    def is_of_trade(self) -> bool:
        return MEASURES[self.measure].is_of_trade

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
    if unknown := filters.keys() - set(FILTERS):
        raise QueryRefused(f'Trades cannot be filtered by "{min(unknown)[:60]}"; choose among {", ".join(FILTERS)}.')
    query = TradeQuery(
        zone=zone,
        measure=parse_choice(given.get("measure", "net"), MEASURES, "measure"),
        group=parse_choice(given["group"], GROUPS, "group") if "group" in given else "",
        where={name: _parse_filter(name, text) for name, text in filters.items()},
        period=parse_period(given.get("period", ""), zone=zone, now=now),
    )
    if query.group == EACH_TRADE and not query.is_of_trade:
        raise QueryRefused(f"A single trade has no {MEASURES[query.measure].label.lower()}; choose another group.")
    return query


def parse_choice(text: str, known: Collection[str], what: str) -> str:
    """Return a known value. Raises QueryRefused."""
    value = text.strip().lower().replace(" ", "_")
    if value not in known:
        raise QueryRefused(f'"{text[:60]}" is no {what} of trades; choose among {", ".join(known)}.')
    return value


def _parse_filter(name: str, text: str) -> Values:
    group = GROUPS[name]
    return group.parse(text) if group.parse else tuple(parse_choice(one, group.choices, name) for one in _split(text))


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


MEASURES: Final[Mapping[str, Measure]] = {
    "net": Measure("Net", "usd", measure_sum),
    "count": Measure("Trades", "count", lambda values, _: Figure(len(values), len(values)), is_of_trade=False),
    "win_rate": Measure("Win rate", "fraction", measure_win_rate, is_of_trade=False),
    "expectancy": Measure("Expectancy", "usd", measure_mean),
    "profit_factor": Measure("Profit factor", "ratio", measure_profit_factor, is_of_trade=False),
    "fees": Measure("Fees", "usd", measure_sum, ("fees_usd", "unpriced_fees")),
    "funding": Measure("Funding", "usd", measure_sum, ("funding_usd", "deployment", "symbol", "entry_at", "exit_at")),
    "holding": Measure("Holding time", "minutes", measure_mean, ("holding_minutes",)),
    "mfe": Measure("Best excursion", "usd", measure_mean, ("mfe_usd", "path_minutes")),
    "mae": Measure("Worst excursion", "usd", measure_mean, ("mae_usd", "path_minutes")),
    "drawdown": Measure("Drawdown of closed trades", "usd", measure_fall, is_of_trade=False),
    "r": Measure("R multiple", "r", measure_mean, (NET, "entry_size_usd", "entry_price", "side", "entry_snapshot")),
}
GROUPS: Final[Mapping[str, Facet]] = {
    "symbol": Facet(
        "Symbol", ("symbol",), column="symbol", parse=lambda text: tuple(dict.fromkeys(map(parse_symbol, _split(text))))
    ),
    "side": Facet("Side", ("side",), dict(TradeSide.choices), column="side"),
    "skill": Facet("Skill", ("skill",), parse=lambda text: (text[:200],)),  # an id or a name
    "version": Facet("Version of the skill", ("skill", "skill_version"), column="skill_version", parse=_parse_versions),
    "deployment": Facet("Deployment or account", ("deployment",), parse=lambda text: (parse_id(text),)),
    "record": Facet("Own trades or agents'", ("deployment",), RECORDS),
    "regime": Facet("Regime at entry", ("entry_regime_tag",), dict(RegimeTag.choices), column="entry_regime_tag"),
    "exit": Facet("What closed it", ("exit_kind",), dict(ExitKind.choices), column="exit_kind"),
    "result": Facet("Won or lost", (NET,), {"won": "Won", "lost": "Lost", "even": "Even"}),
    "hour": Facet("Hour of the entry", ("entry_at",), parse=_parse_hours),
    "weekday": Facet(
        "Weekday of the entry",
        ("entry_at",),
        {name: name.title() for name in WEEKDAYS},
        parse=lambda text: tuple(parse_choice(value[:3], WEEKDAYS, "weekday") for value in _split(text)),
    ),
    "month": Facet("Month of the exit", ("exit_at",)),
    "event": Facet("Event around the entry", ("entry_at", "symbol", "deployment"), _EVENTS),
    "rule": Facet("Own rules", ("pk",), VERDICTS),
    EACH_TRADE: Facet("Each trade", ()),
}
FILTERS: Final = tuple(name for name, group in GROUPS.items() if group.choices or group.parse)
QUESTION: Final = ("measure", "group", "period", *FILTERS)  # the words of a question
