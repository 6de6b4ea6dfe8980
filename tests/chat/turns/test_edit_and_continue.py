"""Editing a message and continuing an interrupted reply."""

from datetime import timedelta

import pytest

from chat.conversations.queries import list_messages
from chat.conversations.services import MessageRefused
from chat.models import ConversationSummary, Message, MessageStatus
from chat.prompt.texts import GO_ON, earlier_part
from chat.turns.accept import continue_reply, edit_message, retry_reply
from tests.chat.talk import as_typed
from tests.factories.chat import ConversationFactory, ConversationSummaryFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE

LATER = JUNE + timedelta(minutes=5)


@pytest.fixture
def chat(as_trader):
    """Two exchanges."""
    conversation = ConversationFactory()
    for asked, answered in (("One?", "One."), ("Two?", "Two.")):
        ReplyFactory(reply_to=MessageFactory(conversation=conversation, content=asked), content=answered)
    return conversation


def edit(message, text="Three?"):
    return edit_message(conversation_id=message.conversation_id, message_id=message.pk, text=text, now=LATER)


def go_on(conversation):
    return continue_reply(conversation_id=conversation.pk, now=LATER)


def said(accepted):
    return [(message["role"], message["content"]) for message in as_typed(accepted.turn.sent.messages)]


# --- Edit ---


def test_edit_replaces_the_message_and_all_after_it(chat):
    first, _, second, answer = Message.objects.order_by("pk")

    accepted = edit(second)

    assert accepted.removes == (second.pk, answer.pk)
    assert [message.content for message in list_messages(chat.pk)] == ["One?", "One.", "Three?", ""]
    assert said(accepted) == [("user", "One?"), ("assistant", "One."), ("user", "Three?")]
    assert accepted.message.content == accepted.turn.text == "Three?"
    assert first.replaced_at is None


def test_second_edit_of_one_message_is_refused(chat):
    first = Message.objects.order_by("pk").first()
    accepted = edit(first)
    Message.objects.filter(pk=accepted.reply.pk).update(status=MessageStatus.COMPLETE)

    with pytest.raises(MessageRefused, match="changed already"):
        edit(first)


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b", "x" * 17_000])
def test_edit_refuses_a_text_that_no_message_may_have(chat, text):
    with pytest.raises(MessageRefused):
        edit(Message.objects.order_by("pk").first(), text)

    assert not Message.objects.filter(replaced_at__isnull=False).exists()


def test_edit_waits_for_the_answer_under_way(chat):
    ReplyFactory(reply_to__conversation=chat, streaming=True, heartbeat_at=LATER)

    with pytest.raises(MessageRefused, match="still answering"):
        edit(Message.objects.order_by("pk").first())


def test_edit_knows_no_message_of_another_chat(chat):
    elsewhere = MessageFactory()

    with pytest.raises(MessageRefused):
        edit_message(conversation_id=chat.pk, message_id=elsewhere.pk, text="Mine", now=LATER)


@pytest.mark.parametrize("is_behind", [True, False])
def test_edit_behind_a_summary_alone_takes_it_out_of_the_prompt(chat, is_behind):
    first, answer, second, _ = Message.objects.order_by("pk")
    summary = ConversationSummaryFactory(conversation=chat, text="They asked One.", through=answer.pk)

    accepted = edit(first if is_behind else second)

    assert ConversationSummary.objects.get().replaced_at == (LATER if is_behind else None)
    earlier = [] if is_behind else [("user", earlier_part("They asked One."))]
    assert said(accepted) == [*earlier, ("user", "Three?")]
    assert accepted.turn.sent.summary_id == (None if is_behind else summary.pk)


# --- Continue ---


@pytest.mark.parametrize("how", ["interrupted", "failed"])
def test_continue_goes_on_after_what_was_said(as_trader, how):
    reply = ReplyFactory(content="The first half", **{how: True})

    accepted = go_on(reply.conversation)

    assert said(accepted) == [("user", reply.reply_to.content), ("assistant", "The first half"), ("user", GO_ON)]
    assert (accepted.message, accepted.reply.is_continuation) == (reply.reply_to, True)
    reply.refresh_from_db()
    assert reply.replaced_at is None


def test_continue_is_for_answers_that_broke_off(chat):
    with pytest.raises(MessageRefused, match="no interrupted reply to continue"):
        go_on(chat)


def test_continue_needs_something_to_go_on_from(as_trader):
    reply = ReplyFactory(content="", parts=[], interrupted=True)

    with pytest.raises(MessageRefused):
        go_on(reply.conversation)


def test_retry_of_a_continuation_goes_on_again(as_trader):
    half = ReplyFactory(content="The first half", interrupted=True)
    second = ReplyFactory(reply_to=half.reply_to, content="and", is_continuation=True, interrupted=True)

    accepted = retry_reply(conversation_id=half.conversation_id, now=LATER)

    assert accepted.replaces == second.pk
    assert said(accepted)[1:] == [("assistant", "The first half"), ("user", GO_ON)]
