"""What a model is asked, prepared for its provider: limits, blocks, cache marks, provider state.

A message may carry `"cache": True`: the prompt up to and including it will be sent again unchanged. Blocks of a
content list may carry it, too. A tool call may carry its provider state as `"provider"`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from config.lib.llm.answer import Message, ToolSchema
from config.lib.llm.errors import TOO_LONG, LLMUnavailable
from config.lib.llm.prices import find_limits
from config.lib.llm.tokens import count_tokens

SEGMENT_SEPARATOR: Final = "\n\n---\n\n"  # between the segments of a system prompt; source: seed 003

# Only these take marks inside the prompt. Others cache by themselves, refuse marks, or bill an explicit cache for them.
_TAKE_MARKS: Final = ("anthropic/", "claude-", "openrouter/anthropic/")
_LEAST_OUTPUT: Final = 256  # tokens: an answer with less room is not worth its call
_MARK: Final = {"type": "ephemeral"}
# Of the four marks that Anthropic allows, one is on the tools.
_FIRST_MARKS, _LAST_MARKS = 1, 2
# DeepSeek refuses a call without reasoning, also one that another model made.
_WANT_REASONING: Final = ("deepseek/", "openai/deepseek")

Json = dict[str, Any]
_Place = tuple[int, int]  # message and block


@dataclass(frozen=True, slots=True)
class ModelRequest:
    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    tool_choice: str | Mapping[str, object] | None = None
    max_tokens: int = 0
    effort: str = ""  # of reasoning; empty: the provider's default
    is_streamed: bool = True  # text is read as it arrives, not only at the end


def limit_output(model: str, request: ModelRequest) -> ModelRequest:
    """Return the request with an output limit that the model allows. Raises LLMUnavailable: no room is left."""
    limits = find_limits(model)
    output = min(request.max_tokens, limits.output or request.max_tokens)
    if limits.prompt is not None:
        written = json.dumps([*request.messages, *request.tools], ensure_ascii=False, default=str)
        # Hardly any text has more tokens than characters, and counting tokens takes a second per megabyte.
        is_short = len(written) <= limits.prompt - output
        room = limits.prompt - (len(written) if is_short else count_tokens(written))
        if room < min(output, _LEAST_OUTPUT):
            raise LLMUnavailable("refused", TOO_LONG)
        output = min(output, room)
    return replace(request, max_tokens=output)


def takes_marks(model: str) -> bool:
    """Tell whether a model takes cache marks inside the prompt."""
    return model.startswith(_TAKE_MARKS)


def prepare_tools(model: str, tools: Sequence[ToolSchema]) -> list[Json]:
    """Return the tools as the model's provider takes them."""
    prepared = [dict(tool) for tool in tools]
    if prepared and takes_marks(model):
        prepared[-1]["cache_control"] = _MARK
    return prepared


def prepare_messages(model: str, messages: Sequence[Message]) -> list[Json]:
    """Return the messages as the model's provider takes them."""
    marks = _choose_marks(messages) if takes_marks(model) else frozenset()
    ids: dict[str, str] = {}  # of calls whose id the provider knows by another name
    return [_prepare_message(model, message, place, marks, ids) for place, message in enumerate(messages)]


def _choose_marks(messages: Sequence[Message]) -> frozenset[_Place]:
    places: list[_Place] = []
    for place, message in enumerate(messages):
        content = message.get("content")
        if isinstance(content, list):
            places += [(place, number) for number, block in enumerate(content) if block.get("cache")]
        elif content and message.get("cache"):
            places.append((place, 0))
    return frozenset([*places[:_FIRST_MARKS], *places[_FIRST_MARKS:][-_LAST_MARKS:]])


def _prepare_message(model: str, message: Message, place: int, marks: frozenset[_Place], ids: dict[str, str]) -> Json:
    prepared: Json = {key: value for key, value in message.items() if key != "cache"}
    if "tool_calls" in prepared:
        _restore_state(model, prepared, ids)
    if prepared.get("tool_call_id") in ids:
        prepared["tool_call_id"] = ids[prepared["tool_call_id"]]
    content = prepared.get("content")
    if message.get("role") == "tool" and (place, 0) in marks and not model.startswith("openrouter/"):
        prepared["cache_control"] = _MARK  # LiteLLM puts it on the result, which is where Anthropic looks for it
    elif isinstance(content, list) or (place, 0) in marks:
        blocks = content if isinstance(content, list) else [{"text": content}]
        prepared["content"] = _prepare_blocks(blocks, {number for at, number in marks if at == place})
    return prepared


def _prepare_blocks(blocks: Sequence[Mapping[str, Any]], marked: set[int]) -> str | list[Json]:
    """Return marked blocks, or one text if none is marked."""
    if not marked:
        return SEGMENT_SEPARATOR.join(block["text"] for block in blocks)
    return [
        {
            "type": "text",
            # Providers join blocks without a separator: the model must read the same text either way.
            "text": (SEGMENT_SEPARATOR if number else "") + block["text"],
            **({"cache_control": _MARK} if number in marked else {}),
        }
        for number, block in enumerate(blocks)
    ]


def _restore_state(model: str, message: Json, ids: dict[str, str]) -> None:
    """Add the model's own state; drop that of other models."""
    calls = []
    for call in message["tool_calls"]:
        state = call.get("provider") or {}
        prepared = {key: value for key, value in call.items() if key != "provider"}
        if state.get("model") == model:
            message |= state.get("message", {})
            prepared |= state.get("call", {})
            ids[call["id"]] = prepared["id"]
        calls.append(prepared)
    message["tool_calls"] = calls
    if model.startswith(_WANT_REASONING):
        message["reasoning_content"] = message.get("reasoning_content") or " "
