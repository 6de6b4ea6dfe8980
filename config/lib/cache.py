"""`RecentCache`, a small thread-safe cache of one process."""

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class RecentCache(Generic[Key, Value]):
    """A thread-safe cache of the `most` recently added values. It notes no requests, which would take longer."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: dict[Key, Value] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        return iter(list(self._values))

    def look_up(self, keys: Iterable[Key]) -> list[Value | None]:
        """Return the value of each key in turn, or None."""
        with self._lock:
            return list(map(self._values.get, keys))

    def keep(self, values: Iterable[tuple[Key, Value | None]]) -> None:
        """Add values by key; skip a None."""
        with self._lock:
            for key, value in values:
                if value is not None:
                    self._values[key] = value
            for key in list(islice(self._values, max(0, len(self._values) - self.most))):
                del self._values[key]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._values.clear()
