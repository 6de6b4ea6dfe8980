"""`POST /api/chat/`: the turn of a socket, for programs."""

import asyncio
import json
from datetime import timedelta
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from chat.api import streams
from chat.models import Conversation, Message, MessageStatus
from chat.turns import live
from chat.turns.accept import MAX_MESSAGE_BYTES
from chat.turns.events import CallFinished, CallStarted, Noticed
from config.lib.threads import run_in_thread
from tests.chat.asking import headers_of, open_exchange, post
from tests.chat.conftest import new_talk
from tests.chat.tabs import open_tab, signed_in
from tests.chat.talk import as_typed, until
from tests.factories.chat import ActionCardFactory, ReplyFactory
from tests.fakes import Gate
from tests.owners import do_as

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT_ID = "0a1b2c3d-0000-4000-8000-000000000001"
STREAM = {"accept": "text/event-stream"}
JSON = {"accept": "application/json"}


@pytest.fixture
def own_client(trader):
    return signed_in(trader)


@pytest.fixture
def me(own_client):
    """The headers of the trader's browser."""
    return headers_of(own_client)


async def conversations_of(user):
    return await do_as(user, lambda: list(Conversation.objects.order_by("pk")))


async def messages_of(user):
    return await do_as(user, lambda: list(Message.objects.order_by("pk")))


def said(text="Hello", **more):
    return {"message": text, **more}


# --- A turn ---


async def test_turn_comes_as_events(model, me, trader):
    model.say("Good ", "morning.", delay=0.05)

    answer = await post(me, said("Hello there"))

    [conversation], [message, reply] = await conversations_of(trader), await messages_of(trader)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")
    assert answer.names == ["accepted", "title", "text", "done"]
    assert [event.number for event in answer.events] == list(range(1, len(answer.events) + 1))
    assert answer.events[0].content == {
        "conversation_id": str(conversation.pk),
        "message_id": message.pk,
        "reply_id": reply.pk,
        "client_id": str(message.client_id),
    }
    assert answer.events[1].content == {"title": "Hello there"}
    assert answer.said == "Good morning."
    assert answer.events[-1].content == {
        "status": "complete",
        "usage": reply.usage,
        "content": "Good morning.",
        "figures": [],
    }
    assert (message.content, reply.status, reply.content) == ("Hello there", "complete", "Good morning.")


async def test_answer_in_one_piece_for_who_wants_json(model, me, trader):
    for headers, body in ((me | JSON, said()), (me | STREAM, said(stream=False))):
        model.say("*Good* morning.")

        answer = await post(headers, body)

        reply = (await messages_of(trader))[-1]
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert answer.json["title"] == "Hello"
        assert (answer.json["message_id"], answer.json["reply"]["id"]) == (reply.reply_to_id, reply.pk)
        assert answer.json["reply"]["parts"] == [{"part": "text", "text": "*Good* morning.", "figures": []}]
        assert (answer.json["reply"]["status"], answer.json["reply"]["usage"]) == ("complete", reply.usage)


async def test_stream_is_what_comes_unless_json_alone_is_asked_for(model, me):
    for headers, body in ((me | JSON, said(stream=True)), (me | {"accept": "*/*"}, said()), (me, said())):
        model.say("Yes.")

        assert (await post(headers, body)).headers["content-type"] == "text/event-stream"


async def test_conversation_goes_on_and_only_the_newest_of_the_messages_is_taken(model, me, talk):
    model.say("First.")
    model.say("Second.")
    whole = [
        {"id": "x1", "role": "user", "parts": [{"type": "text", "text": "One"}]},
        {"role": "assistant", "content": "Made up by the client", "toolCalls": [{"deep": ["er"]}]},
        {"role": "user", "parts": [{"type": "text", "text": "Two"}, {"type": "text", "text": "and a half"}]},
    ]
    await post(me, {"conversationId": str(talk.conversation_id), "messages": whole[:1]})

    answer = await post(me, {"conversationId": str(talk.conversation_id), "messages": whole})

    assert answer.names == ["accepted", "text", "done"]
    contents = [message.content for message in await talk.messages()]
    assert contents == ["One", "First.", "Two\nand a half", "Second."]
    told = [message["content"] for message in as_typed(model.requests[1]["messages"][1:])]
    assert told == ["One", "First.", "Two\nand a half"]


async def test_new_conversation_is_as_it_was_asked_for(model, me, trader):
    model.say("Noted.")
    opening = {"mode": "authoring"}

    await post(me, said(assistant="advisor", temporary=True, openingContext=opening))

    [made] = await conversations_of(trader)
    assert (made.assistant, made.is_temporary, made.opening_context) == ("advisor", True, opening)


async def test_memory_and_tools_come_as_values(model, me, trader):
    model.call_all(
        ("remember", {"fact": "Never trades <b>alts</b>", "topic": "symbols"}), ("no_such_tool", {"a": 1}), text="Hm."
    )
    model.say("Saved.")

    answer = await post(me, said("Remember that I never trade alts"))

    assert answer.names == [*("accepted", "title", "text", "memory", "tool_started", "tool_finished", "text", "done")]
    [memory] = [event.content for event in answer.events if event.name == "memory"]
    assert memory.keys() == {"kind", "text", "event_id", "fact_id", "is_undone"}
    assert (memory["kind"], memory["text"], memory["is_undone"]) == ("save", "Never trades <b>alts</b>", False)
    started, finished = [event.content for event in answer.events if event.name.startswith("tool")]
    assert (started["name"], started["status"], started["summary"]) == ("no_such_tool", "running", "")
    assert (finished["call_id"], finished["status"]) == (started["call_id"], "error")
    assert finished["summary"].startswith("There is no tool of that name.")
    assert json.loads(started["arguments"]) == {"a": 1}
    assert answer.events[-1].content["content"] == "Hm.\n\nSaved."


async def test_card_comes_with_its_lines_and_the_page_it_is_confirmed_on(me, talk, trader):
    def answer_with_card():
        card = ActionCardFactory(conversation=Conversation.objects.get(), type="stop", lines=[["Skill", "Dips"]])
        parts = [{"kind": "card", "step": 0, "card_id": str(card.pk)}]
        message = {"reply_to__conversation": card.conversation, "reply_to__client_id": CLIENT_ID}
        ReplyFactory(**message, content="Look.", parts=parts)
        return card

    card = await do_as(trader, answer_with_card)

    answer = await post(me, said(conversationId=str(talk.conversation_id), client_id=CLIENT_ID))

    [drawn] = [event.content for event in answer.events if event.name == "card"]
    assert drawn == {
        **{"card_id": str(card.pk), "type": "stop", "lines": [["Skill", "Dips"]], "status": "pending"},
        **{"expires_at": "2026-05-01T12:15:00Z", "url": f"/chat/{talk.conversation_id}/"},
    }


async def test_provider_that_fails_ends_in_failed_and_keeps_what_was_said(model, me, trader):
    model.say("The start", RuntimeError("the provider's own words"))

    answer = await post(me, said())

    reply = (await messages_of(trader))[-1]
    assert answer.events[-1].name == "failed"
    assert answer.events[-1].content == {"text": reply.error, "may_retry": True}
    assert "the provider's own words" not in answer.text
    assert (reply.status, reply.content, answer.said) == ("failed", "The start", "The start")


async def test_browser_shows_the_turn_of_a_program(model, me, own_client, talk):
    model.say("Both see this.")
    async with open_tab(own_client, talk.conversation_id) as tab:
        await tab.until("snapshot")

        answer = await post(me, said(conversationId=str(talk.conversation_id)))

        await tab.until("done")
        assert {frame["type"] for frame in tab.frames} >= {"snapshot", "accepted", "title", "text", "done"}
        assert "Both see this." in tab.page.final
    assert answer.said == "Both see this."


async def test_keep_alive_comes_while_nothing_happens(model, me, monkeypatch):
    monkeypatch.setattr(streams, "KEEP_ALIVE_SECONDS", 0.02)
    gate = Gate()
    model.say("Wait", gate, " over.")

    async with open_exchange(me, said()) as exchange:
        await exchange.until("text")
        while exchange.text.count(": keep-alive\n\n") < 2:
            await exchange.receive()
        gate.open()
        await exchange.end()

    assert exchange.said == "Wait over."


async def test_server_without_a_loop_sends_the_whole_at_the_end(model, trader):
    model.say("All ", "at once.")

    def ask():
        response = signed_in(trader).post("/api/chat/", said(), content_type="application/json")
        return response.status_code, b"".join(response).decode()

    status, text = await run_in_thread(ask)

    assert (status, text.count("event: done")) == (200, 1)
    assert (await messages_of(trader))[-1].content == "All at once."


@pytest.mark.postgres
@pytest.mark.clock  # threads of earlier tests share the pool
async def test_no_connection_is_held_while_a_turn_is_followed(model, me):
    def in_use():
        stats = connection.pool.get_stats()
        return stats["pool_size"] - stats["pool_available"]

    gate = Gate()
    model.say("Wait", gate)
    await sync_to_async(lambda: connection.close())()  # that of the fixtures, on their thread
    of_others = in_use()  # threads that earlier tests left behind
    async with open_exchange(me, said()) as exchange:
        await exchange.until("text")
        await until(lambda: in_use() <= of_others)  # but for a moment each second, when the turn saves
        gate.open()
        await exchange.end()


# --- Coming and going ---


@pytest.mark.parametrize("waits_for", ["stream", "json"])
async def test_client_that_goes_away_does_not_stop_the_turn(model, me, talk, waits_for):
    gate = Gate()
    model.say("Half", gate, " and half.")
    request = said(conversationId=str(talk.conversation_id))

    if waits_for == "json":
        asking = asyncio.create_task(post(me | JSON, request))
        await until(gate.reached.is_set)
        asking.cancel()
        await asyncio.wait({asking}, timeout=0.1)
    else:
        async with open_exchange(me, request) as exchange:
            await exchange.until("text")
            await exchange.hang_up()
    assert len(live.list_running()) == 1
    task = live.find_turn(talk.conversation_id).task
    gate.open()
    await task

    reply = await talk.reply()
    assert (reply.status, reply.content, model.closed) == ("complete", "Half and half.", 0)


async def test_resend_while_the_turn_runs_joins_it(model, me, trader):
    gate = Gate()
    model.say("Half", gate, " and half.")
    async with open_exchange(me, said(client_id=CLIENT_ID)) as first:
        await first.until("text")
        async with open_exchange(me, said(client_id=CLIENT_ID)) as second:
            await second.until("text")
            gate.open()
            await second.end()
        await first.end()

    assert first.text == second.text
    assert second.said == "Half and half."
    assert len(model.requests) == 1
    assert len(await conversations_of(trader)) == 1


async def test_resend_after_the_end_returns_what_was_answered(model, me, trader):
    model.call("remember", {"fact": "Never trades alts"}, text="I will.")
    model.say("Saved.")
    first = await post(me, said(client_id=CLIENT_ID))

    second = await post(me, said(client_id=CLIENT_ID))
    third = await post(me | JSON, said(client_id=CLIENT_ID, message="Whatever"))

    assert [name for name in first.names if name != "title"] == second.names
    assert (second.events[0], second.events[-1].content) == (first.events[0], first.events[-1].content)
    assert second.said == first.said
    assert third.json["reply"]["content"] == "I will.\n\nSaved."
    assert len(model.requests) == 2
    assert len(await messages_of(trader)) == 2


async def test_client_id_is_ones_own(model, me, stranger, trader):
    theirs = await run_in_thread(new_talk, stranger)
    await theirs.say("Hello", client_id=UUID(CLIENT_ID))
    model.say("Mine.")

    answer = await post(me, said(client_id=CLIENT_ID))

    assert answer.said == "Mine."
    assert answer.events[0].content["conversation_id"] == str((await conversations_of(trader))[0].pk)


async def test_reply_that_another_process_writes_is_read_along(me, talk, monkeypatch):
    monkeypatch.setattr(streams, "POLL_SECONDS", 0.01)
    start = await talk.say("Hello", client_id=UUID(CLIENT_ID))
    await _write(talk, start.reply_id, parts=_texts("Half"))

    async with open_exchange(me, said(client_id=CLIENT_ID)) as exchange:
        assert (await exchange.until("text")).content == {"text": "Half"}
        tool = {"kind": "tool", "step": 0, "call_id": "c", "name": "get_recent_news", "arguments": "{}"}
        running = {**tool, "status": "running", "result": None}
        await _write(talk, start.reply_id, parts=[*_texts("Half and half"), running])
        await exchange.until("tool_started")
        parts = [*_texts("Half and half"), {**tool, "status": "done", "result": {}}, *_texts("Done.")]
        ended = {"status": MessageStatus.COMPLETE, "content": "Half and half\n\nDone.", "usage": {"prompt_tokens": 1}}
        await _write(talk, start.reply_id, parts=parts, **ended)
        await exchange.end()

    assert exchange.names == ["accepted", "text", "tool_started", "tool_finished", "text", "done"]
    assert exchange.said == "Half and halfDone."
    assert exchange.events[-1].content == {
        "status": "complete",
        "usage": {"prompt_tokens": 1},
        "content": "Half and half\n\nDone.",
        "figures": [],
    }


def _texts(text):
    return [{"kind": "text", "step": 0, "text": text}]


def _write(talk, reply_id, **columns):
    values = {"heartbeat_at": timezone.now()} | columns
    return talk.look(lambda: Message.objects.filter(pk=reply_id).update(**values))


async def test_reply_whose_process_died_is_ended(me, talk):
    start = await talk.say("Hello", client_id=UUID(CLIENT_ID))
    long_ago = timezone.now() - timedelta(minutes=1)
    await _write(talk, start.reply_id, heartbeat_at=long_ago, parts=_texts("Half"), content="Half")

    answer = await post(me, said(client_id=CLIENT_ID, conversationId=str(talk.conversation_id)))

    assert answer.names == ["accepted", "text", "failed"]
    assert answer.events[-1].content["text"].startswith("Keel was restarted")
    assert (await talk.reply()).status == "interrupted"


async def test_reply_that_is_deleted_while_it_is_followed_ends_the_stream(me, talk, monkeypatch):
    monkeypatch.setattr(streams, "POLL_SECONDS", 0.01)
    await talk.say("Hello", client_id=UUID(CLIENT_ID))

    async with open_exchange(me, said(client_id=CLIENT_ID)) as exchange:
        await exchange.until("accepted")
        await talk.look(lambda: Conversation.objects.filter(pk=talk.conversation_id).delete())
        await exchange.end()

    assert exchange.events[-1].content == {"text": streams.GONE, "may_retry": False}


async def test_stream_lives_through_a_database_that_does_not_answer(me, talk, outage, monkeypatch):
    monkeypatch.setattr(streams, "POLL_SECONDS", 0.01)
    start = await talk.say("Hello", client_id=UUID(CLIENT_ID))

    async with open_exchange(me, said(client_id=CLIENT_ID)) as exchange:
        await exchange.until("accepted")
        outage.begin("agent_messages")
        await until(lambda: outage.hits > 2)
        outage.end()
        await _write(talk, start.reply_id, status=MessageStatus.COMPLETE, parts=_texts("Here."))
        await exchange.end()

    assert exchange.names == ["accepted", "text", "done"]


async def test_end_that_cannot_be_read_again_still_is_an_end(model, me, monkeypatch, outage):
    model.say("Hello.")
    look = streams.find_reply

    def fail(reply_id):
        outage.begin("agent_messages")
        try:
            return look(reply_id)
        finally:
            outage.end()

    monkeypatch.setattr(streams, "find_reply", fail)
    answer = await post(me, said())

    assert answer.events[-1].content["content"] is None
    assert answer.events[-1].content["status"] == "complete"


async def test_stop_ends_the_stream(model, me, talk):
    gate = Gate()
    model.say("Half", gate, " and half.")
    async with open_exchange(me, said(conversationId=str(talk.conversation_id))) as exchange:
        await exchange.until("text")
        stopped = await post(me, {}, path=f"/api/conversations/{talk.conversation_id}/stop/")
        await exchange.end()

    assert (stopped.status, stopped.json) == (202, {"was_running": True})
    assert (exchange.events[-1].name, exchange.events[-1].content["status"]) == ("done", "interrupted")
    assert (await talk.reply()).content == "Half"


# --- Refusals, before a stream begins ---


async def test_second_message_while_keel_answers_is_409(model, me, talk):
    gate = Gate()
    model.say("Half", gate)
    body = said(conversationId=str(talk.conversation_id))
    async with open_exchange(me, body) as exchange:
        await exchange.until("text")
        refused = await post(me, body)
        gate.open()
        await exchange.end()

    assert (refused.status, refused.headers["content-type"]) == (409, "application/problem+json")
    assert "still answering" in refused.json["detail"]
    assert len(await talk.messages()) == 2


@pytest.mark.limit("chat.turns.accept.MAX_MESSAGE_BYTES")
async def test_message_that_is_too_long_is_named_by_its_field(me):
    refused = await post(me, {"message": "x" * (MAX_MESSAGE_BYTES + 1)})

    assert [(error["pointer"], error["code"]) for error in refused.json["errors"]] == [("#/message", "too_long")]


REFUSED = [
    pytest.param(b"not json", 400, id="not JSON"),
    pytest.param(b"", 422, id="nothing"),
    pytest.param(b'{"message": "' + b"x" * 5_000_000 + b'"}', 413, id="5 MB"),
    pytest.param({}, 422, id="empty"),
    pytest.param({"message": ""}, 422, id="no words"),
    pytest.param({"message": " \n\u200b"}, 422, id="nothing visible"),
    pytest.param({"message": "x" * (MAX_MESSAGE_BYTES + 1)}, 422, id="too long"),
    pytest.param({"message": "Hello", "messages": []}, 422, id="both"),
    pytest.param({"messages": []}, 422, id="no messages"),
    pytest.param({"messages": [{"role": "assistant", "content": "Hello"}]}, 422, id="none of the user's"),
    pytest.param({"messages": [{"role": "user"}]}, 422, id="message without words"),
    pytest.param({"messages": [{"role": "user", "parts": [{"type": "file"}]}]}, 422, id="a file"),
    pytest.param({"messages": [{"role": "user", "content": "x"}] * 2_001}, 422, id="too many messages"),
    pytest.param({"message": "Hello", "user": 1}, 422, id="unknown field"),
    pytest.param({"message": "Hello", "openingContext": {"mode": "coach"}}, 422, id="coach of nothing"),
    pytest.param(
        {"message": "Hello", "openingContext": {"mode": "ops", "skill_id": CLIENT_ID}}, 422, id="ops on a skill"
    ),
    pytest.param({"message": "Hello", "openingContext": {"mode": "ops", "fact_id": CLIENT_ID}}, 422, id="a fact"),
]


@pytest.mark.parametrize(("body", "status"), REFUSED)
async def test_what_cannot_be_taken_is_a_problem_and_keeps_nothing(me, trader, body, status):
    refused = await post(me, body)

    assert (refused.status, refused.headers["content-type"]) == (status, "application/problem+json")
    assert refused.json["status"] == status
    assert await conversations_of(trader) == []


# --- The log of a turn ---


async def read_all(log, *, patience=10.0):
    return [event async for event in log.read(patience=patience)]


async def test_log_gives_everybody_all_of_it():
    log = live.TurnLog()
    early = asyncio.create_task(read_all(log))
    for number in range(5):
        log.add(Noticed(f"{number}"))
        await asyncio.sleep(0)
    late = asyncio.create_task(read_all(log))
    log.add(Noticed("5"))
    log.close()

    assert [event.text for event in await early] == ["0", "1", "2", "3", "4", "5"]
    assert await late == await early == await read_all(log)


async def test_log_keeps_a_tool_as_it_was_when_it_started():
    log, part = live.TurnLog(), {"kind": "tool", "status": "running"}
    log.add(CallStarted(part))
    part["status"] = "done"
    log.add(CallFinished(part))
    log.close()

    assert [event.part["status"] for event in await read_all(log)] == ["running", "done"]


async def test_log_says_when_nothing_happens():
    log = live.TurnLog()
    reading = asyncio.create_task(read_all(log, patience=0.01))
    await asyncio.sleep(0.05)
    log.close()

    assert set(await reading) == {None}
