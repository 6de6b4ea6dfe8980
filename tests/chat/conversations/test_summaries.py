"""Summaries replace older messages in prompts and delete nothing."""

import asyncio
from uuid import uuid4

import pytest
from django.utils import timezone

from chat.conversations.summaries import summarise_older
from chat.models import ConversationSummary, Message
from chat.prompt.texts import SUMMARY_TASK, earlier_part
from chat.turns import live
from chat.turns.accept import edit_message
from chat.turns.events import MessageAccepted
from chat.turns.turn import Control, tidy_up
from config.lib.threads import run_in_thread
from config.lib.work.models import SiteDay
from tests.chat.tabs import open_tab, signed_in
from tests.chat.talk import answer, as_typed, until
from tests.factories.chat import MessageFactory, ReplyFactory
from tests.factories.memory import JUNE
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)

ROOM = 6_400  # tokens
LONG = "word " * 300  # 375 tokens


@pytest.fixture(autouse=True)
def _small_budget(settings):
    settings.CONTEXT_BUDGET_TOKENS = 8_000
    settings.SUMMARY_MODELS = ["scripted/summary"]


async def fill(talk, exchanges, *, untrusted_at=None):
    def write():
        for number in range(exchanges):
            asked = MessageFactory(conversation_id=talk.conversation_id, conversation=None, content=f"Q{number} {LONG}")
            ReplyFactory(reply_to=asked, content=f"A{number} {LONG}", is_untrusted=number == untrusted_at)

    await talk.look(write)


async def run(talk):
    return await summarise_older(talk.conversation_id, user_id=talk.user_id, room=ROOM, clock=timezone.now)


def summaries():
    return list(ConversationSummary.objects.order_by("pk"))


async def test_short_chat_needs_no_summary(model, talk):
    await fill(talk, 2)

    assert await run(talk) is None
    assert model.requests == []


async def test_long_chat_waits_for_the_tokens_of_the_next_day(model, talk, settings):
    await fill(talk, 12)
    settings.SITE_DAILY_TOKEN_BUDGET = 1
    await talk.look(lambda: SiteDay.objects.create(day=timezone.now().date(), tokens=1))

    assert await run(talk) is None
    assert model.requests == []


async def test_long_chat_gets_a_summary_that_the_next_turn_is_sent_in_place_of_the_older_part(model, talk):
    await fill(talk, 12)
    model.say("They asked twelve things.")

    written = await run(talk)

    messages = await talk.messages()
    kept = [message for message in messages if message.pk > written.through]
    assert written.text == "They asked twelve things."
    assert kept[0].role == "user"
    assert 0 < sum(len(message.content) for message in kept) // 4 <= ROOM / 2
    assert len(messages) == 24, "no message is deleted"
    task, read = (message["content"] for message in model.requests[0]["messages"])
    assert task == SUMMARY_TASK
    assert read.startswith("Person: Q0 word")
    assert f"A{(24 - len(kept)) // 2 - 1} word" in read
    assert f"Q{(24 - len(kept)) // 2} word" not in read
    start = await talk.say("And now?")
    first, *rest = start.sent.messages
    assert first == {"role": "user", "content": earlier_part("They asked twelve things.")}
    assert as_typed(rest)[-1] == {"role": "user", "content": "And now?"}
    assert min(start.sent.message_ids) > written.through
    assert start.sent.summary_id == written.pk


async def test_summary_of_a_summary_goes_on_from_it(model, talk):
    await fill(talk, 12)
    model.say("They asked twelve things.")
    first = await run(talk)
    await fill(talk, 12)
    model.say("They asked twenty-four things.")

    second = await run(talk)

    assert second.through > first.through
    assert "Summary so far:\nThey asked twelve things." in model.requests[-1]["messages"][1]["content"]
    start = await talk.say("And now?")
    assert start.sent.messages[0]["content"] == earlier_part("They asked twenty-four things.")


async def test_very_long_older_part_is_read_in_parts(model, talk):
    await fill(talk, 24)
    model.say("First part.")
    model.say("Both parts.")

    written = await run(talk)

    assert written.text == "Both parts."
    assert len(model.requests) == 2
    assert "Summary so far:\nFirst part." in model.requests[1]["messages"][1]["content"]


async def test_two_at_once_write_one(model, talk):
    await fill(talk, 12)
    model.say("One.")
    model.say("Two.")

    await asyncio.gather(run(talk), run(talk))

    assert len(await talk.look(summaries)) == 1


async def test_edit_while_the_model_reads_drops_the_summary(model, talk):
    await fill(talk, 12)
    gate = Gate()
    model.say(gate, "Of what is not there any more.")
    running = asyncio.create_task(run(talk))
    await until(gate.reached.is_set)

    def edit():
        first = Message.objects.filter(role="user").order_by("pk").first()
        edit_message(conversation_id=talk.conversation_id, message_id=first.pk, text="Anew", now=JUNE)

    await talk.look(edit)
    gate.open()

    assert await running is None
    assert await talk.look(summaries) == []


@pytest.mark.parametrize("fault", [RuntimeError("down"), ""], ids=["unreachable", "empty"])
async def test_model_that_fails_leaves_the_chat_as_it_is(model, talk, fault):
    await fill(talk, 12)
    model.say(fault)

    assert await run(talk) is None

    start = await talk.say("And now?")
    assert as_typed(start.sent.messages)[-1]["content"] == "And now?"
    assert start.sent.summary_id is None


@pytest.mark.parametrize(("at", "is_untrusted"), [(0, True), (11, False), (None, False)])
async def test_summary_of_untrusted_text_keeps_the_gate_shut(model, talk, at, is_untrusted):
    await fill(talk, 12, untrusted_at=at)
    model.say("Summary.")

    written = await run(talk)

    assert written.is_untrusted is is_untrusted
    start = await talk.say("And now?")
    assert start.is_untrusted is (at is not None)


async def test_page_is_told_when_a_chat_was_summarised(model, trader, talk):
    await fill(talk, 12)
    model.say("Two hundred.")
    model.say("Summary.")
    async with open_tab(await run_in_thread(signed_in, trader), talk.conversation_id) as tab:
        await tab.say("And now?")
        await tab.until("done")

        notice = await tab.until("notice")

    assert (
        notice["text"] == "This chat has grown long: Keel now reads a summary of its older part. Nothing was deleted."
    )


async def run_live(start):
    """Run a turn as a socket begins it, with what follows it."""
    turn = live.start_turn(start, MessageAccepted(()), None)
    await turn.task


async def run_in_a_terminal(start):
    """Run a turn as the command does, with what follows it."""
    control = Control()
    await answer(start, control)
    await tidy_up(start, control)


@pytest.mark.parametrize("run_turn", [run_live, run_in_a_terminal])
async def test_calls_that_no_page_shows_whole_count_for_the_room(model, talk, run_turn):
    await fill(talk, 3)
    start = await talk.say("And now?")
    assert start.room_left > 0
    model.call("absent", {"text": "word " * start.room_left})  # 5 characters each, at 4 a token
    model.say("There is no such tool.")
    model.say("Summary.")

    await run_turn(start)

    assert [summary.text for summary in await talk.look(summaries)] == ["Summary."]


async def test_lines_that_no_model_is_sent_take_no_room(model, talk):
    await fill(talk, 2)
    line = {"kind": "memory", "step": 0, "event_id": str(uuid4()), "event_kind": "save", "text": LONG, "fact_id": None}

    def write():
        asked = MessageFactory(conversation_id=talk.conversation_id, conversation=None, content="Keep all of this")
        ReplyFactory(reply_to=asked, content="", parts=[line] * 20)

    await talk.look(write)

    assert await run(talk) is None
    assert model.requests == []
