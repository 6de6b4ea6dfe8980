"""Receipts: a reply's prompt, rebuilt byte for byte from rows."""

import asyncio
import json

import pytest

from chat.conversations.services import ask_about_fact
from chat.endings.erasure import erase_fact
from chat.models import Message, PromptText, Receipt
from chat.prompt.assistants import sent_prompt
from chat.prompt.receipts import find_receipt, rebuild_prompt
from chat.prompt.texts import SEPARATOR, join_segments
from chat.turns import saving
from memory.facts.services import delete_fact
from tests.chat.talk import Talk, answer, as_typed
from tests.factories.chat import ConversationSummaryFactory
from tests.factories.memory import JUNE, UserFactFactory

pytestmark = pytest.mark.django_db(transaction=True)


def last_receipt():
    reply = Message.objects.filter(role="assistant").select_related("snapshot").order_by("-pk").first()
    receipt = find_receipt(reply)
    return receipt, reply, rebuild_prompt(receipt, reply)


def as_sent(request):
    """Return the messages of a request to a model, with the blocks of its system prompt put together."""
    first, *rest = request["messages"]
    content = first["content"]
    if not isinstance(content, str):
        content = SEPARATOR.join(block["text"] for block in content)
    return [content, *[(message["role"], message["content"]) for message in rest]]


def as_rebuilt(rebuilt):
    first, *rest = rebuilt.messages
    text = SEPARATOR.join(block["text"] for block in first["content"])
    return [text, *[(message["role"], message["content"]) for message in rest]]


async def test_prompt_is_rebuilt_byte_for_byte(model, talk):
    await talk.look(lambda: UserFactFactory(content="Trades BTC only"))
    model.call("remember", {"fact": "Holds nothing overnight"}, text="A moment.")
    model.say("Noted.")
    model.say("Two.")
    await talk.ask("I hold nothing overnight")
    await talk.ask("And now?")

    _, _, rebuilt = await talk.look(last_receipt)

    assert rebuilt.is_exact
    assert as_rebuilt(rebuilt) == as_sent(model.requests[-1])
    assert rebuilt.tools == model.requests[-1]["tools"]
    assert "Trades BTC only" in as_rebuilt(rebuilt)[0]


async def test_every_reply_has_its_receipt(model, talk):
    model.say("One.")
    model.say(RuntimeError("gone"))
    model.say("Two.")
    await talk.ask("first")
    await talk.ask("second")
    await answer(await talk.retry())

    def look():
        replies = Message.objects.filter(role="assistant").order_by("pk")
        return [rebuild_prompt(find_receipt(reply), reply).is_exact for reply in replies]

    assert await talk.look(look) == [True, True, True]


async def test_receipt_names_what_the_prompt_was_made_of(model, talk, settings):
    settings.CHAT_REASONING_EFFORT = "medium"
    model.say("One.")
    await talk.ask("first")

    receipt, _, rebuilt = await talk.look(last_receipt)

    assert [segment.name for segment in rebuilt.segments] == ["persona", "tier", "mode", "trust", "day"]
    assert (receipt.models_asked, receipt.effort) == (["scripted/model"], "medium")
    assert model.requests[0]["effort"] == "medium"
    assert len(receipt.message_ids) == 1
    assert [segment["sha256"] for segment in receipt.segments] == [segment.sha256 for segment in rebuilt.segments]


async def test_texts_are_kept_once(model, talk):
    for number in range(3):
        model.say(f"{number}.")
        await talk.ask("again")

    names = [
        kept["name"] for receipt in await talk.look(lambda: list(Receipt.objects.all())) for kept in receipt.segments
    ]
    count = await talk.look(PromptText.objects.count)

    assert len(names) == 15
    # persona, tier, mode, trust, the tools, and another day if one begins meanwhile
    assert count <= 6 + 1


async def test_tier_of_then_stays_in_the_prompt(model, talk, trader):
    model.say("One.")
    await talk.ask("first")

    def change():
        type(trader)._default_manager.filter(pk=trader.pk).update(experience_tier="expert")
        reply = Message.objects.filter(role="assistant").get()
        return sent_prompt(reply.conversation, now=JUNE), join_segments(
            rebuild_prompt(find_receipt(reply), reply).segments
        )

    shown, kept = await talk.look(change)

    assert shown == kept == as_sent(model.requests[0])[0]
    assert "The person knows the basics" in shown


async def test_erased_fact_leaves_a_receipt_that_says_so(model, talk):
    fact = await talk.look(lambda: UserFactFactory(content="Wants a boat"))
    model.say("One.")
    await talk.ask("first")

    def erase():
        delete_fact(fact_id=fact.pk, now=JUNE)
        erase_fact(fact_id=fact.pk)

    await talk.look(erase)
    _, _, rebuilt = await talk.look(last_receipt)

    assert not rebuilt.is_exact
    memory = next(segment for segment in rebuilt.segments if segment.name == "memory")
    assert "Text deleted" in memory.text
    assert "boat" not in json.dumps(rebuilt.messages)


async def test_chat_about_a_fact_rebuilds_what_was_told_unseen(model, talk):
    def open_chat():
        fact = UserFactFactory(content="Max 5x leverage", body="since May")
        return ask_about_fact(fact_id=fact.pk, now=JUNE).pk

    about = Talk(talk.user_id, await talk.look(open_chat))
    model.say("Saved.")
    await about.ask("3x now")

    _, _, rebuilt = await talk.look(last_receipt)

    assert rebuilt.is_exact
    assert "- fact: Max 5x leverage\n- in full: since May]\n</context>\n\n3x now" in rebuilt.messages[-1]["content"]


async def test_summary_and_continuation_are_rebuilt(model, talk):
    model.say("One.")
    await talk.ask("first")
    await talk.look(
        lambda: ConversationSummaryFactory(
            conversation_id=talk.conversation_id,
            conversation=None,
            text="They said first.",
            through=Message.objects.order_by("-pk").first().pk,
        )
    )
    model.say("Half", RuntimeError("gone"))
    await talk.ask("second")
    model.say(" and half.")
    await answer(await talk.go_on())

    _, _, rebuilt = await talk.look(last_receipt)

    assert rebuilt.is_exact
    assert as_rebuilt(rebuilt) == as_sent(model.requests[-1])
    said = [message["content"] for message in as_typed(rebuilt.messages[1:])]
    assert "They said first." in said[0]
    assert said[1:3] == ["second", "Half"]


async def test_turn_goes_on_without_a_receipt_when_the_database_refuses_it(model, talk, outage, monkeypatch):
    monkeypatch.setattr(saving, "RECEIPT_SECONDS", 0.2)
    model.say("One.")
    outage.begin("prompt_receipts")

    result = await talk.ask("first")

    assert result.last.status == "complete"
    outage.end()
    async with asyncio.timeout(5):  # it is stored before the next test begins
        while not await talk.look(Receipt.objects.exists):
            await asyncio.sleep(0.01)
