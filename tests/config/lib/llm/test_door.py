import asyncio
import logging
import os
import subprocess
import sys
from contextlib import aclosing

import pytest

from config.lib.llm import door
from config.lib.llm.door import Chunk, LLMUnavailable, ToolCall, Usage
from config.lib.llm.litellm import load_litellm
from offline.model import OfflineProvider
from tests.config.lib.llm.asking import USER, WIRE, read, run, text_of
from tests.fakes import (
    Cut,
    Pause,
    Reset,
    Respond,
    ScriptedModel,
    WireServer,
    delta,
    done,
    event,
    refused_url,
    tool_fragment,
    usage,
    well_formed,
)

REMEMBER = {"type": "function", "function": {"name": "remember", "parameters": {"type": "object", "properties": {}}}}
SECRETS = ("the provider's own words", "sk-canary", "http://", "https://", "Traceback", "litellm")


@pytest.fixture(scope="module", autouse=True)
def _warm():
    load_litellm()


@pytest.fixture(params=["litellm", "direct"])
def wire(request, monkeypatch, settings):
    """A server of OpenAI's protocol, whose streams are read through LiteLLM, and without it."""
    settings.LLM_DIRECT = ["openai", "openrouter"] if request.param == "direct" else []
    settings.LLM_CONNECT_TIMEOUT_SECONDS = 2
    settings.LLM_READ_TIMEOUT_SECONDS = 0.3
    with WireServer() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
        yield server


@pytest.fixture
def scripted():
    model = ScriptedModel()
    door.register_provider("scripted", lambda: model)
    return model


def complete(messages=USER, *, models=WIRE, **options):
    return run(door.complete(messages, models=models, **options))


def in_fresh_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def test_stream_yields_text_and_then_one_last_chunk(wire):
    wire.say("Hel", "lo")

    chunks, error = read()

    assert error is None
    assert chunks == [
        Chunk(text="Hel"),
        Chunk(text="lo"),
        Chunk(finish_reason="stop", usage=Usage(12, 3, cached_tokens=4), model="openai/wire"),
    ]


def test_stream_asks_for_usage_and_sends_tools_and_key(wire):
    wire.say("ok")

    read(tools=[REMEMBER])

    request = wire.requests[0]
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.body["tools"] == [REMEMBER]
    assert request.body["messages"] == USER
    assert request.headers["authorization"] == "Bearer sk-canary"


def test_stream_joins_the_fragments_of_tool_calls(wire):
    wire.script(
        delta(content="Noted."),
        delta(tool_calls=[tool_fragment(0, id="c1", name="remember", arguments="")]),
        *(delta(tool_calls=[tool_fragment(0, arguments=letter)]) for letter in '{"fact": "no alts"}'),
        delta(tool_calls=[tool_fragment(1, id="c2", name="forget", arguments='{"fact_id"')]),
        delta(tool_calls=[tool_fragment(1, arguments=': "x"}')]),
        delta(finish_reason="tool_calls"),
        usage(5, 6),
        done(),
    )

    chunks, _ = read(tools=[REMEMBER])

    assert text_of(chunks) == "Noted."
    assert chunks[-1].finish_reason == "tool_calls"
    assert chunks[-1].tool_calls == (
        ToolCall("c1", "remember", '{"fact": "no alts"}'),
        ToolCall("c2", "forget", '{"fact_id": "x"}'),
    )


def test_stream_makes_ids_unique_in_the_answer_and_against_the_history(wire):
    history = [
        *USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "old", "type": "function", "function": {"name": "remember", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "old", "content": "{}"},
    ]
    wire.script(
        delta(tool_calls=[tool_fragment(0, id="old", name="a", arguments="{}")]),
        delta(tool_calls=[tool_fragment(1, id="new", name="b", arguments="{}")]),
        delta(tool_calls=[tool_fragment(2, id="new", name="c", arguments="{}")]),
        delta(tool_calls=[tool_fragment(3, name="d", arguments="{}")]),
        delta(finish_reason="tool_calls"),
        done(),
    )

    calls = read(history)[0][-1].tool_calls

    assert [call.name for call in calls] == ["a", "b", "c", "d"]
    assert calls[1].id == "new"
    assert len({call.id for call in calls} | {"old"}) == 5


@pytest.mark.parametrize(
    "fragment",
    [
        pytest.param("nonsense", id="text"),
        pytest.param([None], id="null"),
        pytest.param([{"index": 0, "id": "1", "function": None}], id="no function"),
        pytest.param([tool_fragment("one", id="1", name="remember", arguments="{}")], id="index is text"),
        pytest.param([tool_fragment(0, id="1", name=3, arguments="{}")], id="name is a number"),
    ],
)
def test_stream_survives_tool_calls_of_the_wrong_shape(wire, fragment):
    wire.script(delta(content="Well. "), delta(tool_calls=fragment), delta(finish_reason="tool_calls"), done())

    chunks, error = read(tools=[REMEMBER])

    assert error is None
    assert (text_of(chunks), chunks[-1].finish_reason, chunks[-1].tool_calls) == ("Well. ", "stop", ())


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("banana", "stop"),
        ("tool_calls", "stop"),
    ],
)
def test_stream_passes_on_finish_reasons_that_make_sense(wire, sent, said):
    wire.script(delta(content="Hi"), delta(finish_reason=sent), done())

    assert read()[0][-1].finish_reason == said


def test_stream_ignores_chunks_without_choices_and_keep_alive_comments(wire):
    wire.script(
        event({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}),
        *well_formed("Hello"),
    )

    assert text_of(read()[0]) == "Hello"


def test_stream_completes_when_nothing_follows_the_finish_reason(wire):
    wire.script(delta(content="Hello"), delta(finish_reason="stop"), Pause(2), usage(1, 1), done())

    chunks, error = read()

    assert (error, chunks[-1].finish_reason) == (None, "stop")
    assert chunks[-1].usage.estimated
    assert chunks[-1].usage.completion_tokens > 0


def test_stream_cuts_off_an_answer_that_is_too_big(wire):
    piece = "x" * 10_000
    pieces = (delta(content=f"{n:06}{piece}") for n in range(500))
    wire.script(*pieces, Pause(3), delta(finish_reason="stop"), done())

    chunks, error = read()

    assert error is None
    assert len(text_of(chunks)) == 2 * 1024 * 1024
    assert chunks[-1].finish_reason == "length"
    assert chunks[-1].usage.estimated
    assert wire.requests[0].hung_up.wait(2)


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        pytest.param([Pause(2)], "timeout", id="no first byte"),
        pytest.param([delta(role="assistant", content=""), Pause(2)], "timeout", id="stall before text"),
        pytest.param([Reset()], "unreachable", id="reset at once"),
        pytest.param([Cut()], "unreachable", id="closed at once"),
        pytest.param([done()], "interrupted", id="nothing"),
        pytest.param([Respond(200, b"<html>log in</html>", {"content-type": "text/html"})], "interrupted", id="a page"),
        pytest.param([event("{not json")], "interrupted", id="broken JSON"),
        pytest.param([delta(finish_reason="stop"), done()], "empty", id="stop alone"),
        pytest.param([delta(content=" \n"), delta(finish_reason="stop"), done()], "empty", id="white space"),
        pytest.param([delta(finish_reason="content_filter"), done()], "refused", id="content filter"),
        pytest.param([event({"error": {"message": "the provider's own words"}})], "interrupted", id="error event"),
    ],
)
def test_stream_says_why_no_answer_began(wire, steps, kind):
    wire.script(*steps)

    chunks, error = read()

    assert chunks == []
    assert error.kind == kind
    assert not any(secret in str(error) for secret in SECRETS)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "refused"),
        (401, "misconfigured"),
        (402, "refused"),
        (403, "refused"),
        (404, "misconfigured"),
        (408, "timeout"),
        (413, "refused"),
        (429, "rate_limited"),
        (500, "unreachable"),
        (503, "unreachable"),
    ],
)
def test_stream_and_complete_translate_statuses(wire, caplog, status, kind):
    wire.fail(status)
    wire.fail(status)

    _, error = read()
    with pytest.raises(LLMUnavailable) as completing:
        complete()

    assert (error.kind, completing.value.kind) == (kind, kind)
    assert len(wire.requests) == 2  # no silent retries
    assert not any(secret in str(error) + caplog.text for secret in SECRETS)
    assert f"Model openai/wire: {kind}" in caplog.text


def test_stream_says_when_nothing_listens_or_no_key_is_set(wire, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", refused_url())
    assert read()[1].kind == "unreachable"

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_API_BASE")
    assert read()[1].kind == "misconfigured"


@pytest.mark.parametrize("models", [[], ["nobody/knows"], ["no-provider"]], ids=str)
def test_stream_says_when_the_model_is_misconfigured(models, capfd):
    _, error = read(models=models)

    assert error.kind == "misconfigured"
    assert "Provider List" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "end",
    [
        pytest.param([Reset()], id="reset"),
        pytest.param([Cut()], id="closed"),
        pytest.param([Pause(2)], id="stall"),
        pytest.param([done()], id="no finish reason"),
        pytest.param([], id="just ends"),
        pytest.param([event("{not json"), delta(finish_reason="stop")], id="broken JSON"),
        pytest.param([event({"error": {"message": "the provider's own words", "code": 529}})], id="error event"),
        pytest.param([delta(content="", finish_reason="error")], id="finish reason error"),
    ],
)
def test_stream_broken_off_keeps_its_text_and_says_so(wire, end):
    wire.script(delta(content="Half an "), delta(content="answer"), *end)
    wire.say("another model's answer")

    chunks, error = read(models=["openai/wire", "openai/second"])

    assert text_of(chunks) == "Half an answer"
    assert error.kind == "interrupted"
    assert not any(secret in str(error) for secret in SECRETS)
    assert len(wire.requests) == 1  # once text is out no other model may go on in its place


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([Reset()], id="reset"),
        pytest.param([Respond(500, b"{}")], id="500"),
        pytest.param([delta(content="  "), Reset()], id="only white space came"),
        pytest.param([delta(tool_calls=[tool_fragment(0, id="1", name="x", arguments="{")]), Cut()], id="half a call"),
        pytest.param([delta(finish_reason="stop"), done()], id="empty"),
    ],
)
def test_stream_falls_back_when_nothing_has_come(wire, steps):
    wire.script(*steps)
    wire.say("Hello")

    chunks, error = read(models=["openai/wire", "openai/second"])

    assert error is None
    assert (text_of(chunks), chunks[-1].model) == ("Hello", "openai/second")


def test_stream_tells_the_first_models_failure_when_all_fail(wire):
    wire.fail(429)
    wire.fail(401)

    assert read(models=["openai/wire", "openai/second"])[1].kind == "rate_limited"


def test_closing_the_stream_hangs_up_on_the_provider(wire):
    wire.script(delta(content="One"), Pause(5), *well_formed("two"))

    async def stop_after_one():
        async with aclosing(door.stream(USER, models=WIRE)) as chunks:
            first = await anext(chunks)
        return first, await asyncio.to_thread(wire.requests[0].hung_up.wait, 2)

    assert run(stop_after_one()) == (Chunk(text="One"), True)


@pytest.mark.parametrize("steps", [[Pause(5)], [delta(content="One"), Pause(5)]], ids=["before text", "in the text"])
def test_cancelling_the_reader_hangs_up_on_the_provider(wire, settings, steps):
    settings.LLM_READ_TIMEOUT_SECONDS = 20
    wire.script(*steps)

    async def cancel_soon():
        reader = asyncio.create_task(_read_all())
        while not wire.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        return await asyncio.to_thread(wire.requests[0].hung_up.wait, 2)

    assert run(cancel_soon())


async def _read_all():
    return [chunk async for chunk in door.stream(USER, models=WIRE)]


@pytest.mark.clock  # an idle connection is closed after some seconds
@pytest.mark.parametrize("direct", [[], ["openai"]], ids=["litellm", "direct"])
@pytest.mark.parametrize("late", [0.0, 0.05], ids=["at once", "late"])
def test_connections_are_reused_when_the_body_ends(monkeypatch, settings, direct, late):
    settings.LLM_DIRECT = direct
    with WireServer(default=[*well_formed("Hi"), Pause(late)], keep_alive=True) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")

        async def three_turns():
            for _ in range(3):
                await _read_all()

        run(three_turns())

        assert (len(server.requests), server.connections) == (3, 1)


def test_complete_works_again_after_close(wire):
    wire.say("One")
    wire.say("Two")

    async def around_a_close():
        before = await _read_all()
        await door.close()
        return text_of([*before, *await _read_all()])

    assert run(around_a_close()) == "OneTwo"


def test_segments_are_one_string_for_a_model_that_cannot_cache(wire):
    wire.say("ok")
    segments = [{"type": "text", "text": "You are Keel.", "cache": True}, {"type": "text", "text": "It is now."}]

    read([{"role": "system", "content": segments}, *USER])

    assert wire.requests[0].body["messages"][0]["content"] == "You are Keel.\n\n---\n\nIt is now."


def test_complete_returns_the_whole_answer(wire):
    wire.say("Hello\x00", " you")

    answer = complete(max_tokens=50)

    assert (answer.text, answer.finish_reason, answer.tool_calls) == ("Hello you", "stop", ())
    assert answer.usage == Usage(12, 3, 4)
    assert answer.model == "openai/wire"
    assert wire.requests[0].body["max_tokens"] == 50
    assert "tool_choice" not in wire.requests[0].body


def test_complete_returns_tool_calls(wire):
    call = tool_fragment(id="c1", name="save", arguments='{"a": 1}')
    wire.script(delta(tool_calls=[call]), delta(finish_reason="tool_calls"), usage(12, 3), done())

    answer = complete(tools=[REMEMBER], tool_choice="required")

    assert (answer.text, answer.finish_reason) == ("", "tool_calls")
    assert answer.tool_calls == (ToolCall("c1", "save", '{"a": 1}'),)
    assert wire.requests[0].body["tool_choice"] == "required"


def test_complete_falls_back_to_the_next_model(wire):
    wire.script(delta(content="Hel"), Cut())
    wire.say("Hello")

    answer = complete(models=["openai/wire", "openai/second"])

    assert (answer.text, answer.model) == ("Hello", "openai/second")


def test_failure_hides_the_providers_exception_from_logs(wire, caplog):
    wire.fail(401, message="bad key sk-canary")

    _, error = read()
    logging.getLogger("test").error("turn failed", exc_info=error)

    assert error.__suppress_context__
    assert "sk-canary" not in caplog.text


def test_load_sets_litellm_offline_and_silent():
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert os.environ["LITELLM_MODE"] == "PRODUCTION"
    assert not logging.getLogger("LiteLLM").isEnabledFor(logging.ERROR)
    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)


# --- Our own model, which needs no LiteLLM ---

OWN = "offline/keel"
HOLD = {"type": "function", "function": {"name": "hold", "parameters": {"type": "object", "properties": {}}}}
TALKS = {
    "a statement": [{"role": "user", "content": "I never trade alts. I seem to exit too early."}],
    "small talk": [{"role": "system", "content": "You are Keel."}, {"role": "user", "content": "hi"}],
    "blocks": [
        {"role": "system", "content": [{"type": "text", "text": "You are Keel.", "cache": True}, {"text": "B"}]},
        {"role": "user", "content": "What can you do?"},
    ],
    "a tool's result": [
        {"role": "user", "content": "I never trade alts"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "remember", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"fact_id": "1", "saved": "I never trade alts"}'},
    ],
    "NUL and half an emoji": [
        {
            "role": "system",
            "content": "## What I know about you\n\n- [risk] I don't take leverage \x00 \ud83d above 5x",
        },
        {"role": "user", "content": "What is my max leverage?"},
    ],
    "a tick": [{"role": "system", "content": "Style: trend, x"}, {"role": "user", "content": "## Tick\n"}],
}


@pytest.mark.parametrize("tools", [[], [REMEMBER], [REMEMBER, HOLD]], ids=["no tools", "chat", "tick"])
@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
def test_own_model_gives_the_same_answer_streamed_and_whole(settings, talk, tools):
    settings.OFFLINE_DELAY_SECONDS = 0
    chunks, _ = read(talk, models=[OWN], tools=tools)

    whole = complete(talk, models=[OWN], tools=tools)

    calls = [[(call.name, call.arguments) for call in answer.tool_calls] for answer in (whole, chunks[-1])]
    assert (text_of(chunks), calls[1], chunks[-1].usage) == (whole.text, calls[0], whole.usage)
    assert whole.text or whole.tool_calls
    assert whole.usage.estimated
    assert len({call.id for call in whole.tool_calls}) == len(whole.tool_calls)


def test_own_model_is_the_last_resort_of_others(wire):
    wire.fail(500)

    assert complete(models=[*WIRE, OWN]).model == OWN


def test_another_handler_of_its_name_is_asked_instead(scripted):
    scripted.say("From the script")
    door.register_provider("offline", lambda: scripted)
    try:
        assert complete(models=[OWN]).text == "From the script"
    finally:
        door.register_provider("offline", OfflineProvider)


def test_own_model_answers_without_importing_litellm():
    code = (
        "import asyncio, sys\n"
        "import django; django.setup()\n"
        "sys.modules['litellm'] = None  # an import of it would raise\n"
        "from config.lib.llm import door\n"
        "hold = {'type': 'function', 'function': {'name': 'hold', 'parameters': {}}}\n"
        "async def ask():\n"
        "    asked = {'messages': [{'role': 'user', 'content': ''}], 'models': ['offline/keel'], 'tools': [hold]}\n"
        "    answer = await door.complete(**asked)\n"
        "    chunks = [chunk async for chunk in door.stream(**asked)]\n"
        "    await door.close()\n"
        "    return answer, chunks[-1]\n"
        "print(*(said.tool_calls[0].name for said in asyncio.run(ask())), 'aiohttp' in sys.modules)"
    )

    assert in_fresh_python(code).split() == ["hold", "hold", "False"]


# --- Calls written as text ---

WRITTEN = '```json\n{"name": "remember", "arguments": {"fact": "no alts"}}\n```'


@pytest.mark.parametrize(
    ("said", "text", "calls", "reason"),
    [
        (WRITTEN, "", [("remember", '{"fact": "no alts"}')], "tool_calls"),
        (["I note it. ", f"<tool_call>{WRITTEN}</tool_call>"], "I note it. ", [], "unmade_call"),
    ],
    ids=["whole answer", "beside text"],
)
def test_written_call_is_a_call_when_it_is_the_whole_answer_and_else_held_back(wire, said, text, calls, reason):
    wire.say(*said)

    chunks, error = read(tools=[REMEMBER])

    assert (error, text_of(chunks), chunks[-1].finish_reason) == (None, text, reason)
    assert [(call.name, call.arguments) for call in chunks[-1].tool_calls] == calls


def test_refused_written_call_of_the_only_model_says_so(wire):
    wire.say(WRITTEN)

    chunks, error = read(tools=[REMEMBER], accepts=lambda *call: False)

    assert (chunks, error.kind) == ([], "unmade_call")
    wire.say(WRITTEN)
    assert text_of(read()[0]) == WRITTEN, "where no tool is offered, it is text"
