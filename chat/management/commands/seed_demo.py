import os
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.module_loading import import_string

from config.lib.work.commands import KeelCommand

EMAIL = "demo@example.com"


class Command(KeelCommand):
    help = (
        "Make the demo user with chats, skills and a trading record on a simulated market, once, and print how to sign"
        " in. Only on a site that is local."
    )

    def run(self, **options: object) -> None:
        if not settings.IS_LOCAL:
            raise CommandError(
                "This site answers to more than this machine's names; a demo login does not belong on it."
            )
        users = get_user_model()._default_manager
        user = users.filter(email=EMAIL).first()
        if user is None:
            user = users.create_user(email=EMAIL, experience_tier="intermediate")
        password = _kept_password(settings.HOME_DIR / "var" / "demo-password")
        if not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])
        made: dict[str, int] = {}
        for path in settings.DEMO:  # no app knows all the others
            made |= import_string(path)(user.pk, clock=timezone.now, report=self._tell_step)
        self._tell_step("")
        self.say(
            f"Demo login: {EMAIL}  password: {password}" + ("" if any(made.values()) else "  (seeded before)"),
            email=EMAIL,
            password=password,
            **made,
        )

    def _tell_step(self, progress: str) -> None:
        # On a terminal only, each over the one before: a log needs no progress.
        if self.stderr.isatty():
            self.stderr.write(f"\r\033[K{progress}", ending="")


def _kept_password(path: Path) -> str:
    """Return the demo's random password from a file private to its owner."""
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(9))
    return path.read_text()
