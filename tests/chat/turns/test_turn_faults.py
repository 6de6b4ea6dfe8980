"""Turns with broken models, tools or database end with one message."""

import asyncio
import json
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError, connection
from psycopg_pool import PoolTimeout
from pydantic import BaseModel

from chat import tools
from chat.models import Message, MessageStatus
from chat.tools.base import TOOL_FAILED, Tool
from chat.turns import pump, replies, saving, turn
from chat.turns.events import TurnDone, TurnFailed
from chat.turns.replies import interrupt_dead_turns
from chat.turns.turn import Control
from config.lib.llm.answer import Piece
from config.lib.owned import system_tx
from config.lib.threads import run_in_thread
from memory.models import UserFact
from tests.chat.talk import answer, leaves, until
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)

FACT = {"fact": "Never trades alts"}


async def assert_closed(talk, status: MessageStatus) -> None:
    """Nothing is stuck: the newest reply is closed, no call of it shows as running, and the next turn may begin."""
    reply = await talk.reply()
    assert reply.status == status
    assert reply.finished_at is not None
    assert [part for part in reply.parts if part.get("status") == "running"] == []


# --- What the model writes ---


@pytest.mark.parametrize("arguments", ["{", '{"fact": 5}'])
async def test_arguments_that_do_not_fit_go_back_to_the_model(model, talk, arguments):
    model.call("remember", arguments)
    model.say("I could not save that.")

    result = await talk.ask()

    (failed,) = result.tool_results
    assert failed["error"]
    assert "error" in json.loads(model.requests[1]["messages"][-1]["content"])
    assert json.loads(model.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]) is not None
    assert result.last == TurnDone("complete", result.last.usage)
    assert await talk.look(UserFact.objects.count) == 0
    await assert_closed(talk, MessageStatus.COMPLETE)


async def test_text_that_no_database_takes_is_cleaned(model, talk):
    model.call("remember", json.dumps({"fact": "a\x00b trades\x00 only\x1b BTC"}))
    model.call("forget", json.dumps({"fact_id": "no such\x00 fact"}))
    model.say("Done\x00 \ud83d", "\ude00 and \udfff done.")

    result = await talk.ask("Hi\x00 \ud800 there")

    question, reply = await talk.messages()
    assert question.content == "Hi  there"
    assert result.text == reply.content == "Done 😀 and � done."
    strings = [leaf for leaf in leaves(reply.parts) if isinstance(leaf, str)]
    assert [text for text in strings if "\x00" in text] == []
    "".join(strings).encode()


async def test_unknown_tool_is_told_which_there_are(model, talk):
    model.call("rm_rf", {"path": "/"})
    model.say("Sorry.")

    result = await talk.ask()

    (told,) = result.tool_results
    assert told["error"].startswith("There is no tool of that name. There are: set_basics, ")
    assert told["error"].endswith("remember, forget, prepare_action, query_trades.")


async def test_calls_that_share_an_id_or_have_none_get_their_own(model, talk):
    model.call_all(("remember", {"fact": "Fact one"}), ("remember", {"fact": "Fact two"}), id="call_same")
    model.call("remember", {"fact": "Fact three"}, id="call_same")
    model.call("remember", FACT, id="\x00")
    model.say("Done.")

    result = await talk.ask()

    ids = [part["call_id"] for part in (await talk.reply()).parts if part["kind"] == "tool"]
    assert len(set(ids)) == 4
    assert ids[-1].startswith("call_")
    assert result.tool_results[-1]["saved"] == FACT["fact"]


async def test_endless_loop_of_calls_ends_after_the_last_step(model, talk, settings):
    settings.TURN_MAX_STEPS = 3
    for number in range(5):
        model.call("remember", {"fact": f"Round number {number}"})

    result = await talk.ask()

    assert len(model.requests) == 3
    assert result.notices == ["Keel stopped after 3 steps. Say “go on” to continue."]
    await assert_closed(talk, MessageStatus.COMPLETE)


@pytest.mark.parametrize("pieces", [[], [""], ["  \n\t ", "\n"], ["\x07\x1b"]], ids=repr)
async def test_answer_of_nothing_is_said_to_be_empty(model, talk, pieces):
    model.say(*pieces)

    result = await talk.ask()

    (message,) = result.failures
    assert "nothing" in message or "empty" in message
    assert result.events == [TurnFailed(message)]
    reply = await talk.reply()
    assert (reply.parts, reply.error) == ([], message)
    await assert_closed(talk, MessageStatus.FAILED)


@pytest.mark.parametrize(
    ("finish_reason", "notices"),
    [
        ("stop", []),
        ("tool_calls", []),
        ("length", ["The answer was cut off at the model's limit."]),
        ("content_filter", ["The provider of the model cut this answer off."]),
        ("never heard of", []),
    ],
)
async def test_every_finish_reason_ends_the_turn(model, talk, finish_reason, notices):
    model.say("Something.", finish_reason=finish_reason)

    result = await talk.ask()

    assert (result.text, result.notices) == ("Something.", notices)
    await assert_closed(talk, MessageStatus.COMPLETE)


@pytest.mark.limit("chat.turns.turn.MAX_REPLY")
async def test_giant_answer_is_cut(model, talk):
    model.say(*["x" * 50_000] * 100)

    result = await talk.ask()

    reply = await talk.reply()
    assert result.text == reply.content == "x" * turn.MAX_REPLY
    assert result.notices == [turn.TOO_LONG]
    assert model.closed == 1
    await assert_closed(talk, MessageStatus.COMPLETE)


# --- What the model does ---


async def test_model_that_fails_after_a_tool_keeps_the_tool(model, talk):
    model.call("remember", FACT, text="Keeping it.")
    model.say(RuntimeError("gone"))

    result = await talk.ask()

    assert len(result.failures) == 1
    reply = await talk.reply()
    assert [part["kind"] for part in reply.parts] == ["text", "tool", "memory"]
    assert await talk.look(UserFact.objects.count) == 1


@pytest.mark.clock
async def test_model_that_never_ends_is_ended_by_the_turns_time_and_can_be_retried(model, talk, settings, monkeypatch):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    settings.TURN_TIMEOUT_SECONDS = 0.5
    model.say(*[f"{number} " for number in range(100_000)], delay=0.001)
    model.say("In short.")
    began = time.monotonic()

    result = await talk.ask()

    assert time.monotonic() - began < 3
    assert result.failures == [turn.TOOK_TOO_LONG]
    reply = await talk.reply()
    assert reply.content == result.text.strip() != ""
    assert model.closed == 1
    await assert_closed(talk, MessageStatus.FAILED)
    settings.TURN_TIMEOUT_SECONDS = 300
    assert (await answer(await talk.retry())).text == "In short."


async def test_model_that_will_not_be_cancelled_does_not_hold_the_turn(model, talk, monkeypatch):
    monkeypatch.setattr(pump, "CLOSE_SECONDS", 0.1)
    released = asyncio.Event()

    async def deaf(*args: Any, **kwargs: Any):
        yield Piece(content="Half")
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    model.stream = deaf
    control = Control()
    running = asyncio.create_task(answer(await talk.say(), control))
    await asyncio.sleep(0.2)

    control.stop()

    result = await asyncio.wait_for(running, 3)
    released.set()
    assert result.last.status == "interrupted"
    await assert_closed(talk, MessageStatus.INTERRUPTED)


# --- What tools do ---


class NoArgs(BaseModel):
    """No arguments."""


@pytest.fixture
def give_tool(monkeypatch):
    """A function that adds a tool `probe` to the coach's."""

    def give(run) -> None:
        probe = Tool(
            name="probe", label="Probe", description="A probe.", args=NoArgs, run=lambda context, args: run(args)
        )
        monkeypatch.setitem(tools.TOOLS, "coach", (*tools.TOOLS["coach"], probe))

    return give


@pytest.fixture
def hanging(give_tool, monkeypatch):
    """An event that ends the hanging of the tool `probe`, which hangs before it opens its transaction."""
    release = threading.Event()
    monkeypatch.setattr(NoArgs, "model_validate_json", lambda arguments: release.wait(20))
    give_tool(lambda waited: {"waited": waited})
    yield release
    release.set()


async def test_tool_that_works_is_shown_to_other_processes_and_the_heart_beats(model, talk, hanging, monkeypatch):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    model.call("probe", {})
    model.say("Done.")
    running = asyncio.create_task(answer(await talk.say()))

    beats: dict[datetime, list[str]] = {}
    while len(beats) < 4:
        reply = await talk.reply()
        beats[reply.heartbeat_at] = [part["status"] for part in reply.parts]
        await asyncio.sleep(0.02)
    assert list(beats.values())[-1] == ["running"]
    hanging.set()

    assert (await running).tool_results == [{"waited": True}]


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_stop_does_not_wait_for_a_hanging_tool(model, talk, hanging, monkeypatch, where):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    monkeypatch.setattr(turn, "STOP_SECONDS", 0.1)
    model.call("probe", {}, text="Let me look.")
    control = Control()
    running = asyncio.create_task(answer(await talk.say(), control))
    while not (await talk.reply()).parts:
        await asyncio.sleep(0.02)

    if where == "here":
        control.stop()
    else:
        await talk.stop_from_elsewhere()

    result = await asyncio.wait_for(running, 3)
    assert result.last == TurnDone("interrupted", result.last.usage)
    await assert_closed(talk, MessageStatus.INTERRUPTED)
    (part,) = [part for part in (await talk.reply()).parts if part["kind"] == "tool"]
    assert part["status"] == "error"


@pytest.mark.clock
async def test_tools_count_towards_the_turns_time(model, talk, hanging, settings, monkeypatch):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    settings.TURN_TIMEOUT_SECONDS = 0.5
    model.call_all(("probe", {}), ("probe", {}), ("probe", {}))
    began = time.monotonic()

    result = await talk.ask()

    assert time.monotonic() - began < 3
    assert result.failures == [turn.TOOK_TOO_LONG]
    await assert_closed(talk, MessageStatus.FAILED)


async def test_hanging_tools_are_given_up_and_leave_threads_for_everybody_else(model, talk, hanging, monkeypatch):
    monkeypatch.setattr(turn, "TOOL_SECONDS", 0.02)
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.01)
    model.call_all(*[("probe", {})] * 16)
    model.say("They hang.")

    result = await asyncio.wait_for(talk.ask(), 10)

    assert result.tool_results == [{"error": TOOL_FAILED}] * 16
    await assert_closed(talk, MessageStatus.COMPLETE)


# --- What the database does ---


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
async def test_failing_saves_do_not_end_the_turn(model, talk, outage, monkeypatch, error):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    gate = Gate()
    model.say("Said during", gate, " the outage.")
    running = asyncio.create_task(answer(await talk.say()))
    await until(gate.reached.is_set)

    outage.begin('UPDATE "agent_messages"', error)
    await until(lambda: outage.hits >= 3)
    outage.end()
    gate.open()

    assert (await running).last.status == "complete"
    assert (await talk.reply()).content == "Said during the outage."


async def test_end_of_a_reply_is_saved_when_the_database_is_back(model, talk, outage, monkeypatch):
    monkeypatch.setattr(saving, "RETRY_SECONDS", 0.01)
    model.say("Worth keeping.")
    start = await talk.say()
    outage.begin('UPDATE "agent_messages"')
    running = asyncio.create_task(answer(start))

    await until(lambda: outage.hits >= 2)
    outage.end()

    assert (await running).last.status == "complete"
    assert (await talk.reply()).content == "Worth keeping."


@pytest.mark.clock
async def test_reply_that_cannot_be_saved_says_so_once(model, talk, outage, monkeypatch):
    monkeypatch.setattr(saving, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(saving, "OUTAGE_SECONDS", 0.5)
    model.say("Lost.")
    start = await talk.say()
    outage.begin('UPDATE "agent_messages"')
    began = time.monotonic()

    result = await answer(start)

    outage.end()
    assert (result.text, result.failures, result.last) == ("Lost.", [turn.NOT_SAVED], TurnFailed(turn.NOT_SAVED))
    assert outage.hits >= 4
    assert time.monotonic() - began < 0.5 + 1


@pytest.mark.parametrize("save_seconds", [0.05, 30])
async def test_text_said_after_the_sweep_of_another_process_is_kept(model, talk, monkeypatch, save_seconds):
    """A process that stood still (a laptop asleep, a database away) finds its reply swept, and is not dead."""
    monkeypatch.setattr(saving, "SAVE_SECONDS", save_seconds)
    gate = Gate()
    model.say("All of", gate, " this was said.")
    running = asyncio.create_task(answer(await talk.say()))
    await until(gate.reached.is_set)

    def sweep() -> list[UUID]:
        with system_tx("test"), monkeypatch.context() as another_process:
            another_process.setattr(replies, "_running_here", set())
            return interrupt_dead_turns(now=datetime.now(UTC) + timedelta(hours=1))

    assert await run_in_thread(sweep) == [talk.conversation_id]
    gate.open()
    result = await running

    assert (result.text, result.failures) == ("All of this was said.", [])

    reply = await talk.reply()
    assert (reply.content, reply.status, reply.error) == ("All of this was said.", MessageStatus.COMPLETE, "")


async def test_reply_that_was_retried_elsewhere_ends_with_a_sentence(model, talk, monkeypatch):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    gate = Gate()
    model.say("Said before", gate, " and never said.")
    start = await talk.say()
    running = asyncio.create_task(answer(start))
    await until(gate.reached.is_set)

    taken = {"status": MessageStatus.FAILED, "error": "Retried."}
    await talk.look(lambda: Message.objects.filter(pk=start.reply_id).update(**taken))
    result = await running

    assert result.failures == [saving.STOPPED_ELSEWHERE]


@pytest.fixture
def broken_pool():
    """The pool of a test that kills its connections, with idle ones in it; the next test gets another."""
    idle: list[psycopg.Connection] = []
    with suppress(PoolTimeout):  # threads of earlier tests may hold the rest
        while len(idle) < 18:
            idle.append(connection.pool.getconn(timeout=1))
    for each in idle:
        connection.pool.putconn(each)
    yield
    connection.close_pool()


@pytest.mark.postgres
async def test_connections_killed_during_a_turn_lose_nothing(model, talk, monkeypatch, broken_pool):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    gate, silence = Gate(), Gate()
    model.say("Said before", gate, " and after", silence, " the restart.")
    mine = await sync_to_async(lambda: connection.connection.info.backend_pid)()
    running = asyncio.create_task(answer(await talk.say()))
    await until(gate.reached.is_set)

    def kill_others() -> int:
        where = connection.settings_dict
        names = {"host": where["HOST"], "port": where["PORT"], "user": where["USER"], "dbname": where["NAME"]}
        with psycopg.connect(**names, password=where["PASSWORD"]) as own:
            return own.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND usename = current_user AND pid <> ALL(%s)",
                [[own.info.backend_pid, mine]],
            ).rowcount

    killed = await asyncio.to_thread(kill_others)
    gate.open()
    while (await talk.reply()).content != "Said before and after":
        await asyncio.sleep(0.05)
    killed += await asyncio.to_thread(kill_others)
    silence.open()

    assert (await running).last.status == "complete"
    assert (await talk.reply()).content == "Said before and after the restart."
    assert killed >= 2
