"""Families of models: their answers as the providers document them, and what each must be sent.

Every family answers the first request with a call of `get_my_deployments`, the second one with a text.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.lib.llm.door import Usage
from tests.fakes import Send, Step, delta, done, event, tool_fragment

Json = dict[str, Any]
TOOL = "get_my_deployments"
SIGNATURE = "CiQBjz1rX/+signature=="
TEXT = "Nothing runs."
CREDIT, TOO_LONG, BUSY, KEY = "too little credit", "grown too long", "busy", "not set up"


@dataclass(frozen=True)
class Failure:
    """An error response, and words of the message that the user reads."""

    status: int
    body: Json
    told: str


@dataclass(frozen=True)
class Family:
    """One provider's protocol."""

    name: str
    model: str
    variables: Json  # environment; {url} is the server's address
    call: Sequence[Step]  # the answer that calls the tool
    text: Sequence[Step]  # the answer with the text
    usage: Usage  # of each answer
    limit: Callable[[Json], Any]  # finds the output limit in a body
    marks: int  # cache marks of the second request
    state: Callable[[Json], Any] | None  # finds the provider state in the second body
    failures: Sequence[Failure] = field(default=())


def chunk(usage: Json, *deltas: Step, reason: str) -> list[Step]:
    """Make an answer in OpenAI's protocol."""
    counted = event({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], **usage})
    return [delta(role="assistant", content=""), *deltas, delta(finish_reason=reason), counted, done()]


def openai_answers(usage: Json, **state: Any) -> dict[str, list[Step]]:
    """Make both answers in OpenAI's protocol; `state` stands in the delta of the call."""
    made = delta(**state, tool_calls=[tool_fragment(0, id="call_1", name=TOOL, arguments="{}")])
    return {
        "call": chunk({"usage": usage}, made, reason="tool_calls"),
        "text": chunk({"usage": usage}, delta(content=TEXT), reason="stop"),
    }


def sse(*events: Json) -> list[Step]:
    """Make server-sent events with the names that Anthropic gives them."""
    return [Send(f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()) for data in events]


def anthropic_answer(*blocks: tuple[Json, Sequence[Json]], reason: str) -> list[Step]:
    """Make an answer of Anthropic's Messages API."""
    usage = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 400,
        "cache_read_input_tokens": 1_500,
        "output_tokens": 1,
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": []}
    events: list[Json] = [{"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": piece} for piece in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": reason, "stop_sequence": None}
    return sse(
        *events, {"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}}, {"type": "message_stop"}
    )


def gemini_answer(part: Json) -> list[Step]:
    """Make an answer of Gemini's streamGenerateContent."""
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {
        "promptTokenCount": 2_000,
        "candidatesTokenCount": 20,
        "totalTokenCount": 2_020,
        "cachedContentTokenCount": 1_500,
    }
    return [event({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro"})]


def responses_answer(item: Json, *deltas: Json) -> list[Step]:
    """Make an answer of OpenAI's Responses API with one output item."""
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    response |= {"status": "in_progress", "parallel_tool_calls": True, "tool_choice": "auto"}
    usage = {"input_tokens": 2_000, "input_tokens_details": {"cached_tokens": 1_500}, "output_tokens": 20}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2_020}
    place = {"output_index": 0, "item_id": item["id"]}
    begun = item | {"status": "in_progress", **({"arguments": ""} if "arguments" in item else {"content": []})}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", **place, "item": begun},
        *({**place, **piece} for piece in deltas),
        {"type": "response.output_item.done", **place, "item": {**item, "status": "completed"}},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [item], "usage": usage},
        },
    ]
    return sse(*({**one, "sequence_number": number} for number, one in enumerate(events)))


def respond_call() -> list[Step]:
    """Make an answer of the Responses API that calls the tool."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": TOOL, "arguments": "{}"}
    return responses_answer(item, {"type": "response.function_call_arguments.delta", "delta": "{}"})


def respond_text() -> list[Step]:
    """Make an answer of the Responses API with the text."""
    content = [{"type": "output_text", "text": TEXT, "annotations": []}]
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    return responses_answer(item, {"type": "response.output_text.delta", "content_index": 0, "delta": TEXT})


def find_call(body: Json) -> Json:
    """Return the assistant message with the call, in OpenAI's protocol."""
    return next(message for message in body["messages"] if message.get("tool_calls"))


def read_thinking(body: Json) -> str:
    """Return the signature of the one block of thinking that goes back, which has to be as it came."""
    contents = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    [block] = [block for content in contents for block in content if block["type"] == "thinking"]
    assert block == {"type": "thinking", "thinking": "Look first.", "signature": SIGNATURE}
    return block["signature"]


def openai_error(status: int, told: str, **error: Any) -> Failure:
    """Make an error in OpenAI's shape."""
    return Failure(status, {"error": {"message": "the provider's own words", "type": "x", **error}}, told)


OPENAI_USAGE = {"prompt_tokens": 2_000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 1_500}}
ROUTER_USAGE = {
    "prompt_tokens": 2_000,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 1_500, "cache_write_tokens": 400},
    "cost": 0.001,
}
DEEPSEEK_USAGE = {
    "prompt_tokens": 2_000,
    "completion_tokens": 20,
    "prompt_cache_hit_tokens": 1_500,
    "prompt_cache_miss_tokens": 500,
}
LOCAL_USAGE = {"prompt_tokens": 2_000, "completion_tokens": 20, "total_tokens": 2_020}
READ, WRITTEN = Usage(2_000, 20, 1_500), Usage(2_000, 20, 1_500, cache_write_tokens=400)
ROUTER = {"OPENROUTER_API_BASE": "{url}", "OPENROUTER_API_KEY": "sk-canary"}
ROUTER_FAILURES = (
    openai_error(402, CREDIT, code=402, message="This request requires more credits, or fewer max_tokens."),
    openai_error(400, TOO_LONG, code=400, message="This endpoint's maximum context length is 200000 tokens."),
    openai_error(429, BUSY, code=429),
    openai_error(401, KEY, code=401),
)
THOUGHT = [{"type": "reasoning.text", "index": 0, "text": "Look first.", "signature": SIGNATURE}]
ENCRYPTED = [{"type": "reasoning.encrypted", "index": 0, "data": SIGNATURE, "format": "google-gemini-v1"}]

FAMILIES = (
    Family(
        "OpenAI",
        "openai/gpt-5-mini",
        {"OPENAI_API_BASE": "{url}", "OPENAI_API_KEY": "sk-canary"},
        **openai_answers(OPENAI_USAGE),
        usage=READ,
        limit=lambda body: body.get("max_tokens") or body.get("max_completion_tokens"),
        marks=0,
        state=None,
        failures=(
            openai_error(400, TOO_LONG, code="context_length_exceeded"),
            openai_error(429, BUSY, code="rate_limit_exceeded"),
            openai_error(429, CREDIT, code="insufficient_quota"),
            openai_error(401, KEY, code="invalid_api_key"),
        ),
    ),
    Family(
        "Anthropic",
        "anthropic/claude-sonnet-4-6",
        {"ANTHROPIC_API_BASE": "{host}", "ANTHROPIC_API_KEY": "sk-canary"},
        call=anthropic_answer(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": "Look "},
                    {"type": "thinking_delta", "thinking": "first."},
                    {"type": "signature_delta", "signature": SIGNATURE},
                ],
            ),
            (
                {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}},
                [{"type": "input_json_delta", "partial_json": "{}"}],
            ),
            reason="tool_use",
        ),
        text=anthropic_answer(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": TEXT}]), reason="end_turn"
        ),
        usage=WRITTEN,
        limit=lambda body: body["max_tokens"],
        marks=4,
        state=read_thinking,
        failures=(
            Failure(
                400,
                {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 2 > 1"}},
                TOO_LONG,
            ),
            Failure(
                400,
                {
                    "type": "error",
                    "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access"},
                },
                CREDIT,
            ),
            Failure(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}, BUSY),
            Failure(401, {"type": "error", "error": {"type": "authentication_error", "message": "x"}}, KEY),
        ),
    ),
    Family(
        "Gemini",
        "gemini/gemini-3-pro",
        {"GEMINI_API_BASE": "{host}", "GEMINI_API_KEY": "sk-canary"},
        call=gemini_answer({"functionCall": {"name": TOOL, "args": {}}, "thoughtSignature": SIGNATURE}),
        text=gemini_answer({"text": TEXT}),
        usage=READ,
        limit=lambda body: body["generationConfig"]["max_output_tokens"],
        marks=0,
        state=lambda body: next(
            part["thoughtSignature"]
            for content in body["contents"]
            for part in content["parts"]
            if "thoughtSignature" in part
        ),
        failures=(
            Failure(
                400,
                {
                    "error": {
                        "code": 400,
                        "message": "The input token count (2) exceeds the maximum number of tokens allowed (1).",
                        "status": "INVALID_ARGUMENT",
                    }
                },
                TOO_LONG,
            ),
            Failure(429, {"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED"}}, BUSY),
        ),
    ),
    Family(
        "OpenRouter with Anthropic",
        "openrouter/anthropic/claude-sonnet-4.6",
        ROUTER,
        **openai_answers(ROUTER_USAGE, reasoning="Look first.", reasoning_details=THOUGHT),
        usage=WRITTEN,
        limit=lambda body: body["max_tokens"],
        marks=4,
        state=lambda body: find_call(body)["reasoning_details"][0]["signature"],
        failures=ROUTER_FAILURES,
    ),
    Family(
        "OpenRouter with Gemini 3",
        "openrouter/google/gemini-3-pro-preview",
        ROUTER,
        **openai_answers(ROUTER_USAGE, reasoning_details=ENCRYPTED),
        usage=WRITTEN,
        limit=lambda body: body["max_tokens"],
        marks=0,
        state=lambda body: find_call(body)["reasoning_details"][0]["data"],
        failures=ROUTER_FAILURES,
    ),
    Family(
        "DeepSeek",
        "deepseek/deepseek-chat",
        {"DEEPSEEK_API_BASE": "{url}", "DEEPSEEK_API_KEY": "sk-canary"},
        **openai_answers(DEEPSEEK_USAGE, reasoning_content=SIGNATURE),
        usage=READ,
        limit=lambda body: body["max_tokens"],
        marks=0,
        state=lambda body: find_call(body)["reasoning_content"],
        failures=(
            openai_error(402, CREDIT, message="Insufficient Balance"),
            openai_error(429, BUSY),
            openai_error(400, TOO_LONG, message="This model's maximum context length is 131072 tokens."),
        ),
    ),
    Family(
        "Ollama and llama.cpp",
        "openai/local",
        {"OPENAI_API_BASE": "{url}"},
        **openai_answers(LOCAL_USAGE, reasoning_content=SIGNATURE),
        usage=Usage(2_000, 20),
        limit=lambda body: body["max_tokens"],
        marks=0,
        state=lambda body: find_call(body)["reasoning_content"],
        failures=(
            openai_error(
                400,
                TOO_LONG,
                code=400,
                type="exceed_context_size_error",
                message="the request exceeds the available context size, try increasing it",
            ),
            openai_error(401, KEY, code=401, message="Invalid API Key"),
        ),
    ),
)
