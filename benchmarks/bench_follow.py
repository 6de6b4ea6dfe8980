"""A turn followed from another process: is it as smooth there as in its own?

Two servers share PostgreSQL and Redis. A socket at the first sends a message whose answer comes in 25 chunks a
second; a socket at each server shows it. Measured: the time between two growths of the shown text.
"""

import asyncio
import json
import sys
import time

from benchmarks.chats import Chat, ask, make_chats, open_socket, serve
from benchmarks.report import Report, benchmark, find_p95, size
from benchmarks.server import answering_server

CHUNKS, CHUNK_SECONDS = size(200, 30), 0.04
ROUNDS = size(3, 1)


async def watch(url: str, chat: Chat, ready: asyncio.Event, *, asks: bool) -> list[float]:
    """Return the seconds between two growths of the reply that a socket shows."""
    gaps: list[float] = []
    grown_at = 0.0
    async with open_socket(url, chat) as socket:
        await socket.recv()
        if asks:
            await ready.wait()
            await ask(socket)
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


async def follow(urls: list[str], chats: list[Chat]) -> list[list[float]]:
    """Return the gaps at the turn's own server and at the other."""
    found: list[list[float]] = [[], []]
    for chat in chats:
        ready = asyncio.Event()
        watches = [watch(url, chat, ready, asks=number == 0) for number, url in enumerate(urls)]
        for gaps, more in zip(found, await asyncio.gather(*watches), strict=True):
            gaps += more
    return found


@benchmark
def main(report: Report) -> None:
    with answering_server(CHUNK_SECONDS, CHUNKS), serve(2) as servers:
        own, other = asyncio.run(follow([url for _, url in servers], make_chats(ROUNDS)))
    for place, gaps in (("own", own), ("another", other)):
        print(f"{place} process: {len(gaps)} gaps, p95 {find_p95(gaps) * 1e3:.0f} ms, longest {max(gaps) * 1e3:.0f} ms")
    report.add("p95 of gaps in another process", find_p95(other) / find_p95(own))


if __name__ == "__main__":
    sys.exit(main())
