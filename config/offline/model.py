"""The rule-based model, which needs no provider.

It says what it is, calls the same tools through the same loop, answers from their results and from the facts in its
prompt, and says plainly when it has no rule. Pure: the same messages and tools give the same reply.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from chat.parts import split_preamble
from chat.prompt.by_rules import summarise_by_rules, title_by_rules
from chat.prompt.texts import GO_ON, SUMMARY_TASK, TITLE_TASK
from config.offline import memory
from config.offline.extraction import extraction_answer
from config.offline.messages import (
    COACH_TOOLS,
    LOOKUPS,
    Call,
    acts_of,
    content_text,
    read_acts,
    read_memory,
    read_opening,
    translate_act,
)
from config.offline.phrases import NO_RULE, make_small_talk, suggest
from config.offline.questions import answer_as_coach
from config.offline.talk import Reply, Talk, read_scene
from config.offline.telling import Row
from memory.learning.prompts import TASK
from trading.agent.by_rules import DECIDING, decide_by_rules
from trading.agent.prompts import CRITIQUE, REFLECTION
from trading.reviews.by_rules import reflect_by_rules

_ROLES: Final = ("system", "user")


def decide(messages: Sequence[Row], tools: Sequence[Row]) -> Reply:
    """Answer OpenAI-format messages by the first matching rule."""
    names = [str(tool.get("function", {}).get("name")) for tool in tools]
    if DECIDING in names:
        seen = ("\n".join(content_text(one) for one in messages if one.get("role") == role) for role in _ROLES)
        return Reply(tool_calls=(Call(*decide_by_rules(*seen)),))
    broken = _find_broken(messages)
    talk = _read_talk(messages[: len(messages) - (0 if broken is None else 2 if broken else 1)], names)
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


def _read_talk(messages: Sequence[Row], tools: Sequence[str]) -> Talk:
    users = [i for i, message in enumerate(messages) if message.get("role") == "user"]
    split = {i: split_preamble(content_text(messages[i])) for i in users}
    preambles = [preamble for preamble, _ in split.values()]
    at = users[-1] if users else -1
    said = [content_text(message) for message in messages[: max(at, 0)] if message.get("role") == "assistant"]
    before = next((text for text in reversed(said) if text), "")
    systems = [content_text(message) for message in messages if message.get("role") == "system"]
    return Talk(
        text=split[at][1].strip() if users else "",
        before=before,
        acts=acts_of(tools),
        known=read_memory(messages),
        about=read_opening(preambles[-1]) if preambles else None,
        results=read_acts(messages[at + 1 :]),
        earlier=read_acts(messages[: at + 1]),
        task=systems[0] if systems and messages[0].get("role") == "system" else "",
        scene=read_scene(systems, preambles),
    )


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
