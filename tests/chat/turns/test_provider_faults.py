"""Turns against a faulty provider on the wire keep all text."""

import asyncio
import gc
import json
import logging
import sys
from contextvars import ContextVar

import pytest

from chat.models import MessageStatus
from chat.turns.turn import Control
from config.lib.llm import door
from config.lib.llm.litellm import load_litellm
from tests.chat.talk import PATIENCE, until
from tests.fakes import Cut, Pause, Reset, Respond, Send, WireServer, delta, done, event

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-canary-of-the-key"
SECRETS = (KEY, "the provider's own words", "http://", "https://", "Traceback", "litellm", "127.0.0.1", "wire")

UNREACHABLE = "The model cannot be reached right now. Please try again in a moment."
TIMEOUT = "The model took too long to answer. Please try again in a moment."
BUSY = "The model is busy or its limit is reached. Please wait a minute and try again."
BROKEN_OFF = "The answer broke off before its end. Please try again."
EMPTY = "The model answered with nothing. Please try again."
REFUSED = "The model's provider declined this request. Say it differently, or start a new chat."
MISCONFIGURED = (
    "The model is not set up correctly. Whoever runs this site should check its name and the provider's key."
)
NO_CREDIT = (
    "The account with the model's provider has too little credit for this answer. Whoever runs this site should add "
    "credit there, or lower CHAT_MAX_OUTPUT_TOKENS."
)


@pytest.fixture(params=["litellm", "direct"])
def wire(request, monkeypatch, settings):
    """A provider on this machine, and the settings that lead to it: through LiteLLM, and without it."""
    load_litellm()  # seconds that belong to no test
    settings.CHAT_AGENT_MODEL = "openai/wire"
    settings.LLM_DIRECT = ["openai"] if request.param == "direct" else []
    settings.LLM_CONNECT_TIMEOUT_SECONDS = 2
    settings.LLM_READ_TIMEOUT_SECONDS = 0.4
    with WireServer() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


async def ask(talk, control=None):
    """Run one turn, and leave no connection of this loop behind."""
    try:
        return await talk.ask("What the user typed", control)
    finally:
        await door.close()


async def assert_kept(talk, result, *, text: str, message: str) -> None:
    """The user's words and the partial reply are there, and one clear message says what happened."""
    question, reply = await talk.messages()
    assert (question.content, question.status) == ("What the user typed", MessageStatus.COMPLETE)
    assert (reply.content, reply.status, reply.error) == (text, MessageStatus.FAILED, message)
    assert (result.text.strip(), result.failures, result.notices) == (text, [message], [])


async def assert_silent(caplog, talk, result) -> None:
    """Nothing of the provider's and no key is in the events, the rows or the log."""
    rows = [(row.content, row.parts, row.error, row.usage) for row in await talk.messages()]
    everything = json.dumps([rows, [repr(event) for event in result.events]], default=str)
    log = "\n".join([caplog.text, *(str(record.args) for record in caplog.records)])
    assert [secret for secret in SECRETS if secret in everything] == []
    assert [secret for secret in SECRETS[:2] if secret in log] == []


# One for each sentence; which fault is of which kind is proved at the door.
BEFORE_THE_FIRST_WORD = [
    pytest.param([Respond(429, b'{"error": {"message": "the provider\'s own words"}}')], BUSY, id="429"),
    pytest.param([Respond(503, b"<html>the provider's own words</html>")], UNREACHABLE, id="503 in HTML"),
    pytest.param([Respond(401, b'{"error": {"message": "the provider\'s own words"}}')], MISCONFIGURED, id="401"),
    pytest.param([Respond(402, b'{"error": {"message": "the provider\'s own words"}}')], NO_CREDIT, id="402"),
    pytest.param([Respond(403, b'{"error": {"message": "the provider\'s own words"}}')], REFUSED, id="403"),
    pytest.param([delta(role="assistant", content=""), Pause(5)], TIMEOUT, id="silence after the role"),
    pytest.param([delta(content=" \n"), delta(finish_reason="stop"), done()], EMPTY, id="white space"),
]


@pytest.mark.parametrize(("steps", "message"), BEFORE_THE_FIRST_WORD)
async def test_provider_that_fails_before_the_first_word(wire, talk, caplog, steps, message):
    wire.script(*steps)

    with caplog.at_level(logging.INFO):
        result = await ask(talk)

    await assert_kept(talk, result, text="", message=message)
    await assert_silent(caplog, talk, result)
    assert len(wire.requests) == 1  # nothing is tried again behind the user's back


IN_MID_REPLY = [
    pytest.param([Cut()], id="cut"),
    pytest.param([event({"error": {"message": "the provider's own words", "code": 500}})], id="error event"),
    pytest.param([Send(b"data: {broken json\n\n"), Pause(5)], id="broken event"),
]


@pytest.mark.parametrize("steps", IN_MID_REPLY)
async def test_provider_that_fails_in_mid_reply(wire, talk, caplog, steps):
    wire.script(delta(role="assistant", content=""), delta(content="The start "), delta(content="of it"), *steps)

    with caplog.at_level(logging.INFO):
        result = await ask(talk)

    await assert_kept(talk, result, text="The start of it", message=BROKEN_OFF)
    await assert_silent(caplog, talk, result)


async def test_stop_hangs_up_on_the_provider(wire, talk, settings):
    settings.LLM_READ_TIMEOUT_SECONDS = 20
    wire.script(delta(content="Half"), Pause(20))
    control = Control()
    running = asyncio.create_task(ask(talk, control))
    await until(lambda: wire.requests)
    await asyncio.sleep(0.1)

    control.stop()
    result = await running

    assert (result.text, result.last.status) == ("Half", "interrupted")
    assert await asyncio.to_thread(wire.requests[0].hung_up.wait, PATIENCE)


async def test_streams_that_broke_off_can_be_collected_at_any_moment(wire, talk):
    """A finaliser that sets a context variable kills Python 3.11: it collects in the middle of setting another one."""
    written = []

    def watch(frame, event, called):
        variable = getattr(called, "__self__", None)
        if event == "c_call" and isinstance(variable, ContextVar) and called.__name__ != "get":
            written.append(variable.name)

    gc.collect()
    gc.disable()
    try:
        wire.script(delta(content="Half"), Reset())
        await ask(talk)
        sys.setprofile(watch)
        gc.collect()
    finally:
        sys.setprofile(None)
        gc.enable()

    assert written == []
