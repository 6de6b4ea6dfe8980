import asyncio
import time
from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from chat.management.model_checks import CHECKS, Asked
from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable
from config.lib.text import one_line
from config.lib.work.commands import KeelCommand

_MAX_DETAIL: Final = 60  # characters in the table


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
            raise CommandError(f"{failed} of the checks failed. Docs: docs/operations.md, Models.")

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
