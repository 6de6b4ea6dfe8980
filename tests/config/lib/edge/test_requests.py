"""The id of a request: made here, or given by a trusted proxy, and never by a browser."""

import re

import pytest
from asgiref.sync import async_to_sync

from config.lib.edge.requests import RequestId
from config.lib.observe.logs import request_id

GIVEN = "0123456789abcdef"


def ask(*, trusts_header: bool, header: str | None = None) -> tuple[str, str]:
    """Return the id inside the application, and the one in the answer."""
    inside, sent = [], []

    async def app(scope, receive, send):
        inside.append(request_id.get())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    headers = [(b"x-request-id", header.encode())] if header is not None else []
    async_to_sync(RequestId(app, trusts_header=trusts_header))({"type": "http", "headers": headers}, None, send)
    return inside[0], dict(sent[0]["headers"])[b"x-request-id"].decode()


def test_request_gets_an_id_of_its_own():
    first, second = ask(trusts_header=False), ask(trusts_header=False)

    assert first[0] == first[1] != second[0]
    assert re.fullmatch("[0-9a-f]{32}", first[0])


def test_id_of_a_trusted_proxy_is_kept():
    assert ask(trusts_header=True, header=GIVEN) == (GIVEN, GIVEN)


@pytest.mark.parametrize(
    ("trusts_header", "header"),
    [(False, GIVEN), (True, "short"), (True, "x" * 65), (True, "a b c d e f g"), (True, ""), (True, "öööööööö")],
)
def test_id_of_a_browser_or_of_another_form_is_ignored(trusts_header, header):
    assert ask(trusts_header=trusts_header, header=header)[0] != header
