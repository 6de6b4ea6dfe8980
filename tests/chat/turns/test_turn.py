import asyncio
import json
import time
from contextlib import aclosing
from itertools import pairwise

import pytest
from django.utils import timezone

from chat.conversations.services import start_conversation
from chat.models import MessageStatus, Role
from chat.tools.base import ToolContext
from chat.turns import saving, turn
from chat.turns.events import CallFinished, CallStarted, MemoryWritten, Noticed, TextAdded, TurnDone
from chat.turns.replies import RESTARTED
from chat.turns.turn import NOT_SAVED_FACT, Control, run_turn
from config.lib.owned import owned_tx
from config.lib.threads import run_in_thread
from tests.chat.talk import Talk, answer, as_typed, until
from tests.chat.tools.binding import bind_tools
from tests.factories.memory import believed
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)

REMEMBER = {"fact": "Never trades alts", "topic": "symbols", "confidence": "asserted"}


@pytest.fixture
def quick_saves(monkeypatch):
    """Save, and look whether to stop, ten times as often."""
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.09)


async def test_turn_streams_stores_and_ends(model, talk):
    model.say("Hello ", "Ann.")

    result = await talk.ask("Hi")

    reply = await talk.reply()
    assert result.text == reply.content == "Hello Ann."
    assert (reply.role, reply.status, reply.error) == (Role.ASSISTANT, MessageStatus.COMPLETE, "")
    assert result.last == TurnDone("complete", reply.usage)
    assert reply.model == "scripted/model"
    assert reply.finished_at is not None
    assert reply.usage == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "cached_tokens": 0,
        "estimated": False,
        "cache_write_tokens": 0,
    }


async def test_turn_stores_the_figures_of_its_reply_with_their_sources(model, talk):
    model.say("You asked about 2 %; I say 7 %.")

    await talk.ask("Is 2 % fine?")

    [text] = (await talk.reply()).parts
    assert [(figure["text"], figure["source"]) for figure in text["figures"]] == [
        ("2 %", {"kind": "chat"}),
        ("7 %", None),
    ]


async def test_message_is_committed_before_the_model_is_called(model, talk):
    seen = []
    say = model.stream

    async def stream(*args):
        # Another connection sees committed rows only.
        seen.extend((row.role, row.status, row.content) for row in await talk.messages())
        async for chunk in say(*args):
            yield chunk

    model.stream = stream
    model.say("Hello.")

    await talk.ask("Buy the milk")

    assert seen == [("user", "complete", "Buy the milk"), ("assistant", "streaming", "")]


async def test_model_is_given_prompt_history_and_tools(model, talk):
    model.say("One.")
    model.say("Two.")

    await talk.ask("first")
    await talk.ask("second")

    request = model.requests[1]
    roles = [(message["role"], message["content"]) for message in as_typed(request["messages"][1:])]
    assert roles == [("user", "first"), ("assistant", "One."), ("user", "second")]
    assert "You are Keel" in request["messages"][0]["content"]
    assert "Today is " in request["messages"][0]["content"]
    assert "Current datetime: " in request["messages"][1]["content"]
    assert [tool["function"]["name"] for tool in request["tools"]] == list(
        bind_tools("coach", ToolContext(user_id=talk.user_id, now=timezone.now()))
    )


async def test_turns_of_a_chat_share_every_byte_up_to_the_newest_message(model, talk, time_machine):
    for _ in range(3):
        model.call("remember", REMEMBER, text="A moment.")
        model.call("list_my_skills", {})
        model.say("Noted.")

    time_machine.move_to("2026-06-01T12:00:00Z", tick=True)
    for minute, text in enumerate(["first", "second", "third"]):
        time_machine.move_to(f"2026-06-01T12:{minute:02}:00Z", tick=True)
        await talk.ask(text)

    sent = [json.dumps(request["messages"], ensure_ascii=False)[:-1] for request in model.requests]
    assert len(sent) == 9
    assert [later.startswith(earlier) for earlier, later in pairwise(sent)] == [True] * 8
    assert len({json.dumps(request["tools"]) for request in model.requests}) == 1


@pytest.mark.clock
async def test_text_goes_out_about_thirty_times_a_second(model, talk):
    words = [f"w{number} " for number in range(200)]
    model.say(*words, delay=0.003)
    moments = []

    began = time.monotonic()
    async with aclosing(run_turn(await talk.say(), Control())) as events:
        text = ""
        async for event in events:
            if isinstance(event, TextAdded):
                moments.append(time.monotonic() - began)
                text += event.text

    assert text == "".join(words)
    assert len(moments) <= moments[-1] * 30 + 2
    assert len(moments) >= 5


async def test_first_words_are_not_held_back(model, talk):
    gate = Gate()
    model.say("At once.", gate, " Later.")
    control = Control()

    async with aclosing(run_turn(await talk.say(), control)) as events:
        first = await asyncio.wait_for(anext(events), 5)
        gate.open()
        rest = [event async for event in events]

    assert first == TextAdded("At once.")
    assert rest[0] == TextAdded(" Later.")


@pytest.mark.clock
async def test_said_text_is_saved_within_a_second_while_the_model_is_silent(model, talk):
    gate = Gate()
    model.say("Half an answer", gate)
    running = asyncio.create_task(answer(await talk.say()))
    await until(gate.reached.is_set)
    said_at = time.monotonic()

    while (await talk.reply()).content != "Half an answer":
        assert time.monotonic() - said_at < 1.5, "the text was not saved"
        await asyncio.sleep(0.02)
    saved_after = time.monotonic() - said_at

    gate.open()
    await running
    assert saved_after < 1.25  # the promise is a second; the rest is what the test machine takes


async def test_partial_saves_are_clean_prefixes(model, talk, quick_saves):
    words = [f"word{number} " for number in range(60)]
    model.say(*words, delay=0.01)
    running = asyncio.create_task(answer(await talk.say()))
    seen = set()

    while not running.done():
        seen.add((await talk.reply()).content)
        await asyncio.sleep(0.01)

    whole = (await running).text
    assert len(seen) > 3
    assert all(whole.startswith(text) for text in seen)


async def test_heart_beats_while_the_model_is_silent(model, talk, quick_saves):
    gate = Gate()
    model.say(gate, "Finally.")
    running = asyncio.create_task(answer(await talk.say()))
    await until(gate.reached.is_set)

    beats = set()
    while len(beats) < 3:
        beats.add((await talk.reply()).heartbeat_at)
        await asyncio.sleep(0.02)

    gate.open()
    assert (await running).text == "Finally."


async def test_tool_runs_as_the_user_and_its_result_goes_back_to_the_model(model, talk):
    model.call("remember", REMEMBER, text="I will keep that. ")
    model.say("Done.")

    result = await talk.ask("I never trade alts")

    assert await talk.look(believed) == ["Never trades alts"]
    assert [type(event) for event in result.events] == [
        TextAdded,
        CallStarted,
        CallFinished,
        MemoryWritten,
        TextAdded,
        TurnDone,
    ]
    call, answered = model.requests[1]["messages"][-2:]
    assert call["content"] == "I will keep that."
    assert call["tool_calls"][0]["function"]["name"] == "remember"
    assert (answered["role"], answered["tool_call_id"]) == ("tool", call["tool_calls"][0]["id"])
    assert '"saved": "Never trades alts"' in answered["content"]
    assert (result.last.usage["prompt_tokens"], result.last.usage["completion_tokens"]) == (20, 10)
    reply = await talk.reply()
    assert [(part["kind"], part["step"]) for part in reply.parts] == [
        *(("text", 0), ("tool", 0), ("memory", 0), ("text", 1))
    ]
    assert (reply.parts[1]["status"], reply.content) == ("done", "I will keep that.\n\nDone.")


@pytest.mark.parametrize(
    ("reason", "from_elsewhere"), [("", False), (RESTARTED, False), ("", True)], ids=["user", "reason", "elsewhere"]
)
async def test_stop_keeps_the_text_and_cancels_the_model(model, talk, quick_saves, reason, from_elsewhere):
    gate = Gate()
    model.say("So far so good", gate, " and never more")
    control = Control()
    running = asyncio.create_task(answer(await talk.say(), control))
    await until(gate.reached.is_set)

    if from_elsewhere:
        await talk.stop_from_elsewhere()
    else:
        control.stop(*[reason] * bool(reason))
    result = await asyncio.wait_for(running, 2)

    reply = await talk.reply()
    assert result.failures == [reason] * bool(reason)
    assert reply.usage["estimated"] is True
    assert (reply.content, reply.status, reply.error) == ("So far so good", MessageStatus.INTERRUPTED, reason)
    assert model.closed == 1


async def test_stop_before_the_first_word(model, talk):
    gate = Gate()
    model.say(gate, "never said")
    control = Control()
    running = asyncio.create_task(answer(await talk.say(), control))
    await until(gate.reached.is_set)

    control.stop()

    result = await asyncio.wait_for(running, 2)
    assert result.events == [TurnDone("interrupted", None)]
    assert (await talk.reply()).parts == []


async def test_stop_between_tool_calls_runs_no_further_one(model, talk):
    calls = [("remember", {"fact": f"Fact {'abc'[number]} holds"}) for number in range(3)]
    model.call_all(*calls)
    control = Control()

    async with aclosing(run_turn(await talk.say(), control)) as events:
        async for event in events:
            if isinstance(event, CallFinished):
                control.stop()

    assert await talk.look(believed) == ["Fact a holds"]
    reply = await talk.reply()
    assert [part["status"] for part in reply.parts if part["kind"] == "tool"] == ["done"]
    assert reply.status == MessageStatus.INTERRUPTED


# --- What the user asks of the memory outright is done ---


async def test_model_that_only_says_it_remembers_is_made_to(model, talk):
    model.say("I will remember that.")
    model.call("remember", {"fact": "Never trades alts", "confidence": "asserted"})

    result = await talk.ask("Remember that I never trade alts.")

    assert result.text == "I will remember that."
    assert [event.part["text"] for event in result.all(MemoryWritten)] == ["Never trades alts"]
    assert result.all(CallStarted) == [], "of a forced call the memory line alone is shown"
    assert result.last.status == "complete"
    forced = model.requests[1]
    assert forced["tool_choice"] == {"type": "function", "function": {"name": "remember"}}
    assert forced["tools"] == model.requests[0]["tools"], "else the provider reads the whole prompt again"
    assert await talk.look(believed) == ["Never trades alts"]
    start = await talk.say("What did I say?")
    assert [message["role"] for message in start.sent.messages] == ["user", "assistant", "assistant", "tool", "user"]


async def test_nothing_is_forced_that_was_not_asked(model, talk):
    model.say("No.")

    await talk.ask("Do you remember that I trade BTC?")

    assert len(model.requests) == 1


async def test_nothing_is_forced_after_a_memory_tool_has_run(model, talk):
    model.call("remember", {"fact": "x"})  # too short: refused, and the model has seen that
    model.say("That is too short to keep.")

    result = await talk.ask("Remember that x")

    assert len(model.requests) == 2
    assert result.last.status == "complete"


@pytest.mark.parametrize(
    "answers",
    [
        lambda model: model.say("I would rather not."),
        lambda model: model.say(RuntimeError("down")),
        lambda model: model.call("propose_order", {"symbol": "BTC"}),
        lambda model: model.call("remember", {"fact": "x"}),
    ],
    ids=["refuses", "is down", "calls another tool", "writes what is refused"],
)
async def test_forced_call_that_comes_to_nothing_leaves_the_answer_as_it_is_and_says_so(model, talk, answers):
    model.say("Sure.")
    answers(model)

    result = await talk.ask("Remember that I never trade alts.")

    reply = await talk.reply()
    assert (result.text, result.last.status, reply.content) == ("Sure.", "complete", "Sure.")
    assert result.all(Noticed) == [Noticed(NOT_SAVED_FACT, "warn", fact="I never trade alts")]
    assert [part["kind"] for part in reply.parts] == ["text"]
    assert await talk.look(believed) == []


async def test_temporary_chat_forces_nothing(model, trader):
    def begin():
        with owned_tx(trader):
            return Talk(trader.pk, start_conversation(is_temporary=True, now=timezone.now()).pk)

    talk = await run_in_thread(begin)
    model.say("This chat keeps nothing.")

    await talk.ask("Remember that I never trade alts.")

    assert len(model.requests) == 1


async def test_silent_model_is_announced_once(model, talk, monkeypatch):
    monkeypatch.setattr(turn, "SILENT_SECONDS", 0.05)
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.02)
    model.say("Here.", delay=0.5)

    result = await talk.ask()

    assert (result.text, result.notices) == ("Here.", [turn.SILENT.format(seconds=120)])


async def test_written_call_runs_like_any_other(model, talk):
    model.say(
        '```json\n{"name": "remember", "arguments": {"fact": "Never trades alts", "confidence": "asserted"}}\n```'
    )
    model.say("Noted.")

    result = await talk.ask("I never trade alts.")

    assert [event.part["name"] for event in result.all(CallStarted)] == ["remember"]
    assert result.text == "Noted."


async def test_invalid_written_call_is_never_shown(model, talk):
    model.say('{"name": "remember", "arguments": {"fact": 3}}')

    result = await talk.ask("I never trade alts.")

    assert (result.text, result.all(CallStarted)) == ("", [])
    assert "tool call that Keel cannot run" in result.failures[0]


async def test_written_call_beside_text_is_left_out_with_a_notice(model, talk):
    model.say('I will note that. <tool_call>{"name": "remember", "arguments": {"fact": "x"}}</tool_call>')

    result = await talk.ask("I never trade alts.")

    assert (result.text.strip(), result.failures) == ("I will note that.", [])
    assert ["could not run" in notice for notice in result.notices] == [True]
