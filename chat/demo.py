"""The demo's chats and facts, made through the services."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from chat.conversations.services import start_conversation
from chat.models import Conversation, ConversationStatus, MessageStatus
from chat.parts import Json, Reply
from chat.prompt.receipts import keep_receipt
from chat.rules import follow_facts
from chat.tools import tools_by_name
from chat.tools.base import ToolContext
from chat.tools.facts import remember
from chat.turns.accept import accept_message
from chat.turns.replies import finish_reply
from config.lib.llm.door import ToolCall
from config.lib.owned import owned_tx
from config.lib.work.jobs import Clock
from memory.facts.services import archive_fact, remember_fact, supersede_fact
from trading.account.services import skip_first_steps
from trading.models import RuleState
from trading.rules.services import decide_rule, list_rules

Said = tuple[str, str, list[Json]]  # the user's words, the answer, the arguments of `remember` calls

# How many days ago, and what was said.
_CHATS: Final[list[tuple[int, list[Said]]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)


def seed_chats(user_id: int, *, clock: Clock, report: Callable[[str], None] = lambda _: None) -> dict[str, int]:
    """Create the demo's chats and facts, unless the user has chats; return the counts."""
    now = clock()
    with owned_tx(user_id):
        if Conversation.objects.exists():
            return {"conversations": 0}
        report("Chats and facts")
        _seed_old_facts(now)
        for days_ago, exchange in _CHATS:
            _seed_chat(user_id, exchange, now - timedelta(days=days_ago))
        follow_facts(now=now)
        for row in list_rules():
            decide_rule(rule_id=row.pk, state=RuleState.CONFIRMED, now=now)
        skip_first_steps(steps=["tier"])  # the demo is past its first steps
    return {"conversations": len(_CHATS)}


def _seed_old_facts(now: datetime) -> None:
    quarter_ago = now - timedelta(days=90)
    first = remember_fact(
        content="I risk 2% of the account per trade",
        topic="risk",
        confidence="asserted",
        source="profile",
        now=quarter_ago,
    )
    supersede_fact(
        fact_id=first.fact.pk,
        content="I risk at most 1% of the account per trade",
        now=quarter_ago + timedelta(days=10),
    )
    old = remember_fact(
        content="I am looking for a second exchange",
        topic="account",
        confidence="asserted",
        source="profile",
        now=quarter_ago,
    )
    archive_fact(fact_id=old.fact.pk, now=quarter_ago + timedelta(days=40))


def _seed_chat(user_id: int, exchange: list[Said], began: datetime) -> None:
    conversation = start_conversation(now=began)
    for number, (text, answer, facts) in enumerate(exchange):
        moment = began + timedelta(minutes=2 * number)
        accepted = accept_message(conversation_id=conversation.pk, client_id=uuid4(), text=text, now=moment)
        assert accepted.reply is not None, "a new message has a reply"
        assert accepted.turn is not None, "a new message begins a turn"
        reply = _build_reply(user_id, conversation.pk, accepted.message.pk, answer, facts, moment)
        finish_reply(
            reply_id=accepted.reply.pk,
            status=MessageStatus.COMPLETE,
            parts=reply.parts,
            text=reply.text,
            model="demo",
            now=moment + timedelta(seconds=4),
        )
        tools = [tool.schema for tool in tools_by_name(accepted.turn.assistant).values()]
        keep_receipt(reply_id=accepted.reply.pk, sent=accepted.turn.sent, tools=tools, models=["demo"])
        # It is over, and its facts were saved while it went on: nothing is left to extract.
        Conversation.objects.filter(pk=conversation.pk).update(
            status=ConversationStatus.IDLE, extracted_through=accepted.reply.pk, left_at=None
        )


def _build_reply(
    user_id: int, conversation_id: UUID, message_id: int, answer: str, facts: list[Json], now: datetime
) -> Reply:
    context = ToolContext(user_id=user_id, now=now, conversation_id=conversation_id, message_id=message_id)
    reply = Reply()
    for number, fact in enumerate(facts):
        arguments = json.dumps(fact)
        part = reply.start_tool(ToolCall(id=f"call_{message_id}_{number}", name=remember.name, arguments=arguments))
        result = remember.call(context, arguments)
        reply.finish_tool(part, result)
        reply.add_memory(result["memoryEvent"])
    reply.step = 1
    reply.add_text(answer)
    return reply
