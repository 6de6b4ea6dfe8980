from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from config.lib.work.embedded import FairQueue
from config.lib.work.jobs import Key

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def item(user: int, row: int = 0, name: str = "count") -> tuple[str, Key]:
    return name, Key(user, UUID(int=row))


def take(queue, now=NOON):
    return queue.take(lambda: now, 0)


def take_all(queue):
    """Take and finish until nothing waits."""
    return list(iter(lambda: _take_and_finish(queue), None))


def _take_and_finish(queue):
    taken = take(queue)
    if taken is not None:
        queue.finish(taken)
    return taken


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 20)), max_size=60))
def test_everything_is_taken_once_and_nobody_waits_for_more_than_one_of_each_other(rows):
    queue = FairQueue()
    for user, row in rows:
        queue.put(item(user, row))

    taken = take_all(queue)

    assert sorted(taken) == sorted({item(user, row) for user, row in rows})
    for place, (_, key) in enumerate(taken):
        later = [other.user_id for _, other in taken[place + 1 :]]
        if key.user_id in later:
            between = later[: later.index(key.user_id)]
            assert len(between) == len(set(between))
