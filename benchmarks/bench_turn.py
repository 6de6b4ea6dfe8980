"""Measure the first token and the CPU time per chunk of a whole turn.

The results are ratios to a bare call on the same local server, with the same prompt and tools. A whole turn is
everything between the frame of a user's message and the frames that answer it: storing the message, reading prompt and
history, streaming the model through the door, coalescing text, rendering Markdown, encoding frames, saving progress and
end. It runs through LiteLLM and directly. A bare call is LiteLLM's own `acompletion(stream=True)`, or the door's stream
alone. All of them alternate in this process, with pauses. A direct turn over a direct call has no goal: the call takes
2.5 ms and stores nothing, and the turn's one transaction takes as long.
"""

import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from benchmarks.server import CHUNKS, answering_server

ROUNDS = 21
WARM_UPS = 2
PAUSE_SECONDS = 0.3  # LiteLLM goes on with a call's log after its answer, in the way of the next run
CHUNK_SECONDS = 0.004  # 250 chunks a second: a fast provider
QUESTION = "How is my long?"
EARLIER = ("What am I holding?", "One position: BTC long, 3x, entered at 42,150.")

Sample = tuple[float, float]  # seconds to the first token, CPU seconds per chunk
TURN, DIRECT, BARE, BARE_DIRECT = "a turn", "a direct turn", "bare LiteLLM", "a direct call"
FIRST, CPU = 0, 1
# Claim, sample index, measured run, reference run, goal of the ratio (None: for information).
CLAIMS = (
    ("first token", FIRST, TURN, BARE, 1.4),
    ("first token", FIRST, DIRECT, BARE_DIRECT, None),
    ("first token", FIRST, DIRECT, BARE, 0.7),
    ("CPU per chunk", CPU, TURN, BARE, 1.25),
    ("CPU per chunk", CPU, DIRECT, TURN, 0.28),
    ("CPU per chunk", CPU, DIRECT, BARE, 0.28),
)


def set_up(base: str, folder: str) -> None:
    """Point Django at a fresh SQLite file and the door at the local server."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "READ_DOT_ENV": "false",
        "DATABASE_URL": os.environ.get("BENCH_DATABASE_URL", f"sqlite:///{folder}/bench.sqlite3"),
        "CHAT_AGENT_MODEL": "openai/bench",
        "OPENAI_API_BASE": base,
        "OPENAI_API_KEY": "none",
        "LOG_LEVEL": "ERROR",
        "MESSAGES_PER_MINUTE": "10000",
    }
    import django  # noqa: PLC0415  after the environment
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)


def make_user() -> int:
    """Create a user with ten facts; return the user's id."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from config.lib.owned import owned_tx  # noqa: PLC0415
    from memory.facts.services import remember_fact  # noqa: PLC0415

    user = get_user_model()._default_manager.create_user(f"bench-{uuid4()}@example.com")
    with owned_tx(user):
        for number in range(10):
            remember_fact(content=f"Bench fact number {number}", now=timezone.now())
    return int(user.pk)


def make_conversation(user_id: int) -> Any:
    """Create a conversation with one exchange; return its id.

    The exchange freezes the memory block.
    """
    from django.utils import timezone  # noqa: PLC0415

    from chat.conversations.services import start_conversation  # noqa: PLC0415
    from chat.models import MessageStatus  # noqa: PLC0415
    from chat.turns.accept import accept_message  # noqa: PLC0415
    from chat.turns.replies import finish_reply  # noqa: PLC0415
    from config.lib.owned import owned_tx  # noqa: PLC0415

    now = timezone.now()
    with owned_tx(user_id):
        conversation = start_conversation(now=now)
        accepted = accept_message(conversation_id=conversation.pk, client_id=uuid4(), text=EARLIER[0], now=now)
        parts = [{"kind": "text", "step": 0, "text": EARLIER[1]}]
        finish_reply(
            reply_id=accepted.reply.pk, status=MessageStatus.COMPLETE, parts=parts, text=EARLIER[1], now=timezone.now()
        )
        return conversation.pk


async def whole_turn(user_id: int) -> Sample:
    """Run one turn as the consumer does; encode its frames for one socket."""
    from django.utils import timezone  # noqa: PLC0415

    from chat.turns import live  # noqa: PLC0415
    from chat.turns.accept import accept_message  # noqa: PLC0415
    from chat.web.frames_html import accepted_frame  # noqa: PLC0415
    from chat.web.rooms import Subscription, enter_room, leave_room  # noqa: PLC0415
    from config.lib.owned import owned_tx  # noqa: PLC0415
    from config.lib.threads import run_in_thread  # noqa: PLC0415

    def accept() -> Any:
        with owned_tx(user_id):
            accepted = accept_message(
                conversation_id=conversation_id, client_id=uuid4(), text=QUESTION, now=timezone.now()
            )
        return accepted, accepted_frame(accepted.event, accepted.turn)

    conversation_id = await run_in_thread(make_conversation, user_id)
    subscription = Subscription()
    room = enter_room(conversation_id, subscription)
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


async def bare_litellm(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Sample:
    """Stream the same answer with bare LiteLLM."""
    import litellm  # noqa: PLC0415

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


async def litellm_turn(user_id: int) -> Sample:
    """Run one turn through LiteLLM."""
    from django.test import override_settings  # noqa: PLC0415

    with override_settings(LLM_DIRECT=[]):
        return await whole_turn(user_id)


async def direct_call(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Sample:
    """Stream the same answer through the door alone."""
    from config.lib.llm import door  # noqa: PLC0415

    cpu, began, first = time.process_time(), time.perf_counter(), 0.0
    async for chunk in door.stream(messages, models=["openai/bench"], tools=tools):
        if chunk.text:
            first = first or time.perf_counter() - began
    return first, (time.process_time() - cpu) / CHUNKS


async def compare(user_id: int) -> dict[str, list[Sample]]:
    """Return the samples of each kind; the kinds alternate after a warm-up."""
    from django.utils import timezone  # noqa: PLC0415

    from chat.prompt.assistants import preview_prompt  # noqa: PLC0415
    from chat.tools import TOOLS  # noqa: PLC0415
    from config.lib.llm import door  # noqa: PLC0415
    from config.lib.owned import owned  # noqa: PLC0415
    from config.lib.threads import run_in_thread  # noqa: PLC0415

    def prompt() -> str:
        with owned(user_id):
            return preview_prompt(assistant="coach", now=timezone.now())

    system = await run_in_thread(prompt)
    tools = [tool.schema for tool in TOOLS["coach"]]
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": EARLIER[0]},
        {"role": "assistant", "content": EARLIER[1]},
        {"role": "user", "content": QUESTION},
    ]
    runs: dict[str, Callable[[], Awaitable[Sample]]] = {
        TURN: lambda: litellm_turn(user_id),
        DIRECT: lambda: whole_turn(user_id),
        BARE: lambda: bare_litellm(messages, tools),
        BARE_DIRECT: lambda: direct_call(messages, tools),
    }
    samples: dict[str, list[Sample]] = {name: [] for name in runs}
    for _ in range(ROUNDS + WARM_UPS):
        for name, run in runs.items():
            await asyncio.sleep(PAUSE_SECONDS)
            gc.collect()
            samples[name].append(await run())
    await door.close()
    return {name: taken[WARM_UPS:] for name, taken in samples.items()}


def main() -> None:
    """Measure and print each claim with its goal."""
    with answering_server(CHUNK_SECONDS) as base, tempfile.TemporaryDirectory() as folder:
        set_up(base, folder)
        samples = asyncio.run(compare(make_user()))
    for claim, which, one, other, goal in CLAIMS:
        pairs = [(a[which], b[which]) for a, b in zip(samples[one], samples[other], strict=True)]
        ratio = statistics.median(a / b for a, b in pairs)
        took, reference = (statistics.median(values) * 1e3 for values in zip(*pairs, strict=True))
        verdict = "" if goal is None else f"(goal {goal})  {'ok' if ratio <= goal else 'MISSED'}"
        print(
            f"{claim:<14} of {one:<14} {ratio:5.2f} x {other:<13} {took:7.3f} ms against {reference:7.3f} ms  {verdict}"
        )


if __name__ == "__main__":
    main()
