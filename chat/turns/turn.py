"""One message in, events out: the loop of model and tools.

The user's message is committed before a model is called; no model, tool or wait happens inside a
transaction; what was said is saved at least every second, and whatever ends the turn, the reply is closed with it.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, Final

from django.conf import settings

from chat.conversations.summaries import summarise_older
from chat.conversations.titles import write_title
from chat.models import MessageStatus
from chat.parts import INTERRUPTED, Json, Reply, model_messages, said_tokens
from chat.prompt.receipts import request_messages
from chat.tools import tools_by_name
from chat.tools.base import TOOL_FAILED, ModelWindow, Tool, ToolContext
from chat.turns import events, saving
from chat.turns.pump import Pump
from chat.turns.replies import shield_reply
from chat.turns.saving import ReplySaver, read_clock
from chat.turns.start import TurnStart
from config.lib.llm import door
from config.lib.llm.door import Chunk, LLMUnavailable, ToolCall, Usage
from config.lib.llm.tokens import CHARS_PER_TOKEN
from config.lib.text import clean_text
from config.lib.threads import run_in_tool_thread
from config.lib.words.lexer import find_phrase, read_tokens, skip_phrases
from config.lib.words.sentences import sentences
from memory.claims.sentences import read_request
from memory.claims.wishes import list_wishes

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1 / 30  # text goes out at most that often
TOOL_SECONDS: Final = 30.0
STOP_SECONDS: Final = 2.0  # a tool that works when the user stops may still finish: what it wrote is then shown
FORCED_SECONDS: Final = 20.0  # for the one call that follows an answer to "remember that ..."
SILENT_SECONDS: Final = 20.0  # until the user is told that a model thinks, or reads a long prompt on a slow machine
MAX_CALLS_PER_STEP: Final = 16
MAX_REPLY: Final = 64_000  # characters

TOO_LONG: Final = "The answer was cut off: it had grown longer than a reply may be."
SILENT: Final = "The model is still working and has not written yet. Keel waits up to {seconds} seconds for it."
EMPTY_ANSWER: Final = "The model gave an empty answer. Retry, or say it differently."
TOOK_TOO_LONG: Final = "This answer took too long and was ended. What was said is kept; retry to ask again."
BROKE: Final = "Something went wrong on our side. What was said is kept; retry to ask again."
NOT_SAVED: Final = "The end of this answer could not be saved: the database did not answer. Retry to ask again."

NOT_SAVED_FACT: Final = "You asked to have this remembered, and the model did not do it. You can save it yourself."
NOT_FORGOTTEN: Final = (
    "You asked to have something forgotten, and the model did not do it. Nothing was changed; do it yourself on the"
    " page of facts, or say it again."
)

DO_IT: Final = (
    "[Not typed by the person: they asked outright to have something remembered or forgotten, and no memory tool was"
    " called. Call it now, for what they typed in their last message.]"
)

_NOTICES: Final = {
    "unmade_call": "The model wrote a tool call that Keel could not run. It is left out.",
    "length": "The answer was cut off at the model's limit.",
    "content_filter": "The provider of the model cut this answer off.",
}


_QUOTED: Final = re.compile(r"[\"“][^\"”“\n]*[\"”]")


class Control:
    """The handle that stops a turn."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.is_stopped = False
        self.stop_error = ""
        self.reply_tokens = 0  # estimated: what the reply takes in the prompts that follow, once its turn has ended

    def stop(self, error: str = "") -> None:
        """End the turn soon; `error` is the reason unless the user stopped it."""
        self.is_stopped = True
        self.stop_error = error
        self.news.set()


class _Turn:
    def __init__(self, start: TurnStart, control: Control) -> None:
        self.start = start
        self.control = control
        self.reply = Reply()
        self.model = ""
        self.usage: Usage | None = None
        self.is_cut = False  # the reply reached its greatest length
        self.tools: dict[str, Tool[Any]] = tools_by_name(start.assistant)
        earlier = _list_sources(start.sent.messages, self.tools) if start.is_untrusted else set()
        self.window = ModelWindow(is_untrusted=start.is_untrusted, sources=earlier)
        self.context = ToolContext(
            user_id=start.user_id,
            now=start.now,
            conversation_id=start.conversation_id,
            message_id=start.message_id,
            is_temporary=start.is_temporary,
            opening=start.opening,
            window=self.window,
        )
        self.schemas = [tool.schema for tool in self.tools.values()]
        self.messages: list[Json] = request_messages(start.sent.segments, start.sent.messages)
        self.models = [settings.CHAT_AGENT_MODEL, *settings.CHAT_FALLBACK_MODELS]
        self._marked = -1  # the newest message of the last call, which the provider's cache ends with
        self._has_said_all = False  # the model ended its answer itself
        self._has_counted = True  # what the provider was last asked is part of the usage
        self._began_at = time.monotonic()
        self.saver = ReplySaver(start, self.reply, self.window, self.schemas, self.models, control.stop)

    @property
    def seconds_left(self) -> float:
        return settings.TURN_TIMEOUT_SECONDS - (time.monotonic() - self._began_at)

    @property
    def has_ended(self) -> bool:
        return self.control.is_stopped or self.is_cut

    async def run(self) -> AsyncGenerator[events.TurnEvent, None]:
        """Run the turn, then a memory act that the model omitted."""
        async with aclosing(self._run_steps()) as steps:
            async for event in steps:
                yield event
        if self._has_said_all and not self.has_ended and (tool := self._owed_tool()) is not None:
            async for event in self._force_tool(tool):
                yield event

    async def _run_steps(self) -> AsyncGenerator[events.TurnEvent, None]:
        """Alternate model and tools until the answer ends."""
        for step in range(settings.TURN_MAX_STEPS):
            self.reply.step = step
            pump = Pump(self._open_stream(), self.control.news)
            try:
                async with aclosing(self._pass_on_text(pump)) as texts:
                    async for event in texts:
                        yield event
                if self.has_ended:
                    return
                await pump.task  # raises what the provider raised
            except LLMUnavailable as problem:
                # Some models add no text after a tool call; the call's effect remains.
                if problem.kind != "empty" or not self.reply.parts:
                    raise
                return
            finally:
                await pump.close()
            self._note_usage(pump.last)
            if notice := _NOTICES.get(pump.last.finish_reason or ""):
                yield events.Noticed(notice, "warn")
            if not pump.last.tool_calls:
                self._has_said_all = True
                return
            async for event in self._call_tools(pump.last.tool_calls):
                yield event
            if self.control.is_stopped:
                return
        yield events.Noticed(f"Keel stopped after {settings.TURN_MAX_STEPS} steps. Say “go on” to continue.", "warn")

    def _open_stream(self) -> AsyncGenerator[Chunk, None]:
        self._has_counted = False
        marked = {self._marked, len(self.messages) - 1}
        self._marked = len(self.messages) - 1
        # The last message, and the one that was last in the call before, from whose cache entry this call reads.
        messages = [{**said, "cache": True} if at in marked else said for at, said in enumerate(self.messages)]
        return door.stream(
            messages,
            models=self.models,
            tools=self.schemas,
            effort=settings.CHAT_REASONING_EFFORT,
            accepts=lambda name, arguments: name in self.tools and self.tools[name].accepts(arguments),
        )

    async def _force_tool(self, tool: Tool[Any]) -> AsyncGenerator[events.TurnEvent, None]:
        undone = events.Noticed(NOT_FORGOTTEN, "warn")
        if "remember" in tool.acts:  # the user may save it themselves
            undone = events.Noticed(NOT_SAVED_FACT, "warn", fact=read_request(self.start.text))
        messages = [*self.messages, {"role": "assistant", "content": self.reply.text or "…"}]
        messages.append({"role": "user", "content": DO_IT})
        choice = {"type": "function", "function": {"name": tool.name}}
        try:
            async with asyncio.timeout(min(FORCED_SECONDS, max(self.seconds_left, 0))):
                # All tools, as before: the provider then reads the prompt from its cache.
                answer = await door.complete(messages, models=self.models, tools=self.schemas, tool_choice=choice)
        except (LLMUnavailable, TimeoutError):
            logger.warning("Reply %s: what the user asked to remember or forget was not", self.start.reply_id)
            yield undone
            return
        self._note_usage(Chunk(usage=answer.usage, model=answer.model))
        self.reply.step += 1
        async for event in self._call_tools([call for call in answer.tool_calls if call.name == tool.name]):
            # A call that failed is no business of the user's: they asked for no tool.
            if isinstance(event, events.MemoryWritten):
                yield event
        failed = {"step": self.reply.step, "kind": "tool", "status": "error"}
        self.reply.parts = [part for part in self.reply.parts if not failed.items() <= part.items()]
        if not any(part["step"] == self.reply.step for part in self.reply.parts):
            yield undone

    def _owed_tool(self) -> Tool[Any] | None:
        writers = [tool for tool in self.tools.values() if tool.acts]
        called = {part.get("name") for part in self.reply.parts}
        if self.start.is_temporary or any(tool.name in called for tool in writers):
            return None
        acts = find_requested_acts(self.start.text)
        return next((tool for tool in writers if tool.acts & acts), None)

    async def _pass_on_text(self, pump: Pump) -> AsyncGenerator[events.TurnEvent, None]:
        """Pass on text 30 times a second; save it every second."""
        heard_at, passed_on_at, has_told = time.monotonic(), 0.0, False
        while True:
            # Looked up before taking: what comes after the look is taken in the next round.
            ended = pump.task.done()
            came, room = pump.take_text(), MAX_REPLY - self.reply.length
            if text := clean_text(came[:room]):
                self.reply.add_text(text)
                yield events.TextAdded(text)
                self.saver.begin_receipt()
                heard_at = passed_on_at = time.monotonic()
            elif not has_told and time.monotonic() - heard_at > SILENT_SECONDS:
                has_told = True
                yield events.Noticed(SILENT.format(seconds=settings.LLM_READ_TIMEOUT_SECONDS), "info")
            if len(came) > room:
                self.is_cut = True
                yield events.Noticed(TOO_LONG, "warn")
            if ended or self.has_ended:
                return
            if self.seconds_left <= 0:
                raise TimeoutError
            self.saver.save_if_due()
            await self._wait_for_news()
            if (early := passed_on_at + FLUSH_SECONDS - time.monotonic()) > 0:
                await asyncio.wait({pump.task}, timeout=early)

    async def _wait_for_news(self) -> None:
        try:
            # Wakes to save even when nothing comes: a silent turn must show that it lives.
            async with asyncio.timeout(saving.SAVE_SECONDS):
                await self.control.news.wait()
        except TimeoutError:
            return
        if not self.control.is_stopped:
            self.control.news.clear()

    def _note_usage(self, last: Chunk) -> None:
        self.model = last.model or self.model
        if last.usage is not None:
            self._has_counted = True
            self.usage = last.usage if self.usage is None else self.usage.plus(last.usage)

    async def _call_tools(self, calls: Sequence[ToolCall]) -> AsyncGenerator[events.TurnEvent, None]:
        results: list[Json] = []
        for number, call in enumerate(calls):
            if self.control.is_stopped:
                return
            part = self.reply.start_tool(call)
            yield events.CallStarted(part)
            if number < MAX_CALLS_PER_STEP:
                result = await self._run_tool(call)
            else:
                result = {"error": f"Too many calls at once; at most {MAX_CALLS_PER_STEP}. This one did not run."}
            self.reply.finish_tool(part, result)
            results.append(result)
            yield events.CallFinished(part)
            if "memoryEvent" in result:
                yield events.MemoryWritten(self.reply.add_memory(result["memoryEvent"]))
            if "card_id" in result:
                yield events.CardDrawn(self.reply.add_card(result["card_id"]))
            self.saver.save_if_due()
        step = [part for part in self.reply.parts if part["step"] == self.reply.step]
        self.messages = [*self.messages, *model_messages(step)]

    async def _run_tool(self, call: ToolCall) -> Json:
        tool = self.tools.get(call.name)
        if tool is None:
            return {"error": f"There is no tool of that name. There are: {', '.join(self.tools)}."}
        task = asyncio.create_task(run_in_tool_thread(tool.call, self.context, call.arguments))
        end = time.monotonic() + min(TOOL_SECONDS, self.seconds_left)
        while not task.done() and (left := end - time.monotonic()) > 0:
            # In slices: the turn goes on showing that it lives while a tool works.
            await asyncio.wait({task}, timeout=min(saving.SAVE_SECONDS, left))
            self.saver.save_if_due()
            if self.control.is_stopped:
                end = min(end, time.monotonic() + STOP_SECONDS)
        if task.done():
            # Before the next call of the same step: the model may call several at once.
            self.window.note(tool.label, is_untrusted=tool.brings_untrusted(task.result()))
            return task.result()
        # A thread cannot be cancelled, but a call that still waits for one will not run any more.
        task.cancel()
        if self.control.is_stopped:
            return {"error": INTERRUPTED}
        logger.error("Tool %s took over %.0f s", call.name, TOOL_SECONDS)
        if self.seconds_left <= 0:
            raise TimeoutError
        return {"error": TOOL_FAILED}

    def usage_dict(self) -> Json | None:
        """Return the usage of all calls of the turn."""
        if not self._has_counted and self.reply.parts:
            said = sum(len(part.get("text", "")) for part in self.reply.parts if part["step"] == self.reply.step)
            self._note_usage(Chunk(usage=Usage(said_tokens(self.messages), said // CHARS_PER_TOKEN, estimated=True)))
        return asdict(self.usage) if self.usage else None


def _list_sources(messages: Iterable[Mapping[str, Any]], tools: Mapping[str, Tool[Any]]) -> set[str]:
    """Return the labels of the tools whose results in earlier messages hold text of others."""
    names: dict[str, str] = {}
    sources = set()
    for said in messages:
        names |= {call["id"]: call["function"]["name"] for call in said.get("tool_calls", ())}
        tool = tools.get(names.get(said["tool_call_id"], "")) if said["role"] == "tool" else None
        if tool is not None and tool.brings_untrusted(json.loads(said["content"])):
            sources.add(tool.label)
    return sources


def find_requested_acts(text: str) -> frozenset[str]:
    """Return the memory acts that a message asks for outright: `remember`, `forget`, both or neither.

    Precision goes before recall: it decides over one forced call of a memory tool, for a model that only said it would.
    """
    plain = _QUOTED.sub("", text)  # a quotation asks for nothing
    return frozenset(act for sentence in sentences(plain) if (act := _find_act(sentence)))


def _find_act(sentence: str) -> str:
    if wishes := list_wishes(sentence):
        return "" if wishes[0].casefold().startswith("it") else "forget"  # "Forget it" drops the subject
    wish = skip_phrases(sentence, "WISHING")
    tokens = read_tokens(wish)
    length, meaning = find_phrase(tokens, 0, ("REMEMBER",)) or (0, None)
    is_request = not sentence.endswith("?") or wish != sentence  # "can you remember that ...?" expresses no doubt
    return "remember" if meaning and not meaning.value and is_request and len(tokens) > length else ""


async def tidy_up(start: TurnStart, control: Control) -> tuple[str | None, bool]:
    """Write title and summary; return the title and whether it summarised.

    A title follows the first exchange, a summary a chat that has outgrown its room; most turns need neither, and for
    those nothing is read. `control` is the one of the turn, which has ended.
    """
    title = summary = None
    if len(start.sent.message_ids) == 1:
        title = await write_title(start.conversation_id, user_id=start.user_id, clock=read_clock)
    if start.room_left < control.reply_tokens:
        summary = await summarise_older(start.conversation_id, user_id=start.user_id, room=start.room, clock=read_clock)
    return title, summary is not None


async def run_turn(start: TurnStart, control: Control) -> AsyncGenerator[events.TurnEvent, None]:
    """Yield a message's events, the last a TurnDone or TurnFailed.

    Never raises for what a model, a tool or the database does. It knows no socket: it runs to its end, or until
    `control.stop()`, whoever listens.
    """
    with shield_reply(start.reply_id):
        turn = _Turn(start, control)
        error = ""
        try:
            async with aclosing(turn.run()) as steps:
                async for event in steps:
                    yield event
            if not turn.reply.parts and not control.is_stopped:
                error = EMPTY_ANSWER
        except LLMUnavailable as problem:
            error = str(problem)
        except TimeoutError:
            error = TOOK_TOO_LONG
        except Exception:
            logger.exception("Turn failed in conversation %s", start.conversation_id)
            error = BROKE
        status = MessageStatus.INTERRUPTED if control.is_stopped else MessageStatus.COMPLETE
        if error and not control.stop_error:
            status = MessageStatus.FAILED
        error = error or control.stop_error
        is_saved = await turn.saver.finish_reply(status, error, model=turn.model, usage=turn.usage_dict())
        control.reply_tokens = said_tokens(model_messages(turn.reply.parts))
        if error or not is_saved:
            yield events.TurnFailed(error or NOT_SAVED)
        else:
            yield events.TurnDone(status, turn.usage_dict())
