import subprocess
import sys

import pytest

from config.lib.llm.tokens import VOCABULARY_FILE, count_tokens, estimate_tokens, find_vocabulary_folder


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("five!", 2), ("x" * 400, 100)])
def test_estimate_tokens_is_a_quarter_of_the_characters_rounded_up(text, tokens):
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("I never trade alts.", 6),
        ("13:00–17:00 UTC", 8),
        ("<|endoftext|>", 7),
        ("日本語", 4),
    ],
)
def test_count_tokens_is_exact(text, tokens):
    assert count_tokens(text) == tokens


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


def test_litellm_still_brings_the_vocabulary():
    assert (find_vocabulary_folder() / VOCABULARY_FILE).stat().st_size > 1_000_000
