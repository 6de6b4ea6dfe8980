from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from chat.conversations.services import MessageRefused, rename_conversation, start_conversation
from chat.models import Conversation, ConversationStatus, MemorySnapshot, Message, MessageStatus, Role
from chat.prompt.texts import as_blocks
from chat.turns.accept import retry_reply
from chat.turns.replies import HEARTBEAT_LEASE, RESTARTED, interrupt_dead_turns
from config.lib.owned import owned_tx, system_tx
from tests.chat.talk import as_typed, finish, send
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, UserFactFactory
from tests.owners import as_owner
from tests.threads import race

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


# --- accept_message ---


def test_accept_message_stores_the_message_and_the_reply_that_begins(as_trader):
    conversation = ConversationFactory()

    accepted = send(conversation, "  How are you?\r\n")

    message, reply = Message.objects.order_by("pk")
    assert (message.role, message.status, message.content) == (Role.USER, MessageStatus.COMPLETE, "How are you?")
    assert (reply.role, reply.status, reply.reply_to) == (Role.ASSISTANT, MessageStatus.STREAMING, message)
    assert (reply.heartbeat_at, reply.created_at) == (JUNE, JUNE)
    assert (accepted.message, accepted.reply) == (message, reply)
    assert (accepted.turn.message_id, accepted.turn.reply_id) == (message.pk, reply.pk)
    assert as_typed(accepted.turn.sent.messages) == [{"role": "user", "content": "How are you?"}]


def test_accept_message_makes_the_conversation_active_and_newest(as_trader):
    conversation = ConversationFactory(archived=True)

    send(conversation)

    conversation.refresh_from_db()
    assert (conversation.status, conversation.last_message_at) == (ConversationStatus.ACTIVE, JUNE)


def test_accept_message_titles_an_untitled_conversation_once(as_trader):
    conversation = ConversationFactory()

    first = send(conversation, "What should I size?")
    finish(first.reply)
    second = send(conversation, "Something else entirely")

    conversation.refresh_from_db()
    assert (first.title, second.title, conversation.title) == ("What should I size?", None, "What should I size?")


def test_accept_message_freezes_the_memory_block_once(as_trader):
    conversation = ConversationFactory()
    UserFactFactory(content="Trades BTC only")

    first = send(conversation)
    finish(first.reply)
    UserFactFactory(content="Trades ETH too")
    second = send(conversation)

    snapshot = MemorySnapshot.objects.get()
    assert "Trades BTC only" in snapshot.text
    assert (first.reply.snapshot, second.reply.snapshot) == (snapshot, snapshot)
    assert as_blocks(first.turn.sent.segments)[0] == as_blocks(second.turn.sent.segments)[0]


def test_accept_message_returns_what_was_stored_for_the_same_client_id(as_trader):
    conversation, client_id = ConversationFactory(), uuid4()
    first = send(conversation, "Once", client_id=client_id)

    again = send(conversation, "Once", client_id=client_id)

    assert (again.message, again.reply) == (first.message, first.reply)
    assert (again.turn, again.title) == (None, None)
    assert Message.objects.count() == 2


def test_accept_message_returns_the_newest_reply_for_the_same_client_id(as_trader):
    conversation, client_id = ConversationFactory(), uuid4()
    first = send(conversation, "Once", client_id=client_id)
    finish(first.reply)
    retried = retry_reply(conversation_id=conversation.pk, now=JUNE)

    assert send(conversation, "Once", client_id=client_id).reply == retried.reply


def test_accept_message_takes_the_same_client_id_in_another_conversation(as_trader):
    client_id = uuid4()

    turns = [send(ConversationFactory(), client_id=client_id).turn for _ in range(2)]

    assert None not in turns


@pytest.mark.limit("chat.turns.accept.MAX_MESSAGE_BYTES")
@pytest.mark.parametrize(
    "text", ["", "\n\t", "\x00\x07", "\u202e\ufeff", "\u200b\u200d\u2060", "x" * 16_385, "ä" * 8193]
)
def test_accept_message_refuses_text_without_anything_to_see_or_too_much(as_trader, text):
    with pytest.raises(MessageRefused, match="17 KiB, and 16 KiB is the most" if len(text) > 9 else "nothing to send"):
        send(ConversationFactory(), text)

    assert Message.objects.count() == 0


@pytest.mark.parametrize("text", ["x" * 16_384, "ä" * 8192, "😀" * 4096])
def test_accept_message_takes_sixteen_kibibytes(as_trader, text):
    assert send(ConversationFactory(), text).message.content == text


def test_accept_message_keeps_any_script_and_drops_what_breaks_text(as_trader):
    accepted = send(ConversationFactory(), "मैं 👩‍💻 \x00\ud800日本語\u202e\u2028ok")

    assert accepted.message.content == "मैं 👩‍💻 日本語ok"


def test_accept_message_and_retry_reply_refuse_a_second_turn_here(as_trader):
    conversation = ConversationFactory()
    send(conversation)

    with pytest.raises(MessageRefused, match="still answering here"):
        send(conversation, now=JUNE + SECOND)
    with pytest.raises(MessageRefused, match="still answering"):
        retry_reply(conversation_id=conversation.pk, now=JUNE)


@pytest.mark.limit("config.settings.TURNS_PER_USER")
def test_accept_message_refuses_more_turns_than_a_user_may_run(as_trader, settings):
    settings.TURNS_PER_USER = 2
    for _ in range(2):
        send(ConversationFactory())

    with pytest.raises(MessageRefused, match="in 2 other chats"):
        send(ConversationFactory(), now=JUNE + SECOND)


def test_accept_message_does_not_count_the_turns_of_others(as_trader, stranger, settings):
    settings.TURNS_PER_USER = 1
    as_owner(stranger, lambda: send(ConversationFactory()))

    assert send(ConversationFactory()).turn is not None


def test_accept_message_closes_a_dead_turn_that_stands_in_the_way(as_trader):
    conversation = ConversationFactory()
    dead = send(conversation).reply

    send(conversation, now=JUNE + HEARTBEAT_LEASE + SECOND)

    dead.refresh_from_db()
    assert (dead.status, dead.error) == (MessageStatus.INTERRUPTED, RESTARTED)


@pytest.mark.limit("config.settings.MESSAGES_PER_MINUTE")
def test_accept_message_counts_a_minute(as_trader, settings):
    settings.MESSAGES_PER_MINUTE = 2
    conversation = ConversationFactory()
    for _ in range(2):
        finish(send(conversation).reply)

    with pytest.raises(MessageRefused, match="a lot of messages"):
        send(conversation, now=JUNE + MINUTE - SECOND)
    assert send(conversation, now=JUNE + MINUTE).turn is not None


def test_conversation_never_has_two_streaming_replies(as_trader):
    message = MessageFactory()
    ReplyFactory(reply_to=message, streaming=True)

    with pytest.raises(IntegrityError), transaction.atomic():
        ReplyFactory(reply_to=message, streaming=True)


# --- Races ---


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_one_of_many_messages_at_once_begins_a_turn(trader):
    conversation = as_owner(trader, ConversationFactory)

    results = race(*[lambda: send(conversation)] * 8, user=trader)

    assert len([result for result in results if isinstance(result, MessageRefused)]) == 7
    with owned_tx(trader):
        assert Message.objects.streaming().count() == 1
        assert Message.objects.count() == 2


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_one_message_many_times_at_once_is_one_message(trader):
    client_id, conversation = uuid4(), as_owner(trader, ConversationFactory)

    results = race(*[lambda: send(conversation, client_id=client_id)] * 8, user=trader)

    assert len({result.message.pk for result in results}) == 1
    assert len([result for result in results if result.turn is not None]) == 1


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_limit_on_turns_holds_when_all_chats_begin_at_once(trader, settings):
    settings.TURNS_PER_USER = 2
    conversations = as_owner(trader, lambda: ConversationFactory.create_batch(8))

    race(*[partial(send, conversation) for conversation in conversations], user=trader)

    with owned_tx(trader):
        assert Message.objects.streaming().count() == 2


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_retry_many_times_at_once_is_one_retry(trader):
    with owned_tx(trader):
        conversation = ConversationFactory()
        finish(send(conversation).reply)

    results = race(*[partial(retry_reply, conversation_id=conversation.pk, now=JUNE)] * 6, user=trader)

    assert len([result for result in results if not isinstance(result, MessageRefused)]) == 1
    with owned_tx(trader):
        assert Message.objects.shown().filter(role=Role.ASSISTANT).count() == 1


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_close_a_reply_once(trader):
    conversation = as_owner(trader, ConversationFactory)
    as_owner(trader, partial(send, conversation))

    def sweep():
        with system_tx("test"):
            return interrupt_dead_turns(now=JUNE + MINUTE)

    assert [swept for swept in race(*[sweep] * 6) if swept] == [[conversation.pk]]


# --- retry_reply ---


def test_retry_reply_puts_the_old_one_out_of_sight(as_trader):
    conversation = ConversationFactory()
    first = send(conversation)
    finish(first.reply)

    retried = retry_reply(conversation_id=conversation.pk, now=JUNE + SECOND)

    first.reply.refresh_from_db()
    assert (retried.replaces, first.reply.replaced_at) == (first.reply.pk, JUNE + SECOND)
    assert list(Message.objects.shown().order_by("pk")) == [first.message, retried.reply]
    assert retried.reply.reply_to == first.message
    assert as_typed(retried.turn.sent.messages) == [{"role": "user", "content": "Hello"}]
    assert retried.title is None


def test_retry_reply_refuses_where_there_is_none(as_trader):
    with pytest.raises(MessageRefused, match="no reply to try again"):
        retry_reply(conversation_id=ConversationFactory().pk, now=JUNE)


def test_retry_reply_counts_as_a_message_of_the_minute(as_trader, settings):
    settings.MESSAGES_PER_MINUTE = 3
    conversation = ConversationFactory()
    finish(send(conversation).reply)
    for _ in range(2):
        finish(retry_reply(conversation_id=conversation.pk, now=JUNE).reply)

    with pytest.raises(MessageRefused, match="a lot of messages"):
        retry_reply(conversation_id=conversation.pk, now=JUNE + SECOND)


# --- Titles ---


def test_rename_conversation_keeps_one_line(as_trader):
    conversation = start_conversation(now=JUNE)

    rename_conversation(conversation_id=conversation.pk, title="  My\n plan\x00 ")

    assert Conversation.objects.get().title == "My plan"


@pytest.mark.limit("chat.models.MAX_TITLE")
@pytest.mark.parametrize("title", ["", "  ", "\u200b", "x" * 81])
def test_rename_conversation_refuses_what_is_no_title(as_trader, title):
    conversation = ConversationFactory(title="Before")

    with pytest.raises(MessageRefused, match="1 to 80"):
        rename_conversation(conversation_id=conversation.pk, title=title)

    assert Conversation.objects.get().title == "Before"
