"""Read trades as the judge of rules takes them, column by column."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.db.models import F, FloatField, OuterRef, Subquery
from django.db.models.functions import Cast, Coalesce

from config.lib.queries import Columns
from trading import models
from trading.rules.books import COLUMNS, NOT_READ, RoundTrip, ScheduledEvent
from trading.rules.judge import ValidRule
from trading.rules.kinds import A_DAY

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_FILLED: Final = (models.OrderState.FILLED, models.OrderState.PARTLY_FILLED)
_HIGH_IMPORTANCE: Final = 0.7
_OF_BOOK: Final = ("deployment", "symbol", "side")
_Curve = tuple[list[datetime], list[float], float | None]


class TripTable:
    """Trades as trips, with what the kinds of some rules ask, newest first; a trip's id is its place here."""

    def __init__(
        self,
        trades: models.TradeQuerySet,
        rules: Iterable[ValidRule],
        *,
        also: Iterable[str] = (),
        until: datetime | None = None,
    ) -> None:
        """Read the trades; `also` names further columns, and equity is known `until` an instant."""
        fields = {name for one in rules for name in one.kind.reads}
        in_percent = [one for one in rules if getattr(one.rule, "unit", "pct") == "pct"]
        is_of_equity = any("equity_usd" in one.kind.reads for one in in_percent)
        also = (*(column for name in COLUMNS if name in fields for column in COLUMNS[name]), *also)
        if is_of_equity and until:  # of few trades: one query less
            points = models.EquityPoint.objects.filter(deployment=OuterRef("deployment"), at__lte=OuterRef("entry_at"))
            last = Subquery(points.order_by("-at").values("equity_usd")[:1])
            trades, also = trades.annotate(equity_usd=Cast(last, FloatField())), (*also, "equity_usd")
        names = ("id", *_OF_BOOK, "entry_at", *also)
        self.columns = Columns(trades.order_by("-entry_at", "id"), names, as_floats=True)
        self._accounts = _Accounts(self.columns, until)
        self.find_equity = self._accounts.find_equity
        self.trips = self._build_trips(fields, is_of_equity=is_of_equity)

    def _build_trips(self, fields: Collection[str], *, is_of_equity: bool) -> list[RoundTrip]:
        columns, count = self.columns, len(self.columns.raw["id"])
        # Ids as the database gives them, since those of SQLite are hashed in a fraction of the time.
        deployments, opened = columns.raw["deployment"], columns["entry_at"]
        named = dict(zip(deployments, columns["deployment"], strict=True))
        books = {raw: self._accounts.books[pk] for raw, pk in named.items()}
        equities: Iterable[float | None] = [None] * count
        if "equity_usd" in columns.raw:
            starts = {raw: self._accounts.starts[pk] for raw, pk in named.items()}
            pairs = zip(columns["equity_usd"], deployments, strict=True)
            equities = [starts[raw] if last is None else last for last, raw in pairs]
        elif is_of_equity:
            curves = {raw: self._accounts.curves[pk] for raw, pk in named.items()}
            equities = [_find_equity(curves[raw], at) for raw, at in zip(deployments, opened, strict=True)]

        values: dict[str, Iterable[Any]] = {
            "id": range(count),
            "book": [books[raw] for raw in deployments],
            "deployment_id": columns["deployment"],
            "symbol": columns["symbol"],
            "is_long": [side == models.TradeSide.LONG for side in columns["side"]],
            "opened_at": opened,
            "equity_usd": equities,
        }
        if "net_usd" in fields:
            wholes = (columns.raw["exit_at"], *(columns[name] for name in COLUMNS["net_usd"][1:]))
            values["net_usd"] = [
                net if at and not unpriced and state != models.ReconcileState.GAP else None
                for at, net, unpriced, state in zip(*wholes, strict=True)
            ]
        if "entry_snapshot" in columns.raw:
            values |= zip(("knows_stop", "stop_price", "is_added_to"), _list_stops(columns), strict=True)
        for name in RoundTrip._fields:
            if name not in values:  # the value of one column
                values[name] = columns[COLUMNS[name][0]] if name in fields else [NOT_READ] * count
        return list(map(RoundTrip._make, zip(*(values[name] for name in RoundTrip._fields), strict=True)))


def name_book(skill_id: UUID, broker_kind: str) -> str:
    """Return the name of the book that the trades of a skill on a kind of broker count in."""
    return f"{skill_id}:{broker_kind}"


class _Accounts:
    """The accounts of trades, with their equity once it is asked for."""

    def __init__(self, trades: Columns, until: datetime | None) -> None:
        self._since = (trades["entry_at"] or [_NEVER])[-1] - A_DAY
        self._until = until
        points = models.EquityPoint.objects.filter(deployment=OuterRef("pk"), at__lte=self._since).order_by("-at")
        start = Coalesce(Subquery(points.values("equity_usd")[:1]), F("starting_equity_usd"))
        rows = models.Deployment.objects.filter(pk__in=set(trades["deployment"])).annotate(
            start=Cast(start, FloatField())
        )
        found = list(rows.values_list("pk", "skill", "broker_kind", "start"))
        self.books = {pk: name_book(skill, kind) for pk, skill, kind, _ in found}
        self.starts = {pk: start for pk, _, _, start in found}

    @cached_property
    def curves(self) -> Mapping[UUID, _Curve]:
        """The equity of each account: its instants, its values, and what it was before."""
        rows = models.EquityPoint.objects.filter(deployment__in=self.starts, at__gt=self._since).order_by("at")
        rows = rows.filter(at__lte=self._until) if self._until else rows
        points = Columns(rows, ("deployment", "at", "equity_usd"), as_floats=True)
        found: dict[Any, tuple[list[datetime], list[float]]] = defaultdict(lambda: ([], []))
        for raw, at, equity in zip(points.raw["deployment"], points["at"], points["equity_usd"], strict=True):
            instants, values = found[raw]
            instants.append(at)
            values.append(equity)
        named = {pk: raw for raw, pk in dict(zip(points.raw["deployment"], points["deployment"], strict=True)).items()}
        return {pk: (*found[named.get(pk)], start) for pk, start in self.starts.items()}

    def find_equity(self, deployment_id: UUID, at: datetime) -> float | None:
        """Return an account's equity before an instant, or at start; None: not known."""
        curve = self.curves.get(deployment_id)
        return _find_equity(curve, at) if curve else None  # a planned trade may have no account


def _find_equity(curve: _Curve, at: datetime) -> float | None:
    instants, values, start = curve
    place = bisect_right(instants, at)
    return values[place - 1] if place else start


def _list_stops(trades: Columns) -> tuple[list[bool], list[float | None], list[bool]]:
    """Return whether each trade's stop is known, the stop, and whether the trade was added to.

    Ids and instants stay as the database has them.
    """
    rows = models.Order.objects.filter(deployment__in=set(trades["deployment"]), origin=models.OrderOrigin.AGENT)
    rows = rows.filter(state__in=_FILLED).exclude(side="close").order_by("-proposed_at")
    orders = Columns(rows, (*_OF_BOOK, "snapshot", "stop_price", "proposed_at"), as_floats=True).raw
    entries: dict[Any, dict[Any, int]] = defaultdict(dict)  # by market and decision: the place of its order
    laters: list[Any] = []  # when the next order of the same book came
    books: dict[Any, tuple[Any, Any]] = {}  # when the last order came, and the one after it
    keys = zip(*(orders[name] for name in _OF_BOOK), strict=True)
    for place, (book, snapshot, at) in enumerate(zip(keys, orders["snapshot"], orders["proposed_at"], strict=True)):
        last, later = books.get(book, (None, None))
        if at != last:
            books[book], later = (at, last), last
        entries[book[1:]][snapshot] = place
        laters.append(later)
    known, stops, added = [], [], []
    markets = zip(trades.raw["symbol"], trades.raw["side"], strict=True)
    for market, snapshot, ends_at in zip(markets, trades.raw["entry_snapshot"], trades.raw["exit_at"], strict=True):
        found = entries[market].get(snapshot)
        later = None if found is None else laters[found]
        known.append(found is not None)
        stops.append(None if found is None else orders["stop_price"][found])
        added.append(later is not None and (ends_at is None or later < ends_at))
    return known, stops, added


def load_events(rules: Iterable[ValidRule]) -> list[ScheduledEvent]:
    """Return the events of the calendar, if a rule asks for them."""
    if not any(one.kind.looks_at_events for one in rules):
        return []
    rows = models.MarketEvent.objects.order_by("starts_at").values_list("kind", "starts_at", "importance", "symbols")
    return [
        ScheduledEvent(kind, at, importance >= _HIGH_IMPORTANCE, tuple(symbols))
        for kind, at, importance, symbols in rows
    ]
