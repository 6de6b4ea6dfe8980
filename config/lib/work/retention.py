"""Rows that grow with time, and the setting that ends them: KEEP_DAYS."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from config.lib.owned import system_tx

BATCH: Final = 2_000  # rows that one transaction drops


@dataclass(frozen=True, slots=True)
class Kept:
    """A kind of rows, by its name in KEEP_DAYS."""

    name: str
    drop: Callable[[datetime], int]  # at most BATCH rows of all users from before an instant, in `system_tx`; how many


def delete_batch(rows: "QuerySet[Any]") -> int:
    """Delete at most BATCH of the rows; return how many."""
    batch = list(rows.values_list("pk", flat=True)[:BATCH])
    deleted: int = rows.model._default_manager.filter(pk__in=batch).delete()[0]
    return deleted


def drop_old_rows(kinds: Sequence[Kept], now: datetime) -> str:
    """Drop what the settings do not keep, in short transactions."""
    counts = []
    for kind in kinds:
        if not (days := settings.KEEP_DAYS[kind.name]):
            continue
        total = 0
        while True:
            with system_tx(f"retention of {kind.name}"):
                dropped = kind.drop(now - timedelta(days=days))
            total += dropped
            if dropped < BATCH:
                break
        counts += [f"{total} {kind.name}"] if total else []
    return f"{', '.join(counts) or 'nothing'} dropped"
