import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from config.lib.llm import prices
from config.lib.llm.door import Usage, cost_usd
from config.lib.llm.prices import find_limits

SONNET, HAIKU = "openrouter/anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-haiku-4.5"
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "usage", "usd"),
    [
        ("claude-haiku-4-5", Usage(MILLION, 0), "1"),
        ("claude-haiku-4-5", Usage(0, MILLION), "5"),
        ("claude-haiku-4-5", Usage(1_000, 200), "0.002"),
        ("claude-haiku-4-5", Usage(1_000, 200, cached_tokens=800), "0.00128"),
        ("claude-haiku-4-5", Usage(1_000, 0, cached_tokens=5_000), "0.0001"),
        ("claude-haiku-4-5", Usage(1_000, 0, cached_tokens=400, cache_write_tokens=500), "0.000765"),
        ("gpt-4o", Usage(1_000, 0, cache_write_tokens=500), "0.0025"),
        (HAIKU, Usage(1_000, 200), "0.002"),
        (SONNET, Usage(1_000, 200), "0.006"),
        ("offline/keel", Usage(MILLION, MILLION, estimated=True), "0"),
        ("claude-haiku-4-5", Usage(0, 0), "0"),
    ],
)
def test_cost_usd_is_the_list_price(model, usage, usd):
    assert cost_usd(model, usage) == Decimal(usd)


@pytest.mark.parametrize(
    "model",
    [
        *("", "scripted/model", "openrouter/", "openrouter/nobody/claude-haiku-4.5", "openrouter/anthropic/claude-99"),
        *("sample_spec", "dall-e-3"),  # the last is not billed by the token
    ],
)
def test_cost_usd_of_a_model_that_is_not_listed_is_unknown(model):
    assert cost_usd(model, Usage(1_000, 200)) is None


@pytest.fixture
def without_list():
    """Let the list of prices be read again, now and after the test."""
    prices._load_entries.cache_clear()
    yield
    prices._load_entries.cache_clear()


@pytest.mark.parametrize(
    ("gone", "told"),
    [({"find_prices": lambda: Path("/nowhere/gone.json")}, True), ({"find_spec": lambda name: None}, False)],
    ids=["list", "litellm"],
)
def test_without_the_list_or_litellm_no_price_and_no_limit_is_known(monkeypatch, caplog, without_list, gone, told):
    for name, value in gone.items():
        monkeypatch.setattr(prices, name, value)

    assert (cost_usd("claude-haiku-4-5", Usage(1_000, 200)), find_limits("gpt-4")) == (None, (None, None))
    assert ("list of prices" in caplog.text, bool(caplog.text)) == (told, told)


@pytest.mark.long
def test_prices_and_tokens_agree_with_litellm_and_need_neither_it_nor_the_network():
    code = (
        "import os, socket, sys\n"
        "for name in [name for name in os.environ if name.startswith('LITELLM')]: del os.environ[name]\n"
        "def refuse(*args, **kwargs): raise SystemExit('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from config.lib.llm.door import Usage, cost_usd\n"
        "from config.lib.llm.litellm import load_litellm\n"
        "from config.lib.llm.tokens import count_tokens\n"
        "text = 'My max leverage is 5x; I trade BTC perps, 13:00-17:00 UTC. ' * 50\n"
        "count = count_tokens(text)\n"
        "names = ['claude-sonnet-4-6', 'gpt-4o-mini', 'deepseek/deepseek-chat']\n"
        "mine = [cost_usd(name, Usage(1200, 340)) for name in names]\n"
        "assert 'litellm' not in sys.modules\n"
        "import django; django.setup(); load_litellm()\n"
        "import litellm\n"
        "theirs = [sum(litellm.cost_per_token(model=n, prompt_tokens=1200, completion_tokens=340)) for n in names]\n"
        "assert count == litellm.token_counter(model='openrouter/anthropic/claude-sonnet-4.6', text=text)\n"
        "print(all(abs(float(a) - b) < 1e-12 for a, b in zip(mine, theirs, strict=True)))"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout

    assert shown.strip() == "True"


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        ("gpt-4", (8192, 4096)),
        ("openai/gpt-4", (8192, 4096)),
        ("deepseek/deepseek-chat", (131_072, 8192)),
        ("anthropic/gpt-4", (None, None)),
        ("scripted/model", (None, None)),
        ("offline/keel", (None, None)),
    ],
)
def test_find_limits_returns_the_listed_limits(model, limits):
    assert find_limits(model) == limits


def test_models_of_another_server_are_not_those_of_the_list(monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")

    assert cost_usd("openai/gpt-4", Usage(1_000, 200)) is None
    assert find_limits("openai/gpt-4") == (None, None)
