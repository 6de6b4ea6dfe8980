import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.module_loading import import_string

from config.files import keep_text
from config.lib.work.commands import KeelCommand

EMAIL = "demo@example.com"
STAFF = "staff@example.com"  # a superuser, who sees the admin as a whole


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
        folder = settings.HOME_DIR / "var"
        user, password = _make_login(EMAIL, folder / "demo-password", experience_tier="intermediate")
        _, staff_password = _make_login(STAFF, folder / "demo-staff-password", is_staff=True, is_superuser=True)
        made: dict[str, int] = {}
        for path in settings.DEMO:  # no app knows all the others
            made |= import_string(path)(user.pk, clock=timezone.now, report=self._tell_step)
        self._tell_step("")
        staff = {"staff_email": STAFF, "staff_password": staff_password}
        self.say(
            f"Demo login: {EMAIL}  password: {password}"
            + ("" if any(made.values()) else "  (seeded before)")
            + f"\nStaff login (/admin/): {STAFF}  password: {staff_password}",
            **{"email": EMAIL, "password": password, **staff, **made},
        )

    def _tell_step(self, progress: str) -> None:
        # On a terminal only, each over the one before: a log needs no progress.
        if self.stderr.isatty():
            self.stderr.write(f"\r\033[K{progress}", ending="")


def _make_login(email: str, path: Path, **columns: Any) -> tuple[Any, str]:
    """Return the user of an address, made once, with the random password that a file private to its owner keeps."""
    users = get_user_model()._default_manager
    user = users.filter(email=email).first() or users.create_user(email=email, **columns)
    password = keep_text(path, secrets.token_urlsafe(9))
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    return user, password
