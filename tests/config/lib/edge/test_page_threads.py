"""Pages share few threads, and nothing else waits for these."""

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async

from config import asgi
from config.lib.edge import page_threads
from config.lib.edge.page_threads import THREADS, PageThreads


class Site:
    """An application whose views wait for a gate, each on the thread that it was given."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.seen: list[str] = []  # the threads, in the order of the views' beginnings
        self.reader = asyncio.Event()  # is set once the readers take the bodies of their answers
        self.app = PageThreads(self._answer, apart=("/api/",))

    async def _answer(self, scope, receive, send) -> None:
        await sync_to_async(self._view)()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def _view(self) -> None:
        self.seen.append(threading.current_thread().name)
        self.gate.wait(30)

    async def _send(self, message) -> None:
        if message["type"] == "http.response.body":
            await self.reader.wait()

    def ask(self, path="/trades/", method="GET") -> asyncio.Task:
        scope = {"type": "http", "method": method, "path": path}
        return asyncio.create_task(self.app(scope, None, self._send))

    async def until_seen(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.seen) < count:
                await asyncio.sleep(0.005)


def on_page_threads(site: Site) -> list[bool]:
    return [name.startswith("keel-page") for name in site.seen]


async def test_pages_share_few_threads_which_are_kept():
    site = Site()
    site.reader.set()
    pages = [site.ask() for _ in range(3 * THREADS)]
    await site.until_seen(THREADS)
    await asyncio.sleep(0.05)
    assert len(site.seen) == THREADS

    site.gate.set()
    await asyncio.gather(*pages)

    assert len(site.seen) == 3 * THREADS
    assert len(set(site.seen)) == THREADS
    assert all(on_page_threads(site))


@pytest.mark.parametrize(("path", "method"), [("/trades/", "POST"), ("/api/chat/", "POST"), ("/api/trades/", "GET")])
async def test_what_is_no_page_does_not_wait_for_pages(path, method):
    site = Site()
    pages = [site.ask() for _ in range(THREADS + 1)]
    await site.until_seen(THREADS)

    other = site.ask(path, method)
    await site.until_seen(THREADS + 1)

    assert on_page_threads(site) == [True] * THREADS + [False]
    site.gate.set()
    site.reader.set()
    await asyncio.gather(*pages, other)


async def test_page_does_not_wait_for_slow_readers():
    site = Site()
    site.gate.set()
    slow = [site.ask() for _ in range(THREADS)]
    await site.until_seen(THREADS)

    more = site.ask()
    await site.until_seen(THREADS + 1)

    assert all(on_page_threads(site))
    site.reader.set()
    await asyncio.gather(*slow, more)


async def test_page_gets_a_thread_of_its_own_when_the_others_are_stuck(monkeypatch):
    monkeypatch.setattr(page_threads, "PATIENCE_SECONDS", 0.01)
    site = Site()
    site.reader.set()
    stuck = [site.ask() for _ in range(THREADS)]
    await site.until_seen(THREADS)

    page = site.ask()
    await site.until_seen(THREADS + 1)

    assert on_page_threads(site)[-1] is False
    site.gate.set()
    await asyncio.gather(*stuck, page)


async def test_thread_is_free_again_after_a_page_that_broke():
    async def break_down(scope, receive, send) -> None:
        raise ZeroDivisionError

    app = PageThreads(break_down, apart=())
    for _ in range(THREADS + 1):
        with pytest.raises(ZeroDivisionError):
            await app({"type": "http", "method": "GET", "path": "/"}, None, None)

    assert app._free.qsize() == THREADS


def test_api_and_probes_of_the_site_stand_apart():
    for path in ("/api/chat/", "/healthz/", "/readyz/", "/metrics"):
        assert path.startswith(asgi._pages.apart)
    assert not "/trades/".startswith(asgi._pages.apart)
