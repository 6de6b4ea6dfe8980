"""A server killed in mid reply: text kept, nothing stuck."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.utils import timezone
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from chat.models import Message, MessageStatus
from chat.turns.replies import HEARTBEAT_LEASE, RESTARTED, interrupt_dead_turns
from config.lib.owned import owned_tx, system_tx
from config.lib.threads import run_in_thread
from tests.chat.conftest import new_talk
from tests.chat.tabs import signed_in
from tests.chat.talk import until
from tests.factories.trading import TraderFactory
from tests.fakes import WireServer, well_formed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

ROOT = Path(__file__).parents[3]
WORDS = [f"word{number} " for number in range(2000)]
TEXT = "".join(WORDS)
WORD_SECONDS = 0.02
CHATS = 6
PROMISED_SECONDS = 1.0 + 0.5  # a second, and what a busy machine adds to it


def database_url() -> str:
    """Return the address of the test's database."""
    where = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{where['NAME']}"
    password = quote(where["PASSWORD"], safe="")
    return f"postgresql://{where['USER']}:{password}@{where['HOST']}:{where['PORT']}/{where['NAME']}"


# Keel takes a second to import: once here, and each server is a fork.
FORKER = """
import os, signal, sys
import config.asgi
from django.core.management import call_command
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are gone at once
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        call_command("up", "--port", line.strip())
        os._exit(0)
    print(pid, flush=True)
"""


@pytest.fixture(scope="module")
def forker(django_db_setup):
    """A process that makes servers: it reads a port and prints the new server's id."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "READ_DOT_ENV": "false",
        "DEBUG": "true",
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": database_url(),
        "REDIS_URL": "",
        "CHAT_AGENT_MODEL": "openai/wire",
        "OPENAI_API_KEY": "sk-test",
        "LOG_LEVEL": "ERROR",
    }
    with WireServer(default=well_formed(*WORDS, delay=WORD_SECONDS)) as wire:
        environment["OPENAI_API_BASE"] = wire.url
        command = [sys.executable, "-c", FORKER]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:
            yield process
            process.stdin.close()


class Site:
    """The server that `manage.py up` runs, in a process of its own, on the test's database."""

    def __init__(self, forker: subprocess.Popen) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.ended_at = 0.0
        forker.stdin.write(f"{self.port}\n")
        forker.stdin.flush()
        self.pid = int(next(line for line in forker.stdout if line.strip().isdigit()))

    async def wait(self) -> None:
        """Wait until it answers."""

        def answers() -> bool:
            assert self.lives, "the server ended by itself"
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        await until(answers, seconds=30)

    @property
    def lives(self) -> bool:
        """Whether the process is there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def open(self, client, talk):
        """Open the socket of a conversation."""
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        url = f"ws://127.0.0.1:{self.port}/ws/chat/{talk.conversation_id}/"
        origin = f"http://127.0.0.1:{self.port}"
        return connect(url, origin=origin, additional_headers={"cookie": cookies}, max_size=None, proxy=None)

    def end(self, signal_number: int) -> None:
        """Send a signal and wait until the process is gone."""
        deadline = time.monotonic() + 20
        if self.lives:
            os.kill(self.pid, signal_number)
        while self.lives:
            assert time.monotonic() < deadline, "the server does not end"
            time.sleep(0.01)


class Reader:
    """Reads a reply word by word, and knows what was seen at which time."""

    def __init__(self, socket) -> None:
        self.socket = socket
        self.seen: list[tuple[float, str]] = [(0.0, "")]

    @property
    def text(self) -> str:
        return self.seen[-1][1]

    def text_at(self, moment: float) -> str:
        """Return what had been seen at that time."""
        return [text for at, text in self.seen if at <= moment][-1]

    async def read(self) -> None:
        """Read until the connection ends."""
        try:
            async for data in self.socket:
                frame = json.loads(data)
                if frame["type"] == "text":
                    self.seen.append((time.monotonic(), self.text + frame["text"]))
        except ConnectionClosed:
            pass


async def end_in_mid_reply(site: Site, clients: list, talks: list, signal_number: int, *, after: float) -> list[Reader]:
    """Ask in each chat, end the server when each reply has run for `after` seconds, and return who read them."""
    async with AsyncExitStack() as stack:
        sockets = [
            await stack.enter_async_context(site.open(client, talk))
            for client, talk in zip(clients, talks, strict=True)
        ]
        readers = [Reader(socket) for socket in sockets]
        reading = [asyncio.create_task(reader.read()) for reader in readers]
        for number, each in enumerate(sockets):
            await each.send(json.dumps({"type": "message", "client_id": str(uuid4()), "text": f"Question {number}"}))
        await until(lambda: all(reader.text for reader in readers), seconds=60)
        await asyncio.sleep(after)
        site.ended_at = time.monotonic()
        await asyncio.to_thread(site.end, signal_number)
        await asyncio.wait(reading, timeout=10)
    return readers


@pytest.fixture
def people(db):
    """Three users with two chats each: their browsers and their chats, side by side."""
    users = TraderFactory.create_batch(CHATS // 2)
    clients = [signed_in(user) for user in users for _ in range(2)]
    return clients, [new_talk(user) for user in users for _ in range(2)]


def sweep(later: timedelta) -> list:
    """Sweep as a server does some time from now."""
    with system_tx("test"):
        return interrupt_dead_turns(now=timezone.now() + later)


def age(talk) -> None:
    """Let the newest reply look as if its server had died a while ago."""
    with owned_tx(talk.user_id):
        long_ago = timezone.now() - HEARTBEAT_LEASE - timedelta(seconds=1)
        Message.objects.filter(conversation_id=talk.conversation_id).streaming().update(heartbeat_at=long_ago)


@pytest.mark.clock
@pytest.mark.timeout(240)
async def test_killed_server_loses_no_message_and_at_most_a_second_of_text(forker, people):
    clients, talks = people
    for after in (0.3, 1.9):
        site = Site(forker)
        try:
            await site.wait()
            readers = await end_in_mid_reply(site, clients, talks, signal.SIGKILL, after=after)
        finally:
            site.end(signal.SIGKILL)

        for number, (reader, talk) in enumerate(zip(readers, talks, strict=True)):
            question, reply = (await talk.messages())[-2:]
            assert question.content == f"Question {number}"
            assert reply.status == MessageStatus.STREAMING
            assert TEXT.startswith(reply.content)
            assert TEXT.startswith(reader.text)
            assert len(reply.content) >= len(reader.text_at(site.ended_at - PROMISED_SECONDS).strip())

        assert await run_in_thread(sweep, timedelta(0)) == []  # the lease has not run out
        assert len(await run_in_thread(sweep, HEARTBEAT_LEASE + timedelta(seconds=1))) == CHATS
        replies = [await talk.reply() for talk in talks]
        assert {(reply.status, reply.error) for reply in replies} == {(MessageStatus.INTERRUPTED, RESTARTED)}
        assert all(reply.content for reply in replies) or after < 1
    # Nothing was doubled, and each chat went on from one server to the next.
    assert [len(await talk.messages()) for talk in talks] == [4] * CHATS


@pytest.mark.clock
@pytest.mark.timeout(120)
async def test_server_that_is_told_to_stop_saves_all_that_was_said(forker, people):
    clients, talks = people
    left_behind = await sync_to_async(new_talk)(await sync_to_async(TraderFactory)())
    await left_behind.say("Asked of a server that died")
    await run_in_thread(age, left_behind)
    site = Site(forker)
    try:
        await site.wait()
        while (await left_behind.reply()).error != RESTARTED:
            await asyncio.sleep(0.05)
        readers = await end_in_mid_reply(site, clients, talks, signal.SIGTERM, after=0.7)
    finally:
        site.end(signal.SIGKILL)

    for reader, talk in zip(readers, talks, strict=True):
        reply = await talk.reply()
        assert (reply.status, reply.error) == (MessageStatus.INTERRUPTED, RESTARTED)
        assert TEXT.startswith(reply.content)
        assert len(reply.content) >= len(reader.text.strip()) > 0
