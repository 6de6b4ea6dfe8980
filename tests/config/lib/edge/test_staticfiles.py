import asyncio
import os

import pytest
from django.test import RequestFactory
from servestatic.responders import Redirect, StaticFile

from config.lib.edge.staticfiles import StaticFilesMiddleware

TEXT = b"const storage = {};"


@pytest.fixture
def script(tmp_path):
    """A static file."""
    path = tmp_path / "storage.js"
    path.write_bytes(TEXT)
    return path


async def serve(script, *, method="GET", **headers):
    file = StaticFile(str(script), [("Content-Type", "text/javascript")])
    return await StaticFilesMiddleware.aserve(file, RequestFactory().generic(method, "/static/storage.js", **headers))


def count_open(path) -> int:
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return sum(os.readlink(link) == str(path) for link in links if os.path.lexists(link))


@pytest.mark.parametrize(
    ("method", "headers", "status", "content"),
    [
        ("GET", {}, 200, TEXT),
        ("HEAD", {}, 200, b""),
        ("GET", {"HTTP_RANGE": "bytes=6-12"}, 206, b"storage"),
        ("GET", {"HTTP_RANGE": "bytes=900-"}, 416, b""),
        ("GET", {"HTTP_RANGE": "words=1-2"}, 200, TEXT),
        ("POST", {}, 405, b""),
    ],
)
async def test_static_file_is_answered_and_closed(script, method, headers, status, content):
    response = await serve(script, method=method, **headers)

    assert (response.status_code, response.content) == (status, content)
    assert response.get("Content-Type") == (None if status == 405 else "text/javascript")
    assert count_open(script) == 0


async def test_known_static_file_is_not_sent_again(script):
    tag = (await serve(script))["ETag"]

    response = await serve(script, HTTP_IF_NONE_MATCH=tag)

    assert (response.status_code, response.content) == (304, b"")


async def test_redirect_to_a_static_file_leads_there():
    response = await StaticFilesMiddleware.aserve(Redirect("/static/a.js"), RequestFactory().get("/static/b.js"))

    assert (response.status_code, response["Location"]) == (302, "/static/a.js")


@pytest.mark.parametrize("steps", range(6))
async def test_static_file_is_closed_when_the_browser_disconnects(script, steps):
    async def send() -> bytes:
        response = await serve(script)
        return b"".join([part async for part in response]) if response.streaming else response.content

    sending = asyncio.create_task(send())
    for _ in range(steps):
        await asyncio.sleep(0.001)
    sending.cancel()
    await asyncio.wait([sending])

    await asyncio.to_thread(lambda: None)  # a thread that was reading is done
    while count_open(script):
        await asyncio.sleep(0.001)
