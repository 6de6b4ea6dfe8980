"""A browser's tab on a chat, over the real ASGI application: it sends frames, and shows what it is sent."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from config.asgi import application
from tests.chat.talk import PATIENCE, until

ORIGIN = "http://testserver"


def signed_in(user) -> Client:
    """Return a browser with the session of a user."""
    client = Client()
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return client


def visible(html: str) -> str:
    """Return what a reader sees of HTML, without white space."""
    return re.sub(r"\s+", "", re.sub(r"<[^>]*>", "", html))


@dataclass
class Tab:
    """One open socket; `frames` keeps what has come."""

    communicator: WebsocketCommunicator
    frames: list[dict[str, Any]] = field(default_factory=list)

    async def send(self, **frame: Any) -> None:
        """Send a frame."""
        await self.communicator.send_to(text_data=json.dumps(frame))

    async def say(self, text: str = "Hello", *, client_id: UUID | None = None) -> str:
        """Send a message and return its client id."""
        sent_as = str(client_id or uuid4())
        await self.send(type="message", client_id=sent_as, text=text)
        return sent_as

    async def next(self) -> dict[str, Any]:
        """Return the next frame."""
        frame = await self.communicator.receive_json_from(PATIENCE)
        self.frames.append(frame)
        return frame

    async def until(self, *types: str) -> dict[str, Any]:
        """Read on to the next frame of one of these types."""
        while (frame := await self.next())["type"] not in types:
            pass
        return frame

    async def closed_with(self) -> int:
        """Read on to the end of the socket and return its code."""
        while (output := await self.communicator.receive_output(PATIENCE))["type"] != "websocket.close":
            pass
        return output["code"]

    async def hears_nothing(self, seconds: float = 0.15) -> bool:
        """Tell whether nothing comes for a while."""
        return await self.communicator.receive_nothing(seconds)

    @property
    def seqs(self) -> list[int]:
        """The numbers of the frames of turns."""
        return [frame["seq"] for frame in self.frames if frame["type"] != "snapshot"]

    @property
    def page(self) -> "Page":
        """What the tab shows of the newest reply."""
        page = Page()
        for frame in self.frames:
            page.take(frame)
        return page


@dataclass
class Page:
    """The newest reply as static/chat/ builds it from frames."""

    closed: dict[str, str] = field(default_factory=dict)
    tail: str = ""
    final: str | None = None

    def take(self, frame: dict[str, Any]) -> None:
        """Apply one frame."""
        match frame:
            case {"type": "accepted"} | {"type": "snapshot", "reply": None}:
                self.closed, self.tail = {}, ""
            case {"type": "snapshot", "reply": {"html": html, "tail": tail}}:
                self.closed, self.tail = {"snapshot": html}, tail
            case {"type": "text", "html": html, "tail": tail}:
                self.closed[f"block {len(self.closed)}"] = html
                self.tail = tail
            case {"type": "text", "text": text}:
                self.tail += text
            case {"type": "tool_started" | "tool_finished", "call_id": call_id, "html": html}:
                self.closed[call_id] = html
            case {"type": "memory", "event_id": event_id, "html": html}:
                self.closed[event_id] = html
            case {"type": "done" | "failed", "html": html}:
                self.final = html

    @property
    def text(self) -> str:
        """What a reader sees of the reply before its end, without white space."""
        return visible("".join(self.closed.values())) + re.sub(r"\s+", "", self.tail)


@asynccontextmanager
async def open_tab(client: Client, conversation_id: UUID, *, origin: str = ORIGIN) -> AsyncIterator[Tab]:
    """Open the socket of a conversation; it is closed at the end, whatever happened."""
    communicator = connection(client, conversation_id, origin=origin)
    connected, code = await communicator.connect(PATIENCE)
    assert connected, f"refused with {code}"
    tab = Tab(communicator)
    try:
        yield tab
    finally:
        await hang_up(communicator)


async def hang_up(communicator: WebsocketCommunicator) -> None:
    """Close the socket as a browser does, and wait until the application has let it go."""
    if not communicator.future.done():
        await communicator.send_input({"type": "websocket.disconnect", "code": 1001})
        await until(communicator.future.done)


def connection(client: Client, conversation_id: UUID | str, *, origin: str | None = ORIGIN) -> WebsocketCommunicator:
    """Return a socket that is not open yet."""
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = [(b"host", b"testserver"), (b"cookie", cookies.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    return WebsocketCommunicator(application, f"/ws/chat/{conversation_id}/", headers=headers)
