from concurrent.futures import ThreadPoolExecutor

from config.lib.cache import RecentCache


def test_cache_keeps_the_values_added_last_and_no_none():
    cache = RecentCache(2)
    for number in range(4):
        cache.keep({number: number, "nothing": None}.items())

    assert cache.look_up([3, "nothing", 1, 2, 3]) == [3, None, None, 2, 3]
    cache.keep({number: number for number in range(9)}.items())
    assert (list(cache), len(cache)) == ([7, 8], 2)
    cache.clear()
    assert cache.look_up([8]) == [None]


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
