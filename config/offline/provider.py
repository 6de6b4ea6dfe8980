"""The rule-based model as a provider of LiteLLM.

They are looked up by name, so the class need not extend LiteLLM's, which would import it.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from uuid import uuid4

from django.conf import settings

from config.lib.llm.answer import Completion, ToolCall, Usage, clean
from config.lib.llm.tokens import estimate_tokens
from config.offline.figures import Row
from config.offline.model import decide
from config.offline.talk import Reply

FRAGMENT = 12  # characters of tool arguments per chunk, about what real providers send
Chunk = dict[str, Any]  # of LiteLLM, generic
_WORD = re.compile(r"\s*\S+\s?|\s+")


class OfflineProvider:
    """Answers of the rules, streamed word by word."""

    def completion(
        self, model: str, messages: Sequence[Row], *args: object, model_response: Any, optional_params: Row, **_: object
    ) -> Any:
        """Return the whole answer as LiteLLM's response object."""
        reply = decide(messages, optional_params.get("tools") or [])
        calls = [_tool_call(call.name, json.dumps(call.arguments), new_id()) for call in reply.tool_calls]
        message = {"role": "assistant", "content": reply.text, "tool_calls": calls or None}
        choice = {"index": 0, "finish_reason": _finish_reason(reply), "message": message}
        return type(model_response)(model=model, choices=[choice], usage=_estimate_usage(messages, reply))

    def answer(self, model: str, messages: Sequence[Row], tools: Sequence[Row]) -> Completion:
        """Return the whole answer as the door gives it, without LiteLLM."""
        reply = decide(messages, tools)
        usage = _estimate_usage(messages, reply)
        return Completion(
            text=clean(reply.text),
            tool_calls=tuple(ToolCall(new_id(), call.name, json.dumps(call.arguments)) for call in reply.tool_calls),
            finish_reason=_finish_reason(reply),
            usage=Usage(usage["prompt_tokens"], usage["completion_tokens"], estimated=True),
            model=model,
        )

    async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
        """Return the whole answer as LiteLLM's response object."""
        return self.completion(*args, **kwargs)

    def streaming(
        self, model: str, messages: Sequence[Row], *args: object, optional_params: Row, **_: object
    ) -> Iterator[Chunk]:
        """Yield the answer in LiteLLM's generic chunks, slowly enough to be read."""
        for chunk in _iter_chunks(messages, optional_params):
            if chunk["text"]:
                time.sleep(settings.OFFLINE_DELAY_SECONDS)
            yield chunk

    async def astreaming(
        self, model: str, messages: Sequence[Row], *args: object, optional_params: Row, **_: object
    ) -> AsyncIterator[Chunk]:
        """Yield the answer in LiteLLM's generic chunks, slowly enough to be read."""
        for chunk in _iter_chunks(messages, optional_params):
            if chunk["text"]:
                await asyncio.sleep(settings.OFFLINE_DELAY_SECONDS)
            yield chunk


def new_id() -> str:
    """Return an id for a tool call."""
    return f"call_{uuid4().hex[:24]}"


def _iter_chunks(messages: Sequence[Row], params: Row) -> Iterator[Chunk]:
    reply = decide(messages, params.get("tools") or [])
    for word in _WORD.findall(reply.text):
        yield _make_chunk(text=word)
    for index, call in enumerate(reply.tool_calls):
        arguments = json.dumps(call.arguments)
        yield _make_chunk(tool={**_tool_call(call.name, "", new_id()), "index": index})
        for at in range(0, len(arguments), FRAGMENT):
            yield _make_chunk(tool={**_tool_call(None, arguments[at : at + FRAGMENT], None), "index": index})
    yield _make_chunk(finish_reason=_finish_reason(reply), usage=_estimate_usage(messages, reply))


def _make_chunk(
    text: str = "", tool: Chunk | None = None, finish_reason: str = "", usage: dict[str, int] | None = None
) -> Chunk:
    return {
        "text": text,
        "tool_use": tool,
        "is_finished": bool(finish_reason),
        "finish_reason": finish_reason,
        "usage": usage,
        "index": 0,
    }


def _tool_call(name: str | None, arguments: str, id_: str | None) -> Chunk:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _estimate_usage(messages: Sequence[Row], reply: Reply) -> dict[str, int]:
    prompt = sum(estimate_tokens(str(message.get("content") or "")) for message in messages)
    written = reply.text + "".join(json.dumps(call.arguments) for call in reply.tool_calls)
    completion = estimate_tokens(written)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
