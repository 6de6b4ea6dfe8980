import getpass
import sys
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email

from config.lib.work.commands import KeelCommand
from trading.models import ExperienceTier, Trader


class Command(KeelCommand):
    help = "Create a user. Without --password the command asks for it or reads it from standard input."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument(
            "--password", help="at least ten characters; visible to others on this machine while it runs"
        )
        parser.add_argument("--tier", choices=ExperienceTier.values, help="how much Keel explains")

    def run(self, *, email: str, password: str | None, tier: str | None, **options: Any) -> None:
        if password is None:
            password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        try:
            validate_email(email)
            validate_password(password, Trader(email=email))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if Trader.objects.filter(email=email.lower()).exists():
            raise CommandError(f"The user {email} exists already.")
        trader = Trader.objects.create_user(email, password, experience_tier=tier)
        self.say(f"Created {trader.email}.", id=trader.pk, email=trader.email, tier=trader.experience_tier)
