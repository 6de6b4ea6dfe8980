"""What Keel changes of allauth's accounts: who may sign up, and mails that cannot be sent."""

import logging
from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth_context
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

logger = logging.getLogger(__name__)

MAIL_AWAY: Final = (
    "Keel could not send its mail: the mail server does not answer. Nothing is lost; ask for the mail again in a few"
    " minutes."
)
_FAILED: Final = "mail_failed"  # in the session, until a mail goes out: pages then do not promise one
_SENT: Final = "account/messages/email_confirmation_sent.txt"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Asks the settings who may sign up; a mail server that is away fails no page."""

    def is_open_for_signup(self, request: HttpRequest | None) -> bool:
        """Tell whether strangers may make accounts, single sign-on included."""
        return bool(settings.SIGN_UP == "open")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail; if its server is away or silent, say so on the next page, alike for every address."""
        request: HttpRequest | None = allauth_context.request
        try:
            super().send_mail(template_prefix, email, {**context, "can_sign_up": self.is_open_for_signup(request)})
        except OSError as error:  # SMTPException and time-outs, too
            logger.exception("Mail %s was not sent: %s", template_prefix, type(error).__name__)
            if request is not None:
                request.session[_FAILED] = True
                messages.error(request, MAIL_AWAY)
        else:
            if request is not None and _FAILED in request.session:
                del request.session[_FAILED]

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """Add a message, unless it says that a mail was sent and none was."""
        if message_template != _SENT or _FAILED not in request.session:
            super().add_message(request, level, message_template, *args, **kwargs)
