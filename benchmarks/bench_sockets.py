"""Hundreds of chats at once in one server process: is every answer whole?

The server is `manage.py up`, the model a local server that streams 6 chunks a second. Each stream is a socket of its
own: all send a message at the same instant and read the answer to its end; `--streams 500` sets how many. With
REDIS_URL a second server listens to the news. Printed: the times to the acknowledgement, and the CPU of a turn with
its socket.
"""

import argparse
import asyncio
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.chats import Chat, ask, make_chats, open_socket, read, read_cpu, serve
from benchmarks.report import Report, benchmark, size
from benchmarks.server import answering_server, chunks
from chat.models import Message
from config.lib.owned import system

CHUNKS, CHUNK_SECONDS = size(40, 5), 1 / 6
WARM_UPS = 2
PATIENCE_SECONDS = 180

End = tuple[float, bool]  # seconds to the acknowledgement, answered


async def follow(url: str, chat: Chat, start: asyncio.Event, ready: asyncio.Semaphore) -> End:
    """Send a message when all are ready, and read its answer to the end."""
    async with open_socket(url, chat) as socket:
        ready.release()
        await start.wait()
        began = time.perf_counter()
        await ask(socket)
        await read(socket, "accepted")
        acknowledged = time.perf_counter() - began
        return acknowledged, (await read(socket, "done", "failed"))["type"] == "done"


async def play(url: str, chats: list[Chat]) -> list[End]:
    """Open all sockets, then let all send at once."""
    start, ready = asyncio.Event(), asyncio.Semaphore(0)
    streams = [asyncio.create_task(follow(url, chat, start, ready)) for chat in chats]
    for _ in chats:
        await ready.acquire()
    await asyncio.sleep(1)
    start.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await asyncio.gather(*streams)


def count_whole(chats: list[Chat]) -> int:
    """Return the replies that the database has whole."""
    expected = "".join(chunks(CHUNKS)).strip()
    with system("benchmark"):
        rows = Message.objects.filter(role="assistant", status="complete", conversation__in=[pk for _, pk in chats])
        return sum(row.content.strip() == expected for row in rows.only("user_id", "content"))


def measure(process: subprocess.Popen[str], url: str, chats: list[Chat]) -> list[End]:
    """Play the chats, some of them before to warm up; print the times."""
    asyncio.run(play(url, chats[:WARM_UPS]))
    before = read_cpu(process)
    ends = asyncio.run(play(url, chats[WARM_UPS:]))
    spent = (read_cpu(process) - before) / len(ends) * 1e3
    times = sorted(seconds for seconds, _ in ends)
    print(
        f"{len(ends)} streams: acknowledged after p50 {statistics.median(times):.2f} s, the last after"
        f" {times[-1]:.2f} s; {spent:.1f} ms of CPU a turn, opening its socket included"
    )
    return ends


@benchmark
def main(report: Report) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=size(100, 6))
    streams = parser.parse_args().streams
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8 * streams + 256)), hard))
    with tempfile.TemporaryFile("a+") as log, answering_server(CHUNK_SECONDS, CHUNKS):
        chats = make_chats(streams)
        with serve(2 if os.environ.get("REDIS_URL") else 1, log) as servers:
            ends = measure(*servers[0], chats)
        log.seek(0)
        unsent = len(re.findall("not sent|get no news", log.read()))
    report.add("answers that are not whole in the browser", sum(not is_done for _, is_done in ends))
    report.add("answers that are not whole in the database", streams - count_whole(chats))
    report.add("news that were not sent", unsent)


if __name__ == "__main__":
    sys.exit(main())
