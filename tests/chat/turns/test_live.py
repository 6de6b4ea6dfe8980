import asyncio
import logging
from uuid import uuid4

import pytest
from channels.layers import InMemoryChannelLayer

from chat.models import MessageStatus
from chat.turns import live, saving, turn
from chat.turns.events import MessageAccepted
from chat.turns.replies import RESTARTED
from chat.web import frames_html, rooms
from chat.web.markdown import close_blocks
from chat.web.rooms import QUEUE_SIZE, Subscription, enter_room, leave_room
from tests.chat.tabs import Page
from tests.chat.talk import until
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)


class Listener:
    """A place in a room without a socket."""

    def __init__(self, conversation_id) -> None:
        self.subscription = Subscription()
        self.room = enter_room(conversation_id, self.subscription)
        self.room.subscriptions.add(self.subscription)
        self.frames = []

    def hear(self):
        """Take in what has come, and return all of it."""
        while not self.subscription.frames.empty():
            self.frames.append(self.subscription.frames.get_nowait())
        return self.frames

    def leave(self) -> None:
        leave_room(self.room, self.subscription)

    @property
    def types(self):
        return [frame["type"] for frame in self.hear()]


async def snapshot_of(listener, running):
    """Return the snapshot that a socket gets which joins now."""
    await listener.room.show_news(running)
    listener.hear()
    listener.frames.clear()
    return {"type": "snapshot", "reply": listener.room.snapshot(running)}


async def begin(talk, text="Hello"):
    start = await talk.say(text)
    return live.start_turn(start, MessageAccepted(()), None)


# --- Rooms ---


def test_room_is_there_as_long_as_somebody_is_in_it():
    conversation_id = uuid4()
    first, second = Listener(conversation_id), Listener(conversation_id)

    assert first.room is second.room
    first.leave()
    assert rooms._rooms[conversation_id] is second.room
    second.leave()
    second.leave()
    assert rooms._rooms == {}


def test_frame_goes_to_everybody_in_the_room_and_to_nobody_else():
    conversation_id = uuid4()
    inside = [Listener(conversation_id), Listener(conversation_id)]
    elsewhere = Listener(uuid4())

    inside[0].room.publish({"type": "x"})

    assert [listener.hear() for listener in (*inside, elsewhere)] == [[{"type": "x"}], [{"type": "x"}], []]
    for listener in (*inside, elsewhere):
        listener.leave()


def test_subscription_that_falls_behind_keeps_no_more():
    subscription = Subscription()

    for number in range(QUEUE_SIZE + 10):
        subscription.put({"seq": number})

    assert subscription.frames.qsize() == QUEUE_SIZE
    assert subscription.is_overrun.is_set()


async def test_running_turns_are_known_until_they_end(model, talk):
    gate = Gate()
    model.say("Wait", gate)

    running = await begin(talk)
    assert (live.list_running(), live.find_turn(talk.conversation_id)) == ([running], running)
    gate.open()
    await running.task

    assert (live.list_running(), live.find_turn(talk.conversation_id), rooms._rooms) == ([], None, {})


# --- Showing ---


async def test_snapshot_and_what_follows_are_the_whole_reply(model, talk):
    gate = Gate()
    model.say("One.\n\nTwo ", gate, "and a half.\n\nThree.")
    running = await begin(talk)
    await until(gate.reached.is_set)
    await until(lambda: len(running.log.list_after(0)) >= 2)

    late, page = Listener(talk.conversation_id), Page()
    page.take(await snapshot_of(late, running))
    gate.open()
    await running.task
    for frame in late.hear():
        page.take(frame)

    late.leave()
    assert page.text == "One.Twoandahalf.Three."


async def test_snapshot_taken_while_blocks_are_rendered_doubles_nothing(model, talk, monkeypatch):
    """A reader who joins while a block is rendered on a thread is shown the text once."""
    in_rendering, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(work, *args):
        if work is close_blocks:
            in_rendering.set()
            await go_on.wait()
        return work(*args)

    monkeypatch.setattr(frames_html.asyncio, "to_thread", slowly)
    model.say("One line\nand another")
    early = Listener(talk.conversation_id)
    running = await begin(talk)
    await in_rendering.wait()

    late, page = Listener(talk.conversation_id), Page()
    joining = asyncio.create_task(snapshot_of(late, running))
    go_on.set()
    page.take(await joining)
    await running.task
    for frame in late.hear():
        page.take(frame)

    early.leave()
    late.leave()
    assert page.text == "Onelineandanother"


async def test_part_that_cannot_be_shown_does_not_end_the_turn(model, talk, monkeypatch, caplog):
    def broken(part):
        raise ValueError("a template is broken")

    monkeypatch.setattr(frames_html, "memory_html", broken)
    model.call("remember", {"fact": "Never trades alts"})
    model.say("Saved.")
    listener = Listener(talk.conversation_id)

    with caplog.at_level(logging.ERROR, "chat.web.frames_html"):
        await (await begin(talk)).task

    assert listener.types == ["accepted", "text", "done"]
    assert "Showing MemoryWritten" in caplog.text
    assert (await talk.reply()).status == MessageStatus.COMPLETE
    listener.leave()


async def test_reply_that_cannot_be_read_at_its_end_is_fetched_by_the_page(model, talk, outage):
    gate = Gate()
    model.say("Saved all the same.", gate)
    listener = Listener(talk.conversation_id)
    running = await begin(talk)
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


async def test_reply_that_cannot_be_saved_is_one_clear_message(model, talk, outage, monkeypatch):
    monkeypatch.setattr(saving, "RETRY_SECONDS", 0.001)
    model.say("Lost.")
    listener = Listener(talk.conversation_id)
    start = await talk.say()
    outage.begin('UPDATE "agent_messages"')
    await live.start_turn(start, MessageAccepted(()), None).task
    outage.end()

    failed = [frame for frame in listener.hear() if frame["type"] == "failed"]
    assert [(frame["text"], frame["retry"], frame["html"]) for frame in failed] == [(turn.NOT_SAVED, True, None)]
    listener.leave()


async def test_turn_that_breaks_as_nothing_should_is_one_clear_message(model, talk, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("a canary of the inside")

    monkeypatch.setattr(turn, "tools_by_name", broken)
    listener = Listener(talk.conversation_id)

    with caplog.at_level(logging.ERROR):
        await (await begin(talk)).task

    (failed,) = [frame for frame in listener.hear() if frame["type"] == "failed"]
    assert failed["text"] == turn.BROKE
    assert live.list_running() == []
    listener.leave()


# --- Other processes ---


class CountingLayer(InMemoryChannelLayer):
    """A layer that notes what is sent."""

    sent: list = []  # noqa: RUF012  one list for the one instance of a test

    async def group_send(self, group, message):
        self.sent.append((group, message["type"]))


async def test_others_are_told_now_and_then_and_at_the_end(model, talk, settings, monkeypatch):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": f"{__name__}.CountingLayer"}}
    monkeypatch.setattr(CountingLayer, "sent", [])
    monkeypatch.setattr(live, "NEWS_SECONDS", 0.1)
    model.say(*["word "] * 50, delay=0.01)

    await (await begin(talk)).task

    assert set(CountingLayer.sent) == {(f"conversation.{talk.conversation_id}", "conversation.news")}
    assert 4 <= len(CountingLayer.sent) <= 16  # half a second or more of text, and the end


# --- Shutting down ---


async def test_stop_all_saves_and_marks_what_runs(model, talk):
    gate = Gate()
    model.say("Said before the end", gate)
    listener = Listener(talk.conversation_id)
    running = await begin(talk)
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
    running = await begin(talk)
    await until(gate.reached.is_set)
    outage.begin('UPDATE "agent_messages"')

    await asyncio.wait_for(live.stop_all(), 2)

    assert not running.task.done()
    outage.end()
    await running.task
    assert (await talk.reply()).status == MessageStatus.INTERRUPTED


async def test_stop_all_without_a_turn_is_nothing():
    await asyncio.wait_for(live.stop_all(), 2)
