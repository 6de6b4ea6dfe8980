from datetime import timedelta
from uuid import uuid4

import pytest

from chat.conversations.queries import ConversationNotFound
from chat.conversations.standing import get_standing
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE
from tests.owners import as_owner

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def standing(conversation, client_id=None):
    return get_standing(
        conversation.pk, client_id=client_id, dead_before=JUNE - HOUR, recent_since=JUNE - DAY, today=JUNE.date()
    )


def test_get_standing_counts_what_runs(as_trader):
    here, elsewhere = ConversationFactory(), ConversationFactory()
    ReplyFactory(reply_to__conversation=here, streaming=True, heartbeat_at=JUNE)
    ReplyFactory(reply_to__conversation=elsewhere, streaming=True, heartbeat_at=JUNE - 2 * HOUR)
    ReplyFactory(reply_to__conversation=here)

    found = standing(here)

    assert (found.running, found.running_here, found.dead) == (2, 1, 1)


def test_get_standing_finds_a_message_sent_before(as_trader):
    message = MessageFactory()

    assert standing(message.conversation, message.client_id).repeat_id == message.pk
    assert standing(ConversationFactory(), message.client_id).repeat_id is None
    assert standing(message.conversation, uuid4()).repeat_id is None
    assert standing(message.conversation).repeat_id is None


def test_get_standing_knows_nothing_of_a_stranger(stranger, as_trader):
    def busy():
        message = ReplyFactory(streaming=True, created_at=JUNE).reply_to
        return message.conversation, message.client_id

    theirs, client_id = as_owner(stranger, busy)

    mine = standing(ConversationFactory(), client_id)
    assert (mine.running, mine.recent, mine.repeat_id) == (0, 0, None)
    with pytest.raises(ConversationNotFound):
        standing(theirs, client_id)
