"""A chat's turn: what a socket at a server waits for, its CPU, and what it costs beside LiteLLM's bare call.

At the socket: the first and the twenty-first turn of a chat, of 40 chunks that come 50 a second. In this process: a
whole turn of 400 chunks through LiteLLM and directly, and LiteLLM's own `acompletion(stream=True)` with the same
prompt and tools; they alternate, with pauses. A whole turn is everything between the frame of a user's message and
the frames that answer it: storing the message, reading prompt and history, streaming the model through the door,
rendering Markdown, encoding frames, saving.
"""

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

from django.test import override_settings
from django.utils import timezone

from benchmarks.chats import (
    EARLIER,
    QUESTION,
    Chat,
    ask,
    make_chats,
    make_conversation,
    open_socket,
    read,
    read_cpu,
    serve,
)
from benchmarks.report import Report, benchmark, size
from benchmarks.server import answering_server
from benchmarks.site import make_user
from chat.prompt.assistants import preview_prompt
from chat.tools import TOOLS
from chat.turns import live
from chat.turns.accept import accept_message
from chat.web.frames_html import accepted_frame
from chat.web.rooms import Subscription, enter_room, leave_room
from config.lib.llm import door
from config.lib.owned import owned, owned_tx
from config.lib.threads import run_in_thread
from trading.models import Trader

ROUNDS, WARM_UPS = size(21, 1), size(2, 0)
PAUSE_SECONDS = 0.3  # LiteLLM goes on with a call's log after its answer, in the way of the next run
AT_SOCKET, AT_SOCKET_SECONDS = 40, 0.02
CHUNKS, CHUNK_SECONDS = size(400, 40), 0.004  # 250 chunks a second: a fast provider

Wait = tuple[float, float, float]  # milliseconds to `accepted`, from there to the first text, and of the server's CPU
Sample = tuple[float, float]  # seconds to the first token, CPU seconds per chunk
FIRST, CPU = 0, 1
OF_FIRST = ("accepted, first turn", "first text after accepted, first turn", "CPU of the first turn")
OF_LATER = ("accepted, turn 21", "first text after accepted, turn 21", "CPU of turn 21")
TURN, DIRECT, BARE = "a turn", "a direct turn", "bare LiteLLM"
RATIOS = (  # to bare LiteLLM
    ("first token through LiteLLM", FIRST, TURN),
    ("first token of a direct turn", FIRST, DIRECT),
    ("CPU of a chunk through LiteLLM", CPU, TURN),
    ("CPU of a chunk of a direct turn", CPU, DIRECT),
)


# --- At the socket ---


async def wait_at_socket(process: subprocess.Popen[str], url: str, chat: Chat) -> Wait:
    """Ask in a chat, and read the answer to its end."""
    async with open_socket(url, chat) as socket:
        await asyncio.sleep(PAUSE_SECONDS)
        cpu, began = read_cpu(process), time.perf_counter()
        await ask(socket)
        await read(socket, "accepted")
        accepted = time.perf_counter()
        await read(socket, "text")
        text = time.perf_counter()
        end = await read(socket, "done", "failed")
        assert end["type"] == "done", end["text"]
        await asyncio.sleep(PAUSE_SECONDS)  # what follows the answer is of the turn, too
        return (accepted - began) * 1e3, (text - accepted) * 1e3, (read_cpu(process) - cpu) * 1e3


def measure_at_socket(report: Report) -> None:
    with answering_server(AT_SOCKET_SECONDS, AT_SOCKET):
        chats = {claims: make_chats(ROUNDS + WARM_UPS, turns) for claims, turns in ((OF_FIRST, 0), (OF_LATER, 20))}
        with serve() as [(process, url)]:
            for claims, of_kind in chats.items():
                waits = [asyncio.run(wait_at_socket(process, url, chat)) for chat in of_kind][WARM_UPS:]
                for claim, values in zip(claims, zip(*waits, strict=True), strict=True):
                    report.add(claim, statistics.median(values))


# --- In this process ---


async def take_turn(user: Trader) -> Sample:
    """Run one turn as the consumer does; encode its frames for one socket."""

    def accept() -> Any:
        with owned_tx(user):
            accepted = accept_message(conversation_id=chat, client_id=uuid4(), text=QUESTION, now=timezone.now())
        return accepted, accepted_frame(accepted.event, accepted.turn)

    chat: UUID = await run_in_thread(make_conversation, user)
    subscription = Subscription()
    room = enter_room(chat, subscription)
    room.subscriptions.add(subscription)
    cpu, began, first = time.process_time(), time.perf_counter(), 0.0
    accepted, frame = await run_in_thread(accept)
    turn = live.start_turn(accepted.turn, accepted.event, accepted.title)
    room.screen_of(turn).show_accepted(frame)
    while True:
        frame = await subscription.frames.get()
        json.dumps(frame, ensure_ascii=False)
        if frame["type"] == "text" and not first:
            first = time.perf_counter() - began
        if frame["type"] in {"done", "failed"}:
            assert frame["type"] == "done", frame["text"]
            break
    await asyncio.wait({turn.task})
    leave_room(room, subscription)
    return first, (time.process_time() - cpu) / CHUNKS


async def take_litellm_turn(user: Trader) -> Sample:
    with override_settings(LLM_DIRECT=[]):
        return await take_turn(user)


async def call_litellm(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Sample:
    """Stream the same answer with bare LiteLLM."""
    import litellm  # noqa: PLC0415 - after the turn through it, whose module tells it not to look at the network

    cpu, began, first = time.process_time(), time.perf_counter(), 0.0
    stream = await litellm.acompletion(
        model="openai/bench",
        messages=messages,
        tools=tools,
        stream=True,
        stream_options={"include_usage": True},
        max_retries=0,
    )
    text = []
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            text.append(chunk.choices[0].delta.content)
            first = first or time.perf_counter() - began
    assert len(text) == CHUNKS, len(text)
    return first, (time.process_time() - cpu) / CHUNKS


async def compare(user: Trader) -> dict[str, list[Sample]]:
    """Return the samples of each kind; the kinds alternate after a warm-up."""

    def prompt() -> str:
        with owned(user):
            return preview_prompt(assistant="coach", now=timezone.now())

    said = [await run_in_thread(prompt), *EARLIER, QUESTION]
    roles = ("system", "user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    tools = [tool.schema for tool in TOOLS["coach"]]
    runs: dict[str, Callable[[], Awaitable[Sample]]] = {
        TURN: lambda: take_litellm_turn(user),
        DIRECT: lambda: take_turn(user),
        BARE: lambda: call_litellm(messages, tools),
    }
    samples: dict[str, list[Sample]] = {name: [] for name in runs}
    for _ in range(ROUNDS + WARM_UPS):
        for name, run in runs.items():
            await asyncio.sleep(PAUSE_SECONDS)
            gc.collect()
            samples[name].append(await run())
    await door.close()
    return {name: taken[WARM_UPS:] for name, taken in samples.items()}


@benchmark
def main(report: Report) -> None:
    measure_at_socket(report)
    with answering_server(CHUNK_SECONDS, CHUNKS):
        samples = asyncio.run(compare(make_user(facts=10)))
    for claim, which, name in RATIOS:
        pairs = [(one[which], bare[which]) for one, bare in zip(samples[name], samples[BARE], strict=True)]
        took, reference = (statistics.median(values) * 1e3 for values in zip(*pairs, strict=True))
        print(f"{claim}: {took:.3f} ms against {reference:.3f} ms")
        report.add(claim, statistics.median(one / bare for one, bare in pairs))


if __name__ == "__main__":
    sys.exit(main())
