"""The scheduled jobs of memory; each is also a command."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from config.lib.errors import DomainError
from config.lib.work.jobs import Job
from config.lib.work.per_user import for_each_user
from memory.facts.limits import enforce_token_limit
from memory.facts.versions import lock_memory
from memory.learning.consolidation import propose_merges, report_faded_facts
from memory.models import UserFact

logger = logging.getLogger(__name__)


class FailedForAll(DomainError):
    """A job failed for every user; the log says why."""


def _evict_facts(now: datetime) -> list[UserFact]:
    lock_memory()
    return enforce_token_limit(now=now)


def _run_for_users(what: str, work: Callable[[datetime], Iterable[UserFact]], now: datetime) -> str:
    results = list(for_each_user(what, partial(work, now)))
    failed = results.count(None)
    if failed and failed == len(results):
        raise FailedForAll("It failed for every user; the log says why.")
    facts = [fact for result in results for fact in result or ()]
    for fact in facts:
        logger.info("%s: %s", what, fact.pk)  # a log has no text of facts
    said = f"{len(facts)} {what}, {len(results)} users"
    return f"{said}, {failed} failed" if failed else said


JOBS: Final = tuple(
    Job(name, timedelta(days=1), partial(_run_for_users, what, work))
    for name, what, work in (
        ("decay_facts", "facts faded", lambda now: report_faded_facts(now=now)),
        ("consolidate_facts", "merges proposed", lambda now: propose_merges(now=now)),
        ("enforce_token_limits", "facts evicted", _evict_facts),
    )
)
