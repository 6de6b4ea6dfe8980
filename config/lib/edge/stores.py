"""A cache that outlives its Redis: while Redis is away, each process counts for itself."""

import logging
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final

from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 5.0  # while Redis is away, one operation in this many seconds asks it
WARN_SECONDS: Final = 60.0


def _pass_on(name: str) -> Callable[..., Any]:
    """Return the operation of a cache that asks Redis, or this process's memory."""

    def operate(cache: "SturdyRedisCache", *args: Any, **kwargs: Any) -> Any:
        return cache._run(lambda store: getattr(store, name)(*args, **kwargs))

    return operate


class SturdyRedisCache(BaseCache):
    """Redis, or this process's memory while Redis is away.

    The cache holds counters of limits and locks of scheduled jobs, nothing that must not be lost. Without Redis, limits
    count per process, and a job may start in two processes; its rows carry leases.
    """

    # Of the process: Django makes a cache for each thread, and each would wait for the time-out and warn.
    _away_until: ClassVar[float] = 0.0
    _warned_at: ClassVar[float] = -WARN_SECONDS

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        options = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, **params.get("OPTIONS", {})}
        self._redis = RedisCache(server, {**params, "OPTIONS": options})
        self._memory = LocMemCache("sturdy-redis", params)

    @property
    def is_away(self) -> bool:
        """Whether the last operation did not reach Redis."""
        return time.monotonic() < self._away_until

    def _run(self, operation: Callable[[BaseCache], Any]) -> Any:
        if self.is_away:
            return operation(self._memory)
        try:
            return operation(self._redis)
        except (RedisError, OSError) as error:
            now, process = time.monotonic(), SturdyRedisCache
            process._away_until = now + RETRY_SECONDS
            if now - process._warned_at >= WARN_SECONDS:
                process._warned_at = now
                logger.warning("Redis does not answer (%s): limits count in this process", type(error).__name__)
            return operation(self._memory)

    add = _pass_on("add")
    get = _pass_on("get")
    set = _pass_on("set")
    touch = _pass_on("touch")
    delete = _pass_on("delete")
    has_key = _pass_on("has_key")

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Add to a number in one step; one that its store has lost begins at 0."""

        def count(cache: BaseCache) -> int:
            try:
                return cache.incr(key, delta, version)
            except ValueError:  # it began in the other store, or Redis came back empty
                cache.add(key, 0, version=version)
                return cache.incr(key, delta, version)

        return int(self._run(count))

    def clear(self) -> None:
        self._memory.clear()
        self._run(lambda cache: cache.clear())
