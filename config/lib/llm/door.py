"""The one door to models: every provider through LiteLLM, its traps kept on this side.

Streams of the providers in LLM_DIRECT are read without it (`llm_direct`), in a fraction of the time.

LiteLLM takes seconds to import, so nothing here imports it before the first call or `warm()`. What may come out of
this module: clean values of `llm_answer` and `LLMUnavailable`; never a provider's exception.
"""

import asyncio
import importlib
import logging
import math
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from config.lib.llm import direct
from config.lib.llm.answer import Answer, Chunk, Completion, Piece, ToolCall, Usage
from config.lib.llm.errors import Kind, LLMUnavailable, status_of, unavailable
from config.lib.llm.prices import cost_usd
from config.lib.llm.tokens import estimate_tokens

__all__ = [
    "Chunk",
    "Completion",
    "LLMUnavailable",
    "ToolCall",
    "Usage",
    "close",
    "complete",
    "cost_usd",
    "embed",
    "register_provider",
    "stream",
    "warm",
]

logger = logging.getLogger(__name__)

Message = Mapping[str, Any]
SEGMENT_SEPARATOR = "\n\n---\n\n"  # between the segments of a system prompt; source: seed 003
OFFLINE = "offline"  # our own model; it estimates its usage
EMBEDDING_BATCH = 64  # texts a call; the least that a common provider takes is 96
TAIL_SECONDS = 5.0  # how long usage may lag behind the end of an answer

# Read by LiteLLM when it is imported: no network but the calls, no .env of its own, no prompts in logs.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    # Its redaction hangs filters on loggers of others (asyncio, uvicorn), which break those when its import fails
    # half-way. We log no text of a provider, so there is nothing to redact.
    "LITELLM_DISABLE_REDACT_SECRETS": "true",
}

_lock = threading.RLock()
_litellm: Any = None
_providers: dict[str, Callable[[], Any]] = {}  # by name; loaded from LLM_PROVIDERS or registered


def warm() -> None:
    """Import LiteLLM and register our providers; idempotent. Takes seconds of CPU: call it in a thread."""
    _load()


def register_provider(name: str, handler_factory: Callable[[], Any]) -> None:
    """Make models named `<name>/...` go to a handler of ours, replacing an earlier one of that name.

    The handler answers `astreaming` and `acompletion` as LiteLLM's CustomLLM does; the factory is called
    when LiteLLM is loaded, at once if it is already.
    """
    with _lock:
        _providers[name] = handler_factory
        if _litellm is not None:
            _install_provider(name)


def _find_provider(name: str) -> Callable[[], Any] | None:
    """Return the factory of our own provider of that name, if there is one."""
    with _lock:
        if name not in _providers and name in settings.LLM_PROVIDERS:
            _providers[name] = import_string(settings.LLM_PROVIDERS[name])
        return _providers.get(name)


async def stream(
    messages: Sequence[Message],
    *,
    models: Sequence[str],
    tools: Sequence[Mapping[str, Any]] | None = None,
    cache_prefix: bool = True,
) -> AsyncGenerator[Chunk, None]:
    """Yield the answer in pieces of text, then one last chunk with finish reason, tool calls and usage.

    The models are tried in turn until one begins to answer. The content of `messages[0]` may be a list of
    blocks `{"type": "text", "text": ..., "cache": True}`, the mark meaning that the prompt up to there is
    stable; the mark reaches only models that can cache. The finish reason is `length` also for an answer
    that was cut off here because it was too big. Close the generator to stop the model (`aclosing`).

    Raises:
        LLMUnavailable: no model began to answer (the kind is the first one's), or the one that did broke
            off (`interrupted`; the chunks until then stand).
    """
    failures: list[LLMUnavailable] = []
    for model in models:
        begun = False
        async with aclosing(_stream_model(model, messages, tools, cache_prefix)) as chunks:
            try:
                async for chunk in chunks:
                    begun = True
                    yield chunk
                return
            except LLMUnavailable as failure:
                if begun:
                    raise LLMUnavailable("interrupted") from None
                failures.append(failure)
    raise failures[0] if failures else LLMUnavailable("misconfigured")


async def complete(
    messages: Sequence[Message],
    *,
    models: Sequence[str],
    tools: Sequence[Mapping[str, Any]] | None = None,
    tool_choice: str | Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
) -> Completion:
    """Return a whole answer of the first model that gives one; messages as for `stream`.

    Raises:
        LLMUnavailable: none did; the kind is the first one's.
    """
    failures: list[LLMUnavailable] = []
    for model in models:
        try:
            return await _complete_model(model, messages, tools, tool_choice=tool_choice, max_tokens=max_tokens)
        except LLMUnavailable as failure:
            failures.append(failure)
    raise failures[0] if failures else LLMUnavailable("misconfigured")


def embed(texts: Sequence[str], *, model: str) -> list[list[float]]:
    """Return a vector for each text, in their order and all of one length. Blocks: call it outside of transactions.

    Raises:
        LLMUnavailable: the model did not answer, or not with that.
    """
    _load()
    vectors: list[list[float]] = []
    for start in range(0, len(texts), EMBEDDING_BATCH):
        vectors += _embed_batch(list(texts[start : start + EMBEDDING_BATCH]), model)
    if len({len(vector) for vector in vectors}) > 1:
        raise _failed(model, None, otherwise="empty")
    return vectors


def _embed_batch(texts: list[str], model: str) -> list[list[float]]:
    try:
        response = _litellm.embedding(
            model=model, input=texts, timeout=settings.LLM_READ_TIMEOUT_SECONDS, max_retries=0, drop_params=True
        )
    except Exception as error:  # noqa: BLE001 - providers' clients raise anything; it becomes our one exception
        raise _failed(model, error, otherwise="unreachable") from None
    try:
        placed = {int(item["index"]): [float(value) for value in item["embedding"]] for item in response.data}
        vectors = [placed[at] for at in range(len(texts))]
    except Exception as error:  # noqa: BLE001 - an answer of any other shape is no answer
        raise _failed(model, error, otherwise="empty") from None
    if not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
        raise _failed(model, None, otherwise="empty")
    return vectors


async def close() -> None:
    """Close the connections kept open by this event loop; call it when the loop is about to end."""
    await direct.close()
    if _litellm is None:
        return
    # LiteLLM keys its clients by event loop; a client of another loop must not be touched from here.
    mine = f"-{id(asyncio.get_running_loop())}"
    clients = _litellm.in_memory_llm_clients_cache.cache_dict
    for key in [key for key in clients if key.endswith(mine)]:
        client = clients.pop(key)
        with suppress(Exception):
            await client.close()


async def _stream_model(
    model: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, cache_prefix: bool
) -> AsyncGenerator[Chunk, None]:
    answer, finish, usage = Answer(), None, None
    async with _opened(model, messages, tools, cache_prefix) as pieces:
        try:
            async for piece in pieces:
                if text := _take(answer, piece):
                    yield Chunk(text=text)
                finish, usage = piece.finish_reason, piece.usage
                if finish or answer.full:
                    break
        except Exception as error:  # noqa: BLE001 - providers' clients raise anything; it becomes our one exception
            raise _failed(model, error, otherwise="interrupted") from None
        if not answer.full and not finish:
            raise _failed(model, None, otherwise="interrupted")
        if not answer.full and usage is None:
            late, usage = await _read_tail(pieces, answer)
            if late:
                yield Chunk(text=late)
        if answer.is_empty:
            raise _failed(model, None, otherwise="refused" if finish == "content_filter" else "empty")
        yield Chunk(
            tool_calls=answer.tool_calls(_call_ids(messages)),
            finish_reason=answer.finish(finish or "stop"),
            usage=usage or _estimate(messages, answer),
            model=model,
        )
        if not answer.full and direct.reads(model):
            await direct.drain(pieces)


@asynccontextmanager
async def _opened(
    model: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, cache_prefix: bool
) -> AsyncGenerator[AsyncGenerator[Piece, None], None]:
    """Open the request in the room where the model is asked, and give the pieces of its answer."""
    if direct.reads(model):
        prepared = _prepared(messages, marked=cache_prefix and direct.can_cache(model))
        try:
            response = await direct.open_stream(model, prepared, tools)
        except Exception as error:  # noqa: BLE001 - as above
            raise _failed(model, error, otherwise="unreachable") from None
        pieces = direct.pieces(response)
    else:
        await _loaded()
        options = {"stream": True, "stream_options": {"include_usage": True}}
        response = await _call(model, messages, tools, cache_prefix, **options)
        pieces = _litellm_pieces(model, response)
    try:
        async with aclosing(pieces):
            yield pieces
    finally:
        await response.aclose()


async def _litellm_pieces(model: str, response: Any) -> AsyncGenerator[Piece, None]:
    has_ended = False
    async for raw in response:
        piece = Piece()
        if raw.choices:
            choice = raw.choices[0]
            piece.content, piece.calls = getattr(choice.delta, "content", None), getattr(choice.delta, "tool_calls", ())
            # LiteLLM makes up a "stop" when the stream ends without one: then the answer is torn off.
            if choice.finish_reason and getattr(response, "received_finish_reason", True):
                piece.finish_reason = choice.finish_reason
        usage = getattr(raw, "usage", None) if has_ended else None
        if usage is not None:
            piece.usage = _usage(model, usage, counted=_provider_counted(response))
        yield piece
        if usage is not None:
            return  # reading on would only make LiteLLM count everything a second time
        has_ended = has_ended or piece.finish_reason is not None


def _take(answer: Answer, piece: Piece) -> str:
    """Put a piece into the answer; return the text to pass on."""
    if piece.calls:
        answer.take_calls(piece.calls)
    return answer.take_text(piece.content) if piece.content else ""


async def _read_tail(pieces: AsyncGenerator[Piece, None], answer: Answer) -> tuple[str, Usage | None]:
    """Read what follows the finish reason: usage, rarely text. The answer is complete, so nothing here can fail it."""
    late: list[str] = []
    try:
        async with asyncio.timeout(TAIL_SECONDS):
            async for piece in pieces:
                late.append(_take(answer, piece))
                if piece.usage is not None:
                    return "".join(late), piece.usage
    except Exception as error:  # noqa: BLE001 - the answer is complete without it
        logger.info("No usage after a complete answer: %s", type(error).__name__)
    return "".join(late), None


async def _complete_model(
    model: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, **options: Any
) -> Completion:
    provider = _find_provider(model.partition("/")[0])
    if provider is not None and hasattr(provider, "answer"):
        # Ours, and in this process: LiteLLM would only spend ten milliseconds of bookkeeping on each call, which is
        # most of a backtest's time, and seconds on being imported.
        answer_of_ours: Completion = provider().answer(model, _prepared(messages, marked=False), tools or ())
        return answer_of_ours
    await _loaded()
    given = {name: value for name, value in options.items() if value is not None}
    response = await _call(model, messages, tools, True, **given)
    answer = Answer()
    try:
        choice = response.choices[0]
        text = answer.take_text(choice.message.content or "")
        answer.take_calls(choice.message.tool_calls or ())
        finish = choice.finish_reason or "stop"
        usage = getattr(response, "usage", None)
    except Exception as error:  # noqa: BLE001 - an answer of any other shape is no answer
        raise _failed(model, error, otherwise="interrupted") from None
    if answer.is_empty:
        raise _failed(model, None, otherwise="refused" if finish == "content_filter" else "empty")
    return Completion(
        text=text,
        tool_calls=answer.tool_calls(_call_ids(messages)),
        finish_reason=answer.finish(finish),
        usage=_usage(model, usage, counted=True) or _estimate(messages, answer),
        model=model,
    )


async def _call(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]] | None,
    cache_prefix: bool,
    **options: Any,
) -> Any:
    """Open the request; LiteLLM's own retries are off, its time-outs would be of 6,000 s."""
    prepared = _prepared(messages, marked=cache_prefix and _can_cache(model))
    timeout = importlib.import_module("httpx").Timeout(
        settings.LLM_CONNECT_TIMEOUT_SECONDS, read=settings.LLM_READ_TIMEOUT_SECONDS
    )
    if tools:
        options["tools"] = list(tools)
    try:
        return await _litellm.acompletion(
            model=model,
            messages=prepared,
            timeout=timeout,
            max_retries=0,
            # One set of options for all providers: what one of them does not know is left out.
            drop_params=True,
            **options,
        )
    except Exception as error:  # noqa: BLE001 - as above
        raise _failed(model, error, otherwise="unreachable") from None


def _prepared(messages: Sequence[Message], *, marked: bool) -> list[dict[str, Any]]:
    """Return the messages as providers take them: the first one's blocks marked for the cache, or joined."""
    prepared = [dict(message) for message in messages]
    if not prepared or not isinstance(prepared[0].get("content"), list):
        return prepared
    blocks = prepared[0]["content"]
    if not marked:
        prepared[0]["content"] = SEGMENT_SEPARATOR.join(block["text"] for block in blocks)
        return prepared
    prepared[0]["content"] = [
        {
            "type": "text",
            # Providers put blocks together without a break: the model must read the same text either way.
            "text": (SEGMENT_SEPARATOR if at else "") + block["text"],
            **({"cache_control": {"type": "ephemeral"}} if block.get("cache") else {}),
        }
        for at, block in enumerate(blocks)
    ]
    return prepared


@lru_cache(maxsize=64)
def _can_cache(model: str) -> bool:
    # Some providers refuse a request that carries the mark.
    return bool(_litellm.utils.supports_prompt_caching(model))


def _call_ids(messages: Sequence[Message]) -> set[str]:
    return {call["id"] for message in messages for call in message.get("tool_calls") or ()}


def _provider_counted(response: Any) -> bool:
    """Tell the provider's usage from one that LiteLLM has counted itself because none came."""
    return any(getattr(raw, "usage", None) is not None for raw in response.chunks[-4:])


def _usage(model: str, usage: Any, *, counted: bool) -> Usage | None:
    # LiteLLM fills in zeros where the provider says nothing.
    return Usage.of(usage, estimated=not counted or model.startswith(f"{OFFLINE}/"))


def _estimate(messages: Sequence[Message], answer: Answer) -> Usage:
    prompt = sum(estimate_tokens(str(message.get("content") or "")) for message in messages)
    return Usage(prompt, (answer.written + 3) // 4, estimated=True)


def _failed(model: str, error: Exception | None, *, otherwise: Kind) -> LLMUnavailable:
    """Turn a failure into ours and log it: names and status only, the text may hold keys and prompts."""
    failure = LLMUnavailable(otherwise) if error is None else unavailable(error, otherwise=otherwise)
    name, status = (type(error).__name__, status_of(error)) if error is not None else (None, None)
    logger.warning("Model %s: %s (%s, status %s)", model, failure.kind, name, status)
    return failure


async def _loaded() -> None:
    if _litellm is None:
        await asyncio.to_thread(_load)


def _load() -> None:
    global _litellm
    with _lock:
        if _litellm is not None:
            return
        os.environ.update(_ENVIRONMENT)
        litellm = _import_litellm()
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
        for name in {*settings.LLM_PROVIDERS, *_providers}:
            _install_provider(name)


def _import_litellm() -> Any:
    try:
        return importlib.import_module("litellm")
    except Exception as error:
        # A half-made module would be taken for a whole one at the next try.
        for name in [name for name in sys.modules if name.partition(".")[0] == "litellm"]:
            del sys.modules[name]
        logger.exception("LiteLLM cannot be imported")
        raise LLMUnavailable("misconfigured") from error


def _install_provider(name: str) -> None:
    factory = _find_provider(name)
    assert factory is not None, "the name is registered or in LLM_PROVIDERS"
    others = [entry for entry in _litellm.custom_provider_map if entry["provider"] != name]
    _litellm.custom_provider_map = [*others, {"provider": name, "custom_handler": factory()}]
    _litellm.utils.custom_llm_setup()
