import pytest

from config.lib.llm import requests
from config.lib.llm.errors import LLMUnavailable
from config.lib.llm.prices import Limits
from config.lib.llm.requests import ModelRequest, limit_output, prepare_messages, prepare_tools, takes_marks

MARK = {"type": "ephemeral"}
SONNET, DIRECT_SONNET = "openrouter/anthropic/claude-sonnet-4.6", "anthropic/claude-sonnet-4-6"
TOOL = {"type": "function", "function": {"name": "remember", "parameters": {}}}


def call(id_="c1", **provider):
    made = {"id": id_, "type": "function", "function": {"name": "remember", "arguments": "{}"}}
    return {**made, "provider": provider} if provider else made


def talk(*calls):
    """Return a step with a tool: the request that follows has to carry the state of its calls."""
    return [
        {"role": "system", "content": [{"text": "You are Keel.", "cache": True}, {"text": "Today"}]},
        {"role": "user", "content": "hi", "cache": True},
        {"role": "assistant", "content": "", "tool_calls": list(calls)},
        {"role": "tool", "tool_call_id": "c1", "content": "{}", "cache": True},
    ]


@pytest.mark.parametrize(
    ("model", "is_marked"),
    [
        (SONNET, True),
        (DIRECT_SONNET, True),
        ("claude-haiku-4-5", True),
        ("gemini/gemini-3-pro", False),
        ("openrouter/google/gemini-3-pro", False),
        ("openai/gpt-5", False),
        ("deepseek/deepseek-chat", False),
        ("bedrock/anthropic.claude", False),
        ("offline/keel", False),
    ],
)
def test_marks_reach_only_models_that_take_them_in_the_prompt(model, is_marked):
    sent = str([*prepare_messages(model, talk(call())), *prepare_tools(model, [TOOL, TOOL])])

    assert takes_marks(model) == is_marked
    assert sent.count("cache_control") == (4 if is_marked else 0)
    assert "'cache'" not in sent


def test_marks_stand_on_tools_system_text_and_newest_messages():
    system, user, _, result = prepare_messages(SONNET, talk(call()))

    assert [block.get("cache_control") for block in system["content"]] == [MARK, None]
    assert user["content"] == [{"type": "text", "text": "hi", "cache_control": MARK}]
    assert result["content"] == [{"type": "text", "text": "{}", "cache_control": MARK}]
    assert [tool.get("cache_control") for tool in prepare_tools(SONNET, [TOOL, TOOL])] == [None, MARK]


def test_mark_of_a_result_stands_on_the_message_for_litellm():
    result = prepare_messages(DIRECT_SONNET, talk(call()))[-1]

    assert (result["content"], result["cache_control"]) == ("{}", MARK)


def test_more_marks_than_allowed_keep_the_first_and_the_last_two():
    messages = [{"role": "user", "content": str(n), "cache": True} for n in range(6)]

    sent = prepare_messages(SONNET, messages)

    assert [n for n, message in enumerate(sent) if "cache_control" in str(message)] == [0, 4, 5]


def test_empty_message_is_never_marked():
    assert prepare_messages(SONNET, [{"role": "user", "content": "", "cache": True}]) == [
        {"role": "user", "content": ""}
    ]


@pytest.mark.parametrize("model", ["openrouter/google/gemini-3-pro", "openai/wire"])
def test_state_goes_back_to_its_model(model):
    state = {
        "model": model,
        "message": {"reasoning_details": [{"data": "SIG"}]},
        "call": {"extra_content": {"google": {"thought_signature": "S2"}}},
    }

    step = prepare_messages(model, talk(call(**state), call("c2")))[2]

    assert step["reasoning_details"] == [{"data": "SIG"}]
    assert [made.get("extra_content") for made in step["tool_calls"]] == [state["call"]["extra_content"], None]
    assert "provider" not in str(step)


def test_state_never_goes_to_another_model():
    state = {"model": "openai/first", "message": {"reasoning_details": ["SIG"]}, "call": {"id": "SIG", "a": "SIG"}}

    sent = prepare_messages("openai/second", talk(call(**state)))

    assert "SIG" not in str(sent)
    assert sent == prepare_messages("openai/second", talk(call()))


def test_long_id_goes_back_to_its_model_in_call_and_result():
    sent = prepare_messages("gemini/g", talk(call(model="gemini/g", call={"id": "call_1__thought__SIG"})))

    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"] == "call_1__thought__SIG"


@pytest.mark.parametrize(
    ("model", "reasoning"),
    [("deepseek/deepseek-chat", " "), ("openai/deepseek-flash", " "), ("openai/gpt-5", None), (SONNET, None)],
)
def test_call_of_another_model_has_blank_reasoning_for_deepseek(model, reasoning):
    state = {"model": "openai/other", "message": {"reasoning_content": "theirs"}}

    assert prepare_messages(model, talk(call(**state)))[2].get("reasoning_content") == reasoning


def test_prepare_leaves_the_messages_as_they_were():
    messages = talk(call(model=SONNET, call={"id": "x"}))

    prepare_messages(SONNET, messages)

    assert messages == talk(call(model=SONNET, call={"id": "x"}))


# --- Limits ---


@pytest.fixture
def listed(monkeypatch):
    """A model with limits of its own."""

    def list_model(prompt, output):
        monkeypatch.setattr(requests, "find_limits", lambda model: Limits(prompt, output))

    return list_model


def said(tokens, **fields):
    return ModelRequest([{"role": "user", "content": "so " * tokens}], max_tokens=8192, **fields)


@pytest.mark.parametrize(
    ("prompt", "output", "tokens", "allowed"),
    [
        pytest.param(None, None, 9_000, 8192, id="not listed"),
        pytest.param(200_000, 64_000, 9_000, 8192, id="far from its limits"),
        pytest.param(200_000, 4_096, 9_000, 4_096, id="short answers only"),
        pytest.param(20_000, None, 10_000, 8192, id="counted, and enough"),
    ],
)
def test_limit_output_gives_what_the_model_allows(listed, prompt, output, tokens, allowed):
    listed(prompt, output)

    assert limit_output("m", said(tokens)).max_tokens == allowed


LONG_TOOL = {"type": "function", "function": {"name": "a", "description": "so " * 8_000}}


@pytest.mark.parametrize("request_", [said(8_000), said(9_000), said(1, tools=[LONG_TOOL])])
def test_limit_output_leaves_the_rest_of_a_small_context_and_refuses_a_prompt_without_room(listed, request_):
    listed(8_192, 4_096)

    assert 3_000 < limit_output("m", said(5_000)).max_tokens < 3_192
    with pytest.raises(LLMUnavailable, match="grown too long") as refused:
        limit_output("m", request_)
    assert refused.value.kind == "refused"
