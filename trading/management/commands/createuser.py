import getpass
import sys
from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from config.lib.work.commands import KeelCommand
from trading.models import ExperienceTier, Trader


class Command(KeelCommand):
    help = "Create a user. Without --password the command asks for it or reads it from standard input."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument(
            "--password", help="at least ten characters; visible to others on this machine while it runs"
        )
        parser.add_argument("--staff", action="store_true", help="may sign in to the admin, and sees what groups allow")
        parser.add_argument("--group", action="append", default=[], help="a group of staff; implies --staff")
        parser.add_argument("--tier", choices=ExperienceTier.values, help="how much Keel explains")

    def run(
        self, *, email: str, password: str | None, tier: str | None, staff: bool, group: list[str], **options: Any
    ) -> None:
        groups = [_get_group(name) for name in group]
        if password is None:
            password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        try:
            validate_email(email)
            validate_password(password, Trader(email=email))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if Trader.objects.filter(email=email.lower()).exists():
            raise CommandError(f"The user {email} exists already.")
        with transaction.atomic():
            trader = Trader.objects.create_user(email, password, experience_tier=tier, is_staff=staff or bool(groups))
            trader.groups.set(groups)
            trader.verify_address()
        self.say(f"Created {trader.email}.", id=trader.pk, email=trader.email, tier=trader.experience_tier)


def _get_group(name: str) -> Group:
    group = Group.objects.filter(name=name).first()
    if group is None:
        known = ", ".join(Group.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"There is no group {name}. Take one of {known}.")
    return group
