"""The id of each request, as ASGI middleware."""

import re
from typing import Final
from uuid import uuid4

from config.lib.edge.proxies import App, Message, Receive, Scope, Send
from config.lib.observe.logs import request_id

_GIVEN: Final = re.compile(rb"[A-Za-z0-9_-]{8,64}")


class RequestId:
    """Give each request and socket an id for its log lines and answer; only a trusted proxy may give another."""

    def __init__(self, app: App, *, trusts_header: bool) -> None:
        self.app = app
        self.trusts_header = trusts_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"") if self.trusts_header else b""
        own = given.decode() if _GIVEN.fullmatch(given) else uuid4().hex
        request_id.set(own)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), (b"x-request-id", own.encode())]}
            await send(message)

        await self.app(scope, receive, send_with_id)
