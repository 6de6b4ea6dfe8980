"""Read trades as the judge of rules takes them, column by column."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import FloatField, OuterRef, Subquery
from django.db.models.functions import Cast

from config.lib.columns import Columns
from trading.models import (
    Deployment,
    EquityPoint,
    MarketEvent,
    Order,
    OrderOrigin,
    OrderState,
    ReconcileState,
    TradeQuerySet,
    TradeSide,
)
from trading.rules.grammar import HIGH_IMPORTANCE
from trading.rules.judge import NOT_READ, ScheduledEvent, Trip, ValidRule

_FILLED: Final = (OrderState.FILLED, OrderState.PARTLY_FILLED)
_OF_BOOK: Final = ("deployment", "symbol", "side")
_OUTCOME: Final = ("exit_at", "realized_pnl_usd", "unpriced_fees", "reconciled")
_OF_KINDS: Final[Mapping[str, tuple[str, ...]]] = {  # what else a kind of rule asks; a column takes long to read
    "leverage": ("entry_leverage",),
    "daily_loss": _OUTCOME,
    "loss_pause": _OUTCOME,
    "stop_required": ("entry_snapshot", "exit_at"),
    "risk_per_trade": ("entry_snapshot", "exit_at", "entry_price", "entry_size_usd", "equity_usd"),
}
COUNTING: Final = ("trades_per_day", "daily_loss", "loss_pause")  # the kinds that count the trades before
_Entry = tuple[float | None, datetime]  # the stop and the instant of the order that opened a trade


class TripTable:
    """Trades as trips, with what the kinds of some rules ask, newest first."""

    def __init__(self, trades: TradeQuerySet, rules: Iterable[ValidRule], *, also: Iterable[str] = ()) -> None:
        """Read the trades; `also` names further columns."""
        kinds = sorted({one.rule.kind for one in rules})
        asked = dict.fromkeys(name for kind in kinds for name in _OF_KINDS.get(kind, ()))
        if "equity_usd" in asked:
            points = EquityPoint.objects.filter(deployment=OuterRef("deployment"), at__lte=OuterRef("entry_at"))
            last = Subquery(points.order_by("-at").values("equity_usd")[:1])
            trades = trades.annotate(equity_usd=Cast(last, FloatField()))
        own = Deployment.objects.filter(pk=OuterRef("deployment"))
        start = Cast(Subquery(own.values("starting_equity_usd")), FloatField())
        trades = trades.annotate(broker_kind=Subquery(own.values("broker_kind")), start_usd=start)
        names = ("id", *_OF_BOOK, "entry_at", "skill", "broker_kind", "start_usd", *asked, *also)
        self.columns = Columns(trades.order_by("-entry_at", "id"), names, as_floats=True)
        self._curves = _Curves(dict(zip(self.columns["deployment"], self.columns["start_usd"], strict=True)))
        self.trips = self._build_trips(asked)

    def find_equity(self, deployment_id: UUID, at: datetime) -> float | None:
        """Return an account's equity before an instant, or at start; None: not known."""
        return self._curves.find(deployment_id, at)

    def _build_trips(self, asked: Mapping[str, None]) -> list[Trip]:
        columns, count = self.columns, len(self.columns.raw["id"])
        of_book = list(zip(columns["skill"], columns["broker_kind"], strict=True))
        books = {pair: name_book(*pair) for pair in set(of_book)}

        def read(name: str, unknown: Any = None) -> Sequence[Any]:
            return columns[name] if name in asked else [unknown] * count

        closed = read("exit_at")
        wholes = zip(closed, read("unpriced_fees"), read("reconciled"), read("realized_pnl_usd"), strict=True)
        entries = _Orders(columns).list_entries(closed) if "entry_snapshot" in asked else [None] * count
        return list(
            map(
                Trip,
                columns["id"],
                [books[pair] for pair in of_book],
                columns["deployment"],
                columns["symbol"],
                [side == TradeSide.LONG for side in columns["side"]],
                columns["entry_at"],
                closed,
                read("entry_price", NOT_READ),
                read("entry_size_usd", NOT_READ),
                read("entry_leverage"),
                [
                    net if at and not unpriced and state != ReconcileState.GAP else None
                    for at, unpriced, state, net in wholes
                ],
                [
                    start if own is None else own
                    for own, start in zip(read("equity_usd"), columns["start_usd"], strict=True)
                ],
                [entry is not None for entry in entries],
                [entry and entry[0] for entry in entries],
                [bool(entry and entry[1]) for entry in entries],
            )
        )


def name_book(skill_id: UUID, broker_kind: str) -> str:
    """Return the name of the book that the trades of a skill on a kind of broker count in."""
    return f"{skill_id}:{broker_kind}"


class _Curves:
    """The equity of accounts, each read when it is first asked for."""

    def __init__(self, starts: Mapping[UUID, float | None]) -> None:
        self._starts = starts
        self._points: dict[UUID, tuple[Sequence[datetime], Sequence[float]]] = {}

    def find(self, deployment_id: UUID, at: datetime) -> float | None:
        if deployment_id not in self._starts:
            return None  # a planned trade may have no account
        if deployment_id not in self._points:
            rows = EquityPoint.objects.filter(deployment=deployment_id).order_by("at")
            columns = Columns(rows, ("at", "equity_usd"), as_floats=True)
            self._points[deployment_id] = columns["at"], columns["equity_usd"]
        instants, values = self._points[deployment_id]
        place = bisect_right(instants, at)
        return values[place - 1] if place else self._starts[deployment_id]


class _Orders:
    """The filled orders that agents opened or added to positions with, found by the place of a trade in its table."""

    def __init__(self, trades: Columns) -> None:
        rows = Order.objects.filter(deployment__in=set(trades["deployment"]), origin=OrderOrigin.AGENT)
        rows = rows.filter(state__in=_FILLED).exclude(side="close").order_by("-proposed_at")
        columns = Columns(rows, (*_OF_BOOK, "snapshot", "stop_price", "proposed_at"), as_floats=True)
        # Ids stay as the database gives them: to make and to compare so many would take most of the time.
        self._books, self._snapshots = _list_books(trades), trades.raw["entry_snapshot"]
        books, instants = _list_books(columns), columns["proposed_at"]
        self._instants: dict[tuple[Any, ...], list[datetime]] = {}
        for book, at in zip(reversed(books), reversed(instants), strict=True):
            self._instants.setdefault(book, []).append(at)
        keys = zip(columns.raw["snapshot"], books, strict=True)
        self._entries: dict[Any, _Entry] = dict(
            zip(keys, zip(columns["stop_price"], instants, strict=True), strict=True)
        )

    def list_entries(self, closed: Sequence[datetime | None]) -> list[tuple[float | None, bool] | None]:
        """Return each trade's stop and whether it was added to; None: the order that opened it is not known."""
        found = map(self._entries.get, zip(self._snapshots, self._books, strict=True))
        return [
            entry and (entry[0], self._has_later(book, entry[1], ends_at))
            for entry, book, ends_at in zip(found, self._books, closed, strict=True)
        ]

    def _has_later(self, book: tuple[Any, ...], proposed_at: datetime, ends_at: datetime | None) -> bool:
        """Tell whether an order of the same side came while the trade was open."""
        instants = self._instants[book]
        following = bisect_right(instants, proposed_at)
        return following < len(instants) and (ends_at is None or instants[following] < ends_at)


def _list_books(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*(columns.raw[name] for name in _OF_BOOK), strict=True))


def load_events(rules: Iterable[ValidRule]) -> list[ScheduledEvent]:
    """Return the events of the calendar, if a rule asks for them."""
    if all(one.rule.kind != "events" for one in rules):
        return []
    rows = MarketEvent.objects.order_by("starts_at").values_list("kind", "starts_at", "importance", "symbols")
    return [
        ScheduledEvent(kind, at, importance >= HIGH_IMPORTANCE, tuple(symbols))
        for kind, at, importance, symbols in rows
    ]
