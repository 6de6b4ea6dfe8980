import time
from typing import Final

from django.core.management.base import CommandParser
from django.db import close_old_connections

from config.lib.work.commands import RunCommand
from trading.record.deployments import TICK

PAUSE_SECONDS: Final = 5.0


class Command(RunCommand):
    help = "Run the due ticks and commands of paper deployments until stopped."
    names = (TICK,)

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="do what is due now and exit")

    def run(self, *, once: bool, **options: object) -> None:  # type: ignore[override]
        try:
            while not once:
                self.run_due()
                close_old_connections()
                time.sleep(PAUSE_SECONDS)
        except KeyboardInterrupt:
            self.say("Stopped.", stopped=True)
        else:
            super().run()
