"""Processes that wait for a shot and then act at once, each act on a database connection of its own.

Django takes seconds to import: one process does it, and the racers are its forks. They end when the pipe to the test
closes, so nothing outlives a test run that is killed.
"""

import asyncio
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any
from uuid import UUID

from django.db import connection, connections

from chat.endings import closing
from chat.endings.closing import ClosingOutcome, close_conversation
from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from memory.claims.support import Quote
from memory.learning.answers import Candidate
from memory.learning.extraction import ChatEntry, Extraction
from memory.models import UserFact
from tests.factories.memory import JUNE

ROOT = Path(__file__).parent.parent
PROCESSES = 8
WAIT_SECONDS = 30  # for others at the start line, and for the processes to end
MODEL_SECONDS = 0.05
PROGRAM = "import django; django.setup(); from tests import racing; racing.main()"

Act = Callable[[], Any]  # a function of a module, or a `partial` of one: it travels through a pipe


@dataclass(frozen=True, slots=True)
class Broken:
    """An act that raised what nobody had foreseen."""

    traceback: str


class Racers:
    """The test's end of the processes."""

    def __init__(self, pipes: Sequence[Connection], calls: Path) -> None:
        self.pipes = pipes
        self._calls = calls

    @property
    def extracted(self) -> list[int]:
        """The last message that each call of the model was sent, call by call, of all processes."""
        return [int(line) for line in self._calls.read_text().split()]

    def race(self, *acts: Act) -> list[Any]:
        """Do all at once, spread over the processes; return results and refusals in the given order.

        Raises AssertionError with the traceback when an act raised anything but a DomainError.
        """
        pipes = self.pipes[: len(acts)]
        for number, pipe in enumerate(pipes):
            pipe.send(acts[number :: len(pipes)])
        for pipe in pipes:
            pipe.recv()  # it stands at the start line
        for pipe in pipes:
            pipe.send("go")
        results: list[Any] = [None] * len(acts)
        for number, pipe in enumerate(pipes):
            results[number :: len(pipes)] = pipe.recv()
        broken = [result.traceback for result in results if isinstance(result, Broken)]
        assert broken == [], f"{len(broken)} of {len(acts)} broke:\n{''.join(sorted(set(broken)))}"
        return results


@contextmanager
def racers_at(database: str, folder: Path) -> Iterator[Racers]:
    """Run the processes on the database of that name; `folder` takes their log of the model's calls."""
    calls = folder / "calls"
    calls.touch()
    ours, theirs = zip(*[Pipe() for _ in range(PROCESSES)], strict=True)
    numbers = [pipe.fileno() for pipe in theirs]
    command = [sys.executable, "-c", PROGRAM, database, str(calls), *map(str, numbers)]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=numbers, start_new_session=True) as process:
        for pipe in theirs:
            pipe.close()  # or we would wait forever for the answer of one that died
        try:
            yield Racers(ours, calls)
        finally:
            for pipe in ours:
                pipe.close()
            _end(process)
    assert process.returncode == 0, "a process of the race has failed"


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def write(user_id: int, service: Callable[..., Any], **values: Any) -> Any:
    """Do one write as a user."""
    with owned_tx(user_id):
        return service(**values)


def close_chat(user_id: int, conversation_id: UUID) -> ClosingOutcome:
    """Close a chat of a user, as the worker does."""
    return close_conversation(conversation_id, user_id=user_id, clock=lambda: JUNE).outcome


async def _extract(
    calls: Path, turns: Sequence[ChatEntry], known: Sequence[UserFact], summary: str, *, models: Sequence[str]
) -> Extraction:
    """Stand in for the model: it takes a while, and finds what the user typed."""
    with calls.open("a") as log:
        log.write(f"{turns[-1].message_id}\n")
    await asyncio.sleep(MODEL_SECONDS)
    found = [
        Candidate("add", None, "fact", "", turn.text, 0.9, (Quote(turn.message_id, 0, len(turn.text)),))
        for turn in turns
        if turn.role == "user"
    ]
    return Extraction(candidates=tuple(found), summary="", through_message_id=turns[-1].message_id)


def main() -> None:
    """Fork a process for each pipe in the arguments, after the database's name and the log of calls; wait for all."""
    database, calls, *numbers = sys.argv[1:]
    connections.settings["default"]["NAME"] = database
    closing.extract_facts = partial(_extract, Path(calls))
    pipes = [Connection(int(number)) for number in numbers]
    for pipe in pipes:
        if os.fork() == 0:
            for other in set(pipes) - {pipe}:
                other.close()
            _serve(pipe)
            os._exit(0)  # eight interpreters that tidy up take seconds
    for pipe in pipes:
        pipe.close()
    sys.exit(int(any([os.wait()[1] for _ in pipes])))


def _serve(pipe: Connection) -> None:
    """Do one share of acts after another, until the test closes the pipe."""
    while True:
        try:
            acts = pipe.recv()
        except (EOFError, ConnectionError):
            return
        line = Barrier(len(acts) + 1, timeout=WAIT_SECONDS)
        with ThreadPoolExecutor(len(acts)) as pool:
            running: list[Future[Any]] = [pool.submit(_act, line, act) for act in acts]
            with suppress(BrokenBarrierError):  # who broke it says why
                line.wait()
            pipe.send("ready")
            pipe.recv()
            with suppress(BrokenBarrierError):
                line.wait()
        pipe.send([future.result() for future in running])


def _act(line: Barrier, act: Act) -> Any:
    try:
        _line_up(line)
        return act()
    except DomainError as refusal:
        return refusal
    except Exception:  # noqa: BLE001 - the test tells of it
        return Broken(traceback.format_exc())
    finally:
        connection.close()


def _line_up(line: Barrier) -> None:
    try:
        connection.ensure_connection()
    except Exception:
        line.abort()
        raise
    line.wait()  # until all are connected
    line.wait()  # until the shot
