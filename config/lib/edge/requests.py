"""The client's address behind trusted proxies, and the id of each request, as ASGI middleware."""

import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from ipaddress import ip_address
from time import perf_counter
from typing import Any, Final
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse

from config.lib.observe.logs import request_id
from config.lib.observe.metrics import observe_request

logger = logging.getLogger("keel.access")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[..., Awaitable[Any]]  # servers and frameworks type scope and messages differently

_PLAIN: Final = re.compile(r"[\w.~-]{0,36}")  # up to an id; keys are longer or have a colon
USER_ID: Final = "user_id"  # in the scope of a request
_GIVEN_ID: Final = re.compile(rb"[A-Za-z0-9_-]{8,64}")


class ClientAddress:
    """Set the client of each request and socket from X-Forwarded-For.

    Each proxy appends the address of its own client, so behind N proxies the Nth address from the right is the
    browser's. Addresses further left come from the browser itself and are ignored. Sign-in limits count by this
    address, and the server's log shows it. A request with fewer addresses did not pass all proxies and gets a 400.
    """

    def __init__(self, app: App, *, proxies: int) -> None:
        self.app = app
        self.proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.proxies and scope["type"] in ("http", "websocket") and scope["path"] not in settings.DIRECT_PATHS:
            address = _find_address(scope["headers"], self.proxies)
            if address is None and scope["type"] == "websocket":
                await send({"type": "websocket.close"})  # before it is accepted: the handshake is answered with 403
                return
            if address is None:
                text = "This request did not come through the proxies of this site (X-Forwarded-For is too short)."
                await send_text(send, 400, text, "text/plain; charset=utf-8")
                return
            scope["client"] = (address, 0)  # in place: the server's log reads the same scope
        await self.app(scope, receive, send)


def _find_address(headers: list[tuple[bytes, bytes]], proxies: int) -> str | None:
    """Return the client's address. None: the header is too short, or its entry is no address."""
    lines = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
    entries = [entry.strip() for entry in ",".join(lines).split(",")] if lines else []
    if len(entries) < proxies:
        return None
    entry = entries[-proxies]
    # Some proxies append the port: 192.0.2.1:4711, [2001:db8::1]:4711.
    bare = entry[1:].partition("]")[0] if entry.startswith("[") else entry
    for candidate in (bare, bare.rpartition(":")[0]):
        with suppress(ValueError):
            return str(ip_address(candidate))
    return None


async def send_text(send: Send, status: int, text: str, kind: str, *headers: tuple[bytes, bytes]) -> None:
    """Send a whole response with the content type `kind`."""
    body = text.encode()
    described = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": described})
    await send({"type": "http.response.body", "body": body})


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
        own = given.decode() if _GIVEN_ID.fullmatch(given) else uuid4().hex
        request_id.set(own)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), (b"x-request-id", own.encode())]}
            await send(message)

        await self.app(scope, receive, send_with_id)


class AccessLog:
    """Write a line for each request, with who asked, from where and how long it took; count it for the metrics.

    A line has no query and no segment of a path that may be a key, as in a link to a new password.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in settings.DIRECT_PATHS:
            await self.app(scope, receive, send)
            return
        began, status = perf_counter(), 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        finally:
            seconds = perf_counter() - began
            observe_request(status, seconds)
            if logger.isEnabledFor(logging.INFO):
                _log_request(scope, status, seconds)


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    path = "/".join(part if _PLAIN.fullmatch(part) else "…" for part in scope["path"].split("/"))
    values = {
        "method": scope["method"],
        "path": path,
        "status": status,
        "ms": round(seconds * 1000),
        "user": scope.get(USER_ID),
        "address": (scope.get("client") or ("",))[0],
    }
    logger.info("%(method)s %(path)s %(status)s in %(ms)s ms, user %(user)s, %(address)s", values, extra=values)


class NameUserMiddleware:
    """Note the id of a request's user for its log line, without asking the database for it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # A session's user once somebody has looked; a token's, which the API sets.
        user = getattr(request, "_cached_user", None) or request.__dict__.get("user")
        if isinstance(request, ASGIRequest) and isinstance(user, AbstractBaseUser):  # tests have no scope
            request.scope[USER_ID] = user.pk  # type: ignore[index]
        return response
