"""Hundreds of chats at once in one server process: acknowledgements, lost text, CPU per turn.

`python -m benchmarks.bench_sockets --streams 500`. The server is `manage.py up` on SQLite (or BENCH_DATABASE_URL), the
model a local server that streams 6 chunks a second. Each stream is a socket of its own: all send a message at the same
instant and read the answer to its end. With REDIS_URL a second server listens to the news. The clients share the
machine, so two idle cores are the least for the goals.
"""

import argparse
import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from benchmarks.bench_turn import QUESTION, make_conversation, make_user, set_up
from benchmarks.server import answering_server, chunks

CHUNKS, CHUNK_SECONDS = 40, 1 / 6
CHATS_PER_USER = 25
PATIENCE_SECONDS = 180
GOAL_ACK_SECONDS, GOAL_CPU_MS = 1.0, 40.0


def read_cpu(process: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_chats(streams: int) -> list[tuple[str, Any]]:
    """Return session and conversation of each stream."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    chats: list[tuple[str, Any]] = []
    while len(chats) < streams:
        user_id, client = make_user(), Client()
        client.force_login(get_user_model()._default_manager.get(pk=user_id))
        session = client.cookies["sessionid"].value
        chats += [(session, make_conversation(user_id)) for _ in range(min(CHATS_PER_USER, streams - len(chats)))]
    return chats


def start_server(log: IO[str] | None = None) -> tuple[subprocess.Popen[str], str]:
    """Start a server that logs warnings to a file; return it and its address."""
    server = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, "LOG_LEVEL": "WARNING" if log else "ERROR"},
        text=True,
    )
    return server, json.loads(server.stdout.readline())["url"]


End = tuple[float, float, bool]  # seconds to the acknowledgement, CPU seconds of the server until then, answered


async def follow(url: str, process: int, chat: tuple[str, Any], start: asyncio.Event, ready: asyncio.Semaphore) -> End:
    """Send a message when all are ready, and read its answer to the end."""
    from websockets.asyncio.client import connect  # noqa: PLC0415

    session, conversation = chat
    address = f"{url.replace('http', 'ws', 1)}ws/chat/{conversation}/"
    headers = {"Cookie": f"sessionid={session}"}
    async with connect(address, additional_headers=headers, origin=url.rstrip("/"), open_timeout=60) as socket:
        ready.release()
        await start.wait()
        began, acknowledged, cpu = time.perf_counter(), 0.0, read_cpu(process)
        await socket.send(json.dumps({"type": "message", "client_id": str(uuid4()), "text": QUESTION}))
        async for message in socket:
            frame = json.loads(message)
            if frame["type"] == "accepted":
                acknowledged, cpu = time.perf_counter() - began, read_cpu(process) - cpu
            elif frame["type"] in {"done", "failed"}:
                return acknowledged, cpu, frame["type"] == "done"
    return acknowledged, cpu, False


async def play(url: str, process: int, chats: list[tuple[str, Any]]) -> list[End]:
    """Open all sockets, then let all send at once."""
    start, ready = asyncio.Event(), asyncio.Semaphore(0)
    streams = [asyncio.create_task(follow(url, process, chat, start, ready)) for chat in chats]
    for _ in chats:
        await ready.acquire()
    await asyncio.sleep(1)
    start.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await asyncio.gather(*streams)


def count_whole(chats: list[tuple[str, Any]]) -> int:
    """Return the replies that the database has whole."""
    from chat.models import Message  # noqa: PLC0415
    from config.lib.owned import system  # noqa: PLC0415

    expected = "".join(chunks(CHUNKS)).strip()
    with system("benchmark"):
        rows = Message.objects.filter(role="assistant", status="complete", conversation__in=[pk for _, pk in chats])
        return sum(row.content.strip() == expected for row in rows.only("user_id", "content"))


def main() -> int:
    """Run the benchmark; return the number of missed goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=100)
    streams = parser.parse_args().streams
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8 * streams + 256)), hard))
    os.environ |= {"TURNS_PER_USER": "100", "SOCKETS_PER_USER": "1000", "DAILY_TOKEN_BUDGET": "1000000000"}
    with (
        answering_server(CHUNK_SECONDS, CHUNKS) as base,
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("a+") as log,
    ):
        set_up(base, folder)
        chats = make_chats(streams)
        servers = [start_server(log) for _ in range(2 if os.environ.get("REDIS_URL") else 1)]
        server, url = servers[0]
        try:
            asyncio.run(play(url, server.pid, chats[:2]))  # warm
            before = read_cpu(server.pid)
            ends = asyncio.run(play(url, server.pid, chats[2:]))
            spent = (read_cpu(server.pid) - before) / len(ends) * 1e3
        finally:
            for one, _ in servers:
                one.terminate()
                one.wait()
        log.seek(0)
        unsent = len(re.findall("not sent|get no news", log.read()))
        whole = count_whole(chats)
    acks = sorted(seconds for seconds, _, _ in ends)
    last_cpu = max(cpu for _, cpu, _ in ends)
    done, p99 = sum(is_done for *_, is_done in ends), acks[max(0, int(len(acks) * 0.99) - 1)]
    print(
        f"{len(ends)} streams: {done} ended in the browser, {whole - 2} whole in the database; acknowledged after"
        f" p50 {statistics.median(acks):.2f} s, p99 {p99:.2f} s (goal {GOAL_ACK_SECONDS}),"
        f" the last after {last_cpu:.2f} s of CPU;"
        f" {spent:.1f} ms of CPU a turn, opening its socket included (goal {GOAL_CPU_MS});"
        f" {unsent} warnings of news that were not sent (goal 0)"
    )
    return (done != len(ends)) + (whole != streams) + (p99 > GOAL_ACK_SECONDS) + (spent > GOAL_CPU_MS) + (unsent > 0)


if __name__ == "__main__":
    sys.exit(main())
