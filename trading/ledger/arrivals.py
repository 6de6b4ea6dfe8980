"""Add the entries of other programs to a record: one batch, checked whole, that can be undone.

A file, a push and a sync end in `add_entries`. Entries are known by the symbol and the venue's id (funding: by symbol
and instant), so that sending them again changes nothing; a known one with other numbers is kept and reported. The
trades follow by `rebuild.py`, which gives the same trades whatever the order and division of the entries.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Max, Min, Value
from django.db.models.functions import Coalesce

from config.lib.errors import NotFound, StateConflict
from trading.ledger.entries import Entries, EntriesRefused, IntakePreview, IntakeRecord, SymbolStart, find_problems
from trading.ledger.executions import DOLLARS, ZERO, Execution
from trading.ledger.openings import propose_opening
from trading.ledger.positions import Check, Funding
from trading.ledger.rebuild import Entry, find_spans, fold_with, rebuild_symbols
from trading.ledger.rows import FILL_COLUMNS, TickFills, insert_fills
from trading.ledger.services import SortedOut, StoredEntries, find_known, get_deployment, lock_deployment, sort_out
from trading.market.tape import Span
from trading.models import (
    Bar,
    BrokerKind,
    Deployment,
    EntrySource,
    Fill,
    FundingPayment,
    ImportBatch,
    PositionCheck,
    ReconcileState,
    Trade,
    TradeQuerySet,
)
from trading.models.choices import INTERVALS

IDS_AT_ONCE: Final = 5_000  # in one query
MAX_CONFLICTS: Final = 500  # kept with a batch
MAX_PROBLEMS: Final = 100  # named in a refusal
STARTS_SHOWN: Final = 50  # of all accounts
FILLS_READ: Final = 500  # of a symbol, the oldest: they tell what was held before them, or none does
_NEIGHBOURS: Final = 20  # instants of a symbol, one after the other, that tell whether ids rise with time
_RISING: Final = 0.99  # of them
_DAY: Final = timedelta(days=1)  # the longest bar, and the age of one that may price a fee

_Bars = dict[timedelta, tuple[list[datetime], list[Decimal]]]  # by length, when they opened and their closes


class StartInDoubt(NamedTuple):
    """A symbol of an account of which nobody knows what was held before its first fill."""

    deployment_id: UUID
    symbol: str
    opening: Check | None  # the proposed one


class RecordKept(StateConflict):
    """Keel keeps this deployment's record by its own ticks."""


class BatchNotFound(NotFound):
    """The user has no such import."""


class OpeningNotFound(NotFound):
    """The user has no such opening position."""


def preview_entries(*, deployment_id: UUID | None, entries: Entries, now: datetime) -> IntakePreview:
    """Return what an import would do; without a deployment, all is new."""
    problems = find_problems(entries, now=now)
    record = get_deployment(deployment_id) if deployment_id else None
    known = find_known(record, entries.fills, entries.funding) if record else StoredEntries()
    new = sort_out(entries.fills, entries.funding, known)
    starts = [] if problems else _preview_starts(record, new.fills)
    return IntakePreview(problems, new.conflicts, **_count_entries(entries, new), starts=starts)


def _preview_starts(deployment: Deployment | None, fills: Sequence[Execution]) -> list[SymbolStart]:
    """Return how new fills would begin or go on, by symbol."""
    by_symbol: dict[str, list[Execution]] = defaultdict(list)
    for fill in _number_source_order(fills):
        by_symbol[fill.symbol].append(fill)
    starts = []
    for symbol, some in sorted(by_symbol.items()):
        trips, is_first = fold_with(deployment, symbol, some)
        agreements = {trip.agrees for trip in trips}
        is_in_doubt = is_first and trips[0].reconciled not in (ReconcileState.EXACT, ReconcileState.ESTIMATED)
        stated, found = sum((one.stated_usd for one in trips), ZERO), sum((one.found_usd for one in trips), ZERO)
        agrees = None if agreements == {None} else False not in agreements
        opening = propose_opening(some) if is_in_doubt else None
        if opening and not opening.quantity and agrees is False:
            opening = None  # something was held, and nothing tells how much
        starts.append(SymbolStart(symbol, stated, found, agrees, is_in_doubt, opening))
    return starts


def _count_entries(entries: Entries, new: SortedOut) -> dict[str, int]:
    return {
        "new_fills": len(new.fills),
        "known_fills": len(entries.fills) - len(new.fills),
        "new_funding": len(new.funding),
        "known_funding": len(entries.funding) - len(new.funding),
    }


def add_entries(
    *,
    deployment_id: UUID,
    entries: Entries,
    source: EntrySource,
    name: str = "",  # of the file or account
    details: Mapping[str, Any] | None = None,  # what the reader recognised
    now: datetime,
) -> IntakeRecord:
    """Add entries to a record as one batch, in any order and division. Needs `owned_tx(user)`.

    Idempotent. Raises DeploymentNotFound, RecordKept, EntriesRefused.
    """
    deployment = lock_deployment(deployment_id)
    if deployment.broker_kind != BrokerKind.LIVE:
        raise RecordKept("Keel runs this deployment and keeps its record itself.")
    if problems := find_problems(entries, now=now):
        raise EntriesRefused(problems[:MAX_PROBLEMS])
    known = find_known(deployment, entries.fills, entries.funding)
    new = sort_out(entries.fills, entries.funding, known)
    openings, replaced = _sort_openings(deployment, entries.openings)
    fills, repriced = price_fees(_number_source_order(new.fills)), _reprice_fees(deployment)
    batch = None
    for row in replaced:
        row.delete()
    if fills or new.funding or openings or new.conflicts:
        batch = ImportBatch.objects.create(
            deployment=deployment,
            source=source,
            name=name[:200],
            details=dict(details or {}),
            created_at=now,
            openings=len(openings),
            conflicts=[asdict(conflict) for conflict in new.conflicts[:MAX_CONFLICTS]],
            repeats=_list_repeats(known),
            **_count_entries(entries, new),
        )
        _store_entries(batch, fills, new.funding, openings)
    changed: list[Entry] = [*fills, *new.funding, *openings, *repriced]
    rebuilt = rebuild_symbols(deployment, find_spans(changed), now=now)
    return IntakeRecord(
        batch_id=None if batch is None else batch.pk,
        openings=len(openings),
        unpriced_fees=sum(fill.fee_usd is None for fill in fills),
        **asdict(rebuilt),
        conflicts=new.conflicts,
        **_count_entries(entries, new),
    )


def _store_entries(
    batch: ImportBatch, fills: Sequence[Execution], funding: Sequence[Funding], openings: Sequence[Check]
) -> None:
    insert_fills(batch.deployment, [TickFills(fills)], batch_id=batch.pk)
    common: dict[str, Any] = {"deployment": batch.deployment, "batch": batch}
    FundingPayment.objects.bulk_create(
        [FundingPayment(symbol=one.symbol, at=one.at, amount_usd=one.amount_usd, **common) for one in funding],
        batch_size=500,
    )
    PositionCheck.objects.bulk_create(
        PositionCheck(symbol=one.symbol, at=one.at, quantity=one.quantity, price=one.price, is_opening=True, **common)
        for one in openings
    )


def _sort_openings(deployment: Deployment, openings: Sequence[Check]) -> tuple[list[Check], list[PositionCheck]]:
    """Return the openings to store, and the stored ones of their instants with other numbers."""
    new = {(one.symbol, one.at): replace(one, is_opening=True) for one in openings}
    replaced = []
    for row in PositionCheck.objects.filter(deployment=deployment, is_opening=True) if new else ():
        if (one := new.get((row.symbol, row.at))) and (row.quantity, row.price) == (one.quantity, one.price):
            del new[row.symbol, row.at]
        elif one:
            replaced.append(row)
    return list(new.values()), replaced


def list_openings(deployments: Iterable[UUID]) -> list[PositionCheck]:
    """Return the opening positions that were entered by hand, newest first."""
    rows = PositionCheck.objects.filter(deployment__in=list(deployments), is_opening=True)
    return list(rows.select_related("deployment").order_by("-at", "symbol"))


def list_starts_in_doubt(deployments: Iterable[UUID]) -> list[StartInDoubt]:
    """Return the symbols whose first trade is not confirmed, with what their fills tell; at most STARTS_SHOWN."""
    trades = Trade.objects.filter(deployment__in=list(deployments)).order_by("deployment", "symbol")
    begun = trades.values_list("deployment", "symbol").annotate(Min("entry_at"))
    doubtful = begun.filter(reconciled__in=[ReconcileState.UNCONFIRMED, ReconcileState.GAP])
    entered = {(one.deployment_id, one.symbol) for one in list_openings(deployments)}
    first = {row for row in begun if row[:2] not in entered}
    starts = []
    for deployment_id, symbol, _ in [row for row in doubtful if row in first][:STARTS_SHOWN]:
        of_symbol = Fill.objects.filter(deployment=deployment_id, symbol=symbol).order_by("at", "id")
        fills = [Execution(**row) for row in of_symbol.values(*FILL_COLUMNS)[:FILLS_READ]]
        if fills and fills[0].start_quantity is None:
            starts.append(StartInDoubt(deployment_id, symbol, propose_opening(fills)))
    return starts


def remove_opening(opening_id: int, *, now: datetime) -> PositionCheck:
    """Take an opening position out of the record; needs `owned_tx(user)`. Raises OpeningNotFound."""
    opening = PositionCheck.objects.filter(pk=opening_id, is_opening=True).first_or(
        OpeningNotFound("You have no such opening position.")
    )
    deployment = lock_deployment(opening.deployment_id)
    PositionCheck.objects.filter(pk=opening.pk).delete()
    rebuild_symbols(deployment, find_spans([opening]), now=now)
    return opening


def _number_source_order(fills: Sequence[Execution]) -> list[Execution]:
    """Number fills of one instant where their ids do not tell the source's order, also of a file cut in two.

    Where ids rise with time over the source, they tell the order, whatever a spreadsheet has made of its rows.
    """
    groups: dict[tuple[str, datetime], list[Execution]] = defaultdict(list)
    for fill in fills:
        groups[fill.symbol, fill.at].append(fill)
    if _rise_with_time(groups):
        return [replace(fill, source_order=0) for fill in fills]
    numbered = []
    for group in groups.values():
        in_source = sorted(group, key=lambda fill: fill.source_order)
        by_id = sorted(group, key=lambda fill: (len(fill.fill_id), fill.fill_id))
        is_told = [fill.fill_id for fill in in_source] == [fill.fill_id for fill in by_id]
        numbered += [replace(fill, source_order=0 if is_told else n) for n, fill in enumerate(in_source, start=1)]
    return numbered


def _rise_with_time(groups: Mapping[tuple[str, datetime], Sequence[Execution]]) -> bool:
    """Tell whether numeric ids rise from instant to instant of a symbol: of 20 neighbours or more at least 99 %."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (symbol, _), group in sorted(groups.items()):
        if not all(fill.fill_id.isdecimal() for fill in group):
            return False
        ids = [int(fill.fill_id) for fill in group]
        spans[symbol].append((min(ids), max(ids)))
    rises = [before[1] < after[0] for of_symbol in spans.values() for before, after in pairwise(of_symbol)]
    return len(rises) >= _NEIGHBOURS and sum(rises) >= _RISING * len(rises)


def _reprice_fees(deployment: Deployment) -> list[Execution]:
    """Convert stored fees that had no price and have one now; return their fills."""
    waiting = Fill.objects.filter(deployment=deployment, fee_usd__isnull=True)
    fills = price_fees(Execution(**row) for row in waiting.values(*FILL_COLUMNS))
    priced = [fill for fill in fills if fill.fee_usd is not None]
    for fill in priced:
        waiting.filter(symbol=fill.symbol, fill_id=fill.fill_id).update(fee_usd=fill.fee_usd)
    return priced


def _list_repeats(known: StoredEntries) -> dict[str, list[int]]:
    """Return the ids of known rows that other batches brought: undoing those must not take them away."""
    rows: dict[str, Iterable[Any]] = {"fills": known.fills.values(), "funding": known.funding.values()}
    repeats = {name: [row.pk for row in of if row.batch_id is not None] for name, of in rows.items()}
    return {name: ids for name, ids in repeats.items() if ids}


def undo_batch(*, batch_id: UUID, now: datetime) -> ImportBatch:
    """Take an import out of the record, but for what a later one brought too; idempotent. Raises BatchNotFound."""
    batch = ImportBatch.objects.filter(pk=batch_id).first_or(BatchNotFound("You have no such import."))
    deployment = lock_deployment(batch.deployment_id)
    batch.refresh_from_db()
    if batch.undone_at is not None:
        return batch
    _hand_over_repeats(batch)
    gone: list[Entry] = []
    for model in (Fill, FundingPayment, PositionCheck):
        rows: Any = model._default_manager.filter(batch=batch)
        gone += list(rows)
        rows.delete()
    batch.undone_at = now
    batch.save(update_fields=["undone_at"])
    rebuild_symbols(deployment, find_spans(gone), now=now)
    return batch


def _hand_over_repeats(batch: ImportBatch) -> None:
    others = ImportBatch.objects.filter(deployment=batch.deployment_id, undone_at__isnull=True).exclude(pk=batch.pk)
    for other in others.order_by("created_at"):
        for model, name in ((Fill, "fills"), (FundingPayment, "funding")):
            ids = other.repeats.get(name, ())
            for begin in range(0, len(ids), IDS_AT_ONCE):
                rows = model._default_manager.filter(batch=batch, pk__in=ids[begin : begin + IDS_AT_ONCE])
                rows.update(batch=other)


# --- Fees in coins ---


def price_fees(fills: Iterable[Execution]) -> list[Execution]:
    """Return the fills with fees in dollars; a fee stays in a coin that has no price then."""
    read_day = lru_cache(maxsize=64)(_read_day)
    priced = []
    for fill in fills:
        coin, amount = fill.fee_coin.upper(), fill.fee_in_coin
        if not coin or coin in DOLLARS or not amount:
            fee_usd = fill.fee_usd if amount is None else amount
            priced.append(replace(fill, fee_usd=fee_usd, fee_coin="", fee_in_coin=None))
            continue
        # A fee in the coin that was traded is worth the price of its own fill.
        traded = fill.symbol.split("/")[0].split(":")[-1]
        price = fill.price if coin == traded else _find_price(read_day(coin, fill.at.date()), fill.at)
        priced.append(replace(fill, fee_coin=coin, fee_usd=None if price is None else amount * price))
    return priced


def _find_price(bars: _Bars, at: datetime) -> Decimal | None:
    """Return the close of the shortest bar around an instant, else of the last bar before it."""
    before: list[tuple[datetime, Decimal]] = []
    for length, (opened, closes) in bars.items():
        place = bisect_right(opened, at) - 1
        if place >= 0 and at < opened[place] + length:
            return closes[place]
        if place >= 0 and at - opened[place] - length <= _DAY:
            before.append((opened[place] + length, closes[place]))
    return max(before)[1] if before else None


def _read_day(coin: str, day: date) -> _Bars:
    """Return the real bars of a coin that may price a fee of a day, the shortest first."""
    begin = datetime.combine(day, time.min, UTC)
    near = (begin - 2 * _DAY, begin + _DAY)
    rows = Bar.objects.filter(symbol=coin, is_simulated=False, opened_at__range=near).order_by("opened_at")
    bars: _Bars = {length: ([], []) for length in INTERVALS.values()}
    for interval, opened_at, close in rows.values_list("interval", "opened_at", "close"):
        opened, closes = bars[INTERVALS[interval]]
        opened.append(opened_at)
        closes.append(close)
    return bars


# --- Best and worst of trades that were recorded before the bars of their time ---


def measure_paths(trades: TradeQuerySet, *, now: datetime) -> int:
    """Measure trades without a path by the stored bars; return how many have one now. Idempotent."""
    live = Deployment.objects.filter(broker_kind=BrokerKind.LIVE).values("pk")
    unknown = trades.filter(path_minutes__isnull=True, deployment__in=live)
    last = Max(Coalesce("exit_at", Value(now)))
    spans: dict[UUID, dict[str, Span]] = defaultdict(dict)
    for row in unknown.order_by().values("deployment", "symbol").annotate(first=Min("entry_at"), last=last):
        held = row["first"] - _DAY, row["last"]
        if Bar.objects.filter(symbol=row["symbol"], is_simulated=False, opened_at__range=held).exists():
            spans[row["deployment"]][row["symbol"]] = row["first"], row["last"]
    before = unknown.count()
    for deployment_id, by_symbol in spans.items():
        rebuild_symbols(lock_deployment(deployment_id), by_symbol, now=now)
    return before - unknown.count()
