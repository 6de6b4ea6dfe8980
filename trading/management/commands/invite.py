from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email
from django.utils import timezone

from config.lib.edge.invitations import invite, make_path
from config.lib.work.commands import KeelCommand
from config.lib.work.models import Invitation


class Command(KeelCommand):
    help = "Invite an address to make an account. Prints the link, which works once and is kept nowhere."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def run(self, *, email: str, **options: Any) -> None:
        if settings.SIGN_UP == "closed":
            raise CommandError("SIGN_UP=closed lets no link make an account: set SIGN_UP=invited.")
        try:
            validate_email(email)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        invitation = Invitation(address=email.lower())
        link = f"{_find_origin()}{make_path(invite(invitation, made_by=None, now=timezone.now()))}"
        self.say(link, email=invitation.address, link=link, expires_at=invitation.expires_at)


def _find_origin() -> str:
    if settings.CSRF_TRUSTED_ORIGINS:
        return str(settings.CSRF_TRUSTED_ORIGINS[0])
    host = settings.ALLOWED_HOSTS[0]
    return f"http://{host}:{settings.PORT}" if settings.IS_LOCAL else f"https://{host}"
