import asyncio
import os
import platform
import subprocess
import sys
import threading

import pytest

from config.lib import threads
from config.lib.threads import give_way_to_accepts, run_in_accept_thread, run_in_thread
from tests.source import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


def accept_many(gate):
    """Begin one acceptance more than there are threads for."""
    return [asyncio.create_task(run_in_accept_thread(gate.wait, 30)) for _ in range(threads.FEW_ACCEPTS + 1)]


async def test_give_way_waits_while_many_messages_are_accepted():
    gate = threading.Event()
    accepting = accept_many(gate)
    await asyncio.sleep(0)

    turn = asyncio.create_task(give_way_to_accepts())
    await asyncio.sleep(0.02)
    assert not turn.done()
    gate.set()
    await asyncio.wait_for(turn, threads.MAX_PAUSE_SECONDS / 2)  # it is told, and does not look again

    await asyncio.gather(*accepting)


async def test_give_way_waits_no_longer_than_its_pause(monkeypatch):
    monkeypatch.setattr(threads, "MAX_PAUSE_SECONDS", 0.01)
    gate = threading.Event()
    accepting = accept_many(gate)
    await asyncio.sleep(0)

    await give_way_to_accepts()

    assert not any(one.done() for one in accepting)
    gate.set()
    await asyncio.gather(*accepting)


async def test_give_way_does_not_wait_for_a_single_message():
    gate = threading.Event()
    accepting = asyncio.create_task(run_in_accept_thread(gate.wait, 30))
    await asyncio.sleep(0)

    await asyncio.wait_for(give_way_to_accepts(), 1)

    gate.set()
    await accepting


async def test_acceptance_does_not_wait_behind_other_work():
    gate = threading.Event()
    others = [asyncio.create_task(run_in_thread(gate.wait, 30)) for _ in range(threads.POOL._max_workers + 3)]
    await asyncio.sleep(0)

    assert await run_in_accept_thread(lambda: "accepted") == "accepted"
    assert not any(other.done() for other in others)
    gate.set()
    await asyncio.gather(*others)


async def test_acceptance_that_fails_holds_up_no_turn():
    with pytest.raises(ZeroDivisionError):
        await run_in_accept_thread(lambda: 1 / 0)

    await asyncio.wait_for(give_way_to_accepts(), 0.1)


COUNT_ARENAS = """
import ctypes, threading
from config.lib.threads import share_arenas
share_arenas()
start = threading.Barrier(8)
def take(number):
    start.wait()
    kept.append([bytes(2_000) for _ in range(1_000)])
    start.wait()
kept = []
threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_threads_share_two_arenas():
    done = subprocess.run(
        [sys.executable, "-c", COUNT_ARENAS],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.count("<heap nr=") == 2
