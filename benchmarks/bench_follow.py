"""A turn followed from another process: is it as smooth there as in its own?

Two servers share PostgreSQL and Redis, from the wheels. A socket at the first sends a message whose answer comes in 25
chunks a second; a socket at each server shows it. Printed: the time between two growths of the shown text.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from typing import Any
from uuid import uuid4

from benchmarks.bench_sockets import make_chats, start_server
from benchmarks.bench_turn import QUESTION, set_up
from benchmarks.server import answering_server

CHUNKS, CHUNK_SECONDS = 200, 0.04
ROUNDS = 3
GOAL = 1.5  # times the gaps in the turn's own process


async def watch(url: str, session: str, conversation: Any, ready: asyncio.Event, *, asks: bool) -> list[float]:
    """Return the seconds between two growths of the reply that a socket shows."""
    from websockets.asyncio.client import connect  # noqa: PLC0415

    address = f"{url.replace('http', 'ws', 1)}ws/chat/{conversation}/"
    gaps: list[float] = []
    grown_at = 0.0
    async with connect(
        address, additional_headers={"Cookie": f"sessionid={session}"}, origin=url.rstrip("/"), open_timeout=60
    ) as socket:
        await socket.recv()
        if asks:
            await ready.wait()
            await socket.send(json.dumps({"type": "message", "client_id": str(uuid4()), "text": QUESTION}))
        else:
            ready.set()
        async for message in socket:
            frame = json.loads(message)
            if frame["type"] in {"done", "failed"} or (frame["type"] == "snapshot" and gaps and not frame["reply"]):
                return gaps
            if frame["type"] == "text" or (frame["type"] == "snapshot" and frame["reply"]):
                now = time.perf_counter()
                gaps += [now - grown_at] if grown_at else []
                grown_at = now
    return gaps


async def follow(urls: list[str], chats: list[tuple[str, Any]]) -> list[list[float]]:
    """Return the gaps at the turn's own server and at the other."""
    found: list[list[float]] = [[], []]
    for session, conversation in chats:
        ready = asyncio.Event()
        watches = [watch(url, session, conversation, ready, asks=number == 0) for number, url in enumerate(urls)]
        for gaps, more in zip(found, await asyncio.gather(*watches), strict=True):
            gaps += more
    return found


def main() -> int:
    """Print the gaps of both; return 1 if the goal is missed."""
    from tests.services import postgres_url, redis_url  # noqa: PLC0415

    os.environ |= {"BENCH_DATABASE_URL": postgres_url(), "REDIS_URL": f"{redis_url()}/0", "SOCKETS_PER_USER": "100"}
    with answering_server(CHUNK_SECONDS, CHUNKS) as base, tempfile.TemporaryDirectory() as folder:
        set_up(base, folder)
        chats = make_chats(ROUNDS)
        servers = [start_server() for _ in range(2)]
        try:
            own, other = (sorted(gaps) for gaps in asyncio.run(follow([url for _, url in servers], chats)))
        finally:
            for server, _ in servers:
                server.terminate()
                server.wait()
    p95 = [gaps[int(len(gaps) * 0.95) - 1] * 1e3 for gaps in (own, other)]
    print(
        f"gaps between growths: own process {len(own)}, p95 {p95[0]:.0f} ms, longest {own[-1] * 1e3:.0f} ms; another"
        f" process {len(other)}, p95 {p95[1]:.0f} ms, longest {other[-1] * 1e3:.0f} ms; ratio of p95"
        f" {p95[1] / p95[0]:.2f} (goal {GOAL})"
    )
    return int(p95[1] > GOAL * p95[0])


if __name__ == "__main__":
    sys.exit(main())
