from concurrent.futures import ThreadPoolExecutor

from config.lib.cache import RecentCache


def test_values_are_looked_up_in_the_order_of_their_keys():
    kept = RecentCache(9)
    kept.keep({"a": 1, "b": 2}.items())

    assert kept.look_up(["b", "x", "a", "b"]) == [2, None, 1, 2]


def test_those_made_last_stay():
    kept = RecentCache(2)
    for number in range(5):
        kept.keep({number: number}.items())

    assert kept.look_up(range(5)) == [None, None, None, 3, 4]
    assert len(kept) == 2


def test_more_at_a_time_than_are_kept_leave_the_last():
    kept = RecentCache(3)
    kept.keep({number: number for number in range(9)}.items())

    assert list(kept) == [6, 7, 8]


def test_nothing_is_kept_of_nothing():
    kept = RecentCache(3)
    kept.keep({"a": None}.items())

    assert len(kept) == 0


def test_clear_removes_every_cached_value():
    kept = RecentCache(3)
    kept.keep({"a": 1}.items())
    kept.clear()

    assert kept.look_up(["a"]) == [None]


def test_threads_never_see_more_than_may_be_kept():
    kept = RecentCache(50)

    def work(start):
        for number in range(start, start + 500):
            kept.keep({number: number}.items())
            assert kept.look_up([number])[0] in (number, None)
        return len(kept)

    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(work, range(0, 4000, 500)))

    assert max(sizes) <= 50
