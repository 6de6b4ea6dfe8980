"""One turn with a tool per family of models, against a local server that answers as the provider documents.

With WIRE_API_BASE (and WIRE_MODEL, WIRE_API_KEY) the same turn also runs against a real server of OpenAI's protocol.
"""

import asyncio
import json
import os

import pytest

from chat.models import Message, MessageStatus
from config.lib.llm import direct, door, litellm
from config.lib.llm.door import LLMUnavailable
from config.lib.llm.litellm import load_litellm
from config.lib.owned import owned
from config.lib.threads import run_in_thread
from tests.fakes import Respond, WireServer
from tests.wire.families import FAMILIES, SIGNATURE, TEXT, TOOL, respond_call, respond_text
from tests.wire.forwarding import forward_to

ROUTED = [family for family in FAMILIES if family.model.startswith(("openai/", "openrouter/"))]
PATHS = [(family, "default") for family in FAMILIES] + [(family, "litellm") for family in ROUTED if family.state]
STATEFUL = [(family, path) for family, path in PATHS if family.state]
USER = [{"role": "user", "content": "hi"}]


def named(cases):
    return [f"{family.name}, {path}" for family, path in cases]


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    load_litellm()  # seconds that belong to no test


@pytest.fixture
def reach(monkeypatch, settings):
    """A function that leads a family to a local server."""
    with WireServer() as server:

        def lead(family, path="default"):
            for name, value in family.variables.items():
                monkeypatch.setenv(name, value.format(url=server.url, host=server.url.removesuffix("/v1")))
            if path == "litellm":
                settings.LLM_DIRECT = []
                monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
            settings.CHAT_AGENT_MODEL = family.model
            return server

        yield lead


async def ask(talk, text="What is running?"):
    """Run one turn, and leave no connection of this loop behind."""
    try:
        return await talk.ask(text)
    finally:
        await door.close()


async def stream(model, effort=None):
    """Stream one answer, and leave no connection of this loop behind."""
    try:
        return [chunk async for chunk in door.stream(USER, models=[model], effort=effort)]
    finally:
        await door.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("family", "path"), PATHS, ids=named(PATHS))
async def test_turn_with_a_tool_sends_what_the_family_takes(reach, talk, family, path):
    server = reach(family, path)
    server.script(*family.call)
    server.script(*family.text)

    result = await ask(talk)

    first, second = (request.body for request in server.requests)  # as many requests as steps
    assert (result.failures, result.text) == ([], TEXT)
    assert [family.limit(body) for body in (first, second)] == [8192, 8192]
    assert json.dumps(second).count('"cache_control"') == family.marks
    assert family.state is None or family.state(second) == SIGNATURE
    assert not any(key in json.dumps(second) for key in ('"provider"', '"cache"'))
    reply = await talk.reply()
    assert reply.usage == {
        "prompt_tokens": 2 * family.usage.prompt_tokens,
        "completion_tokens": 2 * family.usage.completion_tokens,
        "cached_tokens": 2 * family.usage.cached_tokens,
        "estimated": False,
        "cache_write_tokens": 2 * family.usage.cache_write_tokens,
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("family", "path"), STATEFUL, ids=named(STATEFUL))
async def test_next_turn_sends_the_state_again_but_never_to_another_model(reach, talk, settings, family, path):
    server = reach(family, path)
    server.script(*family.call)
    for _ in range(3):
        server.script(*family.text)
    await ask(talk)

    await ask(talk, "And now?")
    settings.CHAT_AGENT_MODEL = f"{family.model}-two"
    await ask(talk, "And then?")

    _, _, same, other = (request.body for request in server.requests)
    assert family.state(same) == SIGNATURE
    assert SIGNATURE not in json.dumps(other)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
async def test_steps_share_every_byte_of_the_prompt(reach, talk, family):
    server = reach(family)
    server.script(*family.call)
    server.script(*family.text)

    await ask(talk)

    key = "contents" if family.name == "Gemini" else "messages"
    first, second = (without_marks(request.body) for request in server.requests)
    length = len(first[key])
    assert second[key][:length] == first[key]
    assert {**first, key: None} == {**second, key: None}


def without_marks(value):
    """Return a body without cache marks: blocks of one text are that text."""
    if isinstance(value, list):
        return [without_marks(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    plain = {key: without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    match plain.get("content"):
        case [{"type": "text", "text": text}]:
            plain["content"] = text
    return plain


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("family", [family for family in FAMILIES if family.state], ids=lambda family: family.name)
async def test_state_is_stored_with_the_call_and_shown_nowhere(reach, talk, client, caplog, family):
    server = reach(family)
    server.script(*family.call)
    server.script(*family.text)

    result = await ask(talk)

    (part,) = [part for part in (await talk.reply()).parts if part["kind"] == "tool"]
    pages = await run_in_thread(read_pages, client, talk)
    assert part["provider"]["model"] == family.model
    assert SIGNATURE in json.dumps(part["provider"])
    assert SIGNATURE not in json.dumps([event.part["result"] for event in result.events if hasattr(event, "part")])
    assert SIGNATURE not in pages + caplog.text


def read_pages(client, talk):
    """Return what the pages and the API show of the chat."""
    with owned(talk.user_id):
        reply = Message.objects.filter(conversation_id=talk.conversation_id).order_by("pk").last()
        assert reply.status == MessageStatus.COMPLETE
        client.force_login(reply.user)
    addresses = (
        f"/chat/{talk.conversation_id}/",
        f"/chat/messages/{reply.pk}/receipt/",
        f"/api/conversations/{talk.conversation_id}/messages/",
        f"/api/conversations/{talk.conversation_id}/",
    )
    answers = [client.get(address) for address in addresses]
    assert sum(answer.status_code == 200 for answer in answers) >= 2
    return "".join(answer.content.decode() for answer in answers if not answer.streaming)


FAILURES = [(family, failure) for family in FAMILIES for failure in family.failures]


@pytest.mark.parametrize(
    ("family", "failure"), FAILURES, ids=[f"{family.name} {failure.status}" for family, failure in FAILURES]
)
def test_error_of_the_family_is_told_in_our_words(reach, family, failure):
    server = reach(family)
    server.script(Respond(failure.status, json.dumps(failure.body).encode()))

    with pytest.raises(LLMUnavailable, match=failure.told):
        asyncio.run(stream(family.model))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("openai/local", {"reasoning_effort": "low"}),
        ("openrouter/anthropic/claude-sonnet-4.6", {"reasoning": {"effort": "low"}}),
    ],
)
def test_reasoning_effort_goes_by_the_name_that_the_provider_takes(reach, model, body):
    family = next(family for family in FAMILIES if family.model == model)
    server = reach(family)
    server.script(*family.text)
    server.script(*family.text)

    for effort in ("low", ""):
        assert asyncio.run(stream(model, effort))

    with_effort, without = (request.body for request in server.requests)
    assert {key: with_effort.get(key) for key in body} == body
    assert with_effort.keys() - without.keys() == body.keys()


# --- OpenAI's current models: tools and reasoning only in the newer protocol ---

REASONER = "openai/gpt-5.6-terra"
NO_TOOLS = Respond(
    400,
    json.dumps(
        {"error": {"message": "No function tools with it; set it to 'none'.", "type": "x", "param": "reasoning_effort"}}
    ).encode(),
)
OPENAI = next(family for family in FAMILIES if family.name == "OpenAI")


@pytest.fixture
def reasoner(reach, settings, monkeypatch):
    """A server of OpenAI's current family, which nothing is known of yet."""
    monkeypatch.setattr(direct, "_reasoning_without_tools", set())
    monkeypatch.setattr(door, "_of_responses", set())
    server = reach(OPENAI)
    settings.CHAT_AGENT_MODEL = REASONER
    return server


def paths_of(server) -> list[str]:
    return [request.path.rpartition("/v1/")[2] for request in server.requests]


@pytest.mark.django_db(transaction=True)
async def test_model_that_reasons_by_default_is_asked_without_once_and_remembered(reasoner, talk):
    reasoner.script(NO_TOOLS)
    for answer in (OPENAI.call, OPENAI.text, OPENAI.call, OPENAI.text):
        reasoner.script(*answer)

    results = [await ask(talk), await ask(talk)]

    assert [(result.failures, result.text) for result in results] == [([], TEXT)] * 2
    efforts = [request.body.get("reasoning_effort") for request in reasoner.requests]
    assert efforts == [None, "none", "none", "none", "none"]


@pytest.mark.django_db(transaction=True)
async def test_model_that_takes_an_effort_in_the_newer_protocol_alone_is_reached_by_litellm(reasoner, talk, settings):
    settings.CHAT_REASONING_EFFORT = "low"
    reasoner.script(NO_TOOLS)
    for answer in (respond_call(), respond_text(), respond_text()):
        reasoner.script(*answer)

    results = [await ask(talk), await ask(talk)]

    assert [(result.failures, result.text) for result in results] == [([], TEXT)] * 2
    assert paths_of(reasoner) == ["chat/completions", "responses", "responses", "responses"]
    bodies = [request.body for request in reasoner.requests[1:]]
    assert [(body["model"], body["reasoning"]) for body in bodies] == [("gpt-5.6-terra", {"effort": "low"})] * 3
    outputs = [item["output"] for item in bodies[1]["input"] if item["type"] == "function_call_output"]
    assert len(outputs) == 1
    assert "deployments" in json.dumps(outputs)


@pytest.mark.django_db(transaction=True)
async def test_effort_without_litellm_fails_with_the_setting_to_change(reasoner, talk, settings, monkeypatch):
    monkeypatch.setattr(litellm, "find_spec", lambda name: None)
    settings.CHAT_REASONING_EFFORT = "low"
    reasoner.script(NO_TOOLS)

    result = await ask(talk)

    [failure] = result.failures
    assert "CHAT_REASONING_EFFORT" in failure
    assert "keel[providers]" in failure


@pytest.mark.parametrize("model", ["openrouter/anthropic/claude-sonnet-4.6", REASONER])
def test_effort_that_a_model_does_not_know_names_the_setting(reach, reasoner, model):
    server = reach(next(family for family in FAMILIES if family.model == model)) if model != REASONER else reasoner
    for _ in range(2):
        server.script(NO_TOOLS)

    with pytest.raises(LLMUnavailable, match="CHAT_REASONING_EFFORT"):
        asyncio.run(stream(model, "minimal"))


@pytest.mark.skipif("WIRE_API_BASE" not in os.environ, reason="needs a server: set WIRE_API_BASE")
@pytest.mark.django_db(transaction=True)
async def test_turn_with_a_tool_runs_on_a_real_server(monkeypatch, settings, talk):
    settings.CHAT_AGENT_MODEL = f"openai/{os.environ.get('WIRE_MODEL', 'local')}"
    settings.LLM_READ_TIMEOUT_SECONDS = settings.TURN_TIMEOUT_SECONDS = 600
    with forward_to(os.environ["WIRE_API_BASE"], os.environ.get("WIRE_API_KEY", "")) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)

        result = await ask(talk, f"Call the tool {TOOL} now, then say in one sentence what it returned.")

    reply = await talk.reply()
    assert (result.failures, reply.status) == ([], MessageStatus.COMPLETE)
    assert all(body["max_tokens"] == 8192 and len(body["tools"]) > 10 for body in server.bodies)
    results = [message for body in server.bodies for message in body["messages"] if message["role"] == "tool"]
    assert len(server.bodies) == 1 or results, "each further request brings the results of the calls"
    assert reply.usage["prompt_tokens"] > 0
