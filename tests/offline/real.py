"""A chat with the offline model and the real tools, on the rows of a user in scope."""

import json
from typing import Any

from chat.conversations.services import start_conversation
from chat.parts import add_preamble
from chat.tools.base import ToolContext
from memory.models import UserFact
from memory.recall.blocks import COACH_HEADING
from tests.factories.chat import MessageFactory
from tests.offline.chat import converse


class RealChat:
    """One message to the coach; `calls` and `results` hold what its tools were asked and said."""

    def __init__(self, user, tools, now, focus=""):
        self.user, self.now = user, now
        self.preamble = [{"name": "clock", "text": f"Current datetime: {now:%Y-%m-%dT%H:%M:%SZ}"}]
        if focus:
            self.preamble.append({"name": "focus", "text": f"## In focus\n{focus}"})
        self.tools = {tool.name: tool for tool in tools}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.results: list[dict[str, Any]] = []

    def say(self, text: str) -> str:
        """Send a message, run the tools that are called, and return the answer."""
        conversation = start_conversation(now=self.now)
        message = MessageFactory(conversation=conversation, content=text)
        context = ToolContext(
            user_id=self.user.pk, now=self.now, conversation_id=conversation.pk, message_id=message.pk
        )
        lines = "\n".join(f"- [{fact.topic}] {fact.content}" for fact in UserFact.objects.current(self.now))
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": f"You are Keel.\n\n{COACH_HEADING}\n\n{lines}"},
            {"role": "user", "content": add_preamble(self.preamble, text)},
        ]

        def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            self.calls.append((name, arguments))
            self.results.append(self.tools[name].call(context, json.dumps(arguments)))
            return self.results[-1]

        return converse(messages, [tool.schema for tool in self.tools.values()], run)
