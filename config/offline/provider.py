"""The rule-based model as a provider of the door."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from typing import Final
from uuid import uuid4

from django.conf import settings

from config.lib.llm.answer import Piece, Usage
from config.lib.llm.requests import Request
from config.lib.llm.tokens import estimate_tokens
from config.offline.model import decide
from config.offline.talk import Reply

_WORD: Final = re.compile(r"\s*\S+\s?|\s+")


class OfflineProvider:
    """Answers of the rules."""

    def answer(self, model: str, request: Request) -> Piece:
        """Return the whole answer."""
        reply = decide(request.messages, request.tools)
        return _last_piece(request, reply, text=reply.text)

    async def stream(self, model: str, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer word by word, slowly enough to be read."""
        reply = decide(request.messages, request.tools)
        for word in _WORD.findall(reply.text):
            await asyncio.sleep(settings.OFFLINE_DELAY_SECONDS)
            yield Piece(content=word)
        yield _last_piece(request, reply)


def _last_piece(request: Request, reply: Reply, *, text: str = "") -> Piece:
    prompt = sum(estimate_tokens(str(message.get("content") or "")) for message in request.messages)
    functions = [{"name": call.name, "arguments": json.dumps(call.arguments)} for call in reply.tool_calls]
    written = reply.text + "".join(function["arguments"] for function in functions)
    return Piece(
        content=text,
        calls=[
            {"index": index, "id": f"call_{uuid4().hex[:24]}", "function": function}
            for index, function in enumerate(functions)
        ],
        finish_reason="tool_calls" if reply.tool_calls else "stop",
        usage=Usage(prompt, estimate_tokens(written), estimated=True),
    )
