"""OpenAI's chat protocol without LiteLLM: the path to OpenAI, OpenRouter and servers for local models.

For the providers that the setting LLM_DIRECT names, with the environment variables that LiteLLM reads, too. The door
joins the pieces.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, closing, suppress
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from django.conf import settings

from config.lib.llm.answer import DRAIN_SECONDS, Message, Piece, Usage
from config.lib.llm.errors import EFFORT, LOW_CREDIT, report_failure
from config.lib.llm.requests import ModelRequest, prepare_messages, prepare_tools

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

MAX_LINE: Final = 8 * 1024 * 1024  # bytes of one event; a whole answer may come as one
MAX_REFUSAL: Final = 64 * 1024  # bytes read of the body of an error
END: Final = b"[DONE]"
# Text is sent to the browser thirty times a second, while a provider sends hundreds of words. Waking up for each word
# costs more than reading it. So after a word that we waited for, let the next ones gather.
PACE_SECONDS: Final = 1 / 30
WAIT_SECONDS: Final = 0.001  # a read that takes longer had to wait

# By provider: the variables with its base, the base without one, the variable with its key.
_ENDPOINTS: Final = {
    "openai": (("OPENAI_API_BASE", "OPENAI_BASE_URL"), "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": (("OPENROUTER_API_BASE",), "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
}
PROVIDERS: Final = frozenset(_ENDPOINTS)  # allowed in LLM_DIRECT
_OPENAI_HOST: Final = "https://api.openai.com/"  # its newer models refuse max_tokens, which all other servers take
_STATE: Final = ("reasoning_details", "reasoning_content")  # fields of a message that its model wants back

_FINISHES: Final = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_TOO_LONG: Final = (
    *("context_length_exceeded", "maximum context length", "context window", "prompt is too long"),
    *("exceed_context_size", "exceeds the available context size"),  # llama.cpp
)
_CONTENT: Final = ("content_policy_violation", "content_filter", "content management policy")

_reasoning_without_tools: set[str] = set()  # models that were refused with tools at their own effort
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, ClientSession] = WeakKeyDictionary()


class HTTPStatusError(Exception):
    """A provider's error; `status_code` is None within a stream."""

    def __init__(self, status_code: int | None) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class ContextWindowExceededError(HTTPStatusError):
    """The prompt is longer than the model takes."""


class ContentPolicyViolationError(HTTPStatusError):
    """The provider declined the content."""


class EffortRefused(HTTPStatusError):
    """The provider refused the reasoning effort, given or its own, in this protocol."""


class StreamError(Exception):
    """The response is not a valid event stream."""


class KeyMissing(Exception):
    """The endpoint has no key."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"missing API key: {variable}")


def can_serve(model: str) -> bool:
    """Tell whether this module serves a model."""
    provider, _, name = model.partition("/")
    return bool(name) and provider in _ENDPOINTS and provider in settings.LLM_DIRECT


@asynccontextmanager
async def open_pieces(model: str, request: ModelRequest) -> AsyncIterator[AsyncGenerator[Piece, None]]:
    """Request a streamed answer and yield its pieces. Raises LLMUnavailable, EffortRefused.

    OpenAI's current models take tools here only without reasoning, and reason by default: such a model is asked once
    more without, and from then on at once. The pieces raise StreamError, ValueError, HTTPStatusError, and whatever
    aiohttp raises.
    """
    try:
        response = await _send_or_calm(model, request)
    except EffortRefused:
        raise
    except Exception as error:  # noqa: BLE001 - aiohttp raises anything; it becomes our one exception
        raise report_failure(model, error, otherwise="unreachable") from None
    with closing(response):
        async with aclosing(_read_pieces(response)) as pieces:
            yield pieces
            # Read the rest briefly, so that the connection can be reused.
            with suppress(Exception):
                async with asyncio.timeout(DRAIN_SECONDS):
                    async for _ in pieces:
                        pass


async def _send_or_calm(model: str, request: ModelRequest) -> ClientResponse:
    """Send the request, if need be without reasoning; raise EffortRefused if an effort was asked for."""
    has_own_effort = bool(request.effort) or not request.tools
    if not has_own_effort and model in _reasoning_without_tools:
        return await _send(model, replace(request, effort="none"))
    try:
        return await _send(model, request)
    except EffortRefused:
        if has_own_effort:
            raise
        response = await _send(model, replace(request, effort="none"))
        _reasoning_without_tools.add(model)
        return response


async def _send(model: str, request: ModelRequest) -> ClientResponse:
    """Send the request; return the response before its body. Raises KeyMissing, HTTPStatusError, errors of aiohttp."""
    provider, _, name = model.partition("/")
    base_variables, standard_base, key_variable = _ENDPOINTS[provider]
    base = next(filter(None, map(os.environ.get, base_variables)), "")
    key = os.environ.get(key_variable, "")
    if not key and not base:  # a server for local models needs none
        raise KeyMissing(key_variable)
    url = f"{(base or standard_base).rstrip('/')}/chat/completions"
    body = json.dumps(_build_body(model, name, request, url)).encode()
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    client = await _get_client()
    response = await client.post(url, data=body, headers=headers, proxy=_find_proxy(url), allow_redirects=False)
    if response.status == 200:
        return response
    read = b""
    with closing(response), suppress(Exception):  # the status says enough
        async for data in response.content.iter_any():
            read += data
            if len(read) > MAX_REFUSAL:
                break
    raise _build_refusal(response.status, read[:MAX_REFUSAL].decode(errors="replace"))


def _build_body(model: str, name: str, request: ModelRequest, url: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": name,
        "messages": prepare_messages(model, request.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = prepare_tools(model, request.tools)
    if request.tool_choice is not None:
        body["tool_choice"] = request.tool_choice
    body["max_completion_tokens" if url.startswith(_OPENAI_HOST) else "max_tokens"] = request.max_tokens
    if request.effort:
        if model.startswith("openrouter/"):
            body["reasoning"] = {"effort": request.effort}
        else:
            body["reasoning_effort"] = request.effort
    return body


async def _read_pieces(response: ClientResponse) -> AsyncGenerator[Piece, None]:
    loop = asyncio.get_running_loop()
    rest, is_over = b"", False
    asked = loop.time()
    async for data in response.content.iter_any():
        # Words that come less often than they are sent on have nothing to gather.
        has_waited, has_text = WAIT_SECONDS < loop.time() - asked < PACE_SECONDS, False
        *lines, rest = (rest + data).split(b"\n")
        for event in filter(None, map(_read_event, lines)):
            is_over = is_over or event == END
            if is_over:
                break
            piece = _parse_piece(event)
            has_text = has_text or bool(piece.content)
            yield piece
        if len(rest) > MAX_LINE:
            raise StreamError("an event without an end")
        if has_waited and has_text and not is_over:
            # Data stays with the kernel in the pause: each packet would wake the event loop.
            protocol = response.connection.protocol if response.connection else None
            if protocol is not None:
                protocol.pause_reading()
            await asyncio.sleep(PACE_SECONDS)
            if protocol is not None:
                protocol.resume_reading()
        asked = loop.time()
    if not is_over and (event := _read_event(rest)) not in {b"", END}:
        yield _parse_piece(event)


def _read_event(line: bytes) -> bytes:
    """Return an event line's JSON; comments keep the connection alive."""
    return line[5:].strip() if line.startswith(b"data:") else b""


async def close_client() -> None:
    """Close the connections of this event loop."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.close()


async def _get_client() -> ClientSession:
    """Return the client of this event loop. Connections cannot move between loops."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        open_client = await asyncio.to_thread(load_client)
        if loop not in _clients:
            _clients[loop] = open_client()
    return _clients[loop]


@cache
def load_client() -> Callable[[], ClientSession]:
    """Import the HTTP client and read the certificates; return a function that opens a client."""
    import aiohttp  # noqa: PLC0415 - takes 0.2 s
    import certifi  # noqa: PLC0415 - only with aiohttp

    trust = ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE") or certifi.where(), capath=os.environ.get("SSL_CERT_DIR")
    )

    def open_client() -> ClientSession:
        timeout = aiohttp.ClientTimeout(
            connect=settings.LLM_CONNECT_TIMEOUT_SECONDS, sock_read=settings.LLM_READ_TIMEOUT_SECONDS
        )
        # As many connections at a time as there are turns; a limit would let them wait for each other.
        connections = aiohttp.TCPConnector(limit=0, ssl=trust)
        return aiohttp.ClientSession(connector=connections, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())

    return open_client


@cache
def _find_proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address, remembered: a look-up takes a thread."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _build_refusal(status: int | None, said: str) -> HTTPStatusError:
    if LOW_CREDIT.search(said):
        return HTTPStatusError(402)
    said = said.lower()
    if status is None or status < 500:
        if any(words in said for words in _TOO_LONG):
            return ContextWindowExceededError(status)
        if any(words in said for words in _CONTENT):
            return ContentPolicyViolationError(status)
    if status == HTTPStatus.BAD_REQUEST and EFFORT.search(said):
        return EffortRefused(status)
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
    message = choice.get("delta")
    message = message if isinstance(message, dict) else {}
    reason = choice.get("finish_reason")
    if reason == "error":
        raise StreamError("the provider broke off")
    return Piece(
        content=message.get("content"),
        calls=_list_calls(message.get("tool_calls")),
        state={name: value for name in _STATE if (value := message.get(name)) is not None},
        finish_reason=_FINISHES.get(str(reason), "stop") if reason else None,
        usage=Usage.of(payload.get("usage")),
    )


def _list_calls(fragments: object) -> list[Message]:
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
