"""The entry point of the management commands: `manage.py` in a checkout, `keel` where Keel is installed."""

import gc
import os
import sys
from typing import Any

from django.core.management import ManagementUtility


class _Commands(ManagementUtility):
    """Django's commands without its checks, which import every page: `check`, `doctor` and `migrate` run them."""

    def fetch_command(self, subcommand: str) -> Any:
        command: Any = super().fetch_command(subcommand)
        if subcommand == "makemigrations":
            from config.lib.search.autodetector import SearchIndexAutodetector  # noqa: PLC0415 - needs the settings

            command.autodetector = SearchIndexAutodetector
        if subcommand != "migrate" and command.requires_system_checks == "__all__":  # it must refuse an old database
            self.argv.insert(2, "--skip-checks")
        return command


def main() -> None:
    """Run the command of the arguments."""
    # Imports make many objects and hardly any garbage. Fewer collections save a twentieth of a command's start.
    gc.set_threshold(20_000, 20, 20)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    _Commands(sys.argv).execute()
