import asyncio
import logging

import pytest

from chat.models import MessageStatus
from chat.turns import live, saving, turn
from chat.turns.replies import RESTARTED
from chat.web import frames_html, rooms
from config.lib.edge.layer import SharedLayer
from tests.chat.listeners import Listener, begin_turn
from tests.chat.talk import until
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)


async def test_running_turns_are_known_until_they_end(model, talk):
    gate = Gate()
    model.say("Wait", gate)

    running = await begin_turn(talk)
    assert (live.list_running(), live.find_turn(talk.conversation_id)) == ([running], running)
    gate.open()
    await running.task

    assert (live.list_running(), live.find_turn(talk.conversation_id), rooms._rooms) == ([], None, {})


async def test_part_that_cannot_be_shown_does_not_end_the_turn(model, talk, monkeypatch, caplog):
    def broken(part):
        raise ValueError("a template is broken")

    monkeypatch.setattr(frames_html, "part_html", broken)
    model.call("remember", {"fact": "Never trades alts"})
    model.say("Saved.")
    listener = Listener(talk.conversation_id)

    with caplog.at_level(logging.ERROR, "chat.web.frames_html"):
        await (await begin_turn(talk)).task

    assert listener.types == ["accepted", "text", "done"]
    assert "Showing MemoryWritten" in caplog.text
    assert (await talk.reply()).status == MessageStatus.COMPLETE
    listener.leave()


async def test_reply_that_cannot_be_read_at_its_end_is_fetched_by_the_page(model, talk, outage):
    gate = Gate()
    model.say("Saved all the same.", gate)
    listener = Listener(talk.conversation_id)
    running = await begin_turn(talk)
    await until(gate.reached.is_set)
    outage.begin('ORDER BY "agent_messages"."id" ASC')  # what reads the messages of a chat
    gate.open()
    await running.task
    outage.end()

    reply = await talk.reply()
    nothing_runs = {"type": "snapshot", "seq": 0, "last_message_id": str(reply.pk), "reply": None}
    assert listener.hear()[-1] == nothing_runs
    assert (reply.content, reply.status) == ("Saved all the same.", MessageStatus.COMPLETE)
    listener.leave()


async def test_turn_that_breaks_as_nothing_should_is_one_clear_message(model, talk, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("a canary of the inside")

    monkeypatch.setattr(turn, "tools_by_name", broken)
    listener = Listener(talk.conversation_id)

    with caplog.at_level(logging.ERROR):
        await (await begin_turn(talk)).task

    (failed,) = [frame for frame in listener.hear() if frame["type"] == "failed"]
    assert failed["text"] == turn.BROKE
    assert live.list_running() == []
    listener.leave()


# --- Other processes ---


async def test_others_are_told_of_each_event_and_of_the_end(model, talk, settings, monkeypatch):
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": "config.lib.edge.layer.SharedLayer", "CONFIG": {"url": "redis://127.0.0.1:1/0"}}
    }
    sent = []
    monkeypatch.setattr(
        SharedLayer, "send_to_others", lambda self, group, message, **options: sent.append((group, message, options))
    )
    model.say(*["word "] * 50, delay=0.01)

    await (await begin_turn(talk)).task

    assert all(one == (f"conversation.{talk.conversation_id}", live.NEWS, {"is_urgent": False}) for one in sent)
    assert len(sent) > 4  # pieces of text, and the end


# --- Shutting down ---


async def test_stop_all_saves_and_marks_what_runs(model, talk):
    gate = Gate()
    model.say("Said before the end", gate)
    listener = Listener(talk.conversation_id)
    running = await begin_turn(talk)
    await until(gate.reached.is_set)
    await until(lambda: "text" in listener.types)

    await asyncio.wait_for(live.stop_all(), 3)

    reply = await talk.reply()
    assert running.task.done()
    assert (reply.content, reply.status) == ("Said before the end", MessageStatus.INTERRUPTED)
    assert reply.error == RESTARTED
    failed = listener.hear()[-1]
    assert (failed["type"], failed["text"]) == ("failed", RESTARTED)
    assert failed["html"].count(RESTARTED) == 1
    listener.leave()


async def test_stop_all_waits_no_longer_than_it_may(model, talk, outage, monkeypatch):
    monkeypatch.setattr(live, "SHUTDOWN_SECONDS", 0.2)
    monkeypatch.setattr(saving, "RETRY_SECONDS", 0.4)
    gate = Gate()
    model.say("Half", gate)
    running = await begin_turn(talk)
    await until(gate.reached.is_set)
    outage.begin('UPDATE "agent_messages"')

    await asyncio.wait_for(live.stop_all(), 2)

    assert not running.task.done()
    outage.end()
    await running.task
    assert (await talk.reply()).status == MessageStatus.INTERRUPTED
