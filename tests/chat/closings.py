"""What the tests of closing share: a chat with turns, an extractor's answers, a clock that stands."""

import json
from datetime import datetime
from typing import Any

from chat.conversations.lifecycle import list_due
from chat.endings.closing import Closed, close_conversation, close_if_due
from chat.models import Conversation, Message
from config.lib.owned import system
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE
from tests.fakes import ScriptedModel
from trading.models import Trader


def make_chat(*exchanges: tuple[str, str], **values: Any) -> Conversation:
    """Make an active chat of exchanges (what the user typed, what was answered), as the owner in scope."""
    conversation = ConversationFactory(**values)
    for typed, answered in exchanges:
        add_exchange(conversation, typed, answered)
    return conversation


def add_exchange(conversation: Conversation, typed: str, answered: str = "Noted.", **reply: Any) -> Message:
    """Add what the user typed and its reply; return the user's message."""
    message = MessageFactory(conversation=conversation, content=typed)
    ReplyFactory(reply_to=message, content=answered, **reply)
    return message


def fact(content: str, **values: Any) -> dict[str, Any]:
    """Return a fact as an extractor answers it, without quotes: the code looks for the user's words itself."""
    return {"op": "add", "target_id": None, "category": "fact", "topic": "", "content": content, "confidence": 0.9} | (
        values
    )


def answer(model: ScriptedModel, *facts: dict[str, Any], summary: str = "They talked.") -> None:
    """Queue an extractor's answer."""
    model.say(json.dumps({"summary": summary, "facts": list(facts)}))


def close(conversation: Conversation, user: Trader, *, at: datetime = JUNE) -> Closed:
    """Close a chat at a time that stands still."""
    return close_conversation(conversation.pk, user_id=user.pk, clock=lambda: at)


def close_due(now: datetime) -> list[Closed]:
    """Close the chats that are due, as the worker does."""
    with system("test"):
        due = list_due(now=now)
    return [close_if_due(key.row_id, user_id=key.user_id, clock=lambda: now) for key in due]


def asked(model: ScriptedModel, number: int = -1) -> str:
    """Return the data that an extractor was sent."""
    return model.requests[number]["messages"][1]["content"]
