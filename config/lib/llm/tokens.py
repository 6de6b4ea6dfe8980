"""Token estimates for the hot path, token counts for limits."""

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

CHARS_PER_TOKEN = 4
# What LiteLLM counts with for every model whose vocabulary it does not carry; tiktoken names the file by the
# SHA-1 of the address it would else be fetched from.
VOCABULARY = "cl100k_base"
VOCABULARY_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from its length."""
    return (len(text) + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN


def count_tokens(text: str) -> int:
    """Count a text's tokens offline, with special marks as text.

    The first call reads the vocabulary (a quarter of a second); LiteLLM is not imported.
    """
    return len(_load_encoding().encode(text, disallowed_special=()))


@cache
def _load_encoding() -> "Encoding":
    folder = find_vocabulary_folder()
    if not (folder / VOCABULARY_FILE).is_file():
        raise FileNotFoundError(f"LiteLLM no longer brings {VOCABULARY}; tiktoken would fetch it from the network.")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken  # noqa: PLC0415 - reads the variable

    return tiktoken.get_encoding(VOCABULARY)


def find_vocabulary_folder() -> Path:
    """Return LiteLLM's folder of vocabularies without importing it."""
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        raise FileNotFoundError("LiteLLM is not installed.")
    return Path(package.origin).parent / "litellm_core_utils" / "tokenizers"
