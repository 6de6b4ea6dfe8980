from datetime import timedelta
from uuid import uuid4

import pytest

from chat.conversations.lifecycle import (
    ABANDONED_AFTER,
    ARCHIVED_AFTER,
    HERE_LEASE,
    LEFT_AFTER,
    RENEWED_EVERY,
    TRASH_KEPT,
    archive_conversation,
    archive_old,
    is_here_known,
    list_due,
    note_here,
    note_left,
    purge_conversations,
    request_close,
    restore_conversation,
    trash_conversation,
)
from chat.conversations.queries import get_threads, list_recent
from chat.conversations.services import MessageRefused, start_conversation
from chat.models import Conversation, ConversationStatus, Message
from chat.turns.accept import accept_message, retry_reply
from config.lib.owned import system_tx
from memory.models import MemoryProposal, ProposalKind, UserFact
from tests.chat.closings import add_exchange, make_chat
from tests.chat.talk import finish, send
from tests.factories.chat import ConversationFactory, ReplyFactory
from tests.factories.memory import JUNE, UserFactFactory
from tests.owners import as_owner

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ACTIVE, CLOSING, IDLE, ARCHIVED = ConversationStatus


def due(now):
    """Return the ids of everybody's chats that are due."""
    with system_tx("test"):
        return [pk for _, pk in list_due(now=now)]


def reread(conversation):
    """Return the row as it now is, as the owner in scope."""
    return Conversation.objects.get(pk=conversation.pk)


# --- Here and left ---


LAST_SIGN = JUNE + RENEWED_EVERY - SECOND


@pytest.mark.parametrize(
    ("acts", "moment", "is_due"),
    [
        ([(note_left, JUNE)], JUNE + LEFT_AFTER - SECOND, False),
        ([(note_left, JUNE)], JUNE + LEFT_AFTER, True),
        ([(note_left, JUNE), (note_left, JUNE + 30 * SECOND)], JUNE + LEFT_AFTER, True),
        ([(note_left, JUNE), (note_here, JUNE + 59 * SECOND)], JUNE + ABANDONED_AFTER, False),
        ([(note_here, JUNE), (note_here, LAST_SIGN)], LAST_SIGN + ABANDONED_AFTER - SECOND, False),
        ([(note_here, JUNE), (note_here, LAST_SIGN)], LAST_SIGN + ABANDONED_AFTER + RENEWED_EVERY, True),
        ([(request_close, JUNE)], JUNE, True),
        ([(request_close, JUNE), (trash_conversation, JUNE)], JUNE + timedelta(days=1), False),
    ],
)
def test_chat_is_due_when_asked_for_or_a_while_after_its_page_was_left(trader, acts, moment, is_due):
    chat = as_owner(trader, lambda: ConversationFactory(last_message_at=JUNE))
    for act, at in acts:
        as_owner(trader, lambda act=act, at=at: act(conversation_id=chat.pk, now=at))

    assert due(moment) == [chat.pk] * is_due


def test_message_counts_as_a_sign_of_life(as_trader):
    chat = ConversationFactory()

    send(chat)

    assert reread(chat).left_at == JUNE + HERE_LEASE


def test_open_socket_writes_that_it_is_there_every_five_minutes_at_most(as_trader):
    chat = ConversationFactory()

    assert not is_here_known(conversation_id=chat.pk, now=JUNE)
    note_here(conversation_id=chat.pk, now=JUNE)

    assert is_here_known(conversation_id=chat.pk, now=JUNE + RENEWED_EVERY)
    assert not is_here_known(conversation_id=chat.pk, now=JUNE + RENEWED_EVERY + SECOND)


@pytest.mark.parametrize("status", [IDLE, ARCHIVED])
def test_looking_at_a_chat_that_rests_and_closing_it_change_nothing(as_trader, status):
    chat = ConversationFactory(status=status)

    note_here(conversation_id=chat.pk, now=JUNE)
    note_left(conversation_id=chat.pk, now=JUNE)
    request_close(conversation_id=chat.pk, now=JUNE)

    assert (reread(chat).status, reread(chat).left_at) == (status, None)


def test_chat_whose_turn_runs_is_not_due(trader):
    def make():
        chat = ConversationFactory(last_message_at=JUNE)
        ReplyFactory(reply_to__conversation=chat, streaming=True)
        note_left(conversation_id=chat.pk, now=JUNE)

    as_owner(trader, make)

    assert due(JUNE + LEFT_AFTER) == []


# --- To be closed ---


def test_request_close_leaves_a_close_alone_that_is_under_way(as_trader):
    token = uuid4()
    chat = ConversationFactory(status=CLOSING, closing_token=token, closing_until=JUNE + MINUTE)

    request_close(conversation_id=chat.pk, now=JUNE)

    assert (reread(chat).closing_token, reread(chat).closing_until) == (token, JUNE + MINUTE)


# --- Archive ---


def test_chats_are_archived_thirty_days_after_their_last_message(as_trader):
    old = ConversationFactory(status=IDLE, last_message_at=JUNE - ARCHIVED_AFTER)
    ConversationFactory(status=IDLE, last_message_at=JUNE - ARCHIVED_AFTER + SECOND)
    ConversationFactory(last_message_at=JUNE - ARCHIVED_AFTER)
    ConversationFactory(
        status=IDLE, last_message_at=JUNE - ARCHIVED_AFTER, extraction_pending=True, extraction_due_at=JUNE
    )

    assert archive_old(now=JUNE) == 1

    assert list(Conversation.objects.filter(status=ARCHIVED)) == [old]


def test_chat_archived_by_hand_is_still_learned_from(trader):
    chat = as_owner(trader, lambda: make_chat(("I trade BTC.", "Noted.")))

    as_owner(trader, lambda: archive_conversation(conversation_id=chat.pk, now=JUNE))

    assert as_owner(trader, lambda: reread(chat)).status == ARCHIVED
    assert due(JUNE) == [chat.pk]


def test_archived_chats_stand_apart_and_last(as_trader):
    ConversationFactory(title="Old", archived=True, last_message_at=JUNE)
    ConversationFactory(title="New", last_message_at=JUNE - timedelta(days=40))

    threads = get_threads(JUNE)

    assert {label: [str(thread) for thread in listed] for label, listed in threads.groups.items()} == {"Older": ["New"]}
    assert [str(thread) for thread in threads.archived] == ["Old"]


# --- Trash ---


def test_trash_is_apart_from_the_status_and_can_be_undone(as_trader):
    chat = ConversationFactory(archived=True)

    trash_conversation(conversation_id=chat.pk, now=JUNE)
    trash_conversation(conversation_id=chat.pk, now=JUNE + MINUTE)

    assert (reread(chat).status, reread(chat).trashed_at) == (ARCHIVED, JUNE)
    assert list_recent(9) == []
    restore_conversation(conversation_id=chat.pk)
    assert (reread(chat).status, reread(chat).trashed_at) == (ARCHIVED, None)
    assert list_recent(9) == [chat]


def test_trashed_chat_takes_no_message_and_no_retry(as_trader):
    chat = make_chat(("One", "First."))
    trash_conversation(conversation_id=chat.pk, now=JUNE)

    with pytest.raises(MessageRefused, match="trash"):
        accept_message(conversation_id=chat.pk, client_id=uuid4(), text="Two", now=JUNE)
    with pytest.raises(MessageRefused, match="trash"):
        retry_reply(conversation_id=chat.pk, now=JUNE)


def test_purge_deletes_what_was_in_the_trash_for_thirty_days(as_trader):
    kept = [make_chat(("One", "First.")), make_chat(("Two", "Second."), trashed_at=JUNE - TRASH_KEPT + SECOND)]
    make_chat(("Three", "Third."), trashed_at=JUNE - TRASH_KEPT)

    assert purge_conversations(now=JUNE) == 1

    assert set(Conversation.objects.all()) == set(kept)
    assert Message.objects.filter(role="user").count() == 2


def test_purge_keeps_the_facts_without_the_quotes_into_what_is_gone(as_trader):
    gone, stays = ConversationFactory(trashed_at=JUNE - TRASH_KEPT), ConversationFactory()
    quotes = [
        {"message_id": add_exchange(chat, "I trade BTC and ETH.").pk, "start": 0, "end": 20} for chat in (gone, stays)
    ]
    UserFactFactory(content="Trades BTC and ETH", learned=True, quotes=quotes)
    MemoryProposal.objects.create(
        kind=ProposalKind.UNTRUSTED,
        payload={"content": "Trades gold"},
        evidence={"why": "", "quotes": quotes},
        fingerprint="f",
        created_at=JUNE,
    )

    purge_conversations(now=JUNE)

    assert UserFact.objects.get().quotes == quotes[1:]
    assert MemoryProposal.objects.get().evidence == {"why": "", "quotes": quotes[1:]}


# --- What a turn is told ---


def test_turn_knows_that_its_chat_is_temporary(as_trader):
    for is_temporary in (True, False):
        accepted = send(start_conversation(is_temporary=is_temporary, now=JUNE))

        assert accepted.turn.is_temporary is is_temporary
        finish(accepted.reply)


def test_turn_is_trusted_once_such_text_has_left_the_window(as_trader, settings):
    settings.CONTEXT_BUDGET_TOKENS = 2_500
    chat = ConversationFactory()
    add_exchange(chat, "What is new?", "The news says so.", is_untrusted=True)
    for number in range(8):
        add_exchange(chat, f"Question {number} " + "q" * 2_000, "a" * 2_000)

    assert not send(chat).turn.is_untrusted


def test_turn_is_trusted_when_the_untrusted_reply_was_replaced(as_trader):
    chat = ConversationFactory()
    message = add_exchange(chat, "What is new?", "Nothing.")
    ReplyFactory(reply_to=message, content="The news says so.", is_untrusted=True, replaced=True)

    assert not send(chat).turn.is_untrusted
