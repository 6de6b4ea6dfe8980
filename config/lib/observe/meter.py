"""What calls of models took in this process, until it is written down."""

from collections import deque
from contextlib import suppress
from typing import Final

from django.conf import settings

_calls: Final[deque[int]] = deque()  # tokens of each call


def is_free(model: str) -> bool:
    """Tell whether a model of the settings answers in this process, without a provider."""
    return model.partition("/")[0] in settings.LLM_PROVIDERS


def note_tokens(model: str, tokens: int) -> None:
    """Count the tokens of a call, unless they cost nobody anything."""
    if tokens and not is_free(model):
        _calls.append(tokens)


def read_tokens() -> int:
    """Return the tokens that wait to be written down."""
    return sum(tuple(_calls))


def take_tokens() -> int:
    """Return the tokens that wait, and count anew; each is taken once, whoever else takes at that moment."""
    taken = 0
    with suppress(IndexError):
        while True:
            taken += _calls.popleft()
    return taken
