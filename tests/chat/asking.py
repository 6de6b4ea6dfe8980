"""Programs that talk to Keel over HTTP: requests to the ASGI application as a server hands them on."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from asgiref.testing import ApplicationCommunicator
from django.test import Client

from config.asgi import application
from tests.chat.talk import PATIENCE, until


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    number: int
    name: str
    content: dict[str, Any]


@dataclass
class Exchange:
    """One request, and what has come back for it so far."""

    communicator: ApplicationCommunicator
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""
    has_ended: bool = False

    async def receive(self) -> None:
        """Take the next piece of the response."""
        message = await self.communicator.receive_output(PATIENCE)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            self.text += message.get("body", b"").decode()
            self.has_ended = not message.get("more_body", False)

    async def end(self) -> "Exchange":
        """Read on to the end."""
        while not self.has_ended:
            await self.receive()
        return self

    async def until(self, name: str) -> Event:
        """Read on to the first event of a name."""
        while not (found := [event for event in self.events if event.name == name]):
            assert not self.has_ended, f"the stream ended without {name}: {self.text}"
            await self.receive()
        return found[0]

    async def hang_up(self) -> None:
        """Go away, and wait until the application has noticed."""
        await self.communicator.send_input({"type": "http.disconnect"})
        await until(self.communicator.future.done)

    @property
    def json(self) -> Any:
        """The body, if it is JSON."""
        return json.loads(self.text)

    @property
    def events(self) -> list[Event]:
        """The events that have come whole; the blocks of comments are left out."""
        blocks = self.text.split("\n\n")[:-1]
        return [_event(block) for block in blocks if not block.startswith(":")]

    @property
    def names(self) -> list[str]:
        """The names of the events, several texts in a row as one."""
        names = [event.name for event in self.events]
        return [name for number, name in enumerate(names) if (name, names[number - 1 : number]) != ("text", ["text"])]

    @property
    def said(self) -> str:
        """The text of the reply."""
        return "".join(event.content["text"] for event in self.events if event.name == "text")


def _event(block: str) -> Event:
    lines = dict(line.split(": ", 1) for line in block.split("\n"))
    assert lines.keys() == {"id", "event", "data"}
    return Event(int(lines["id"]), lines["event"], json.loads(lines["data"]))


def headers_of(client: Client | None = None, **given: str) -> dict[str, str]:
    """Return the headers of a browser that is signed in, with its CSRF token, and others."""
    if client is None:
        return {"host": "testserver", **given}
    cookies = {name: morsel.value for name, morsel in client.cookies.items()} | {"csrftoken": "x" * 32}
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return {"host": "testserver", "cookie": cookie, "x-csrftoken": "x" * 32, **given}


@asynccontextmanager
async def open_exchange(
    headers: dict[str, str], body: Any, *, path: str = "/api/chat/", method: str = "POST"
) -> AsyncIterator[Exchange]:
    """Send a request and read how its response begins; at the end its sender goes away, if it is still there."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json", **headers, "content-length": str(len(sent))}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 1234),
    }
    exchange = Exchange(ApplicationCommunicator(application, scope))
    try:
        await exchange.communicator.send_input({"type": "http.request", "body": sent, "more_body": False})
        await exchange.receive()
        yield exchange
    finally:
        if not exchange.communicator.future.done():
            await exchange.hang_up()


async def post(headers: dict[str, str], body: Any, **options: Any) -> Exchange:
    """Send a request and return its whole response."""
    async with open_exchange(headers, body, **options) as exchange:
        return await exchange.end()
