"""The scheduled jobs of memory; each is also a command."""

from collections.abc import Callable, Sized
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from config.lib.work.jobs import Job
from config.lib.work.per_user import for_each_user
from memory.facts.limits import enforce_token_limit
from memory.facts.versions import lock_memory
from memory.learning.consolidation import propose_merges
from memory.learning.decay import report_faded_facts


def _enforce_limit(*, now: datetime) -> Sized:
    lock_memory()
    return enforce_token_limit(now=now)


def _run_for_users(what: str, work: Callable[..., Sized], now: datetime) -> str:
    results = list(for_each_user(what, partial(work, now=now)))
    failed = sum(result.has_failed for result in results)
    said = f"{sum(len(result.result or ()) for result in results)} {what}, {len(results)} users"
    return f"{said}, {failed} failed" if failed else said


JOBS: Final = tuple(
    Job(name, timedelta(days=1), partial(_run_for_users, what, work))
    for name, what, work in (
        ("decay_facts", "facts faded", report_faded_facts),
        ("consolidate_facts", "merges proposed", propose_merges),
        ("enforce_token_limits", "facts evicted", _enforce_limit),
    )
)
