"""Works that begin at one moment, each on a thread and a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from config.lib.errors import DomainError
from tests.owners import as_owner
from trading.models import Trader


def race(*works: Callable[[], Any], user: Trader | None = None) -> list[Any]:
    """Do all at once, as the user if one is given; return results and refusals in the given order."""
    start = Barrier(len(works), timeout=30)

    def run(work: Callable[[], Any]) -> Any:
        try:
            start.wait()
            return as_owner(user, work) if user else work()
        except DomainError as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))
