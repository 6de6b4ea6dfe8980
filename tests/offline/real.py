"""A chat with the offline model and the real tools, on the rows of a user in scope."""

import json
from itertools import count
from typing import Any

from chat.conversations.services import start_conversation
from chat.parts import add_preamble
from chat.tools.base import ToolContext
from memory.models import UserFact
from memory.recall.blocks import COACH_HEADING
from offline.model import decide
from tests.factories.chat import MessageFactory

MOST_STEPS = 8


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
        ids = count()
        for _ in range(MOST_STEPS):
            reply = decide(messages, [tool.schema for tool in self.tools.values()])
            made = [(f"call_{next(ids)}", call.name, call.arguments) for call in reply.tool_calls]
            if not made:
                return reply.text
            asked = [{"id": key, "function": {"name": name, "arguments": json.dumps(args)}} for key, name, args in made]
            messages.append({"role": "assistant", "content": None, "tool_calls": asked})
            for key, name, args in made:
                result = self.tools[name].call(context, json.dumps(args))
                self.calls.append((name, args))
                self.results.append(result)
                messages.append({"role": "tool", "tool_call_id": key, "content": json.dumps(result)})
        raise AssertionError(f"the model never came to an answer: {self.calls}")
