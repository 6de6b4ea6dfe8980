"""A body over its limit is answered with 413 before anything of it is kept, announced or not."""

import importlib
import json

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings

from config import asgi
from config.lib.edge.bodies import BodyLimit


def post(chunks: list[bytes], *, path: str = "/theme/", announced: int | None = None):
    """Return the bytes that the application read (None: it was told that the client had gone) and the answer."""
    messages = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, start=1)
    ]
    read, sent = [], []

    async def application(scope, receive, send):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                read.append(None)
                return
            read.append(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    limited = BodyLimit(application, limit=10, larger={"/api/": 20, "/api/big/": 40})
    async_to_sync(limited)({"type": "http", "path": path, "headers": headers}, receive, send)
    assert messages == [], "the client could not send its body to the end"
    return read, sent


@pytest.mark.parametrize(("path", "most"), [("/theme/", 10), ("/api/x/", 20), ("/api/big/", 40)])
@pytest.mark.parametrize(("over", "status"), [(0, 200), (1, 413)])
def test_announced_body_reaches_the_application_up_to_the_limit_of_its_address(path, most, over, status):
    size = most + over

    read, sent = post([b"x" * size], path=path, announced=size)

    assert (read, sent[0]["status"]) == ([] if over else [b"x" * size], status)


def test_body_without_a_length_is_counted_while_it_comes():
    read, sent = post([b"x" * 6, b"x" * 6, b"x" * 6])

    assert (read, sent[0]["status"]) == ([b"x" * 6, None], 413)


def test_refusal_is_a_page_or_a_problem():
    page, problem = post([b"x" * 11], announced=11)[1], post([b"x" * 21], path="/api/x/", announced=21)[1]

    assert b"more than Keel can take" in page[1]["body"]
    assert json.loads(problem[1]["body"])["code"] == "too_large"


@pytest.mark.limit("config.settings.MAX_BODY_BYTES")
def test_site_takes_bodies_of_its_limit(monkeypatch):
    sent = []

    async def take(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message.get("status"))

    monkeypatch.setattr("django.core.asgi.get_asgi_application", lambda: take)
    site = importlib.reload(asgi).application
    for size in (settings.MAX_BODY_BYTES, settings.MAX_BODY_BYTES + 1):
        headers = [(b"content-length", str(size).encode())]
        scope = {"type": "http", "path": "/theme/", "method": "POST", "headers": headers, "client": ("127.0.0.1", 1)}
        async_to_sync(site)(scope, receive, send)

    assert [status for status in sent if status] == [200, 413]
