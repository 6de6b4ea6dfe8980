"""Mails: kept encrypted in a row, sent by the worker, tried again while the mail server is away.

A mail arrives at least once. A worker that dies between the server's yes and the deletion of the row leaves the mail to
another one, which sends it again, under the same Message-ID: mailboxes that compare those show it once.
"""

import json
from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import Final

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.mail import EmailMessage

from config.lib.edge.second_factor import get_cipher
from config.lib.errors import DomainError
from config.lib.owned import system_tx
from config.lib.work.defer import defer
from config.lib.work.jobs import Clock, Key, Task
from config.lib.work.leases import LEASE
from config.lib.work.models import Mail

SEND: Final = "send_mail"
KEPT: Final = timedelta(days=3)  # as long as the links in mails work


class MailNotSent(DomainError):
    """The mail server is away, silent or refuses the mail, or SECRET_KEY is another one now."""


def keep_mail(message: EmailMessage, *, user_id: int | None, now: datetime) -> None:
    """Keep a plain mail until the worker has sent it; the user owns it, if the address is of one."""
    words = json.dumps([message.subject, message.body, message.to])
    sealed = get_cipher("mail").encrypt(words.encode()).decode()
    mail = Mail(user_id=user_id, sealed=sealed, created_at=now, lease_until=now)
    with system_tx("a mail is kept"):
        mail.save()
        defer(SEND, Key(user_id or 0, mail.pk))


def list_waiting(now: datetime) -> list[Key]:
    """Return the mails that no worker is sending, inside the system's scope."""
    rows = Mail.objects.filter(lease_until__lte=now).order_by("created_at").values_list("user_id", "pk")
    return [Key(user_id or 0, pk) for user_id, pk in rows]


def send_mail(key: Key, clock: Clock) -> str:
    """Send a mail and delete its row; give it up after three days. Raises MailNotSent."""
    now, rows = clock(), Mail.objects.filter(pk=key.row_id)
    with system_tx("a mail is taken"):
        is_ours = rows.filter(lease_until__lte=now).update(lease_until=now + LEASE)
        mail = rows.first() if is_ours else None
    if mail is None:
        return "nothing to send"
    is_old = mail.created_at < now - KEPT
    try:
        if not is_old:
            subject, body, to = json.loads(get_cipher("mail").decrypt(mail.sealed))
            EmailMessage(subject, body, to=to, headers={"Message-ID": _make_message_id(key)}).send()
    except (OSError, ValueError, InvalidToken) as error:  # SMTPException and time-outs are OSErrors
        with system_tx("a mail waits"):
            rows.update(lease_until=now)
        # Without the error itself: a refusal names the address, which no log may hold.
        raise MailNotSent(f"The mail cannot be sent: {type(error).__name__}.") from None
    with system_tx("a mail is gone"):
        rows.delete()
    return "given up" if is_old else "sent"


def _make_message_id(key: Key) -> str:
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return f"<{key.row_id}@{domain}>"


JOBS: Final = (Task(SEND, "mails", timedelta(seconds=5), list_waiting, send_mail),)
