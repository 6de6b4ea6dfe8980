import asyncio
from uuid import uuid4

import pytest

from chat.turns import live
from chat.web import frames_html, rooms
from chat.web.markdown import close_blocks
from chat.web.rooms import QUEUE_SIZE, Subscription
from tests.chat.listeners import Listener, begin_turn
from tests.chat.tabs import Page
from tests.chat.talk import until
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)


async def snapshot_of(listener, running):
    """Return the snapshot that a socket gets which joins now."""
    await listener.room.show_news(running)
    listener.hear()
    listener.frames.clear()
    return {"type": "snapshot", "reply": listener.room.screen_of(running).snapshot()}


# --- Sockets of a room ---


def test_room_exists_while_it_has_a_socket():
    conversation_id = uuid4()
    first, second = Listener(conversation_id), Listener(conversation_id)

    assert first.room is second.room
    first.leave()
    assert rooms._rooms[conversation_id] is second.room
    second.leave()
    second.leave()
    assert rooms._rooms == {}


def test_frame_reaches_all_sockets_of_its_room_only():
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


# --- Snapshots ---


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
    running = await begin_turn(talk)
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


# --- Numbers ---


async def test_title_of_an_ended_turn_has_no_seq_of_the_turn_that_runs(model, talk, monkeypatch):
    first_gate, second_gate, titling = Gate(), Gate(), asyncio.Event()

    async def name_late(start, control):
        if start.reply_id == first.start.reply_id:
            await titling.wait()
            return "A late title", False
        return None, False

    monkeypatch.setattr(live, "tidy_up", name_late)
    model.say("First.", first_gate)
    model.say("Second.", second_gate, " And its end.")
    listener = Listener(talk.conversation_id)
    first = await begin_turn(talk)
    first_gate.open()
    await until(lambda: "done" in listener.types)
    second = await begin_turn(talk, "Another question")
    await until(second_gate.reached.is_set)
    await until(lambda: listener.types.count("text") >= 2)

    titling.set()
    await first.task
    second_gate.open()
    await second.task

    frames = listener.hear()
    listener.leave()
    (title,) = [frame for frame in frames if frame["type"] == "title"]
    assert (title["title"], title["seq"]) == ("A late title", 0)
    began = [number for number, frame in enumerate(frames) if frame["type"] == "accepted"][1]
    numbers = [frame["seq"] for frame in frames[began:] if frame is not title]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_every_frame_has_a_seq(model, talk):
    model.call("no_such_tool", {})
    model.say("Sorry.")
    listener = Listener(talk.conversation_id)

    await (await begin_turn(talk)).task

    frames = listener.hear()
    listener.leave()
    assert {"accepted", "tool_started", "tool_finished", "done"} <= {frame["type"] for frame in frames}
    assert all(isinstance(frame["seq"], int) for frame in frames)
