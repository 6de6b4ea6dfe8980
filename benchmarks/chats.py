"""Chats of a site, servers of it, and sockets at them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from uuid import UUID, uuid4

from django.utils import timezone
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.site import make_user, sign_in
from chat.conversations.services import start_conversation
from chat.models import MessageStatus
from chat.turns.accept import accept_message
from chat.turns.replies import finish_reply
from config.lib.owned import owned_tx
from trading.models import Trader

QUESTION = "How is my long?"
EARLIER = ("What am I holding?", "One position: BTC long, 3x, entered at 42,150.")
CHATS_PER_USER = 25

Chat = tuple[str, UUID]  # the session of its user, and its id
Server = tuple[subprocess.Popen[str], str]  # and its address


def make_conversation(user: Trader, turns: int = 1) -> UUID:
    """Create a conversation with some exchanges, of which the first freezes the memory block; return its id."""
    parts = [{"kind": "text", "step": 0, "text": EARLIER[1]}]
    with owned_tx(user):
        chat = start_conversation(now=timezone.now()).pk
        for _ in range(turns):
            accepted = accept_message(conversation_id=chat, client_id=uuid4(), text=EARLIER[0], now=timezone.now())
            finish_reply(
                reply_id=accepted.reply.pk,
                status=MessageStatus.COMPLETE,
                parts=parts,
                text=EARLIER[1],
                now=timezone.now(),
            )
    return chat


def make_chats(count: int, turns: int = 1) -> list[Chat]:
    """Create chats of users with ten facts."""
    chats: list[Chat] = []
    while len(chats) < count:
        user = make_user(facts=10)
        session = sign_in(user).cookies["sessionid"].value
        of_user = min(CHATS_PER_USER, count - len(chats))
        chats += [(session, make_conversation(user, turns)) for _ in range(of_user)]
    return chats


@contextmanager
def serve(count: int = 1, log: IO[str] | None = None) -> Iterator[list[Server]]:
    """Run servers of the site, which log warnings to a file."""
    command = [sys.executable, "manage.py", "up", "--port", "0", "--json"]
    environment = {**os.environ, "LOG_LEVEL": "WARNING" if log else "ERROR"}
    processes = []
    try:
        for _ in range(count):
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True))
        yield [(process, json.loads(process.stdout.readline())["url"]) for process in processes]
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def read_cpu(process: subprocess.Popen[str]) -> float:
    """Return the CPU seconds of a running process so far, exactly."""
    return time.clock_gettime((~process.pid << 3) | 2)  # the kernel's number of the clock of that process


def open_socket(url: str, chat: Chat) -> connect:
    """Return the socket of a chat at a server, to be entered."""
    session, conversation = chat
    return connect(
        f"{url.replace('http', 'ws', 1)}ws/chat/{conversation}/",
        additional_headers={"Cookie": f"sessionid={session}"},
        origin=url.rstrip("/"),
        open_timeout=60,
    )


async def ask(socket: ClientConnection) -> None:
    """Send a message."""
    await socket.send(json.dumps({"type": "message", "client_id": str(uuid4()), "text": QUESTION}))


async def read(socket: ClientConnection, *kinds: str) -> dict[str, Any]:
    """Return the next frame of one of the kinds."""
    async for message in socket:
        frame: dict[str, Any] = json.loads(message)
        if frame["type"] in kinds:
            return frame
    raise ConnectionError(f"the socket ended before {', '.join(kinds)}")
