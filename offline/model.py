"""The rule-based model, which needs no provider.

It says what it is, calls the same tools through the same loop, answers from their results and from the facts in its
prompt, and says plainly when it has no rule. Pure: the same messages and tools give the same reply.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from django.conf import settings

from chat.prompt.by_rules import summarise_by_rules, title_by_rules
from chat.prompt.texts import GO_ON, SUMMARY_TASK, TITLE_TASK
from config.lib.llm.answer import Piece, Usage
from config.lib.llm.requests import ModelRequest
from config.lib.llm.tokens import estimate_tokens
from config.lib.text import normal_form, one_line
from config.lib.words.clauses import read_rows
from memory.learning.prompts import TASK
from memory.wording import find_category
from offline import memory
from offline.messages import (
    COACH_TOOLS,
    LOOKUPS,
    Call,
    FactLine,
    content_text,
    content_words,
    parse_json,
    translate_act,
)
from offline.questions import answer_as_coach
from offline.requests import MemoryRequest, memory_requests
from offline.talk import ModelReply, Talk, read_talk
from offline.telling import FORMS, SAYS, TEXTS, Row, exact, listing, paragraphs
from trading.agent.by_rules import DECIDING, decide_by_rules
from trading.agent.prompts import CRITIQUE, REFLECTION
from trading.reviews.by_rules import reflect_by_rules

NO_RULE: Final = "I have no rule for what you just wrote: I work by rules, not with a language model."
_ABLE: Final = {
    act: (what, said.split(" / "))
    for act, (what, said) in ((act, row.split(": ")) for act, row in read_rows(TEXTS["abilities"]).items())
}
_LONGEST_SUMMARY: Final = 600  # characters, of an extraction
_WORD: Final = re.compile(r"\s*\S+\s?|\s+")


def decide(messages: Sequence[Row], tools: Sequence[Row]) -> ModelReply:
    """Answer OpenAI-format messages by the first matching rule."""
    names = [str(tool.get("function", {}).get("name")) for tool in tools]
    if DECIDING in names:
        seen = ("\n".join(content_text(m) for m in messages if m.get("role") == role) for role in ("system", "user"))
        return ModelReply(tool_calls=(Call(*decide_by_rules(*seen)),))
    broken = _find_broken(messages)
    talk = read_talk(messages[: len(messages) - (0 if broken is None else 2 if broken else 1)], names)
    task = next((task for task in _TASKS if talk.task.startswith(task)), "")
    reply = ModelReply(_TASKS[task](talk.text)) if task else _follow_rules(talk)
    text = reply.text.removeprefix(broken or "")
    return replace(reply, text=text, tool_calls=tuple(translate_act(call, names) for call in reply.tool_calls))


def _find_broken(messages: Sequence[Row]) -> str | None:
    """Return the text of the answer to go on with, "" when it has none; None when nothing is to go on."""
    if not messages or messages[-1].get("role") != "user" or not content_text(messages[-1]).startswith(GO_ON):
        return None
    broken = messages[-2] if len(messages) > 1 else {}
    is_answer = broken.get("role") == "assistant" and not broken.get("tool_calls")
    return content_text(broken) if is_answer else ""


def report_results(talk: Talk) -> ModelReply | None:
    """Report memory writes, then answer the remaining questions."""
    if all(outcome.name in LOOKUPS or outcome.name in COACH_TOOLS for outcome in talk.results):
        return None
    asked = answer_as_coach(talk) or memory.answer_about_user(talk)
    if asked and asked.tool_calls:
        return asked
    parts = [*memory.format_report(talk.results, talk.names), memory.passing_note(talk), asked.text if asked else ""]
    return ModelReply("\n\n".join(part for part in parts if part))


def _follow_rules(talk: Talk) -> ModelReply:
    if reply := next((reply for rule in RULES if (reply := rule(talk)) is not None), None):
        return reply
    looked = [memory.failure(outcome, talk.names) for outcome in talk.results if outcome.error]
    if not looked and any(outcome.name in LOOKUPS for outcome in talk.results):
        looked = ["I looked through what I know about you and found nothing for that."]
    return ModelReply("\n\n".join([*looked, NO_RULE, suggest(talk.text, talk.acts)]))


def make_small_talk(talk: Talk) -> ModelReply | None:
    """Answer greetings, thanks and questions about the model itself."""
    said, brief = FORMS["about Keel"].read(talk.text), FORMS["small talk"].read(talk.text)
    if "what" in said or "help" in said:
        return ModelReply(paragraphs(_list_abilities(talk.acts), f"{SAYS['what I am']} {SAYS['real model']}"))
    if len(talk.text.split()) > 6:
        return None
    if "greeting" in said:
        return ModelReply(f"Hello. {SAYS['what I am']} {suggest('', talk.acts)}")
    return next((ModelReply(answer) for answer in FORMS["small talk"].rows if answer in brief), None)


def suggest(text: str, acts: Collection[str]) -> str:
    """Offer three questions that can be answered, the ones nearest to a text."""
    open_to = {"any", *acts} - {"remember", "forget", "confirm", "prepare_action"}  # they are no questions
    able = [question for act, (_, questions) in _ABLE.items() if act in open_to for question in questions]
    wanted = content_words(text)
    first, *others = sorted(able, key=lambda question: -len(wanted & content_words(question)))[:3]
    return f"Try {', '.join(f'“{one}”' for one in [first, *others[:-1]])} or “{others[-1]}”."


def _list_abilities(acts: Collection[str]) -> str:
    """List the model's abilities, with examples for this assistant."""
    told = [
        f"**{what}**: {', '.join(f'“{one}”' for one in questions[:2])}"
        for act, (what, questions) in _ABLE.items()
        if act in {"any", *acts}
    ]
    told += [] if acts else ["I can **save nothing** here: this chat has no tool for it"]
    page = f"You see and edit all that I know of you on your {memory.FACTS_PAGE}."
    return paragraphs("Here is what I can do:", listing(told), page)


# --- Tasks ---


def answer_extraction(request: str) -> str:
    """Return the extraction's JSON: facts of the user's turns."""
    known = {str(row.get("id")): row for row in _read_lines(request, "known_facts", dict)}
    turns = [turn for turn in _read_lines(request, "transcript", dict) if exact(turn, "text")]
    typed = [(turns[at - 1 : at], turn) for at, turn in enumerate(turns) if turn.get("role") == "user"]
    facts: dict[str, dict[str, Any]] = {}  # by their words: later ones win
    for before, turn in typed:
        replaced = {fact["target_id"] for fact in facts.values()}
        rows = [{**row, "id": key} for key, row in known.items() if key not in replaced]
        standing = [FactLine(exact(row, "content"), exact(row, "topic"), id=row["id"]) for row in rows]
        standing += [FactLine(fact["content"], fact["topic"]) for fact in facts.values()]
        for asked in memory_requests(turn["text"], standing, "\n".join(exact(one, "text") for one in before)):
            # What was known is forgotten by the chat's tools alone.
            old = facts.pop(normal_form(exact(asked.arguments, "fact_id")), {})
            if "fact" in asked.arguments:
                facts[normal_form(asked.arguments["fact"])] = _build_fact(asked, turn, known, old)
    told = [f"Person: {one_line(turn['text'])}" for _, turn in typed]
    summaries = [
        *_read_lines(request, "earlier_summary", str),
        *([summarise_by_rules("\n".join(told))] if told else []),
    ]
    summary = "\n".join(summaries)[-_LONGEST_SUMMARY:]
    return json.dumps({"summary": summary, "facts": [*facts.values()]}, ensure_ascii=False)


def _read_lines(request: str, tag: str, kind: type[Any]) -> list[Any]:
    """Return the values of a type in a section, which has a line of JSON for each."""
    match = re.search(rf"^<{tag}>\n(.*?)^</{tag}>", request, re.MULTILINE | re.DOTALL)
    # Not by splitlines: a line of JSON may hold other characters that end lines.
    return [value for value in map(parse_json, match[1].split("\n") if match else ()) if isinstance(value, kind)]


def _build_fact(asked: MemoryRequest, turn: Row, known: Mapping[str, Row], before: Row) -> dict[str, Any]:
    text, topic = str(asked.arguments["fact"]), str(asked.arguments.get("topic", ""))
    same = next((key for key, row in known.items() if normal_form(exact(row, "content")) == normal_form(text)), None)
    meant = asked.arguments.get("fact_id")
    target = same or (meant if meant in known else before.get("target_id"))
    op = "skip" if same else "update" if target else "add"
    at = turn["text"].lower().find(text.lower())
    return {
        "op": op,
        "target_id": target,
        "category": find_category(topic, text),
        "topic": topic,
        "content": text,
        "confidence": 0.9 if asked.arguments.get("confidence") == "asserted" else 0.5,
        "conflicts_with": target if op == "update" and known.get(str(target), {}).get("explicit") is True else None,
        "quotes": [{"message_id": turn.get("id"), "text": turn["text"][at : at + len(text)]}] if at >= 0 else [],
    }


_TASKS: Final[dict[str, Callable[[str], str]]] = {
    TASK: answer_extraction,
    REFLECTION: reflect_by_rules,
    # The findings of a review by rules are the reviewer's own: `trading.skills.lint`.
    CRITIQUE: lambda _: '{"summary": "Reviewed by rules, without a language model.", "findings": []}',
    TITLE_TASK: title_by_rules,
    SUMMARY_TASK: summarise_by_rules,
}
RULES: Final[tuple[Callable[[Talk], ModelReply | None], ...]] = (
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

    def answer(self, model: str, request: ModelRequest) -> Piece:
        """Return the whole answer."""
        reply = decide(request.messages, request.tools)
        return _last_piece(request, reply, text=reply.text)

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer word by word, slowly enough to be read."""
        reply = decide(request.messages, request.tools)
        for word in _WORD.findall(reply.text):
            await asyncio.sleep(settings.OFFLINE_DELAY_SECONDS)
            yield Piece(content=word)
        yield _last_piece(request, reply)


def _last_piece(request: ModelRequest, reply: ModelReply, *, text: str = "") -> Piece:
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
