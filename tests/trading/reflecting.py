"""What processes do that race for one reflection: the model is a stand-in that takes a while."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

from config.lib.llm.door import Completion, Usage
from trading.reviews import reflection
from trading.reviews.reflection import ReflectionOutcome, reflect

MODEL_SECONDS = 0.1


def reflect_once(
    calls: Path, user_id: int, deployment_id: UUID, now: datetime, is_forced: bool = False
) -> ReflectionOutcome:
    """Reflect on a deployment, as a worker does; each call of the model is a line in the file."""
    with mock.patch.object(reflection, "_ask_model", _answer_of(calls)):
        return reflect(deployment_id, user_id=user_id, now=now, clock=lambda: now, is_forced=is_forced).outcome


def _answer_of(calls: Path) -> Callable[[Any], Any]:
    async def answer(work: Any) -> Completion:
        with calls.open("a") as log:
            log.write(f"{len(work.trades)}\n")
        await asyncio.sleep(MODEL_SECONDS)
        return Completion("- Wait for the close", (), "stop", Usage(10, 5), "scripted/reflector")

    return answer
