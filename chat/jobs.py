from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.contrib.sessions.models import Session
from django.db import connection

from chat.cards import expire_cards
from chat.conversations.lifecycle import CLOSE, archive_old, list_due
from chat.endings.closing import close_if_due
from chat.endings.erasure import purge_trash
from chat.prompt.receipts import drop_receipts
from chat.rules import follow_facts
from chat.turns.replies import interrupt_dead_turns
from config.lib.edge.invitations import drop_invitations
from config.lib.owned import system_tx
from config.lib.work.jobs import Clock, Job, Key, Task
from config.lib.work.per_user import for_each_user
from config.lib.work.retention import Kept, delete_batch, drop_old_rows
from config.lib.work.runs import forget_old_runs
from memory.models import MemoryEvent
from trading.models import StaffEntry
from trading.record.decisions import drop_contexts
from trading.record.deployments import thin_equity


def sweep_dead_turns(now: datetime) -> str:
    """Mark replies whose process died as interrupted."""
    with system_tx("sweep of dead turns"):
        return f"{len(interrupt_dead_turns(now=now))} replies marked as interrupted"


def sweep_cards(now: datetime) -> str:
    """Expire the cards older than 15 minutes."""
    with system_tx("sweep of expired cards"):
        return f"{expire_cards(now=now)} cards expired"


def close_chat(key: Key, clock: Clock) -> str:
    """Close a chat that was left, or learn from what failed before."""
    return str(close_if_due(key.row_id, user_id=key.user_id, clock=clock).outcome)


def archive_chats(now: datetime) -> str:
    """Archive the chats that have been idle for 30 days."""
    with system_tx("archiving of idle chats"):
        return f"{archive_old(now=now)} chats archived"


def empty_trash(now: datetime) -> str:
    """Erase chats and facts after 30 days in the trash."""
    purged = purge_trash(now=now)
    return f"{purged.conversations} chats and {purged.facts} facts of {purged.users} users erased"


def follow_rules(now: datetime) -> str:
    """Keep rules in step with the facts they were read from, of those whose facts changed since yesterday."""
    select = partial(MemoryEvent.objects.filter, created_at__gt=now - timedelta(days=1))
    results = list(for_each_user("rules of facts", partial(follow_facts, now=now), select=select))
    return f"{len(results)} users followed, {results.count(None)} failed"


def drop_staff_log(before: datetime) -> int:
    """Delete at most BATCH entries of the staff log before an instant; return how many."""
    return delete_batch(StaffEntry.objects.filter(created_at__lt=before))


RETENTION: Final = (
    Kept("contexts", drop_contexts),
    Kept("equity", thin_equity),
    Kept("receipts", drop_receipts),
    Kept("staff_log", drop_staff_log),
    Kept("invitations", drop_invitations),
)


def clear_expired_sessions(now: datetime) -> str:
    """Delete the browser sessions that have run out."""
    deleted, _ = Session.objects.filter(expire_date__lt=now).delete()
    return f"{deleted} expired sessions deleted"


def refresh_statistics(now: datetime) -> str:
    """Let SQLite count its tables; without, it reads all rows of a user to find one by its id."""
    if connection.vendor != "sqlite":
        return "PostgreSQL keeps its own statistics"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA analysis_limit = 1000")
        cursor.execute("ANALYZE")
    return "statistics refreshed"


JOBS: Final = (
    Job("sweep_dead_turns", timedelta(minutes=1), sweep_dead_turns),
    Job("sweep_cards", timedelta(minutes=1), sweep_cards),
    Task(CLOSE, "chats", timedelta(seconds=5), lambda now: list_due(now=now), close_chat),
    Job("archive_chats", timedelta(hours=1), archive_chats),
    Job("empty_trash", timedelta(hours=1), empty_trash),
    Job("follow_rules", timedelta(hours=1), follow_rules),
    Job("refresh_statistics", timedelta(hours=1), refresh_statistics),
    Job("forget_old_runs", timedelta(days=1), forget_old_runs),
    Job("drop_old_rows", timedelta(days=1), partial(drop_old_rows, RETENTION), lane="retention"),
    Job("clear_expired_sessions", timedelta(days=1), clear_expired_sessions),
)
