"""Sockets of all processes hear news; without Redis those of this process still do."""

import asyncio

import pytest
from channels.layers import get_channel_layer

from config.lib.edge import link
from config.lib.edge.layer import SharedLayer
from tests.layers import until_linked
from tests.services import redis_url

pytestmark = pytest.mark.redis
NEWS = {"type": "conversation.news"}


@pytest.fixture
def processes(monkeypatch, request):
    """Two layers as two processes have them."""
    monkeypatch.setattr(link, "SEND_SECONDS", 0.1)
    prefix = f"test-{request.node.name}"
    return SharedLayer(redis_url(), prefix), SharedLayer(redis_url(), prefix)


async def listen(layer: SharedLayer, group: str) -> str:
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    return channel


async def test_news_reaches_the_sockets_of_another_process(processes):
    here, there = processes
    channel = await listen(there, "conversation.a")
    await listen(here, "conversation.b")
    await until_linked(here, there)

    await here.group_send("conversation.a", NEWS)

    assert await asyncio.wait_for(there.receive(channel), 3) == NEWS


async def test_the_same_news_is_sent_once_a_period(processes, monkeypatch):
    here, there = processes
    published = []
    channel = await listen(there, "conversation.a")
    await listen(here, "conversation.a")
    await until_linked(here, there)
    publish = here._link._publish
    monkeypatch.setattr(
        here._link, "_publish", lambda client, news: (published.append(len(news)), publish(client, news))
    )

    for _ in range(300):
        await here.group_send("conversation.a", NEWS)
        await here.group_send("conversation.c", NEWS)
    await asyncio.wait_for(there.receive(channel), 3)
    await asyncio.sleep(0.3)

    assert len(published) <= 4
    assert max(published) <= 2


async def test_process_that_is_alone_sends_nothing(monkeypatch, request):
    monkeypatch.setattr(link, "SEND_SECONDS", 0.05)
    alone = SharedLayer(redis_url(), f"test-{request.node.name}")
    await listen(alone, "conversation.a")
    async with asyncio.timeout(5):
        # A message that is sent before it has subscribed counts nobody.
        while alone._link._has_others or not alone._link._is_subscribed:
            await alone.group_send("conversation.a", NEWS)
            await asyncio.sleep(0.02)

    await alone.group_send("conversation.a", NEWS)

    assert alone._link._pending == {}


async def test_sockets_of_this_process_hear_news_while_redis_is_away(caplog):
    cut = SharedLayer("redis://127.0.0.1:1/0")
    channel = await listen(cut, "conversation.a")

    for _ in range(3):
        await cut.group_send("conversation.a", NEWS)
        assert await asyncio.wait_for(cut.receive(channel), 1) == NEWS

    async with asyncio.timeout(5):
        while not caplog.records:
            await asyncio.sleep(0.02)
    assert {record.message for record in caplog.records} == {
        "Other processes get no news: Redis does not answer (ConnectionError)"
    }


async def test_layer_of_the_site_listens_again_after_a_lost_connection(processes):
    here, there = processes
    channel = await listen(there, "conversation.a")
    await listen(here, "conversation.a")
    await until_linked(here, there)
    client = there._link._connect()
    for connection in client.client_list():
        if connection["sub"] != "0":
            client.client_kill(connection["addr"])

    async with asyncio.timeout(8):
        while True:
            await here.group_send("conversation.a", NEWS)
            try:
                assert await asyncio.wait_for(there.receive(channel), 0.3) == NEWS
                break
            except TimeoutError:
                continue


def test_the_site_uses_this_layer():
    assert isinstance(get_channel_layer(), SharedLayer)
