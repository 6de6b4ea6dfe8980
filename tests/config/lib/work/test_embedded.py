from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from config.lib.work.embedded import FairQueue
from config.lib.work.jobs import Key

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 20)), max_size=60))
def test_everything_is_taken_once_and_nobody_waits_for_more_than_one_of_each_other(rows):
    queue, taken = FairQueue(), []
    for user, row in rows:
        queue.put(("count", Key(user, UUID(int=row))))

    while (item := queue.take(lambda: NOON, 0)) is not None:
        taken.append(item[1])
        queue.finish(item)

    assert sorted(taken) == sorted({Key(user, UUID(int=row)) for user, row in rows})
    for place, key in enumerate(taken):
        later = [other.user_id for other in taken[place + 1 :]]
        if key.user_id in later:
            between = later[: later.index(key.user_id)]
            assert len(between) == len(set(between))
