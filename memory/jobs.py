"""The scheduled jobs of memory; each is also a command."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from config.lib.errors import DomainError
from config.lib.work.jobs import Job
from config.lib.work.per_user import for_each_user
from memory.facts.limits import enforce_token_limit
from memory.facts.versions import lock_memory
from memory.learning.consolidation import propose_merges
from memory.learning.decay import report_faded_facts

logger = logging.getLogger(__name__)


class FailedForAll(DomainError):
    """A job failed for every user; the log says why."""


def _list_faded(now: datetime) -> list[UUID]:
    return [fact.pk for fact, _ in report_faded_facts(now=now)]


def _list_merged(now: datetime) -> list[UUID]:
    return [old for old, _ in propose_merges(now=now)]


def _list_evicted(now: datetime) -> list[UUID]:
    lock_memory()
    return [fact.pk for fact in enforce_token_limit(now=now)]


def _run_for_users(what: str, work: Callable[[datetime], Iterable[UUID]], now: datetime) -> str:
    results = list(for_each_user(what, partial(work, now)))
    failed = results.count(None)
    if failed and failed == len(results):
        raise FailedForAll("It failed for every user; the log says why.")
    facts = [fact for result in results for fact in result or ()]
    for fact in facts:
        logger.info("%s: %s", what, fact)  # its id: a log has no text of facts
    said = f"{len(facts)} {what}, {len(results)} users"
    return f"{said}, {failed} failed" if failed else said


JOBS: Final = tuple(
    Job(name, timedelta(days=1), partial(_run_for_users, what, work))
    for name, what, work in (
        ("decay_facts", "facts faded", _list_faded),
        ("consolidate_facts", "merges proposed", _list_merged),
        ("enforce_token_limits", "facts evicted", _list_evicted),
    )
)
