"""Text of providers without characters that cannot be stored or encoded."""

import re
from typing import Final

# NUL cannot be stored on PostgreSQL, a lone surrogate cannot be encoded as UTF-8.
UNSAFE: Final = re.compile("[\x00\ud800-\udfff]")
HIGH_SURROGATE_AT_END: Final = re.compile("[\ud800-\udbff]\\Z")


def clean(text: str) -> str:
    """Return text without NUL and lone surrogates. A replacement character takes the place of a surrogate."""
    if not UNSAFE.search(text):
        return text
    joined = text.replace("\x00", "").encode("utf-16-le", "surrogatepass")
    return joined.decode("utf-16-le", "replace")


def content_beside_calls(text: str) -> str | None:
    """Return the content of a message that makes calls: None for a blank text, where LiteLLM puts words of its own."""
    return text if text.strip() else None
