from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from config.lib.postgresql.migrating import lift_limits, retry_locked


class Command(migrate.Command):
    """Django's, without the limits of requests: it waits for locks in short steps and says for whom."""

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]

        def act() -> None:
            super(Command, self).handle(*args, **options)

        with lift_limits(connection):
            retry_locked(act, connection, self.stdout.write)
