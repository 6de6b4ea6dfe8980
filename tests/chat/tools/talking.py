"""A conversation in which tools are called without a model."""

import json
from datetime import UTC, datetime
from typing import Any

from chat.tools.base import ModelWindow, ToolContext
from memory.models import UserFact
from tests.chat.tools.binding import BoundTool, bind_tools
from tests.factories.chat import ConversationFactory, MessageFactory

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Toolbox:
    """An assistant's tools for one turn, answering the last of the messages typed."""

    def __init__(
        self, user, assistant: str, *typed: str, conversation: Any = None, is_untrusted: bool = False, **context: Any
    ) -> None:
        self.conversation = conversation or ConversationFactory(assistant=assistant)
        self.messages = [MessageFactory(conversation=self.conversation, content=text) for text in typed]
        self.window = ModelWindow(is_untrusted)
        self.tools: dict[str, BoundTool] = bind_tools(
            assistant,
            ToolContext(
                user.pk,
                now=NOW,
                conversation_id=self.conversation.pk,
                message_id=self.messages[-1].pk if self.messages else None,
                window=self.window,
                **context,
            ),
        )

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a model does."""
        return self.tools[name].call(json.dumps(arguments))


def row(fact: UserFact) -> dict[str, str]:
    """Return a fact as a memory event shows it."""
    return {"fact_id": str(fact.pk), "fact": fact.content, "topic": fact.topic, "confidence": fact.confidence}
