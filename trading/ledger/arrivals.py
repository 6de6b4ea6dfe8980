"""Add the entries of other programs to a record: one batch, checked whole, that can be undone.

A file, a push and a sync end in `add_entries`. Entries are known by the symbol and the venue's id (funding: by symbol
and instant), so that sending them again changes nothing; a known one with other numbers is kept and reported. The
trades follow by `rebuild.py`, which gives the same trades whatever the order and division of the entries.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from config.lib.errors import NotFound, StateConflict
from trading.ledger.entries import Entries, EntriesRefused, IntakePreview, IntakeRecord, find_problems
from trading.ledger.executions import Execution
from trading.ledger.fees import price_fees
from trading.ledger.positions import Check, Funding
from trading.ledger.rebuild import Entry, find_spans, rebuild_symbols
from trading.ledger.rows import FILL_COLUMNS, Arrival, insert_fills
from trading.ledger.services import Known, SortedOut, find_known, get_deployment, lock_deployment, sort_out
from trading.models import BrokerKind, Deployment, EntrySource, Fill, FundingPayment, ImportBatch, PositionCheck

IDS_AT_ONCE: Final = 5_000  # in one query
MAX_CONFLICTS: Final = 500  # kept with a batch
MAX_PROBLEMS: Final = 100  # named in a refusal


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
    known = find_known(record, entries.fills, entries.funding) if record else Known()
    new = sort_out(entries.fills, entries.funding, known)
    return IntakePreview(problems, new.conflicts, **_count_entries(entries, new))


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
    insert_fills(batch.deployment, [Arrival(fills)], batch_id=batch.pk)
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
    given = {(one.symbol, one.at): replace(one, is_opening=True) for one in openings}
    rows = PositionCheck.objects.filter(deployment=deployment, is_opening=True) if given else ()
    known = {(row.symbol, row.at): row for row in rows if (row.symbol, row.at) in given}
    replaced = [
        row for key, row in known.items() if (row.quantity, row.price) != (given[key].quantity, given[key].price)
    ]
    return [one for key, one in given.items() if key not in known or known[key] in replaced], replaced


def list_openings(deployments: Iterable[UUID]) -> list[PositionCheck]:
    """Return the opening positions that were entered by hand, newest first."""
    rows = PositionCheck.objects.filter(deployment__in=list(deployments), is_opening=True)
    return list(rows.select_related("deployment").order_by("-at", "symbol"))


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
    """Number fills of one instant where their ids do not tell the source's order, also of a file cut in two."""
    groups: dict[tuple[str, datetime], list[Execution]] = defaultdict(list)
    for fill in fills:
        groups[fill.symbol, fill.at].append(fill)
    numbered = []
    for group in groups.values():
        in_source = sorted(group, key=lambda fill: fill.source_order)
        by_id = sorted(group, key=lambda fill: (len(fill.fill_id), fill.fill_id))
        is_told = [fill.fill_id for fill in in_source] == [fill.fill_id for fill in by_id]
        numbered += [replace(fill, source_order=0 if is_told else n) for n, fill in enumerate(in_source, start=1)]
    return numbered


def _reprice_fees(deployment: Deployment) -> list[Execution]:
    """Convert stored fees that had no price and have one now; return their fills."""
    waiting = Fill.objects.filter(deployment=deployment, fee_usd__isnull=True)
    fills = price_fees(Execution(**row) for row in waiting.values(*FILL_COLUMNS))
    priced = [fill for fill in fills if fill.fee_usd is not None]
    for fill in priced:
        waiting.filter(symbol=fill.symbol, fill_id=fill.fill_id).update(fee_usd=fill.fee_usd)
    return priced


def _list_repeats(known: Known) -> dict[str, list[int]]:
    """Return the ids of known rows that other batches brought: undoing those must not take them away."""
    found = {
        "fills": [row.pk for row in known.fills.values() if row.batch_id is not None],
        "funding": [row.pk for row in known.funding.values() if row.batch_id is not None],
    }
    return {name: ids for name, ids in found.items() if ids}


def undo_batch(*, batch_id: UUID, now: datetime) -> ImportBatch:
    """Take an import out of the record, but for what a later one brought too; idempotent. Raises BatchNotFound."""
    batch = ImportBatch.objects.filter(pk=batch_id).first_or(BatchNotFound("You have no such import."))
    deployment = lock_deployment(batch.deployment_id)
    batch.refresh_from_db()
    if batch.undone_at is not None:
        return batch
    _hand_over_repeats(batch)
    gone: list[Entry] = []
    for rows in _rows_of(batch):
        gone += list(rows)
        rows.delete()
    batch.undone_at = now
    batch.save(update_fields=["undone_at"])
    rebuild_symbols(deployment, find_spans(gone), now=now)
    return batch


def _rows_of(batch: ImportBatch) -> Iterator[Any]:
    for model in (Fill, FundingPayment, PositionCheck):
        yield model._default_manager.filter(batch=batch)


def _hand_over_repeats(batch: ImportBatch) -> None:
    others = ImportBatch.objects.filter(deployment=batch.deployment_id, undone_at__isnull=True).exclude(pk=batch.pk)
    for other in others.order_by("created_at"):
        for model, ids in ((Fill, other.repeats.get("fills", [])), (FundingPayment, other.repeats.get("funding", []))):
            for begin in range(0, len(ids), IDS_AT_ONCE):
                rows = model._default_manager.filter(batch=batch, pk__in=ids[begin : begin + IDS_AT_ONCE])
                rows.update(batch=other)
