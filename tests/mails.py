"""Mails that wait for the worker."""

from datetime import timedelta

from django.utils import timezone

from config.lib.owned import system_tx
from config.lib.work.jobs import get_task
from config.lib.work.models import Mail
from config.lib.work.runs import JobRun, run_rows


def send_mails(after: timedelta = timedelta(0)) -> list[JobRun]:
    """Send the mails that are due after a time, as the worker does."""
    return list(run_rows(get_task("send_mail"), timezone.now() + after))


def count_mails() -> int:
    """Return the number of mails that wait."""
    with system_tx("test"):
        return Mail.objects.count()
