"""`complete()` and `stream()`: the only calls to models.

There are three paths with the same events: our own models in this process (`own`), OpenAI's protocol (`direct`), and
LiteLLM for everybody else (`litellm`), which is imported only when a model needs it. Callers get clean values of
`answer` and `LLMUnavailable`, never a provider's exception.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import Any, Protocol, TypeVar

from django.conf import settings

from config.lib.llm import direct, litellm, own
from config.lib.llm.answer import Chunk, Completion, Message, Piece, StreamedAnswer, ToolCall, ToolSchema, Usage
from config.lib.llm.errors import EFFORT_REFUSED, LLMUnavailable, report_failure
from config.lib.llm.own import register_provider
from config.lib.llm.prices import cost_usd, find_limits
from config.lib.llm.requests import ModelRequest, limit_output
from config.lib.llm.tokens import estimate_tokens
from config.lib.llm.written import WrittenCalls
from config.lib.observe.meter import note_tokens

__all__ = [
    "Chunk",
    "Completion",
    "LLMUnavailable",
    "ToolCall",
    "Usage",
    "answers_at_once",
    "close",
    "complete",
    "complete_at_once",
    "cost_usd",
    "embed",
    "register_provider",
    "run",
    "stream",
    "warm",
]

T = TypeVar("T")
Pieces = AbstractAsyncContextManager[AsyncGenerator[Piece, None]]

logger = logging.getLogger(__name__)

EMBEDDING_BATCH = 64  # texts a call; the least that a common provider takes is 96
_of_responses: set[str] = set()  # models whose effort OpenAI's chat protocol refused with tools, and its newer one took
TAIL_SECONDS = 5.0  # how long usage may lag behind the end of an answer


class _Path(Protocol):
    """A way to reach models: a module."""

    def open_pieces(self, model: str, request: ModelRequest) -> Pieces: ...


def _find_path(model: str) -> _Path:
    if own.can_serve(model):
        return own
    return direct if direct.can_serve(model) else litellm


def warm() -> None:
    """Import what the configured models need: LiteLLM, the HTTP client, the list of limits; slow."""
    paths = [_find_path(model) for model in settings.MODELS_IN_USE]
    if litellm in paths:
        litellm.load_litellm()
    if direct in paths:
        direct.load_client()
        find_limits(settings.CHAT_AGENT_MODEL)


async def stream(
    messages: Sequence[Message],
    *,
    models: Sequence[str],
    tools: Sequence[ToolSchema] | None = None,
    effort: str = "",
    accepts: Callable[[str, str], bool] | None = None,
) -> AsyncGenerator[Chunk, None]:
    """Yield text pieces and a last chunk: reason, calls and usage.

    The models are tried in turn until one begins to answer. Messages, blocks and calls may carry the keys that
    `requests` describes; they reach only models that take them. The finish reason is `length` also for an answer that
    was cut off here because it was too big, and `unmade_call` when the text named a call that cannot be run and is held
    back (`written`). `accepts` tells whether a call with this name and these arguments can be run; None: any offered
    tool. Close the generator to stop the model (`aclosing`).
    Raises LLMUnavailable: no model began to answer (the kind is the first one's), or the one that did broke
    off (`interrupted`; the chunks until then stand).
    """
    request = ModelRequest(messages, tools or (), max_tokens=settings.CHAT_MAX_OUTPUT_TOKENS, effort=effort)
    failures: list[LLMUnavailable] = []
    for model in models:
        begun = False
        async with aclosing(_stream_counted(model, request, accepts)) as chunks:
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
    effort: str = "",
) -> Completion:
    """Return a whole answer of the first available model. Raises LLMUnavailable with the first one's kind."""
    limit = max_tokens or settings.CHAT_MAX_OUTPUT_TOKENS
    request = ModelRequest(messages, tools or (), tool_choice, limit, effort, is_streamed=False)
    failures: list[LLMUnavailable] = []
    for model in models:
        try:
            async with aclosing(_stream_counted(model, request)) as chunks:
                *texts, last = [chunk async for chunk in chunks]
        except LLMUnavailable as failure:
            failures.append(failure)
        else:
            text, usage = "".join(chunk.text for chunk in texts), last.usage or Usage(0, 0)
            return Completion(text, last.tool_calls, last.finish_reason or "", usage, last.model)
    raise failures[0] if failures else LLMUnavailable("misconfigured")


def complete_at_once(
    messages: Sequence[Message], *, models: Sequence[str], tools: Sequence[ToolSchema] | None = None, effort: str = ""
) -> Completion:
    """Return a whole answer of models that answer at once, which need no event loop. Raises LLMUnavailable."""
    answering = complete(messages, models=models, tools=tools, effort=effort)
    try:
        answering.send(None)
    except StopIteration as end:
        completion: Completion = end.value
        return completion
    raise AssertionError("a model waited that answers at once")


def answers_at_once(model: str) -> bool:
    """Tell whether a model runs in this process and waits for nothing, so that a transaction may span its calls."""
    return own.answers_at_once(model)


def embed(texts: Sequence[str], *, model: str) -> list[list[float]]:
    """Return each text's vector, of equal length, outside of transactions: it blocks. Raises LLMUnavailable."""
    litellm.load_litellm()
    vectors: list[list[float]] = []
    for start in range(0, len(texts), EMBEDDING_BATCH):
        vectors += litellm.embed_batch(list(texts[start : start + EMBEDDING_BATCH]), model=model)
    if len({len(vector) for vector in vectors}) > 1:
        raise report_failure(model, None, otherwise="empty")
    return vectors


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run work that calls models on an event loop of its own."""

    async def run_and_close() -> T:
        try:
            return await work
        finally:
            await close()

    return asyncio.run(run_and_close())


async def close() -> None:
    """Close this event loop's connections before the loop ends."""
    await direct.close_client()
    await litellm.close_clients()


async def _stream_counted(
    model: str, request: ModelRequest, accepts: Callable[[str, str], bool] | None = None
) -> AsyncGenerator[Chunk, None]:
    """Count what a call took of the site's tokens, also if it broke off or was stopped."""
    written, usage = 0, None
    try:
        async with aclosing(_stream_model(model, request, accepts)) as chunks:
            async for chunk in chunks:
                written, usage = written + len(chunk.text), chunk.usage
                yield chunk
    finally:
        if usage is None and written:
            usage = _estimate_usage(request, written)
        if usage is not None:
            note_tokens(model, usage.prompt_tokens + usage.completion_tokens)


async def _stream_model(
    model: str, request: ModelRequest, accepts: Callable[[str, str], bool] | None = None
) -> AsyncGenerator[Chunk, None]:
    answer, finish, usage = StreamedAnswer(), None, None
    written = WrittenCalls([tool["function"]["name"] for tool in request.tools], accepts)
    async with AsyncExitStack() as stack:
        pieces = await _open_pieces(stack, model, limit_output(model, request))
        try:
            async for piece in pieces:
                if text := written.take(answer.take_piece(piece)):
                    yield Chunk(text=text)
                finish, usage = piece.finish_reason, piece.usage
                if finish or answer.full:
                    break
        except Exception as error:  # noqa: BLE001 - providers' clients raise anything; it becomes our one exception
            raise report_failure(model, error, otherwise="interrupted") from None
        if not answer.full and not finish:
            raise report_failure(model, None, otherwise="interrupted")
        late = ""
        if not answer.full and usage is None:
            late, usage = await _read_tail(pieces, answer)
        if late := written.take(late, is_last=True):
            yield Chunk(text=late)
        reason = _finish(model, answer, written, finish)
        usage = usage or _estimate_usage(request, answer.written)
        lists = (message.get("tool_calls") for message in request.messages)
        ids = {call["id"] for calls in lists if isinstance(calls, Sequence) for call in calls}
        yield Chunk(tool_calls=answer.tool_calls(ids, model=model), finish_reason=reason, usage=usage, model=model)
        if answer.full:
            await pieces.aclose()  # there may be megabytes more


def _estimate_usage(request: ModelRequest, written: int) -> Usage:
    prompt = sum(estimate_tokens(str(message.get("content") or "")) for message in request.messages)
    return Usage(prompt, (written + 3) // 4, estimated=True)


async def _open_pieces(stack: AsyncExitStack, model: str, request: ModelRequest) -> AsyncGenerator[Piece, None]:
    """Request an answer and return its pieces, which the stack closes.

    A model that refuses an effort with tools in OpenAI's chat protocol takes it in the newer one, which LiteLLM speaks.
    """
    if model in _of_responses:
        return await stack.enter_async_context(litellm.open_pieces(model, request, in_responses=True))
    try:
        return await stack.enter_async_context(_find_path(model).open_pieces(model, request))
    except direct.EffortRefused as error:
        report_failure(model, error, otherwise="misconfigured")
        if not litellm.can_respond(model):
            raise LLMUnavailable("misconfigured", EFFORT_REFUSED) from None
        try:
            pieces = await stack.enter_async_context(litellm.open_pieces(model, request, in_responses=True))
        except LLMUnavailable as failure:
            is_final = failure.kind in ("refused", "misconfigured")
            raise LLMUnavailable("misconfigured", EFFORT_REFUSED) if is_final else failure from None
        _of_responses.add(model)
        return pieces


async def _read_tail(pieces: AsyncGenerator[Piece, None], answer: StreamedAnswer) -> tuple[str, Usage | None]:
    """Read usage after the finish reason; a failure is ignored."""
    late: list[str] = []
    try:
        async with asyncio.timeout(TAIL_SECONDS):
            async for piece in pieces:
                late.append(answer.take_piece(piece))
                if piece.usage is not None:
                    return "".join(late), piece.usage
    except Exception as error:  # noqa: BLE001 - the answer is complete without it
        logger.info("No usage after a complete answer: %s", type(error).__name__)
    return "".join(late), None


def _finish(model: str, answer: StreamedAnswer, written: WrittenCalls, finish: str | None) -> str:
    """Add the calls that stood in the text; return the finish reason. Raises LLMUnavailable: nothing to show or run."""
    for name, arguments in written.finish():
        answer.add_call(name, arguments)
    reason = answer.finish(finish or "stop")
    if reason == "tool_calls":
        return reason
    if written.has_hidden and not written.has_shown:
        raise report_failure(model, None, otherwise="unmade_call")
    if answer.is_empty:
        raise report_failure(model, None, otherwise="refused" if finish == "content_filter" else "empty")
    return "unmade_call" if written.has_hidden else reason
