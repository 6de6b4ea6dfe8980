"""The closed trades of a question, column by column."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property, reduce
from operator import or_
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from config.lib.queries import Columns
from trading.asking.query import GROUPS, MEASURES, NET, NO_EVENT, TradeQuery
from trading.ledger.services import get_deployment
from trading.market.queries import is_about
from trading.models import BrokerKind, Deployment, MarketEvent, Order, OrderState, Skill, TradeQuerySet
from trading.models.choices import WEEKDAYS
from trading.record.deployment_queries import FundingOnRecord
from trading.record.trade_queries import TradeFilter, select_trades
from trading.record.trade_values import measure_multiple
from trading.rules.services import find_worst_verdicts
from trading.skills.queries import SkillNotFound

HOURS: Final = tuple(f"{hour:02}" for hour in range(24))
EVENT_SPAN: Final = timedelta(hours=2)  # before and after an entry
_DECIDED_HERE: Final = ("hour", "weekday", "event", "rule")  # filters that no column decides
_RESULTS: Final[Mapping[str, Q]] = {
    "won": Q(realized_pnl_usd__gt=0),
    "lost": Q(realized_pnl_usd__lt=0),
    "even": Q(realized_pnl_usd=0),
}
_BROKERS: Final[Mapping[str, str]] = {"own": BrokerKind.LIVE, "agents": BrokerKind.PAPER}


class TradeTable:
    """The trades that a question is about, the first to close first."""

    def __init__(
        self,
        query: TradeQuery,
        *,
        rows: TradeQuerySet | None = None,
        measures: Collection[str] = (),
        groups: Collection[str] = (),
    ) -> None:
        """Read the trades once, or take `rows`; `measures`, `groups` too. Raises SkillNotFound, DeploymentNotFound."""
        self._query = query
        self._rows = _select(query) if rows is None else rows.closed()
        here = [name for name in _DECIDED_HERE if name in query.where]
        values = [column for name in (query.measure, *measures) for column in MEASURES[name].columns]
        grouping = [column for name in filter(None, (query.group, *groups, *here)) for column in GROUPS[name].columns]
        columns = ("pk", *values, *grouping)
        self._columns = Columns(self._rows.order_by("exit_at", "id"), columns, as_floats=True)
        self._values: dict[str, Sequence[float | None]] = {}
        for name in here:
            wanted = query.where[name]
            is_any = "any" in wanted  # of events
            self._columns.keep([key in wanted or (is_any and key != NO_EVENT) for key in self.list_keys(name)])

    def __getitem__(self, column: str) -> Sequence[Any]:
        return self._columns[column]

    def pick_ids(self, places: Iterable[int]) -> Sequence[UUID]:
        """Return the ids of the trades at these places."""
        return self._columns.pick("pk", places)

    def list_values(self, measure: str) -> Sequence[float | None]:
        """Return a measure's value of each trade; None: not known."""
        if measure not in self._values:
            self._values[measure] = self._compute_values(measure)
        return self._values[measure]

    def _compute_values(self, measure: str) -> Sequence[float | None]:
        match measure:
            case "fees":
                pairs = zip(self["fees_usd"], self["unpriced_fees"], strict=True)
                return [None if unpriced else fees for fees, unpriced in pairs]
            case "mfe" | "mae" as name:
                pairs = zip(self[f"{name}_usd"], self["path_minutes"], strict=True)
                return [None if minutes is None else value for value, minutes in pairs]
            case "funding":
                return list(self._iter_funding())
            case "r":
                return self._list_multiples()
            case "holding":
                return self["holding_minutes"]
        return self[NET]

    def _iter_funding(self) -> Iterator[float | None]:
        known, deployments = FundingOnRecord(set(self["symbol"])), self._deployments
        names = ("funding_usd", "deployment", "symbol", "entry_at", "exit_at")
        for paid, deployment, symbol, since, until in zip(*(self[name] for name in names), strict=True):
            yield paid if paid or known.covers(deployments[deployment], symbol, since, until) else None

    def _list_multiples(self) -> list[float | None]:
        """Return each trade's R multiple; None without a first stop."""
        rows = _select_first_stops(deployment__in=self._rows.values("deployment"))
        orders = Columns(rows, ("snapshot", "stop_price"), as_floats=True)
        stops = dict(zip(orders.raw["snapshot"], orders["stop_price"], strict=True))
        known = (self[name] for name in (NET, "entry_size_usd", "entry_price", "side"))
        return list(map(measure_multiple, *known, map(stops.get, self._columns.raw["entry_snapshot"])))

    @cached_property
    def _deployments(self) -> dict[UUID, Deployment]:
        return Deployment.objects.select_related("skill").in_bulk(set(self["deployment"]))

    def list_keys(self, group: str) -> Sequence[str]:
        """Return each trade's group, as a filter names it."""
        zone, columns = self._query.zone, [self[column] for column in GROUPS[group].columns]
        match group:
            case "hour":
                return [HOURS[at.astimezone(zone).hour] for at in columns[0]]
            case "weekday":
                return [WEEKDAYS[at.astimezone(zone).weekday()] for at in columns[0]]
            case "month":
                return [at.astimezone(zone).isoformat()[:7] for at in columns[0]]
            case "result":
                return ["won" if net > 0 else "lost" if net < 0 else "even" for net in columns[0]]
            case "record":
                kinds = {kind: name for name, kind in _BROKERS.items()}
                return [kinds.get(self._deployments[pk].broker_kind, "agents") for pk in columns[0]]
            case "event":
                return list(self._iter_events())
            case "rule":
                judged, verdicts = find_worst_verdicts()
                worst = dict(zip(judged.columns.raw["id"], verdicts, strict=True))
                return [worst.get(pk) or "none" for pk in self._columns.raw["pk"]]
        names = {values: " ".join(map(str, values)) for values in set(zip(*columns, strict=True))}
        return [names[values] for values in zip(*columns, strict=True)]

    def _iter_events(self) -> Iterator[str]:
        """Yield the kind of the event nearest to each entry; simulated ones only of Keel's own runs."""
        entries: Sequence[datetime] = self["entry_at"]
        span = (min(entries) - EVENT_SPAN, max(entries) + EVENT_SPAN) if entries else None
        events = list(MarketEvent.objects.filter(starts_at__range=span).order_by("starts_at")) if span else []
        starts = [event.starts_at for event in events]
        for at, symbol, pk in zip(entries, self["symbol"], self["deployment"], strict=True):
            near = events[bisect_left(starts, at - EVENT_SPAN) : bisect_right(starts, at + EVENT_SPAN)]
            is_live = bool(near) and self._deployments[pk].broker_kind == BrokerKind.LIVE
            about = [one for one in near if is_about(one.symbols, [symbol]) and not (is_live and one.is_simulated)]
            yield min(about, key=lambda one: abs(one.starts_at - at)).kind if about else NO_EVENT

    def label_keys(self, group: str, keys: Collection[str]) -> Mapping[str, str]:
        """Return the names of groups."""
        if group in ("skill", "version"):
            names = {str(pk): name for pk, name in Skill.objects.values_list("pk", "name")}
            parts = {key: key.partition(" ") for key in keys}
            return {key: names[pk] + (f" v{number}" if number else "") for key, (pk, _, number) in parts.items()}
        if group == "deployment":
            return {str(pk): one.label or f"{one.skill.name}: {one}" for pk, one in self._deployments.items()}
        return {key: GROUPS[group].choices.get(key, f"{key}:00" if group == "hour" else key) for key in keys}


def find_first_stops(snapshots: Any) -> dict[UUID, Decimal]:
    """Return the stop price that each decision set, by the decision's id."""
    return dict(_select_first_stops(snapshot__in=snapshots).values_list("snapshot", "stop_price"))


def _select_first_stops(**which: Any) -> "QuerySet[Order]":
    return Order.objects.filter(**which, stop_price__isnull=False).exclude(state=OrderState.REFUSED)


def _select(query: TradeQuery) -> TradeQuerySet:
    """Return the closed trades that the database can choose, unordered."""
    where, period = query.where, query.period
    named = where.get("deployment")
    deployment = get_deployment(UUID(named[0]), or_backtest=True) if named else None
    which = TradeFilter(deployment_id=deployment.pk if deployment else None, with_backtests=deployment is not None)
    rows = select_trades(which).closed()
    columns = {name: column for name in where if (column := GROUPS[name].column)}
    rows = rows.filter(**{f"{column}__in": where[name] for name, column in columns.items()})
    if "skill" in where:
        rows = rows.filter(skill__in=_find_skills(where["skill"][0]))
    if "record" in where:
        kinds = [_BROKERS[name] for name in where["record"]]
        rows = rows.filter(deployment__in=Deployment.objects.filter(broker_kind__in=kinds).values("pk"))
    if "result" in where:
        rows = rows.filter(reduce(or_, (_RESULTS[name] for name in where["result"])))
    if period and period.starts_at:
        rows = rows.filter(exit_at__gte=period.starts_at)
    return rows.filter(exit_at__lt=period.ends_at) if period and period.ends_at else rows


def _find_skills(text: str) -> list[UUID]:
    """Return the skills of this id or name, else those whose name has all words of the text. Raises SkillNotFound."""
    skills = dict(Skill.objects.values_list("pk", "name"))
    words = set(text.casefold().split())
    named = [pk for pk, name in skills.items() if text.casefold() in (str(pk), name.casefold())]
    found = named or [pk for pk, name in skills.items() if words and words <= set(name.casefold().split())]
    if not found:
        raise SkillNotFound("You have no such skill.")
    return found
