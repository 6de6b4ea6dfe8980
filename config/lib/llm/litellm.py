"""LiteLLM, imported here only: the path to providers that nothing else serves.

LiteLLM takes four seconds to import, so nothing here imports it before the first call or `load_litellm()`.
"""

import asyncio
import logging
import math
import os
import pickle
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from importlib.util import find_spec
from typing import Any, Final

from django.conf import settings

from config.lib.llm.answer import DRAIN_SECONDS, Piece, Usage
from config.lib.llm.errors import NO_LITELLM, LLMUnavailable, report_failure
from config.lib.llm.requests import ModelRequest, prepare_messages, prepare_tools

logger = logging.getLogger(__name__)

# Their models want the reasoning of a tool call back; some of the others refuse a request that contains it.
_WANT_REASONING: Final = ("deepseek/", "moonshot/", "openai/", "zai/")

# Read by LiteLLM when it is imported: no network but the calls, no .env of its own, no prompts in logs.
_ENVIRONMENT: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    # Its redaction adds filters to the loggers of asyncio and uvicorn, which break them when its import fails
    # half-way. We log no text of a provider, so there is nothing to redact.
    "LITELLM_DISABLE_REDACT_SECRETS": "true",
}

_lock = threading.RLock()
Stream = Any  # a streamed response of LiteLLM

_litellm: Any = None  # mypy skips LiteLLM's types: they take minutes to read


def can_respond(model: str) -> bool:
    """Tell whether LiteLLM is installed and reaches a model by OpenAI's newer protocol."""
    return model.startswith("openai/") and find_spec("litellm") is not None


@asynccontextmanager
async def open_pieces(
    model: str, request: ModelRequest, *, in_responses: bool = False
) -> AsyncIterator[AsyncGenerator[Piece, None]]:
    """Request a streamed answer and yield its pieces; `in_responses`: by OpenAI's newer protocol."""
    if _litellm is None:
        await asyncio.to_thread(load_litellm)
    name = model.replace("openai/", "openai/responses/", 1) if in_responses else model
    response = await _ask(model, request, name=name, stream=True, stream_options={"include_usage": True})
    _close_at_end(response)
    try:
        async with aclosing(_read_pieces(model, response)) as pieces:
            yield pieces
    finally:
        await response.aclose()


async def _read_pieces(model: str, response: Stream) -> AsyncGenerator[Piece, None]:
    """Yield a streamed answer's pieces. Usage follows the finish reason."""
    has_ended = False
    async for raw in response:
        piece = Piece()
        if raw.choices:
            choice = raw.choices[0]
            piece.content, piece.calls = getattr(choice.delta, "content", None), getattr(choice.delta, "tool_calls", ())
            piece.state = _read_state(model, choice.delta)
            # LiteLLM makes up a "stop" when the stream ends without one: then the answer is incomplete.
            if choice.finish_reason and _has_finish_reason(response):
                piece.finish_reason = choice.finish_reason
        usage = getattr(raw, "usage", None) if has_ended else None
        if usage is not None:
            # Else LiteLLM, not the provider, counted the tokens.
            is_counted = any(getattr(chunk, "usage", None) is not None for chunk in response.chunks[-4:])
            piece.usage = Usage.of(usage, estimated=not is_counted)
        yield piece
        if usage is not None:
            return  # reading on would only make LiteLLM count everything a second time
        has_ended = has_ended or piece.finish_reason is not None


def _close_at_end(response: Stream) -> None:
    """Let a complete answer's body end before it is closed; else its connection is lost.

    OpenAI's client closes the body at the end mark of the events, and the end of the body may come in the next packet.
    """
    with suppress(AttributeError):  # of a provider with another client
        raw = response.completion_stream.response
        body, close = raw.stream._stream._aiohttp_response.content, raw.aclose

        async def close_raw() -> None:
            if _has_finish_reason(response):
                with suppress(Exception):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        await body.wait_eof()
            await close()

        raw.aclose = close_raw


def _read_state(model: str, message: object) -> dict[str, object]:
    extra = getattr(message, "provider_specific_fields", None) or {}
    blocks: Sequence[Mapping[str, object]] = getattr(message, "thinking_blocks", None) or ()
    state = {
        "reasoning_details": getattr(message, "reasoning_details", None) or extra.get("reasoning_details"),
        # The whole ones: LiteLLM passes each delta on as a block, and then the signed whole.
        "thinking_blocks": [
            block for block in blocks if block.get("signature") or block.get("type") == "redacted_thinking"
        ]
        or None,
    }
    if model.startswith(_WANT_REASONING):
        state["reasoning_content"] = getattr(message, "reasoning_content", None)
    return {name: value for name, value in state.items() if value is not None}


async def _ask(model: str, request: ModelRequest, *, name: str, **options: object) -> Any:
    """Return LiteLLM's response; `name` is the model's for LiteLLM. Its retries are off."""
    import httpx  # noqa: PLC0415 - takes 0.2 s

    if request.tools:
        # LiteLLM changes schemas in place for some providers, and ours are shared by all turns. This copies them in a
        # thirtieth of the time of `deepcopy`.
        options["tools"] = pickle.loads(pickle.dumps(prepare_tools(model, request.tools)))  # noqa: S301 - our own
    if request.tool_choice is not None:
        options["tool_choice"] = request.tool_choice
    if request.effort:
        options["reasoning_effort"] = request.effort
    timeout = httpx.Timeout(settings.LLM_CONNECT_TIMEOUT_SECONDS, read=settings.LLM_READ_TIMEOUT_SECONDS)
    try:
        return await _litellm.acompletion(
            model=name,
            messages=prepare_messages(model, request.messages),
            max_tokens=request.max_tokens,
            timeout=timeout,
            max_retries=0,
            # One set of options for all providers: an option that a provider does not know is left out.
            drop_params=True,
            **options,
        )
    except Exception as error:  # noqa: BLE001 - providers' clients raise anything; it becomes our one exception
        raise report_failure(model, error, otherwise="unreachable") from None


def embed_batch(texts: list[str], *, model: str) -> list[list[float]]:
    """Return a vector for each text, in their order. Raises LLMUnavailable."""
    try:
        response = _litellm.embedding(
            model=model, input=texts, timeout=settings.LLM_READ_TIMEOUT_SECONDS, max_retries=0, drop_params=True
        )
    except Exception as error:  # noqa: BLE001 - as above
        raise report_failure(model, error, otherwise="unreachable") from None
    try:
        by_index = {int(item["index"]): [float(value) for value in item["embedding"]] for item in response.data}
        vectors = [by_index[index] for index in range(len(texts))]
    except Exception as error:  # noqa: BLE001 - an answer of any other shape is no answer
        raise report_failure(model, error, otherwise="empty") from None
    if not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
        raise report_failure(model, None, otherwise="empty")
    return vectors


def _has_finish_reason(response: Stream) -> bool:
    # The second name is that of a reason which came with a call, as Gemini sends it.
    names = ("received_finish_reason", "intermittent_finish_reason")
    return any(getattr(response, name, True) for name in names)


async def close_clients() -> None:
    """Close the connections of this event loop."""
    if _litellm is None:
        return
    # LiteLLM keys its clients by event loop; a client of another loop must not be touched from here.
    mine = f"-{id(asyncio.get_running_loop())}"
    clients = _litellm.in_memory_llm_clients_cache.cache_dict
    for key in [key for key in clients if key.endswith(mine)]:
        client = clients.pop(key)
        with suppress(Exception):
            await client.close()
    # Gemini's streams share a client of the process; it opens a new session when it finds this one closed.
    with suppress(Exception):
        session = vars(_litellm)["module_level_aclient"].client._transport.client
        if session._loop is asyncio.get_running_loop():
            await session.close()


def load_litellm() -> None:
    """Import LiteLLM; idempotent. It takes seconds of CPU."""
    global _litellm
    with _lock:
        if _litellm is not None:
            return
        os.environ.update(_ENVIRONMENT)
        try:
            import litellm  # noqa: PLC0415, TID251 - takes four seconds; this is the one module that imports it
        except Exception as error:
            # The next attempt would take a half-imported module for a whole one.
            for name in [name for name in sys.modules if name.partition(".")[0] == "litellm"]:
                del sys.modules[name]
            logger.exception("LiteLLM cannot be imported")
            raise LLMUnavailable("misconfigured", "" if find_spec("litellm") else NO_LITELLM) from error
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        litellm.disable_streaming_logging = True  # saves 6 to 10 % of the CPU of a streamed chunk
        # A stream's finaliser sets context variables. The collector may run it in the middle of setting another one,
        # which crashes Python 3.11. It only undoes what `request_correlation_in_logs` does, which is off.
        with suppress(AttributeError):
            del litellm.CustomStreamWrapper.__del__
        # LiteLLM logs exceptions with the provider's answer in them; httpx logs addresses, some with keys.
        logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        _litellm = litellm
