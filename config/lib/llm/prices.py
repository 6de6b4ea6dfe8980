"""The list price of a call and the limits of a model.

It reads the list that LiteLLM ships, without importing LiteLLM and without a network. Where LiteLLM is not installed,
no price and no limit is known.
"""

import json
import logging
import os
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from config.lib.llm.answer import Usage

logger = logging.getLogger(__name__)

PRICES_FILE: Final = "model_prices_and_context_window_backup.json"
# It charges the maker's price, so the maker's entries cover models that its own lack.
_GATEWAY: Final = "openrouter"
_OWN: Final = "offline/"
_BILLED_BY_TOKEN: Final = {"chat", "completion", "responses"}


class Limits(NamedTuple):
    """The most tokens of a model; None: not listed."""

    prompt: int | None = None
    output: int | None = None


class _ListedModel(NamedTuple):
    """A listed model: USD for one token of each kind, and its limits."""

    prompt: Decimal
    completion: Decimal
    cached: Decimal
    written: Decimal
    maker: str
    limits: Limits


def cost_usd(model: str, usage: Usage) -> Decimal | None:
    """Return a call's list price, None if unlisted, ours free. Usage does not tell the length class of a price."""
    if model.startswith(_OWN):
        return Decimal(0)
    price = _find_entry(model)
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(usage.cache_write_tokens, usage.prompt_tokens - cached)
    fresh = usage.prompt_tokens - cached - written
    prompt = fresh * price.prompt + cached * price.cached + written * price.written
    return prompt + usage.completion_tokens * price.completion


def find_limits(model: str) -> Limits:
    """Return the listed limits of a model. Our own has none."""
    entry = None if model.startswith(_OWN) else _find_entry(model)
    return Limits() if entry is None else entry.limits


def _find_entry(model: str) -> _ListedModel | None:
    entries = _load_entries()
    if model in entries:
        return entries[model]
    maker, _, name = model.partition("/")
    names = [] if _is_elsewhere(maker) else [name]
    if maker == _GATEWAY:
        maker, _, bare = name.partition("/")
        # The gateway writes versions with dots, some makers with dashes.
        names = [name, bare, bare.replace(".", "-")]
    return next((entry for known in names if (entry := entries.get(known)) and entry.maker == maker), None)


def _is_elsewhere(provider: str) -> bool:
    """Tell whether the provider's name stands for another server."""
    return any(os.environ.get(f"{provider.upper()}_{suffix}") for suffix in ("API_BASE", "BASE_URL"))


def find_prices() -> Path | None:
    """Return LiteLLM's list of prices, None where LiteLLM is not installed."""
    package = find_spec("litellm")
    return Path(package.origin).parent / PRICES_FILE if package and package.origin else None


@cache
def _load_entries() -> dict[str, _ListedModel]:
    """Read the list: a tenth of a second, once."""
    path = find_prices()
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        listed = json.loads(text, parse_float=Decimal)
    except (OSError, ValueError):
        logger.exception("LiteLLM's list of prices cannot be read")
        return {}
    entries = {name: _parse_entry(entry) for name, entry in listed.items()}
    return {name: entry for name, entry in entries.items() if entry is not None}


def _parse_entry(entry: object) -> _ListedModel | None:
    """Return a listed model. None: it is not billed by the token, or not by the token alone."""
    if not isinstance(entry, dict) or entry.get("mode") not in _BILLED_BY_TOKEN:
        return None
    prompt, completion = _parse_usd(entry.get("input_cost_per_token")), _parse_usd(entry.get("output_cost_per_token"))
    if prompt is None or completion is None:
        return None
    cached = _parse_usd(entry.get("cache_read_input_token_cost"))
    written = _parse_usd(entry.get("cache_creation_input_token_cost"))
    return _ListedModel(
        prompt,
        completion,
        prompt if cached is None else cached,
        # Makers whose caches work by themselves list no price for writing, or zero: writing is then reading the prompt.
        written or prompt,
        str(entry.get("litellm_provider")),
        Limits(_parse_tokens(entry.get("max_input_tokens")), _parse_tokens(entry.get("max_output_tokens"))),
    )


def _parse_usd(value: object) -> Decimal | None:
    return Decimal(value) if isinstance(value, Decimal | int) and value >= 0 else None


def _parse_tokens(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
