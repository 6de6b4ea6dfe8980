"""Our own providers: models that run in this process, such as the rule-based one.

A provider has `stream(model, request)`, which yields pieces. One that can also answer at once has `answer()`, with the
same arguments, which returns the whole answer as one piece.
"""

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from config.lib.llm.answer import Piece
from config.lib.llm.errors import report_failure
from config.lib.llm.requests import Request, prepare_messages

_lock = threading.RLock()
_providers: dict[str, Callable[[], Any]] = {}  # by name; loaded from LLM_PROVIDERS or registered


def register_provider(name: str, factory: Callable[[], Any]) -> None:
    """Send models named `<name>/...` to a provider of ours."""
    with _lock:
        _providers[name] = factory


def can_serve(model: str) -> bool:
    """Tell whether a model's provider is one of ours."""
    return _find_provider(model) is not None


@asynccontextmanager
async def open_pieces(model: str, request: Request) -> AsyncIterator[AsyncGenerator[Piece, None]]:
    """Yield the pieces of the answer."""
    provider, prepared = _prepare(model, request)
    async with aclosing(provider.stream(model, prepared)) as pieces:
        yield pieces


async def fetch_answer(model: str, request: Request) -> Piece:
    """Return the whole answer as one piece. Raises LLMUnavailable."""
    provider, prepared = _prepare(model, request)
    try:
        if hasattr(provider, "answer"):
            piece: Piece = provider.answer(model, prepared)
            return piece
        pieces = [piece async for piece in provider.stream(model, prepared)]
    except Exception as error:  # noqa: BLE001 - whatever a provider raises becomes our one exception
        raise report_failure(model, error, otherwise="unreachable") from None
    return Piece(
        content=[piece.content for piece in pieces if piece.content],
        calls=[call for piece in pieces for call in piece.calls],
        finish_reason=next((piece.finish_reason for piece in pieces if piece.finish_reason), None),
        usage=next((piece.usage for piece in pieces if piece.usage), None),
    )


def _prepare(model: str, request: Request) -> tuple[Any, Request]:
    factory = _find_provider(model)
    assert factory is not None, "the door asks can_serve() first"
    return factory(), replace(request, messages=prepare_messages(model, request.messages))


def _find_provider(model: str) -> Callable[[], Any] | None:
    name = model.partition("/")[0]
    with _lock:
        if name not in _providers and name in settings.LLM_PROVIDERS:
            _providers[name] = import_string(settings.LLM_PROVIDERS[name])
        return _providers.get(name)
