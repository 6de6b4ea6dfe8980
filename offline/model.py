"""The rule-based model, which needs no provider.

It says what it is, calls the same tools through the same loop, answers from their results and from the facts in its
prompt, and says plainly when it has no rule. Pure: the same messages and tools give the same reply.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4

from django.conf import settings

from chat.prompt.by_rules import summarise_by_rules, title_by_rules
from chat.prompt.texts import GO_ON, SUMMARY_TASK, TITLE_TASK
from config.lib.llm.answer import Piece, Usage
from config.lib.llm.requests import Request
from config.lib.llm.tokens import estimate_tokens
from memory.learning.prompts import TASK
from offline import memory
from offline.extraction import extraction_answer
from offline.messages import COACH_TOOLS, LOOKUPS, Call, content_text, translate_act
from offline.phrases import NO_RULE, make_small_talk, suggest
from offline.questions import answer_as_coach
from offline.talk import Reply, Talk, read_talk
from offline.telling import Row
from trading.agent.by_rules import DECIDING, decide_by_rules
from trading.agent.prompts import CRITIQUE, REFLECTION
from trading.reviews.by_rules import reflect_by_rules

_ROLES: Final = ("system", "user")
_WORD: Final = re.compile(r"\s*\S+\s?|\s+")


def decide(messages: Sequence[Row], tools: Sequence[Row]) -> Reply:
    """Answer OpenAI-format messages by the first matching rule."""
    names = [str(tool.get("function", {}).get("name")) for tool in tools]
    if DECIDING in names:
        seen = ("\n".join(content_text(one) for one in messages if one.get("role") == role) for role in _ROLES)
        return Reply(tool_calls=(Call(*decide_by_rules(*seen)),))
    broken = _find_broken(messages)
    talk = read_talk(messages[: len(messages) - (0 if broken is None else 2 if broken else 1)], names)
    reply = next((reply for rule in RULES if (reply := rule(talk)) is not None), None) or _without_rule(talk)
    text = reply.text.removeprefix(broken or "")
    return replace(reply, text=text, tool_calls=tuple(translate_act(call, names) for call in reply.tool_calls))


def _find_broken(messages: Sequence[Row]) -> str | None:
    """Return the text of the answer to go on with, "" when it has none; None when nothing is to go on."""
    if not messages or messages[-1].get("role") != "user" or not content_text(messages[-1]).startswith(GO_ON):
        return None
    broken = messages[-2] if len(messages) > 1 else {}
    is_answer = broken.get("role") == "assistant" and not broken.get("tool_calls")
    return content_text(broken) if is_answer else ""


def do_task(talk: Talk) -> Reply | None:
    """Answer a task: extraction, reflection, critique, title or summary."""
    return next((Reply(answer(talk.text)) for task, answer in _TASKS.items() if talk.task.startswith(task)), None)


def report_results(talk: Talk) -> Reply | None:
    """Report memory writes, then answer the remaining questions."""
    if all(outcome.name in LOOKUPS or outcome.name in COACH_TOOLS for outcome in talk.results):
        return None
    asked = answer_as_coach(talk) or memory.answer_about_user(talk)
    if asked and asked.tool_calls:
        return asked
    parts = [*memory.format_report(talk.results, talk.names), memory.passing_note(talk), asked.text if asked else ""]
    return Reply("\n\n".join(part for part in parts if part))


def _without_rule(talk: Talk) -> Reply:
    looked = [memory.failure(outcome, talk.names) for outcome in talk.results if outcome.error]
    if not looked and any(outcome.name in LOOKUPS for outcome in talk.results):
        looked = ["I looked through what I know about you and found nothing for that."]
    return Reply("\n\n".join([*looked, NO_RULE, suggest(talk.text, talk.acts)]))


_TASKS: Final[dict[str, Callable[[str], str]]] = {
    TASK: extraction_answer,
    REFLECTION: reflect_by_rules,
    # The findings of a review by rules are the reviewer's own: `trading.skills.lint`.
    CRITIQUE: lambda _: '{"summary": "Reviewed by rules, without a language model.", "findings": []}',
    TITLE_TASK: title_by_rules,
    SUMMARY_TASK: summarise_by_rules,
}
RULES: Final[tuple[Callable[[Talk], Reply | None], ...]] = (
    do_task,
    report_results,
    memory.answer_conflict,
    memory.change_named_fact,
    memory.change_memory,
    answer_as_coach,
    memory.answer_about_user,
    make_small_talk,
)


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
