"""How much of each prompt a provider cannot read from its cache, and what that costs.

Chat: turns of two model calls each (a tool, then an answer) about the demo's record, which read and write. Agent: the
recorded ticks of the demo. Tokens are counted with the product's own counter in the order in which providers read a
prompt: tools, then messages. Prices are list prices of the prompts alone, for a provider that keeps what it has read.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

from django.test import override_settings

from benchmarks.report import Report, benchmark, size
from benchmarks.site import NOW, make_demo_user
from chat.conversations.services import start_conversation
from chat.turns.accept import accept_message
from chat.turns.start import TurnStart
from chat.turns.turn import Control, run_turn, tidy_up
from config.lib.llm import door
from config.lib.llm.door import Usage, cost_usd
from config.lib.llm.tokens import count_tokens
from config.lib.owned import owned, owned_tx
from tests.fakes import ScriptedModel
from trading.agent.decide import define_tools
from trading.market.simulation import HISTORY
from trading.models import DecisionSnapshot, Deployment, Trader
from trading.skills.schemas import parse_payload

PRICED = "openrouter/anthropic/claude-sonnet-4.6"
TURNS, TICKS = size(20, 3), size(60, 5)
# What the user says in turn, and the tool that the model calls then.
SAID: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("How are my deployments doing?", "get_my_deployments", {}),
    ("What is BTC doing now?", "get_market_overview", {"symbols": ["BTC", "ETH", "SOL"]}),
    ("Remember that I sit out session {}", "remember", {"fact": "I sit out session {}", "confidence": "asserted"}),
    ("What have my trades taught the agent?", "get_my_deployments", {"detail": "lessons"}),
)
ANSWER = (
    "Both run on paper. Breakout on majors is up 1.9 % over 14 closed trades and holds BTC long since 08:00 UTC; "
    "Funding fade has closed three trades and holds nothing. The last refusal was a position above its cap. "
) * 2
Sizes = list[tuple[int, int]]  # tokens of each prompt, and those that it shares with the one before


async def talk(user: Trader) -> list[str]:
    """Return the prompts of all calls of a chat as text."""
    model = ScriptedModel()
    door.register_provider("scripted", lambda: model)
    chat = await asyncio.to_thread(begin, user)
    for number in range(TURNS):
        text, name, arguments = SAID[number % len(SAID)]
        model.call(name, json.dumps(arguments).replace("{}", str(number)) if "fact" in arguments else arguments)
        model.say(ANSWER)
        control = Control()
        start = await asyncio.to_thread(
            send, user, chat, f"{text.format(number)} (question {number + 1})", NOW + timedelta(minutes=number)
        )
        async for _ in run_turn(start, control):
            pass
        await tidy_up(start, control)
    await door.close()
    return [as_text(request["tools"], request["messages"]) for request in model.requests]


def begin(user: Trader) -> UUID:
    with owned_tx(user):
        return start_conversation(now=NOW).pk


def send(user: Trader, chat: UUID, text: str, now: datetime) -> TurnStart:
    with owned_tx(user):
        return accept_message(conversation_id=chat, client_id=uuid4(), text=text, now=now).turn


def as_text(tools: Sequence[Any], messages: Sequence[Any]) -> str:
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in (*tools, *messages)]
    return "\n".join(lines).replace("\\n", "\n")


def measure(prompts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the tokens of each prompt and those that it shares with the one before."""
    for before, after in pairwise(["", *prompts]):
        shared = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
        kept = count_tokens(after[: min(len(before), len(after)) if shared is None else shared])
        yield count_tokens(after), kept if before else 0


def add_price(sizes: Sizes) -> Decimal:
    """Return what the prompts cost in USD, of which the shared part is read from the cache."""
    usage = [Usage(total, 0, kept, cache_write_tokens=total - kept) for total, kept in sizes]
    return sum((cost_usd(PRICED, one) or Decimal(0) for one in usage), Decimal(0))


def report_chat(report: Report, sizes: Sizes) -> None:
    again = [100 * (total - kept) / total for total, kept in sizes]
    print("read again by each call, in %:", " ".join(f"{share:.1f}" for share in again[2:]))
    kept, nothing_kept = add_price(sizes), add_price([(total, 0) for total, _ in sizes])
    print(f"{len(sizes)} prompts, {sum(total for total, _ in sizes):,} tokens: ${kept:.3f} of ${nothing_kept:.3f}")
    report.add("read again at turns 2 to 20", max(again[2::2]))
    report.add("price of 20 turns", float(kept / nothing_kept))


def find_share_of_ticks(user: Trader) -> float:
    """Return the percentage that consecutive ticks share, of the deployment with the lowest."""
    shares = []
    with owned(user):
        for deployment in Deployment.objects.exclude(broker_kind="backtest").select_related("version", "skill"):
            tools = define_tools(parse_payload(deployment.version.payload))
            rows = DecisionSnapshot.objects.filter(deployment=deployment).order_by("tick_at")[:TICKS]
            sizes = list(
                measure([as_text(tools, [{"content": row.system_prompt}, {"content": row.context}]) for row in rows])
            )
            shares.append(100 * sum(kept for _, kept in sizes[1:]) / sum(total for total, _ in sizes[1:]))
            print(f"{deployment.skill.name}: {len(sizes)} ticks of {sizes[1][0]:,} tokens share {shares[-1]:.1f} %")
    return min(shares)


@benchmark
def main(report: Report) -> None:
    user = make_demo_user(size(HISTORY, timedelta(days=6)))
    with override_settings(CHAT_AGENT_MODEL="scripted/model"):
        report_chat(report, list(measure(asyncio.run(talk(user)))))
    report.add("shared by consecutive ticks", find_share_of_ticks(user))


if __name__ == "__main__":
    sys.exit(main())
