"""Without Redis the cache counts in this process; it comes back by itself."""

import pytest
from django.core.cache import cache
from redis.exceptions import ConnectionError as RedisGone

from config.lib.edge import stores
from config.lib.edge.stores import SturdyRedisCache


@pytest.fixture
def sturdy(monkeypatch):
    """A cache whose Redis can be switched off, and the clock that it reads."""
    made = SturdyRedisCache("redis://127.0.0.1:1/0", {"KEY_PREFIX": "test"})
    made._memory.clear()  # Redis is not asked: that it is away would outlive the test
    made.now = 1_000.0
    monkeypatch.setattr(SturdyRedisCache, "_away_until", 0.0)
    monkeypatch.setattr(SturdyRedisCache, "_warned_at", 0.0)
    monkeypatch.setattr(stores.time, "monotonic", lambda: made.now)
    return made


class FakeRedis:
    def __init__(self) -> None:
        self.asked = 0
        self.is_away = True

    def incr(self, key, delta=1, version=None):
        self.asked += 1
        if self.is_away:
            raise RedisGone("refused")
        return 41 + delta


def test_operations_work_while_redis_is_away(sturdy):
    assert sturdy.add("a", 1) is True
    assert sturdy.add("a", 2) is False
    assert sturdy.get("a") == 1
    assert sturdy.incr("a") == 2
    sturdy.set("b", "x", 60)
    assert (sturdy.has_key("b"), sturdy.touch("b", 60), sturdy.delete("b"), sturdy.get("b", "gone")) == (
        *(True, True, True),
        "gone",
    )
    assert sturdy.is_away


def test_counter_that_began_in_redis_goes_on_in_memory(sturdy):
    sturdy._redis = FakeRedis()

    assert [sturdy.incr("hits"), sturdy.incr("hits")] == [1, 2]


def test_counter_begins_again_in_a_redis_that_came_back_empty(sturdy):
    sturdy._redis = sturdy._memory

    assert [sturdy.incr("hits"), sturdy.incr("hits"), sturdy.is_away] == [1, 2, False]


def test_redis_is_asked_again_after_a_while(sturdy):
    sturdy._redis = redis = FakeRedis()
    sturdy.incr("hits")
    sturdy.incr("hits")
    asked_while_away = redis.asked
    redis.is_away = False
    sturdy.now += stores.RETRY_SECONDS

    assert (asked_while_away, sturdy.incr("hits")) == (1, 42)


def test_outage_is_logged_once_a_minute_by_all_threads(sturdy, caplog):
    sturdy._redis = FakeRedis()
    of_another_thread = SturdyRedisCache("redis://127.0.0.1:1/0", {})
    of_another_thread._redis = FakeRedis()
    for _ in range(20):
        sturdy.incr("hits")
        assert of_another_thread.is_away
        sturdy.now += stores.RETRY_SECONDS
        of_another_thread.incr("hits")

    assert len([record for record in caplog.records if "Redis does not answer" in record.message]) == 2


@pytest.mark.redis
def test_the_cache_of_the_site_is_redis_where_it_is_there():
    cache.set("x", 1)

    assert cache._redis.get("x") == 1
    assert not cache.is_away
