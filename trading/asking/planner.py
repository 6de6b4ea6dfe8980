"""Answer a question from closed round trips: one read, then figures of `record.performance`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from config.lib.intervals import MIN_VALUES
from trading.asking.query import EACH_TRADE, MEASURES, TradeQuery
from trading.asking.table import TradeTable
from trading.models import Trade
from trading.models.choices import WEEKDAYS
from trading.record.performance import Figure

MAX_GROUPS: Final = 24
MAX_IDS: Final = 20
_IN_ORDER: Final = frozenset({"hour", "weekday", "month"})  # the others by value, the highest first
Values = Sequence[float | None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    key: str  # as a filter takes it
    label: str
    figure: Figure
    unknown: int  # trades without a known value


@dataclass(frozen=True, slots=True)
class TradeAnswer:
    trade: Trade  # with its symbol, side and instants alone
    value: float


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    query: TradeQuery
    unit: str  # usd, count, fraction, ratio, minutes or r
    figure: Figure
    unknown: int  # trades without a known value
    groups: list[GroupAnswer]
    trades: list[TradeAnswer]  # of the group "trade": the highest and the lowest, in order
    left_out: int  # groups, or trades of that group
    best: TradeAnswer | None  # the highest value of a trade, and the lowest
    worst: TradeAnswer | None
    trade_ids: list[UUID]  # the last to close, newest first
    ids_left_out: int


def answer_question(query: TradeQuery) -> RecordAnswer:
    """Answer from the owner's closed trades. Raises SkillNotFound, DeploymentNotFound."""
    table = TradeTable(query)
    values = table.list_values(query.measure)
    figure, unknown = take_figure(query.measure, values)
    groups = compare_groups(table, query.group, query.measure) if query.group and query.group != EACH_TRADE else []
    known = [(value, place) for place, value in enumerate(values) if value is not None]
    # The places of the known values, the highest first; equal ones newest first.
    ranked = [place for _, place in sorted(known, reverse=True)] if query.is_of_trade else []
    listed = _keep_ends(ranked) if query.group == EACH_TRADE else []
    ends = ranked[:: len(ranked) - 1] if len(ranked) > 1 else []
    places = [*listed, *ends]
    ids = table.pick_ids(places)
    rows = Trade.objects.only("symbol", "side", "entry_at", "exit_at").in_bulk(set(ids))
    shown = [TradeAnswer(rows[pk], values[place] or 0.0) for pk, place in zip(ids, places, strict=True)]
    total = len(values)
    kept = groups[-MAX_GROUPS:] if query.group in _IN_ORDER else _keep_ends(groups)
    return RecordAnswer(
        query=query,
        unit=MEASURES[query.measure].unit,
        figure=figure,
        unknown=unknown,
        groups=kept,
        trades=shown[: len(listed)],
        left_out=(len(ranked) - len(listed)) if listed else len(groups) - len(kept),
        best=shown[-2] if len(ranked) > 1 else None,
        worst=shown[-1] if len(ranked) > 1 else None,
        trade_ids=list(table.pick_ids(range(total - 1, max(0, total - MAX_IDS) - 1, -1))),
        ids_left_out=max(0, total - MAX_IDS),
    )


def take_figure(measure: str, values: Values, compared: int = 1) -> tuple[Figure, int]:
    """Return the figure of the known values, and how many are not known."""
    known = [value for value in values if value is not None]
    return MEASURES[measure].take(known, compared), len(values) - len(known)


def compare_groups(table: TradeTable, group: str, measure: str) -> list[GroupAnswer]:
    """Return the groups' figures; their intervals share 90 %."""
    parts: dict[str, list[float | None]] = defaultdict(list)
    for key, value in zip(table.list_keys(group), table.list_values(measure), strict=True):
        parts[key].append(value)
    compared = sum(len(values) - values.count(None) >= MIN_VALUES for values in parts.values())
    labels = table.label_keys(group, parts)
    groups = [GroupAnswer(key, labels[key], *take_figure(measure, values, compared)) for key, values in parts.items()]
    if group == "weekday":
        return sorted(groups, key=lambda one: WEEKDAYS.index(one.key))
    if group in _IN_ORDER:
        return sorted(groups, key=lambda one: one.key)
    return sorted(groups, key=lambda one: (one.figure.value is None, -(one.figure.value or 0), one.label))


def _keep_ends(rows: list[T]) -> list[T]:
    """Return the first and the last of ordered rows, at most MAX_GROUPS."""
    half = MAX_GROUPS // 2
    return rows if len(rows) <= MAX_GROUPS else [*rows[:half], *rows[-half:]]
