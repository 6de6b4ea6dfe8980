import asyncio
import json
import subprocess
import sys
import time
from contextlib import aclosing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm import direct, door
from config.lib.llm.answer import StreamedAnswer
from config.lib.llm.door import Chunk, ToolCall, Usage
from tests.config.lib.llm.asking import USER, WIRE, read, run, text_of
from tests.fakes import Pause, Respond, Send, WireServer, delta, done, event, well_formed
from tests.source import ROOT


@pytest.fixture(autouse=True)
def _direct(settings):
    settings.LLM_DIRECT = ["openai", "openrouter"]
    settings.LLM_CONNECT_TIMEOUT_SECONDS = 2
    settings.LLM_READ_TIMEOUT_SECONDS = 2


@pytest.fixture
def wire(monkeypatch):
    with WireServer() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
        yield server


def test_streams_of_named_providers_do_without_litellm():
    code = """
import asyncio, sys
from django.conf import settings
settings.configure(
    LLM_DIRECT=["openai"], LLM_PROVIDERS={}, LLM_CONNECT_TIMEOUT_SECONDS=2, LLM_READ_TIMEOUT_SECONDS=2,
    CHAT_MAX_OUTPUT_TOKENS=8192,
)
from config.lib.llm import door
async def ask():
    said = [chunk.text async for chunk in door.stream([{"role": "user", "content": "hi"}], models=["openai/wire"])]
    await door.close()
    return "".join(said)
print(asyncio.run(ask()), "litellm" in sys.modules)
"""
    with WireServer(default=well_formed("Hel", "lo")) as server:
        environment = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": "k", "PATH": "/usr/bin"}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    assert (done.stdout.strip(), done.stderr) == ("Hello False", "")


@pytest.mark.parametrize(
    ("model", "providers", "is_read"),
    [
        ("openai/wire", ["openai"], True),
        ("openrouter/anthropic/claude", ["openai"], False),
        ("openrouter/anthropic/claude", ["openrouter", "openai"], True),
        ("anthropic/claude", ["openai", "openrouter"], False),
        ("openai", ["openai"], False),
        ("openai/", ["openai"], False),
        ("offline/keel", ["openai"], False),
    ],
)
def test_only_named_providers_are_read_here(settings, model, providers, is_read):
    settings.LLM_DIRECT = providers

    assert direct.can_serve(model) == is_read


def test_request_matches_the_protocol(wire):
    wire.say("ok")

    read(models=["openai/org/wire"])

    (request,) = wire.requests
    assert request.body == {
        "model": "org/wire",
        "messages": USER,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 8192,
    }
    assert request.headers["authorization"] == "Bearer sk-canary"
    assert request.headers["content-type"] == "application/json"


def test_lines_may_end_as_they_like_and_come_in_any_pieces(wire):
    answer = "".join(
        step.data.decode().replace("\n\n", "\r\n\r\n") for step in well_formed("Grüße ", "只交易 ", "🚀")
    ).encode()
    wire.script(Send(b": keep-alive\n\n"), *(Send(answer[at : at + 7]) for at in range(0, len(answer), 7)))

    chunks, error = read()

    assert error is None
    assert text_of(chunks) == "Grüße 只交易 🚀"
    assert chunks[-1] == Chunk(finish_reason="stop", usage=Usage(12, 3, cached_tokens=4), model="openai/wire")


def test_the_last_event_needs_no_end_of_line(wire):
    last = delta(finish_reason="stop").data.rstrip(b"\n")
    wire.script(delta(content="Hello"), Send(last))

    chunks, error = read()

    assert (error, text_of(chunks), chunks[-1].finish_reason) == (None, "Hello", "stop")


def test_usage_may_come_with_the_finish_reason(wire):
    both = json.loads(delta(finish_reason="stop").data[6:]) | {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    wire.script(delta(content="Hello"), event(both), done())

    assert read()[0][-1].usage == Usage(7, 2)


@pytest.mark.limit("config.lib.llm.direct.MAX_LINE")
def test_an_event_without_an_end_is_not_read_for_ever(wire, monkeypatch):
    monkeypatch.setattr(direct, "MAX_LINE", 100_000)
    # A line that says nothing: what follows it would be read.
    endless = (Send(b": "), *(Send(b"x" * 10_000) for _ in range(50)), Send(b"\n\n"))
    wire.script(delta(content="Hello"), *endless, *well_formed("x"))

    chunks, error = read()

    assert (text_of(chunks), error.kind) == ("Hello", "interrupted")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([event([1, 2])], id="a list"),
        pytest.param([event("3")], id="a number"),
        pytest.param([event("[" * 100_000)], id="too deep"),
        pytest.param([Send(b"data: \xff\xfe\n\n")], id="no text"),
    ],
)
def test_invalid_event_interrupts_the_answer(wire, steps):
    wire.script(delta(content="Half"), *steps, *well_formed("the rest"))

    chunks, error = read()

    assert (text_of(chunks), error.kind) == ("Half", "interrupted")


@pytest.mark.parametrize(
    ("code", "kind"),
    [(429, "rate_limited"), (402, "refused"), (408, "timeout"), ("server_error", "interrupted"), (None, "interrupted")],
)
def test_error_within_the_stream_gives_its_kind(wire, code, kind):
    wire.script(event({"error": {"message": "the provider's own words", "code": code}}))

    chunks, error = read()

    assert (chunks, error.kind) == ([], kind)
    assert "own words" not in str(error)


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, "grown too long"),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens."}}, "grown too long"),
        (400, {"error": {"code": "content_filter", "message": "x"}}, "for its content"),
        (400, {"error": {"message": "x"}}, "declined this request"),
        (500, {"error": {"message": "context window"}}, "cannot be reached"),
    ],
)
def test_refusal_text_decides_its_message(wire, status, body, told):
    wire.script(Respond(status, json.dumps(body).encode()))

    assert told in str(read()[1])


def test_a_refusal_is_read_only_so_far(wire, monkeypatch):
    monkeypatch.setattr(direct, "MAX_REFUSAL", 1_000)
    wire.script(Respond(400, b" " * 1_000_000 + b"context window"))

    assert "declined this request" in str(read()[1])


@pytest.mark.parametrize("status", [201, 204, 301, 302, 304])
def test_status_that_is_no_answer_is_unreachable(wire, status):
    wire.script(Respond(status, b"", {"location": f"{wire.url}/elsewhere"}))

    _, error = read()

    assert error.kind == "unreachable"
    assert len(wire.requests) == 1


def test_more_turns_than_connections_of_a_pool_are_answered_at_once(monkeypatch):
    with WireServer(default=well_formed("Hel", "lo", delay=0.2)) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")

        async def ask():
            return [chunk.text async for chunk in door.stream(USER, models=WIRE)]

        async def all_at_once():
            return await asyncio.gather(*(ask() for _ in range(120)))

        answers = run(all_at_once())

    assert {"".join(answer) for answer in answers} == {"Hello"}


@pytest.mark.clock
def test_words_that_are_there_are_not_waited_for(wire, monkeypatch):
    monkeypatch.setattr(direct, "PACE_SECONDS", 0.5)
    wire.say(*map(str, range(200)))
    began = time.monotonic()

    chunks, error = read()

    assert (error, text_of(chunks)) == (None, "".join(map(str, range(200))))
    assert time.monotonic() - began < 200 * 0.5 / 4


def test_a_pause_between_words_does_not_keep_a_stop_waiting(wire, monkeypatch):
    monkeypatch.setattr(direct, "PACE_SECONDS", 60)
    wire.script(Pause(0.05), delta(content="One"), Pause(5), *well_formed("two"))

    async def stop_after_one():
        async with aclosing(door.stream(USER, models=WIRE)) as chunks:
            assert (await anext(chunks)).text == "One"
            with suppress(TimeoutError):
                await asyncio.wait_for(anext(chunks), 0.2)
        return await asyncio.to_thread(wire.requests[0].hung_up.wait, 2)

    assert run(stop_after_one())


def test_each_event_loop_has_connections_of_its_own(wire):
    before = len(direct._clients)
    for text in ("One", "Two"):
        wire.say(text)

    assert [text_of(read()[0]) for _ in range(2)] == ["One", "Two"]
    assert len(direct._clients) == before


_KEYS = [
    *("choices", "delta", "content", "tool_calls", "index", "id", "function", "name", "arguments", "finish_reason"),
    *("usage", "prompt_tokens", "error", "code"),
]


@given(
    st.binary(max_size=300)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
        max_leaves=20,
    )
)
def test_any_event_gives_a_piece_or_a_stream_error(sent):
    data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    try:
        piece = direct._parse_piece(data)
    except (ValueError, direct.StreamError, direct.HTTPStatusError):
        return
    answer = StreamedAnswer()

    answer.take_calls(piece.calls)

    assert isinstance(answer.take_text(piece.content) if piece.content else "", str)
    assert all(isinstance(call, ToolCall) for call in answer.tool_calls())
    assert piece.usage is None or piece.usage.prompt_tokens > 0
