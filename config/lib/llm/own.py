"""Our own providers: models that run in this process, such as the rule-based one.

A provider has `stream(model, request)`, which yields pieces. One that streams slowly, to be read, also has `answer()`
with the same arguments: it returns the whole answer as one piece, and waits for nothing.
"""

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from config.lib.llm.answer import Piece
from config.lib.llm.requests import ModelRequest, prepare_messages

_lock = threading.RLock()
_providers: dict[str, Callable[[], Any]] = {}  # by name; loaded from LLM_PROVIDERS or registered


def register_provider(name: str, factory: Callable[[], Any]) -> None:
    """Send models named `<name>/...` to a provider of ours."""
    with _lock:
        _providers[name] = factory


def can_serve(model: str) -> bool:
    """Tell whether a model's provider is one of ours."""
    return _find_provider(model) is not None


def answers_at_once(model: str) -> bool:
    """Tell whether a model's provider is one of ours that gives whole answers."""
    factory = _find_provider(model)
    return factory is not None and hasattr(factory(), "answer")


@asynccontextmanager
async def open_pieces(model: str, request: ModelRequest) -> AsyncIterator[AsyncGenerator[Piece, None]]:
    """Yield the pieces of the answer."""
    factory = _find_provider(model)
    assert factory is not None, "the door asks can_serve() first"
    async with aclosing(_read_pieces(factory(), model, request)) as pieces:
        yield pieces


async def _read_pieces(provider: Any, model: str, request: ModelRequest) -> AsyncGenerator[Piece, None]:
    prepared = replace(request, messages=prepare_messages(model, request.messages))
    if not request.is_streamed and hasattr(provider, "answer"):
        yield provider.answer(model, prepared)
        return
    async with aclosing(provider.stream(model, prepared)) as pieces:
        async for piece in pieces:
            yield piece


def _find_provider(model: str) -> Callable[[], Any] | None:
    name = model.partition("/")[0]
    with _lock:
        if name not in _providers and name in settings.LLM_PROVIDERS:
            _providers[name] = import_string(settings.LLM_PROVIDERS[name])
        return _providers.get(name)
