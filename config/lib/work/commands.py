"""The base command: `--json`, refusals, user by e-mail."""

import argparse
import json
from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.lib.errors import DomainError


class KeelCommand(BaseCommand):
    """A command that prints text, or JSON lines with `--json`."""

    # The checks import every page and API, and take longer than most commands. `check` and `doctor` run them.
    requires_system_checks = ()
    is_json = False
    run: Callable[..., None]  # what the command is for; its keywords are the command's own arguments

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`; subclasses add theirs in `add_own_arguments`."""
        parser.add_argument("--json", action="store_true", help="print JSON lines")
        self.add_own_arguments(parser)

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the arguments of this command."""

    def handle(self, *args: object, **options: Any) -> None:
        """Run the command; a refusal prints one line and exits 1."""
        self.is_json = options["json"]
        try:
            self.run(**options)
        except DomainError as error:
            raise CommandError(str(error)) from error

    def say(self, text: str, /, **values: object) -> None:
        """Print `text`, or the values as one JSON object."""
        self.stdout.write(json.dumps(values, default=str, ensure_ascii=False) if self.is_json else text)


def add_user_argument(parser: CommandParser) -> None:
    """Add the required `--user EMAIL`."""
    parser.add_argument("--user", required=True, metavar="EMAIL", help="whose data the command works on")


def get_user_by_email(email: str) -> AbstractBaseUser:
    """Return the user of an email address. Raises CommandError."""
    user = get_user_model()._default_manager.filter(email=email.lower()).first()
    if user is None:
        raise CommandError(f"There is no user {email}. Make one with `createuser`.")
    return user


def check_json_object(text: str) -> str:
    """Check a JSON object argument; return its text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return text
