"""The lease of a row that is being worked on: short, and renewed as long as the work goes on."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from django.db import connections

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
