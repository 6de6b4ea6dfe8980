"""Run work for every user, each in their own scope."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.contrib.auth import get_user_model

from config.lib.owned import owned_tx, system_tx

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UserResult(Generic[T]):
    """One user's result, None after a failure, which is logged."""

    user_id: int
    result: T | None
    total: int  # users in all

    @property
    def has_failed(self) -> bool:
        """Whether the work raised; its transaction was rolled back."""
        return self.result is None


def for_each_user(reason: str, work: Callable[[], T]) -> Iterator[UserResult[T]]:
    """Run work in each user's scope; a failure stops no other."""
    with system_tx(reason):
        ids = list(get_user_model()._default_manager.order_by("pk").values_list("pk", flat=True))
    for user_id in ids:
        result = None
        try:
            with owned_tx(user_id):
                result = work()
        except Exception:
            logger.exception("%s failed for user %s", reason, user_id)
        yield UserResult(user_id, result, len(ids))
