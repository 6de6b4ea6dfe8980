"""Measure how much of each prompt a provider can read from its cache, and what that saves.

Chat: turns of two model calls each (a lookup, then an answer) about the demo's record. Agent: the recorded ticks of the
demo. Tokens are counted with the product's own counter in the order in which providers read a prompt: tools, then
messages. Costs are list prices of the prompts alone, for a provider that keeps what it has read.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import uuid4

import django

FOLDER = tempfile.mkdtemp(prefix="keel-bench-")
os.environ |= {
    "READ_DOT_ENV": "false",
    "SECRET_KEY": "only-for-benchmarks-" + "x" * 30,
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DATABASE_URL": f"sqlite:///{FOLDER}/bench.sqlite3",
    "LOG_LEVEL": "ERROR",
    "CHAT_AGENT_MODEL": "scripted/model",
    "MESSAGES_PER_MINUTE": "10000",
    "DAILY_TOKEN_BUDGET": "100000000",
}
django.setup()

from django.core.management import call_command  # noqa: E402 - after the settings

from chat.conversations.services import start_conversation  # noqa: E402
from chat.turns.accept import accept_message  # noqa: E402
from chat.turns.turn import Control, run_turn, tidy_up  # noqa: E402
from config.lib.llm import door  # noqa: E402
from config.lib.llm.door import Usage, cost_usd  # noqa: E402
from config.lib.llm.tokens import count_tokens  # noqa: E402
from config.lib.owned import owned, owned_tx  # noqa: E402
from tests.fakes import ScriptedModel  # noqa: E402
from trading.agent.decide import define_tools  # noqa: E402
from trading.demo import Lengths, seed_demo  # noqa: E402
from trading.models import DecisionSnapshot, Deployment, Trader  # noqa: E402
from trading.skills.schemas import parse_payload  # noqa: E402

PRICED = "openrouter/anthropic/claude-sonnet-4.6"
TURNS = (1, 5, 20, 40)
BEGAN = datetime.now(UTC).replace(hour=9, minute=0)  # so that no day begins within the chat
QUESTIONS = ("How are my deployments doing?", "What is BTC doing now?", "What have my trades taught the agent?")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_my_deployments", {}),
    ("get_market_overview", {"symbols": ["BTC", "ETH", "SOL"]}),
    ("get_my_deployments", {"detail": "lessons"}),
)
ANSWER = (
    "Both run on paper. Breakout on majors is up 1.9 % over 14 closed trades and holds BTC long since 08:00 UTC; "
    "Funding fade has closed three trades and holds nothing. The last refusal was a position above its cap. "
) * 2
# The same measured before the time moved behind the history and bars into blocks: USD by number of turns, and shares.
BEFORE_USD = {1: "0.017", 5: "0.082", 20: "0.991", 40: "3.842"}
BEFORE_SECOND = 0.157  # 0.84 where a chat template puts the tools behind the system prompt
BEFORE_TICKS = {"Funding fade": 0.108, "Breakout on majors": 0.051}
GOAL_SECOND, GOAL_TICKS = 0.10, 0.75


def main() -> None:
    call_command("migrate", verbosity=0)
    user = Trader.objects.create_user("bench@example.com")
    lengths = Lengths(backtest=timedelta(days=2), breakout=timedelta(days=8), funding=timedelta(days=2))
    seed_demo(user.pk, clock=lambda: datetime.now(UTC), lengths=lengths)
    prompts = asyncio.run(talk(user.pk, max(TURNS)))
    print_chat(prompts)
    print_ticks(user.pk)


async def talk(user_id: int, turns: int) -> list[str]:
    """Return the prompts of all calls of a chat as text."""
    model = ScriptedModel()
    door.register_provider("scripted", lambda: model)
    chat = await asyncio.to_thread(begin, user_id)
    for number in range(turns):
        name, arguments = CALLS[number % len(CALLS)]
        model.call(name, arguments)
        model.say(ANSWER)
        control = Control()
        text = f"{QUESTIONS[number % len(QUESTIONS)]} (question {number + 1})"
        start = await asyncio.to_thread(send, user_id, chat, text, BEGAN + timedelta(minutes=number))
        async for _ in run_turn(start, control):
            pass
        await tidy_up(start, control)
    await door.close()
    return [as_text(request["tools"], request["messages"]) for request in model.requests]


def begin(user_id: int) -> Any:
    with owned_tx(user_id):
        return start_conversation(now=BEGAN).pk


def send(user_id: int, chat: Any, text: str, now: datetime) -> Any:
    with owned_tx(user_id):
        return accept_message(conversation_id=chat, client_id=uuid4(), text=text, now=now).turn


def as_text(tools: list[Any], messages: list[Any]) -> str:
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in (*tools, *messages)]
    return "\n".join(lines).replace("\\n", "\n")


def measure(prompts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the tokens of each prompt and those that it shares with the one before."""
    for before, after in pairwise(["", *prompts]):
        shared = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
        kept = count_tokens(after[: min(len(before), len(after)) if shared is None else shared])
        yield count_tokens(after), kept if before else 0


def print_chat(prompts: list[str]) -> None:
    sizes = list(measure(prompts))
    total, kept = sizes[2]
    print(f"chat: the second turn reads {(total - kept) / total:.1%} of {total:,} prompt tokens again", end=" ")
    print(f"(goal {GOAL_SECOND:.0%}, before {BEFORE_SECOND:.1%})")
    print("turns  prompt tokens  read again  cost in USD  before  ratio")
    for turns in TURNS:
        calls = sizes[: 2 * turns]
        usage = [Usage(total, 0, kept, cache_write_tokens=total - kept) for total, kept in calls]
        usd = sum((cost_usd(PRICED, one) or Decimal(0) for one in usage), Decimal(0))
        before = Decimal(BEFORE_USD[turns])
        again = sum(total - kept for total, kept in calls)
        print(
            f"{turns:5}  {sum(total for total, _ in calls):13,}  {again:10,}  {usd:11.3f}  {before:6.3f}"
            f"  {before / usd:5.1f}"
        )


def print_ticks(user_id: int) -> None:
    with owned(user_id):
        for deployment in Deployment.objects.exclude(broker_kind="backtest").select_related("version", "skill"):
            tools = define_tools(parse_payload(deployment.version.payload))
            rows = DecisionSnapshot.objects.filter(deployment=deployment).order_by("tick_at")
            prompts = [as_text(tools, [{"content": row.system_prompt}, {"content": row.context}]) for row in rows[:60]]
            sizes = list(measure(prompts))[1:]
            share = sum(kept for _, kept in sizes) / sum(total for total, _ in sizes)
            print(
                f"agent, {deployment.skill.name}: {len(prompts)} ticks of {sizes[0][0]:,} tokens, consecutive ones"
                f" share {share:.1%} (goal {GOAL_TICKS:.0%}, before {BEFORE_TICKS[deployment.skill.name]:.1%})"
            )


if __name__ == "__main__":
    main()
