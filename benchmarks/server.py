"""A local server process that streams one long answer in OpenAI's protocol."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

WORDS = (
    "Your **BTC** long carries the larger risk today: at 3x a move of 5% costs 15% of the margin.\n\n"
    "- Entry 42,150, now 41,980, so -0.4% unlevered.\n- Funding has been positive for six intervals.\n\n"
    "What would change my mind is a close above the prior day's high with funding near zero.\n\n"
)


def chunks(count: int) -> list[str]:
    """Return the answer in chunks of about one word, as providers send it."""
    words = WORDS.replace(" ", " \0").split("\0")
    return [words[number % len(words)] for number in range(count)]


def _event(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    body = {"id": "bench", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float, count: int) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
            )
            await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            for text in chunks(count):
                writer.write(_event({"role": "assistant", "content": text}))
                await writer.drain()
                await asyncio.sleep(delay)
            writer.write(_event({}, "stop"))
            usage = {"prompt_tokens": 900, "completion_tokens": count, "total_tokens": 900 + count}
            last = {
                "id": "bench",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "bench",
                "choices": [],
                "usage": usage,
            }
            writer.write(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())
            await writer.drain()
            break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _serve(delay: float, count: int) -> None:
    server = await asyncio.start_server(lambda r, w: _answer(r, w, delay, count), "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)  # the parent reads the port
    await server.serve_forever()


@contextmanager
def answering_server(delay: float, count: int) -> Iterator[None]:
    """Run the server, which answers in `count` chunks with `delay` seconds after each; what starts now asks it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.server", str(delay), str(count)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        os.environ["OPENAI_API_BASE"] = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1]), int(sys.argv[2])))
