"""The scheduled jobs of memory; each is also a command."""

from collections.abc import Callable, Sized
from datetime import datetime, timedelta
from typing import Final

from config.lib.work.jobs import Job
from config.lib.work.per_user import for_each_user
from memory.facts.limits import enforce_token_limit
from memory.facts.versions import lock_memory
from memory.learning.consolidation import propose_merges
from memory.learning.decay import report_faded_facts


def decay_facts(now: datetime) -> str:
    """Report the learned facts that faded from prompts."""
    return _run_for_users("facts faded", lambda: report_faded_facts(now=now))


def consolidate_facts(now: datetime) -> str:
    """Propose merges of facts that say the same."""
    return _run_for_users("merges proposed", lambda: propose_merges(now=now))


def enforce_token_limits(now: datetime) -> str:
    """Evict facts over the token limit and let others return."""

    def enforce() -> Sized:
        lock_memory()
        return enforce_token_limit(now=now)

    return _run_for_users("facts evicted", enforce)


def _run_for_users(what: str, work: Callable[[], Sized]) -> str:
    results = list(for_each_user(what, work))
    failed = sum(result.has_failed for result in results)
    said = f"{sum(len(result.result or ()) for result in results)} {what}, {len(results)} users"
    return f"{said}, {failed} failed" if failed else said


JOBS: Final = (
    Job("decay_facts", timedelta(days=1), decay_facts),
    Job("consolidate_facts", timedelta(days=1), consolidate_facts),
    Job("enforce_token_limits", timedelta(days=1), enforce_token_limits),
)
