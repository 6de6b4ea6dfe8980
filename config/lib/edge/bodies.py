"""The size limit of request bodies, as ASGI middleware."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from django.template.loader import render_to_string

from config.lib.edge.requests import App, Message, Receive, Scope, Send, send_text
from config.lib.rest.problems import API_PATH, PROBLEM_JSON, build_body

DETAIL: Final = "This is more than can be taken at once."
# A client reads the answer once it has sent its body; past this many bytes the connection is closed instead.
MAX_DRAINED: Final = 64 * 1024 * 1024


class BodyLimit:
    """Refuse a body that is too large with 413, before anything of it is kept.

    Django spools the whole body to disk before it asks who sends it. `larger` gives the bytes of addresses that take
    more than `limit`, by the beginning of their path; the longest beginning counts.
    """

    def __init__(self, app: App, *, limit: int, larger: Mapping[str, int]) -> None:
        self.app = app
        self.limit = limit
        self.larger = sorted(larger.items(), key=lambda pair: -len(pair[0]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        limit = next((size for start, size in self.larger if path.startswith(start)), self.limit)
        announced = dict(scope["headers"]).get(b"content-length", b"")
        if announced.isdigit() and int(announced) > limit:
            await _drain(receive)
            await _refuse(path, send)
            return
        left, has_ended = limit, False

        async def receive_counted() -> Message:
            # Nobody need announce the length. Past the limit, the application learns that the client has gone.
            nonlocal left, has_ended
            message = await receive()
            left -= len(message.get("body", b""))
            has_ended = not message.get("more_body", False)
            return {"type": "http.disconnect"} if left < 0 else message

        async def send_unless_refused(message: Message) -> None:
            if left >= 0:
                await send(message)

        await self.app(scope, receive_counted, send_unless_refused)
        if left < 0:
            if not has_ended:
                await _drain(receive)
            await _refuse(path, send)


async def _drain(receive: Receive) -> None:
    """Read and drop the rest of a body."""
    left = MAX_DRAINED
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


async def _refuse(path: str, send: Send) -> None:
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if path.startswith(API_PATH):
        text, kind = json.dumps(build_body(status, code="too_large", detail=DETAIL)), PROBLEM_JSON
    else:
        text, kind = render_to_string("413.html"), "text/html; charset=utf-8"
    # The rest of the body is not read.
    await send_text(send, status.value, text, kind, (b"connection", b"close"))
