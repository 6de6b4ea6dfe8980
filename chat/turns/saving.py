"""Save a reply while its turn runs, and when the turn ends."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from chat.grounding.checks import ground_parts
from chat.models import MessageStatus
from chat.parts import Json, Part, Reply
from chat.prompt.receipts import keep_receipt
from chat.tools.base import ModelWindow
from chat.turns.replies import SaveOutcome, finish_reply, save_progress
from chat.turns.start import TurnStart
from config.lib.owned import owned_tx
from config.lib.threads import run_in_thread
from config.lib.web import find_time_zone

T = TypeVar("T")

logger = logging.getLogger(__name__)

SAVE_SECONDS: Final = 0.9  # a killed process loses at most a second
RETRY_SECONDS: Final = 0.2  # before the second attempt; twice as long before each further one
MAX_RETRY_SECONDS: Final = 5.0
OUTAGE_SECONDS: Final = 90.0  # a write that fails is tried again for this long
RECEIPT_SECONDS: Final = 5.0  # the end of a reply waits this long for its receipt

STOPPED_ELSEWHERE: Final = "This answer was ended elsewhere: it was retried or deleted."

_DATABASE_FAULTS: Final = (DatabaseError, InterfaceError)


@dataclass
class ReplySaver:
    """Writes the row of one reply, and the receipt of its prompt."""

    _start: TurnStart
    _reply: Reply
    _window: ModelWindow
    _tools: Sequence[Json]
    _models: Sequence[str]
    _stop: Callable[[str], None]  # called with the reason (none: the user asked) when the reply was stopped elsewhere
    _saving: "asyncio.Task[None] | None" = None
    _receipt: "asyncio.Task[None] | None" = None
    _saved_at: float = field(default_factory=time.monotonic)

    def begin_receipt(self) -> "asyncio.Task[None]":
        """Write the receipt in a task, after the first word."""
        if self._receipt is None:
            self._receipt = asyncio.create_task(self._keep_receipt())
        return self._receipt

    async def _keep_receipt(self) -> None:
        prompt = {"sent": self._start.sent, "tools": self._tools, "models": self._models}
        write = partial(self._write, keep_receipt, **prompt, effort=settings.CHAT_REASONING_EFFORT)
        if not await _write_patiently(write, f"Reply {self._start.reply_id}: receipt of its prompt"):
            logger.error("Reply %s: no receipt of its prompt", self._start.reply_id)

    def _write(self, act: Callable[..., T], **values: Any) -> T:
        with owned_tx(self._start.user_id):
            return act(reply_id=self._start.reply_id, **values)

    def _write_text(self, act: Callable[..., T], **values: Any) -> T:
        return self._write(act, **values, is_untrusted=self._window.is_untrusted, now=read_clock())

    def save_if_due(self) -> None:
        """Begin a save, unless the last one is recent or still running."""
        if time.monotonic() - self._saved_at < SAVE_SECONDS or (self._saving and not self._saving.done()):
            return
        self._saved_at = time.monotonic()
        # In a task, so that a slow database delays no text; with copies, since the reply grows.
        parts = [dict(part) for part in self._reply.parts]
        self._saving = asyncio.create_task(self._save_parts(parts, self._reply.text))

    async def _save_parts(self, parts: list[Part], text: str) -> None:
        try:
            outcome = await run_in_thread(partial(self._write_text, save_progress, parts=parts, text=text))
        except _DATABASE_FAULTS as error:
            # The text is in memory; the next save includes it.
            logger.warning("Reply %s: progress not saved (%s)", self._start.reply_id, type(error).__name__)
            return
        if outcome is not SaveOutcome.SAVED:
            self._stop(STOPPED_ELSEWHERE if outcome is SaveOutcome.TAKEN else "")

    async def finish_reply(self, status: MessageStatus, error: str, *, model: str, usage: Json | None) -> bool:
        """Close the reply; return whether the database took it."""
        await asyncio.wait({self.begin_receipt(), *([self._saving] if self._saving else [])}, timeout=RECEIPT_SECONDS)
        await run_in_thread(self._ground_figures)
        end = {"parts": self._reply.parts, "text": self._reply.text, "status": status, "error": error}
        write = partial(self._write_text, finish_reply, **end, model=model, usage=usage)
        return await _write_patiently(write, f"Reply {self._start.reply_id}: its end")

    def _ground_figures(self) -> None:
        start = self._start
        memory = next((segment.text for segment in start.sent.segments if segment.name == "memory"), "")
        zone = find_time_zone(start.time_zone)
        try:
            ground_parts(self._reply.parts, messages=start.sent.messages, memory=memory, zone=zone, now=start.now)
        except Exception:
            logger.exception("Reply %s: its figures were not compared", start.reply_id)


async def _write_patiently(write: Callable[[], object], name: str) -> bool:
    """Write on a thread, and again while the database is away; return whether it was written."""
    deadline, pause = time.monotonic() + OUTAGE_SECONDS, RETRY_SECONDS
    while True:
        try:
            await run_in_thread(write)
        except _DATABASE_FAULTS as error:
            logger.warning("%s was not saved (%s)", name, type(error).__name__)
        except Exception:
            logger.exception("%s cannot be saved", name)
            return False
        else:
            return True
        if time.monotonic() + pause > deadline:
            return False
        await asyncio.sleep(pause)
        pause = min(2 * pause, MAX_RETRY_SECONDS)


def read_clock() -> datetime:
    """Return the real time; heartbeats must not use the turn's `now`."""
    return datetime.now(UTC)
