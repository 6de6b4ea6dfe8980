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
from config.offline.figures import Row
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
    return Piece(
        content=text,
        calls=[_make_call(index, call.name, call.arguments) for index, call in enumerate(reply.tool_calls)],
        finish_reason="tool_calls" if reply.tool_calls else "stop",
        usage=_estimate_usage(request, reply),
    )


def _make_call(index: int, name: str, arguments: Row) -> Row:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": index, "id": f"call_{uuid4().hex[:24]}", "function": function}


def _estimate_usage(request: Request, reply: Reply) -> Usage:
    prompt = sum(estimate_tokens(str(message.get("content") or "")) for message in request.messages)
    written = reply.text + "".join(json.dumps(call.arguments) for call in reply.tool_calls)
    return Usage(prompt, estimate_tokens(written), estimated=True)
