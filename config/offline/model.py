"""The rule-based model, which needs no provider.

It is honest and useful: it says what it is, calls the same tools through the same loop, answers from their
results and from the facts in its prompt, and says plainly when it has no rule. Pure: the same messages and
tools give the same reply.

How an answer is made:

1. A tick of a trading agent, known by its tools, is decided apart (`tasks.trading`).
2. The messages are read into a Talk (`talk`): the user's words, the facts in view and what the tools said (`adapters`,
   `facts`), the focus, the tier and the clock (`scene`).
3. The rules look at it in the order of RULES, and the first that has something to say answers. `tasks` is for what is
   no chat, known by the first line of its system text; `memory.changes` writes facts; `coach.message` answers and
   drafts sentence by sentence; `memory.questions` tells what is known; small talk (`phrases`) is the rest. They share
   how words are read (`reading`) and how things are said (`figures`).
4. A rule speaks of acts; `adapters` turns them into calls of the tools that the chat has.

To teach it something: write a rule (a function from Talk to Reply or None) and name it in RULES.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from chat.parts import split_preamble
from chat.prompt.texts import GO_ON, SUMMARY_TASK, TITLE_TASK
from config.offline.adapters import COACH_TOOLS, LOOKUPS, acts_of, read_acts, read_memory, read_opening, translate_act
from config.offline.coach.questions import answer_as_coach
from config.offline.facts import content_text
from config.offline.figures import Row
from config.offline.memory.questions import answer_about_user
from config.offline.memory.report import failure, format_report
from config.offline.memory.rules import (
    act_on_choice,
    answer_conflict,
    asked_about,
    change_memory,
    change_named_fact,
    passing_note,
)
from config.offline.phrases import NO_RULE, make_small_talk, suggest
from config.offline.scene import read_scene
from config.offline.talk import Reply, Talk
from config.offline.tasks.critique import critique_answer
from config.offline.tasks.extraction import extraction_answer
from config.offline.tasks.reflection import reflection_answer
from config.offline.tasks.titles import summary_answer, title_answer
from config.offline.tasks.trading import DECIDING, trading_call
from memory.learning.prompts import TASK
from trading.agent.prompts import CRITIQUE, REFLECTION


def decide(messages: Sequence[Row], tools: Sequence[Row]) -> Reply:
    """Answer OpenAI-format messages by the first matching rule."""
    names = [str(tool.get("function", {}).get("name")) for tool in tools]
    if DECIDING in names:
        return Reply(tool_calls=(trading_call(messages),))
    preambles = [split_preamble(content_text(message))[0] for message in messages if message.get("role") == "user"]
    told, rest_of = _without_go_on([_without_preamble(message) for message in messages])
    talk = _read_talk(told, names, preambles)
    reply = next((reply for rule in RULES if (reply := rule(talk)) is not None), None) or _without_rule(talk)
    if rest_of and reply.text.startswith(rest_of):
        reply = replace(reply, text=reply.text.removeprefix(rest_of))
    return replace(reply, tool_calls=tuple(translate_act(call, names) for call in reply.tool_calls))


def _without_go_on(messages: Sequence[Row]) -> tuple[Sequence[Row], str]:
    """Return the messages before an interrupted answer, and its text."""
    if not messages or messages[-1].get("role") != "user" or not content_text(messages[-1]).startswith(GO_ON):
        return messages, ""
    broken = messages[-2] if len(messages) > 1 and messages[-2].get("role") == "assistant" else None
    if broken is None or broken.get("tool_calls"):
        return messages[:-1], ""
    return messages[:-2], content_text(broken)


def _without_preamble(message: Row) -> Row:
    if message.get("role") != "user":
        return message
    return {**message, "content": split_preamble(content_text(message))[1]}


def _read_talk(messages: Sequence[Row], tools: Sequence[str], preambles: Sequence[str]) -> Talk:
    at = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    said = [content_text(message) for message in messages[: max(at, 0)] if message.get("role") == "assistant"]
    before = next((text for text in reversed(said) if text), "")
    memory = read_memory(messages)
    text = content_text(messages[at]) if at >= 0 else ""
    about = read_opening(preambles[-1]) if preambles else None
    return Talk(
        text=text.strip(),
        before=before,
        acts=acts_of(tools),
        known=memory.facts,
        places=memory.places,
        about=about or asked_about(before, memory.facts),
        results=read_acts(messages[at + 1 :]),
        earlier=read_acts(messages[: at + 1]),
        task=content_text(messages[0]) if messages and messages[0].get("role") == "system" else "",
        scene=read_scene((content_text(message) for message in messages if message.get("role") == "system"), preambles),
    )


def do_task(talk: Talk) -> Reply | None:
    """Answer a task: extraction, reflection, critique, title or summary."""
    return next((Reply(answer(talk.text)) for task, answer in _TASKS if talk.task.startswith(task)), None)


_TASKS: tuple[tuple[str, Callable[[str], str]], ...] = (
    (TASK, extraction_answer),
    (REFLECTION, reflection_answer),
    (CRITIQUE, critique_answer),
    (TITLE_TASK, title_answer),
    (SUMMARY_TASK, summary_answer),
)


def report_results(talk: Talk) -> Reply | None:
    """Report memory writes, then answer the remaining questions."""
    if all(outcome.name in LOOKUPS or outcome.name in COACH_TOOLS for outcome in talk.results):
        return None
    asked = answer_as_coach(talk) or answer_about_user(talk)
    if asked and asked.tool_calls:
        return asked
    parts = [*format_report(talk.results, talk.names), passing_note(talk), asked.text if asked else ""]
    return Reply("\n\n".join(part for part in parts if part))


RULES: tuple[Callable[[Talk], Reply | None], ...] = (
    do_task,
    report_results,
    act_on_choice,
    answer_conflict,
    change_named_fact,
    change_memory,
    answer_as_coach,
    answer_about_user,
    make_small_talk,
)


def _without_rule(talk: Talk) -> Reply:
    looked = [failure(outcome, talk.names) for outcome in talk.results if outcome.error]
    if not looked and any(outcome.name in LOOKUPS for outcome in talk.results):
        looked = ["I looked through what I know about you and found nothing for that."]
    return Reply("\n\n".join([*looked, NO_RULE, suggest(talk.text, talk.acts)]))
