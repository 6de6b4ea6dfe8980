"""Run work for every user, each in their own scope."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from config.lib.owned import owned_tx, system

logger = logging.getLogger(__name__)

T = TypeVar("T")


def for_each_user(
    reason: str, work: Callable[[], T], *, select: Callable[[], QuerySet[Any]] | None = None
) -> Iterator[T | None]:
    """Yield each user's result, None after a failure, which is logged and rolled back.

    `select` names the rows with work, in the system's scope: their owners alone are the users.
    """
    with system(reason):
        users = get_user_model()._default_manager.order_by("pk")
        if select is not None:
            users = users.filter(pk__in=select().values("user"))
        ids = list(users.values_list("pk", flat=True))
    for user_id in ids:
        result = None
        try:
            with owned_tx(user_id):
                result = work()
        except Exception:
            logger.exception("%s failed for user %s", reason, user_id)
        yield result
