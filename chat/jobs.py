from datetime import datetime, timedelta
from typing import Final

from django.contrib.sessions.models import Session

from chat.services import interrupt_dead_turns
from config.lib.jobs import Job
from config.lib.owned import system_tx


def sweep_dead_turns(now: datetime) -> str:
    """Mark replies whose process died as interrupted."""
    with system_tx("sweep of dead turns"):
        return f"{len(interrupt_dead_turns(now=now))} replies marked as interrupted"


def clear_expired_sessions(now: datetime) -> str:
    """Delete the browser sessions that have run out."""
    deleted, _ = Session.objects.filter(expire_date__lt=now).delete()
    return f"{deleted} expired sessions deleted"


JOBS: Final = (
    Job("sweep_dead_turns", timedelta(minutes=1), sweep_dead_turns),
    Job("clear_expired_sessions", timedelta(days=1), clear_expired_sessions),
)
