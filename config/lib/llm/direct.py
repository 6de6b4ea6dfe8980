"""OpenAI's streaming protocol, read without LiteLLM.

For the providers that the setting LLM_DIRECT names, with the environment variables that LiteLLM reads, too. The door
joins the pieces and explains the failures.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from functools import cache
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from django.conf import settings

from config.lib.llm.answer import Message, Piece, ToolSchema, Usage

if TYPE_CHECKING:
    from httpx import AsyncClient, Response

MAX_LINE: Final = 8 * 1024 * 1024  # bytes of one event; a whole answer may come as one
MAX_REFUSAL: Final = 64 * 1024  # bytes read of the body of an error
DRAIN_SECONDS: Final = 0.5  # for the end of a body whose answer is complete
END: Final = b"[DONE]"
# Text is sent to the browser thirty times a second, while a provider sends hundreds of words. Waking up for each word
# costs more than reading it. So after a word that we waited for, let the next ones gather for a moment.
PACE_SECONDS: Final = 1 / 60
WAIT_SECONDS: Final = 0.001  # a read that takes longer had to wait

# By provider: the variable with its base, the base without one, the variable with its key.
_ENDPOINTS: Final = {
    "openai": ("OPENAI_API_BASE", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("OPENROUTER_API_BASE", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
}
PROVIDERS: Final = frozenset(_ENDPOINTS)  # allowed in LLM_DIRECT
_CACHES_BY_MARKS: Final = "openrouter/anthropic/"  # others cache without marks, or refuse them

_FINISHES: Final = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_TOO_LONG: Final = ("context_length_exceeded", "maximum context length", "context window", "prompt is too long")
_CONTENT: Final = ("content_policy_violation", "content_filter", "content management policy")

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()


class HTTPStatusError(Exception):
    """A provider's error; `status_code` is None within a stream."""

    def __init__(self, status_code: int | None) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class ContextWindowExceededError(HTTPStatusError):
    """The prompt is longer than the model takes."""


class ContentPolicyViolationError(HTTPStatusError):
    """The provider declined the content."""


class StreamError(Exception):
    """The response is not a valid event stream."""


class KeyMissing(Exception):
    """The endpoint has no key."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"missing API key: {variable}")


def can_read(model: str) -> bool:
    """Tell whether this module reads a model's streams."""
    provider, _, name = model.partition("/")
    return bool(name) and provider in _ENDPOINTS and provider in settings.LLM_DIRECT


def can_cache(model: str) -> bool:
    """Tell whether a model's provider takes cache marks."""
    return model.startswith(_CACHES_BY_MARKS)


async def open_stream(model: str, messages: Sequence[Message], tools: Sequence[ToolSchema] | None) -> Response:
    """Request a streamed answer; return the response, which the caller closes.

    Raises KeyMissing, HTTPStatusError or one of its subclasses, and whatever httpx raises.
    """
    provider, _, name = model.partition("/")
    base_variable, base, key_variable = _ENDPOINTS[provider]
    key = os.environ.get(key_variable, "")
    if not key:
        raise KeyMissing(key_variable)
    url = f"{(os.environ.get(base_variable) or base).rstrip('/')}/chat/completions"
    body = {"model": name, "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    if tools:
        body["tools"] = tools
    client = await _get_client()
    import httpx  # noqa: PLC0415 - takes 0.2 s

    timeout = httpx.Timeout(settings.LLM_CONNECT_TIMEOUT_SECONDS, read=settings.LLM_READ_TIMEOUT_SECONDS)
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json", "accept": "text/event-stream"}
    request = client.build_request("POST", url, content=json.dumps(body).encode(), headers=headers, timeout=timeout)
    response = await client.send(request, stream=True)
    if response.status_code != 200:
        try:
            raise _build_refusal(response.status_code, await _read_start(response))
        finally:
            await response.aclose()
    return response


async def read_pieces(response: Response) -> AsyncGenerator[Piece, None]:
    """Yield a streamed answer's pieces until its end mark.

    Raises StreamError or ValueError (what came is no such answer), HTTPStatusError (sent in the stream), and whatever
    httpx raises.
    """
    loop = asyncio.get_running_loop()
    rest, is_over = b"", False
    async with aclosing(response.aiter_bytes()) as body:  # type: ignore[type-var]  # a generator, though httpx calls it an iterator
        asked = loop.time()
        async for data in body:
            has_waited, has_text = loop.time() - asked > WAIT_SECONDS, False
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > MAX_LINE:
                raise StreamError("an event without an end")
            for event in filter(None, map(_read_event, lines)):
                is_over = is_over or event == END
                if is_over:
                    break
                piece = _parse_piece(event)
                has_text = has_text or bool(piece.content)
                yield piece
            if has_waited and has_text:
                await asyncio.sleep(PACE_SECONDS)
            asked = loop.time()
    if not is_over and (event := _read_event(rest)) not in {b"", END}:
        yield _parse_piece(event)


def _read_event(line: bytes) -> bytes:
    """Return an event line's JSON; comments keep the connection alive."""
    return line[5:].strip() if line.startswith(b"data:") else b""


async def drain_stream(rest: AsyncGenerator[Piece, None]) -> None:
    """Read the rest briefly, so that the connection can be reused."""
    with suppress(Exception):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in rest:
                pass


async def close_client() -> None:
    """Close the connections of this event loop."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        with suppress(Exception):
            await client.aclose()


async def _get_client() -> AsyncClient:
    """Return the client of this event loop. Connections cannot move between loops."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        import httpx  # noqa: PLC0415 - takes 0.2 s

        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses
        trust = await asyncio.to_thread(_load_certificates)
        # As many connections at a time as there are turns; a limit would let them wait for each other.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        _clients.setdefault(loop, httpx.AsyncClient(verify=trust, limits=limits))
    return _clients[loop]


@cache
def _load_certificates() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415 - takes 0.2 s

    return httpx.create_ssl_context()


async def _read_start(response: Response) -> str:
    read = b""
    with suppress(Exception):  # the status says enough
        async for data in response.aiter_bytes():
            read += data
            if len(read) > MAX_REFUSAL:
                break
    return read[:MAX_REFUSAL].decode(errors="replace")


def _build_refusal(status: int | None, said: str) -> HTTPStatusError:
    said = said.lower()
    if status is None or status < 500:
        if any(words in said for words in _TOO_LONG):
            return ContextWindowExceededError(status)
        if any(words in said for words in _CONTENT):
            return ContentPolicyViolationError(status)
    return HTTPStatusError(status)


def _parse_piece(event: bytes) -> Piece:
    payload = json.loads(event)
    if not isinstance(payload, dict):
        raise StreamError("an event that is no object")
    if error := payload.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        raise _build_refusal(code if isinstance(code, int) else None, json.dumps(error))
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    delta = choice.get("delta")
    delta = delta if isinstance(delta, dict) else {}
    return Piece(
        content=delta.get("content"),
        calls=_list_calls(delta.get("tool_calls")),
        finish_reason=_parse_finish(choice.get("finish_reason")),
        usage=Usage.of(payload.get("usage")),
    )


def _list_calls(fragments: object) -> list[Message]:
    """Return the valid fragments of calls."""
    if not isinstance(fragments, list):
        return []
    return [
        fragment
        for fragment in fragments
        if isinstance(fragment, dict)
        and isinstance(fragment.get("index"), int | None)
        and isinstance(function := fragment.get("function"), dict)
        and isinstance(function.get("name"), str | None)
    ]


def _parse_finish(reason: object) -> str | None:
    if not reason:
        return None
    if reason == "error":
        raise StreamError("the provider broke off")
    return _FINISHES.get(reason, "stop") if isinstance(reason, str) else "stop"
