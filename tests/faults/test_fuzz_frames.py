"""Frames of a hostile browser: the socket answers or closes, and logs no error."""

import json
import logging
import os

import pytest
from asgiref.sync import sync_to_async
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.chat.tabs import open_tab, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.timeout(3600)]

FRAMES = int(os.environ.get("FUZZ_EXAMPLES", "2")) * 50
KINDS = ["message", "resume", "stop", "retry", "continue", "edit", "snapshot", "x", "", None, 1]
NAMES = ["type", "content", "text", "client_id", "message_id", "conversation_id", "user_id"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.uuids().map(str)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
OBJECTS = st.fixed_dictionaries({"type": st.sampled_from(KINDS)}, optional=dict.fromkeys(NAMES[1:], VALUES))
FRAME = (
    OBJECTS.map(json.dumps)
    | VALUES.map(json.dumps)
    | st.text()
    | st.sampled_from(["[" * 20_000, "{}", '{"type":"message","type":"stop"}', '"\\ud800"', "NaN", "\0", "1e999"])
)


def make_frames() -> list[str]:
    frames = []

    @settings(max_examples=FRAMES, database=None, derandomize=True, phases=[Phase.generate])
    @given(FRAME)
    def keep(frame):
        frames.append(frame)

    keep()
    return frames


async def test_no_frame_breaks_the_socket(model, trader, talk, caplog):
    ann = await sync_to_async(signed_in)(trader)
    with caplog.at_level(logging.ERROR):
        async with open_tab(ann, talk.conversation_id) as tab:
            await tab.next()
            for number, frame in enumerate(make_frames()):
                await tab.communicator.send_to(text_data=frame or " ")
                if number % 20 == 19:
                    await tab.send(type="resume")
                    await tab.until("snapshot")

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
