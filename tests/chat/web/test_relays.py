"""A socket of another process gets the frames of a turn, from a snapshot on."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from chat.turns import live
from chat.web import consumers
from chat.web.relays import FOLLOW, answer_followers
from config.lib.edge.layer import SharedLayer
from tests.chat.listeners import begin_turn
from tests.chat.tabs import open_tab, signed_in
from tests.chat.talk import until
from tests.fakes import Gate
from tests.layers import until_linked
from tests.services import redis_url

pytestmark = pytest.mark.django_db(transaction=True)
ENDS = {"done", "failed"}


async def receive_frames(layer: SharedLayer, channel: str) -> list[dict]:
    while (message := await asyncio.wait_for(layer.receive(channel), 30))["type"] != "conversation.frames":
        assert message["type"] == "conversation.news"
    return message["frames"]


@pytest.mark.redis
async def test_follower_gets_a_snapshot_and_all_further_frames_once(model, talk, settings, request):
    layer = {"BACKEND": "config.lib.edge.layer.SharedLayer"}
    config = {"url": redis_url(), "prefix": request.node.name}
    settings.CHANNEL_LAYERS = {"default": {**layer, "CONFIG": config}}
    here, there = get_channel_layer(), SharedLayer(**config)
    answer_followers()
    gate = Gate()
    model.say("Said ", "before. ", gate, "Said ", "after.")
    channel, group = await there.new_channel(), live.group_of(talk.conversation_id)
    await there.group_add(group, channel)
    await until_linked(here, there, seconds=30)
    running = await begin_turn(talk)
    await until(gate.reached.is_set)

    there.send_to_others(group, {"type": FOLLOW, "conversation_id": str(talk.conversation_id)})
    frames = await receive_frames(there, channel)
    gate.open()
    while frames[-1]["type"] not in ENDS:
        frames += await receive_frames(there, channel)
    await running.task

    first, *others = frames
    said = first["reply"]["tail"]
    assert (first["type"], "Said before. ".startswith(said), said != "") == ("snapshot", True, True)
    assert [frame["seq"] for frame in others] == list(range(first["seq"] + 1, first["seq"] + 1 + len(others)))
    assert said + "".join(frame.get("text", "") for frame in others) == "Said before. Said after."
    assert live._viewers == {}


async def test_socket_passes_frames_on_from_a_snapshot_until_the_end(trader, talk):
    await talk.say("asked elsewhere")
    layer, group = get_channel_layer(), live.group_of(talk.conversation_id)

    async def relay(*frames: dict) -> None:
        await layer.group_send(group, {"type": "conversation.frames", "frames": list(frames)})

    async with open_tab(await sync_to_async(signed_in)(trader), talk.conversation_id) as tab:
        await tab.next()
        await relay({"type": "text", "seq": 4, "text": "early"})
        await relay({"type": "snapshot", "seq": 5, "reply": {}}, {"type": "text", "seq": 6, "text": "on time"})
        frames = [await tab.next(), await tab.next()]
        await live.tell_news(talk.conversation_id)
        await relay({"type": "done", "seq": 7})
        frames.append(await tab.next())
        await relay({"type": "text", "seq": 8, "text": "late"})
        await live.tell_news(talk.conversation_id)
        frames.append(await tab.next())

    assert [(frame["type"], frame["seq"]) for frame in frames] == [
        ("snapshot", 5),
        ("text", 6),
        ("done", 7),
        ("snapshot", 0),
    ]


async def test_socket_reads_the_rows_again_when_the_other_process_falls_silent(trader, talk, monkeypatch):
    await talk.say("asked elsewhere")
    async with open_tab(await sync_to_async(signed_in)(trader), talk.conversation_id) as tab:
        await tab.next()
        snapshot = {"type": "snapshot", "seq": 5, "reply": {}}
        group = live.group_of(talk.conversation_id)
        await get_channel_layer().group_send(group, {"type": "conversation.frames", "frames": [snapshot]})
        await tab.next()
        monkeypatch.setattr(consumers, "RELAY_SECONDS", 0)
        await live.tell_news(talk.conversation_id)

        assert (await tab.next())["seq"] == 0
