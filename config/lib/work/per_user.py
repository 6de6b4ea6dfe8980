"""Run work for every user, each in their own scope."""

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from django.contrib.auth import get_user_model

from config.lib.owned import owned_tx, system_tx

logger = logging.getLogger(__name__)

T = TypeVar("T")


def for_each_user(reason: str, work: Callable[[], T]) -> Iterator[T | None]:
    """Yield each user's result, None after a failure, which is logged and rolled back."""
    with system_tx(reason):
        ids = list(get_user_model()._default_manager.order_by("pk").values_list("pk", flat=True))
    for user_id in ids:
        result = None
        try:
            with owned_tx(user_id):
                result = work()
        except Exception:
            logger.exception("%s failed for user %s", reason, user_id)
        yield result
