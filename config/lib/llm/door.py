"""`complete()` and `stream()`: the only calls to models.

Streams of the providers in LLM_DIRECT are read without LiteLLM (`direct`), in a fraction of the time. Callers get clean
values of `answer` and `LLMUnavailable`, never a provider's exception.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

from config.lib.llm import direct, litellm
from config.lib.llm.answer import Answer, Chunk, Completion, Message, Piece, ToolCall, ToolSchema, Usage
from config.lib.llm.errors import LLMUnavailable, report_failure
from config.lib.llm.litellm import register_provider
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

SEGMENT_SEPARATOR = "\n\n---\n\n"  # between the segments of a system prompt; source: seed 003
EMBEDDING_BATCH = 64  # texts a call; the least that a common provider takes is 96
TAIL_SECONDS = 5.0  # how long usage may lag behind the end of an answer


def warm() -> None:
    """Import LiteLLM and register our providers, in a thread: it is slow."""
    litellm.load_litellm()


async def stream(
    messages: Sequence[Message],
    *,
    models: Sequence[str],
    tools: Sequence[ToolSchema] | None = None,
    cache_prefix: bool = True,
) -> AsyncGenerator[Chunk, None]:
    """Yield text pieces and a last chunk: reason, calls and usage.

    The models are tried in turn until one begins to answer. The content of `messages[0]` may be a list of
    blocks `{"type": "text", "text": ..., "cache": True}`, the mark meaning that the prompt up to there is
    stable; the mark reaches only models that can cache. The finish reason is `length` also for an answer
    that was cut off here because it was too big. Close the generator to stop the model (`aclosing`).
    Raises LLMUnavailable: no model began to answer (the kind is the first one's), or the one that did broke
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
    tools: Sequence[ToolSchema] | None = None,
    tool_choice: str | Mapping[str, object] | None = None,
    max_tokens: int | None = None,
) -> Completion:
    """Return a whole answer of the first available model.

    Raises LLMUnavailable: none did; the kind is the first one's.
    """
    options = {"tool_choice": tool_choice, "max_tokens": max_tokens}
    options = {name: value for name, value in options.items() if value is not None}
    failures: list[LLMUnavailable] = []
    for model in models:
        try:
            return await _complete_model(model, messages, tools, options)
        except LLMUnavailable as failure:
            failures.append(failure)
    raise failures[0] if failures else LLMUnavailable("misconfigured")


def embed(texts: Sequence[str], *, model: str) -> list[list[float]]:
    """Return each text's vector, of equal length. Raises LLMUnavailable.

    It blocks: call it outside of transactions.
    """
    litellm.load_litellm()
    vectors: list[list[float]] = []
    for start in range(0, len(texts), EMBEDDING_BATCH):
        vectors += litellm.embed_batch(list(texts[start : start + EMBEDDING_BATCH]), model=model)
    if len({len(vector) for vector in vectors}) > 1:
        raise report_failure(model, None, otherwise="empty")
    return vectors


async def close() -> None:
    """Close this event loop's connections before the loop ends."""
    await direct.close_client()
    await litellm.close_clients()


async def _stream_model(
    model: str, messages: Sequence[Message], tools: Sequence[ToolSchema] | None, cache_prefix: bool
) -> AsyncGenerator[Chunk, None]:
    answer, finish, usage = Answer(), None, None
    async with _open_pieces(model, messages, tools, cache_prefix) as pieces:
        try:
            async for piece in pieces:
                if text := _add_piece(answer, piece):
                    yield Chunk(text=text)
                finish, usage = piece.finish_reason, piece.usage
                if finish or answer.full:
                    break
        except Exception as error:  # noqa: BLE001 - providers' clients raise anything; it becomes our one exception
            raise report_failure(model, error, otherwise="interrupted") from None
        if not answer.full and not finish:
            raise report_failure(model, None, otherwise="interrupted")
        if not answer.full and usage is None:
            late, usage = await _read_tail(pieces, answer)
            if late:
                yield Chunk(text=late)
        if answer.is_empty:
            raise _report_no_answer(model, finish)
        yield Chunk(
            tool_calls=answer.tool_calls(_list_call_ids(messages)),
            finish_reason=answer.finish(finish or "stop"),
            usage=usage or _estimate_usage(messages, answer),
            model=model,
        )
        if not answer.full and direct.can_read(model):
            await direct.drain_stream(pieces)


@asynccontextmanager
async def _open_pieces(
    model: str, messages: Sequence[Message], tools: Sequence[ToolSchema] | None, cache_prefix: bool
) -> AsyncGenerator[AsyncGenerator[Piece, None], None]:
    """Open the request and yield the pieces of its answer."""
    if direct.can_read(model):
        prepared = _prepare_messages(messages, is_marked=cache_prefix and direct.can_cache(model))
        try:
            response = await direct.open_stream(model, prepared, tools)
        except Exception as error:  # noqa: BLE001 - as above
            raise report_failure(model, error, otherwise="unreachable") from None
        pieces, close_response = direct.read_pieces(response), response.aclose
    else:
        await litellm.ensure_loaded()
        prepared = _prepare_messages(messages, is_marked=cache_prefix and litellm.can_cache(model))
        answer = await litellm.open_stream(model, prepared, tools)
        pieces, close_response = litellm.read_pieces(model, answer), answer.aclose
    try:
        async with aclosing(pieces):
            yield pieces
    finally:
        await close_response()


def _add_piece(answer: Answer, piece: Piece) -> str:
    """Add a piece to the answer; return its text."""
    if piece.calls:
        answer.take_calls(piece.calls)
    return answer.take_text(piece.content) if piece.content else ""


async def _read_tail(pieces: AsyncGenerator[Piece, None], answer: Answer) -> tuple[str, Usage | None]:
    """Read usage after the finish reason; a failure is ignored."""
    late: list[str] = []
    try:
        async with asyncio.timeout(TAIL_SECONDS):
            async for piece in pieces:
                late.append(_add_piece(answer, piece))
                if piece.usage is not None:
                    return "".join(late), piece.usage
    except Exception as error:  # noqa: BLE001 - the answer is complete without it
        logger.info("No usage after a complete answer: %s", type(error).__name__)
    return "".join(late), None


async def _complete_model(
    model: str, messages: Sequence[Message], tools: Sequence[ToolSchema] | None, options: Mapping[str, object]
) -> Completion:
    provider = litellm.find_provider(model.partition("/")[0])
    if provider is not None and hasattr(provider, "answer"):
        # Our own model, in this process: LiteLLM would add ten milliseconds of bookkeeping to each call, which is most
        # of a backtest's time, and seconds for its import.
        completion: Completion = provider().answer(model, _prepare_messages(messages, is_marked=False), tools or ())
        return completion
    await litellm.ensure_loaded()
    prepared = _prepare_messages(messages, is_marked=litellm.can_cache(model))
    piece = await litellm.fetch_answer(model, prepared, tools, options)
    answer = Answer()
    text = answer.take_text(piece.content)
    answer.take_calls(piece.calls)
    if answer.is_empty:
        raise _report_no_answer(model, piece.finish_reason)
    return Completion(
        text=text,
        tool_calls=answer.tool_calls(_list_call_ids(messages)),
        finish_reason=answer.finish(piece.finish_reason or "stop"),
        usage=piece.usage or _estimate_usage(messages, answer),
        model=model,
    )


def _report_no_answer(model: str, finish: str | None) -> LLMUnavailable:
    return report_failure(model, None, otherwise="refused" if finish == "content_filter" else "empty")


def _prepare_messages(messages: Sequence[Message], *, is_marked: bool) -> list[dict[str, object]]:
    """Return messages for a provider, with cache marks or joined."""
    prepared = [dict(message) for message in messages]
    blocks = prepared[0].get("content") if prepared else None
    if not isinstance(blocks, list):
        return prepared
    if not is_marked:
        prepared[0]["content"] = SEGMENT_SEPARATOR.join(block["text"] for block in blocks)
        return prepared
    prepared[0]["content"] = [
        {
            "type": "text",
            # Providers join blocks without a separator: the model must read the same text either way.
            "text": (SEGMENT_SEPARATOR if index else "") + block["text"],
            **({"cache_control": {"type": "ephemeral"}} if block.get("cache") else {}),
        }
        for index, block in enumerate(blocks)
    ]
    return prepared


def _list_call_ids(messages: Sequence[Message]) -> set[str]:
    lists = (message.get("tool_calls") for message in messages)
    return {call["id"] for calls in lists if isinstance(calls, Sequence) for call in calls}


def _estimate_usage(messages: Sequence[Message], answer: Answer) -> Usage:
    prompt = sum(estimate_tokens(str(message.get("content") or "")) for message in messages)
    return Usage(prompt, (answer.written + 3) // 4, estimated=True)
