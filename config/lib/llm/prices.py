"""The list price of a call.

It reads the prices that LiteLLM ships, without importing LiteLLM and without a network.
"""

import json
import logging
from decimal import Decimal
from functools import cache
from typing import Final, NamedTuple

from config.lib.llm.answer import Usage
from config.lib.llm.tokens import find_vocabulary_folder

logger = logging.getLogger(__name__)

PRICES_FILE: Final = "model_prices_and_context_window_backup.json"
_GATEWAY: Final = (
    "openrouter"  # it charges the maker's price, so the maker's list covers models that its own list lacks
)
_OWN: Final = "offline/"
_BILLED_BY_TOKEN: Final = {"chat", "completion", "responses"}


class _Price(NamedTuple):
    """USD for one token."""

    prompt: Decimal
    completion: Decimal
    cached: Decimal
    written: Decimal
    maker: str


def cost_usd(model: str, usage: Usage) -> Decimal | None:
    """Return a call's list price, None if unlisted, ours free.

    A long prompt counts as a short one, and a cache entry as one of the shortest life: usage does not tell.
    """
    if model.startswith(_OWN):
        return Decimal(0)
    price = _find_price(model)
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(usage.cache_write_tokens, usage.prompt_tokens - cached)
    fresh = usage.prompt_tokens - cached - written
    prompt = fresh * price.prompt + cached * price.cached + written * price.written
    return prompt + usage.completion_tokens * price.completion


def _find_price(model: str) -> _Price | None:
    prices = _load_prices()
    if model in prices or not model.startswith(f"{_GATEWAY}/"):
        return prices.get(model)
    name = model.removeprefix(f"{_GATEWAY}/")
    maker, _, bare = name.partition("/")
    # The gateway writes versions with dots, some makers with dashes.
    for known in (name, bare, bare.replace(".", "-")):
        if (price := prices.get(known)) is not None and price.maker == maker:
            return price
    return None


@cache
def _load_prices() -> dict[str, _Price]:
    """Read the list: a tenth of a second, once."""
    try:
        text = (find_vocabulary_folder().parents[1] / PRICES_FILE).read_text(encoding="utf-8")
        listed = json.loads(text, parse_float=Decimal)
    except (OSError, ValueError):
        logger.exception("LiteLLM's list of prices cannot be read")
        return {}
    prices = {name: _parse_price(entry) for name, entry in listed.items()}
    return {name: price for name, price in prices.items() if price is not None}


def _parse_price(entry: object) -> _Price | None:
    """Return an entry's price, None if not billed by token alone."""
    if not isinstance(entry, dict) or entry.get("mode") not in _BILLED_BY_TOKEN:
        return None
    prompt, completion = _parse_usd(entry.get("input_cost_per_token")), _parse_usd(entry.get("output_cost_per_token"))
    if prompt is None or completion is None:
        return None
    cached = _parse_usd(entry.get("cache_read_input_token_cost"))
    written = _parse_usd(entry.get("cache_creation_input_token_cost"))
    return _Price(
        prompt,
        completion,
        prompt if cached is None else cached,
        # Makers whose caches work by themselves list no price for writing, or zero: writing is then reading the prompt.
        written or prompt,
        str(entry.get("litellm_provider")),
    )


def _parse_usd(value: object) -> Decimal | None:
    return Decimal(value) if isinstance(value, Decimal | int) and value >= 0 else None
