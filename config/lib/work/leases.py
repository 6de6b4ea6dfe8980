"""The lease of a row that is being worked on: short, and renewed as long as the work goes on."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connections

from config.lib.owned import owned_tx
from config.lib.work.jobs import Clock

logger = logging.getLogger(__name__)

LEASE: Final = timedelta(minutes=2)  # outlasts a database that stands still for a minute
RENEW_SECONDS: Final = 30.0


@contextmanager
def keep_lease(renew: Callable[[], object]) -> Iterator[None]:
    """Renew a lease again and again, in a thread, until the work ends.

    A killed worker renews nothing, and two minutes later another one goes on, however long a model may take.
    """
    ended = threading.Event()

    def renew_often() -> None:
        while not ended.wait(RENEW_SECONDS):
            try:
                renew()
            except Exception:
                logger.warning("A lease was not renewed", exc_info=True)
            finally:
                connections.close_all()

    threading.Thread(target=renew_often, name="lease", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


@contextmanager
def keep_row(model: Any, row_id: UUID, lease: UUID, *, user_id: int, clock: Clock) -> Iterator[None]:
    """Renew the lease of a row, as long as it is ours, until the work ends."""

    def renew() -> None:
        with owned_tx(user_id):
            model.objects.filter(pk=row_id, lease=lease).update(lease_until=clock() + LEASE)

    with keep_lease(renew):
        yield
