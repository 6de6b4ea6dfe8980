import asyncio
import gc
import sys
import weakref
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from chat.models import Message, MessageStatus
from chat.turns import live
from chat.turns.events import MessageAccepted
from chat.turns.replies import RESTARTED
from chat.web import lifespan
from chat.web.lifespan import Lifespan
from tests.chat.talk import until
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)


class Server:
    """What a server does with the lifespan of an application."""

    def __init__(self) -> None:
        self.inbox: asyncio.Queue = asyncio.Queue()
        self.answers: list[str] = []
        self.reason = ""
        self.task = asyncio.create_task(Lifespan()({"type": "lifespan"}, self.inbox.get, self._send))

    async def _send(self, message) -> None:
        self.answers.append(message["type"])
        self.reason = message.get("message", "")

    async def start(self) -> None:
        await self.inbox.put({"type": "lifespan.startup"})
        await until(lambda: self.answers)

    async def stop(self) -> None:
        await self.inbox.put({"type": "lifespan.shutdown"})
        await asyncio.wait_for(self.task, 10)


async def leave_for_dead(talk) -> None:
    """Store a message whose turn died a while ago."""
    start = await talk.say()
    died_at = timezone.now() - timedelta(seconds=11)
    await talk.look(lambda: Message.objects.filter(pk=start.reply_id).update(heartbeat_at=died_at))


async def status_of(talk) -> tuple[str, str]:
    reply = await talk.reply()
    return reply.status, reply.error


@pytest.fixture
def old_database(db):
    """A database in which a migration from before the squash was applied."""
    recorder = MigrationRecorder(connection)
    recorder.record_applied("chat", "0001_initial")
    yield
    recorder.record_unapplied("chat", "0001_initial")


async def test_start_is_refused_on_an_old_database(old_database, model):
    before = asyncio.all_tasks()
    server = Server()

    await server.start()
    await server.task

    assert server.answers == ["lifespan.startup.failed"]
    assert "cannot be upgraded" in server.reason
    assert asyncio.all_tasks() - before == set()


async def test_start_does_not_wait_for_the_model_to_be_warm(monkeypatch):
    gate = asyncio.Event()

    async def slow_warm() -> None:
        await gate.wait()

    monkeypatch.setattr(lifespan, "_warm_client", slow_warm)
    server = Server()

    await asyncio.wait_for(server.start(), 2)
    await server.stop()


async def test_client_is_warmed_although_the_database_is_away(outage, monkeypatch):
    warmed = asyncio.Event()
    monkeypatch.setattr(lifespan.door, "warm", warmed.set)
    outage.begin('FROM "traders"')

    await lifespan._warm_client()

    assert (warmed.is_set(), outage.hits) == (True, 1)


async def test_sweep_comes_round_and_outlives_faults(talk, model, outage, monkeypatch):
    monkeypatch.setattr(lifespan, "SWEEP_SECONDS", 0.02)
    outage.begin('FROM "agent_messages"', RuntimeError)
    server = Server()
    await server.start()
    await until(lambda: outage.hits >= 2)
    outage.end()

    await leave_for_dead(talk)
    while (await status_of(talk))[0] != MessageStatus.INTERRUPTED:
        await asyncio.sleep(0.01)

    await server.stop()


async def test_sweep_tells_who_looks_on(talk, model, monkeypatch):
    told = []

    async def tell_news(conversation_id) -> None:
        told.append(conversation_id)

    monkeypatch.setattr(live, "tell_news", tell_news)
    await leave_for_dead(talk)
    server = Server()

    await server.start()
    await until(lambda: told)

    await server.stop()
    assert told == [talk.conversation_id]
    assert await status_of(talk) == (MessageStatus.INTERRUPTED, RESTARTED)
    assert server.answers == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_stop_ends_running_turns_with_their_text(talk, model):
    gate = Gate()
    model.say("Half an answer", gate)
    server = Server()
    await server.start()
    turn = live.start_turn(await talk.say(), MessageAccepted(()), None)
    await until(gate.reached.is_set)
    await until(lambda: len(turn.log.list_after(0)) >= 2)

    await server.stop()

    assert await status_of(talk) == (MessageStatus.INTERRUPTED, RESTARTED)
    assert (await talk.reply()).content == "Half an answer"


async def test_stop_leaves_no_task_behind(model):
    before = asyncio.all_tasks()
    server = Server()
    await server.start()

    await server.stop()
    await asyncio.sleep(0)

    assert asyncio.all_tasks() - before == set()


def test_freeze_modules_keeps_pages_from_the_collector():
    lifespan.freeze_modules()
    assert not any(one is sys.modules["trading.web.urls"].__dict__ for one in gc.get_objects())


def test_freeze_modules_lets_the_collector_find_what_pages_leave():
    lifespan.freeze_modules()
    left = set()
    seen = weakref.ref(left)
    cycle = [left]
    cycle.append(cycle)
    gc.collect(1)  # it outlives a page
    del left, cycle

    several_pages = [[] for _ in range(1_500_000)]

    assert several_pages
    assert seen() is None
