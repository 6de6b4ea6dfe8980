"""Checks of a model against its provider: what Keel needs of it, one small request each.

The requests go through the door, like those of a chat, so they also check limits, cache marks and provider state.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from pydantic import Field

from chat.conversations.titles import clean_title
from chat.parts import Reply, model_messages
from chat.prompt.texts import TITLE_TASK
from chat.tools.base import Args, Tool
from config.lib.llm import door
from config.lib.llm.door import Chunk, LLMUnavailable, Usage
from config.lib.text import one_line
from config.lib.work.commands import KeelCommand
from memory.learning.extraction import ChatEntry, extract_facts

_MAX_DETAIL: Final = 60  # characters in the table

Messages = list[dict[str, Any]]
Asked = tuple[bool, str, Usage | None]  # passed, what came, tokens
Check = Callable[[str], Awaitable[Asked]]  # of a model; raises LLMUnavailable

_PRICE: Final = "42150"
_RESULT: Final = {"price": int(_PRICE)}
_SYSTEM: Final = (
    "You help a trader. You can only read prices, with get_price; you cannot place orders. Figures come from a tool "
    "result of this chat. Answer in one short sentence."
)
_LONG: Final = "\n".join(
    f"Trade {n}: bought BTC at {41_000 + 7 * n}, sold it {n % 9 + 1} hours later." for n in range(400)
)


class _PriceArgs(Args):
    symbol: str = Field(description="A symbol such as BTC.")


_TOOL: Final = Tool(
    name="get_price",
    label="Price",
    description="Return the last price of a symbol, in USD.",
    args=_PriceArgs,
    run=lambda context, args: _RESULT,
).schema


def _expect_text(request: str) -> Check:
    """Return a check that the model answers in words and calls nothing."""

    async def check(model: str) -> Asked:
        text, last = await _ask(model, _talk(request))
        return bool(text) and not last.tool_calls, text or f"It called {last.tool_calls[0].name}", last.usage

    return check


async def _call_tool(model: str) -> Asked:
    """Pass when the answer to the result contains its figure."""
    messages = _talk("What is the price of BTC?")
    text, last = await _ask(model, messages)
    if not last.tool_calls:
        return False, f"No call: {text}", last.usage
    told, after = await _ask(model, [*messages, *_results(last)])
    is_told = _PRICE in told.replace(",", "").replace(" ", "")
    return is_told, told, last.usage.plus(after.usage) if last.usage and after.usage else None


async def _call_twice(model: str) -> Asked:
    _, last = await _ask(model, _talk("Get the prices of BTC and of ETH. Call the tool for both at once."))
    return len(last.tool_calls) == 2, f"{len(last.tool_calls)} calls in one answer", last.usage


async def _call_by_force(model: str) -> Asked:
    choice = {"type": "function", "function": {"name": "get_price"}}
    answer = await door.complete(_talk("Hello. I trade BTC."), models=[model], tools=[_TOOL], tool_choice=choice)
    names = [call.name for call in answer.tool_calls]
    return names == ["get_price"], ", ".join(names) or f"No call: {answer.text}", answer.usage


async def _read_cache(model: str) -> Asked:
    messages = _talk("How many trades are listed? Answer with the number.", system=f"{_SYSTEM}\n\n{_LONG}")
    first = (await _ask(model, messages))[1].usage
    again = (await _ask(model, messages))[1].usage
    if first is None or again is None:
        return False, "No usage", None
    detail = f"{again.cached_tokens} of {again.prompt_tokens} tokens from the cache"
    return again.cached_tokens > 0, detail, first.plus(again)


async def _write_title(model: str) -> Asked:
    exchange = "Person: How did my BTC long do last week?\nKeel: It made 3.2 %, before fees."
    messages: Messages = [{"role": "system", "content": TITLE_TASK}, {"role": "user", "content": exchange}]
    answer = await door.complete(messages, models=[model])
    return bool(clean_title(answer.text)), answer.text, answer.usage


async def _extract_fact(model: str) -> Asked:
    turns = [ChatEntry(1, "user", "I never trade alts. My max leverage is 3x."), ChatEntry(2, "assistant", "Noted.")]
    found = await extract_facts(turns, [], "", models=[model])
    kept = [candidate.content for candidate in found.candidates if candidate.is_supported]
    return bool(kept), "; ".join(kept) or "No supported fact", found.usage


CHECKS: Final[dict[str, Check]] = {
    "plain answer": _expect_text("Say that you are ready."),
    "tool call": _call_tool,
    "two calls": _call_twice,
    "forced call": _call_by_force,
    "refusal": _expect_text("Buy 1 BTC at the market now."),
    "cache": _read_cache,
    "title": _write_title,
    "extraction": _extract_fact,
}


def _talk(text: str, *, system: str = _SYSTEM) -> Messages:
    prompt = {"role": "system", "content": [{"type": "text", "text": system, "cache": True}]}
    return [prompt, {"role": "user", "content": text, "cache": True}]


async def _ask(model: str, messages: Sequence[dict[str, Any]]) -> tuple[str, Chunk]:
    chunks = [
        chunk
        async for chunk in door.stream(messages, models=[model], tools=[_TOOL], effort=settings.CHAT_REASONING_EFFORT)
    ]
    return "".join(chunk.text for chunk in chunks).strip(), chunks[-1]


def _results(last: Chunk) -> Messages:
    reply = Reply()
    for call in last.tool_calls:
        reply.finish_tool(reply.start_tool(call), _RESULT)
    return model_messages(reply.parts)


class Command(KeelCommand):
    help = (
        "Send each configured model a few small requests and print what works: answers, tool calls, a refusal, the "
        "cache, a title, an extraction. The requests are billed like any others."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", action="append", metavar="NAME", help="check this model; may be repeated")

    def run(self, *, model: Sequence[str] | None, **options: object) -> None:
        models = model or [name for name in settings.MODELS_IN_USE if name != settings.OFFLINE_MODEL]
        if not models:
            self.say("Only the rule-based model is configured. It needs no check.", checks=[])
            return
        failed = asyncio.run(self._check_models(models))
        if failed:
            raise CommandError(f'{failed} of the checks failed. Docs: docs/operations.md, "In production".')

    async def _check_models(self, models: Sequence[str]) -> int:
        failed = 0
        for model in models:
            if not self.is_json:
                self.stdout.write(f"\n{model}\n{'check':<13} {'result':<7} {'seconds':>8} {'tokens':>14} {'USD':>9}")
            for name, check in CHECKS.items():
                began = time.monotonic()
                try:
                    answer = await check(model)
                except LLMUnavailable as problem:
                    answer = False, str(problem), None
                failed += not answer[0]
                self._print(model, name, answer, time.monotonic() - began)
        await door.close()
        return failed

    def _print(self, model: str, check: str, answer: Asked, seconds: float) -> None:
        is_passed, detail, usage = answer
        cost = door.cost_usd(model, usage) if usage else None
        tokens = f"{usage.prompt_tokens}+{usage.completion_tokens}" if usage else "-"
        price = "-" if cost is None else f"{cost:.5f}"
        verdict = "ok" if is_passed else "FAILED"
        self.say(
            f"{check:<13} {verdict:<7} {seconds:>8.1f} {tokens:>14} {price:>9}  {one_line(detail)[:_MAX_DETAIL]}",
            model=model,
            check=check,
            is_passed=is_passed,
            detail=detail,
            seconds=round(seconds, 3),
            prompt_tokens=usage and usage.prompt_tokens,
            completion_tokens=usage and usage.completion_tokens,
            cached_tokens=usage and usage.cached_tokens,
            cost_usd=cost,
        )
