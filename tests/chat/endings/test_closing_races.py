import asyncio
from datetime import timedelta

import pytest

from chat.conversations.lifecycle import note_left, request_close
from chat.endings import closing
from chat.endings.closing import close_conversation
from chat.models import Conversation, ConversationStatus, Message
from config.lib.owned import owned, owned_tx
from memory.claims.support import Quote
from memory.learning.answers import Candidate
from memory.learning.extraction import Extraction
from memory.models import UserFact
from tests.chat import talk
from tests.chat.closings import close_due, make_chat
from tests.factories.memory import JUNE
from tests.threads import race

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

RACERS = 20
TYPED = "I only trade BTC and ETH perps."


@pytest.fixture
def chat(trader):
    """An active chat that many want to close."""
    with owned_tx(trader):
        return make_chat((TYPED, "Noted."))


@pytest.fixture
def extractions(monkeypatch):
    """What the extractor was sent, call by call; it takes a while, and finds what the user typed."""
    calls = []

    async def extract(turns, known, summary, *, models):
        calls.append([turn.message_id for turn in turns])
        await asyncio.sleep(0.05)
        typed = [turn for turn in turns if turn.role == "user"]
        return Extraction(
            candidates=tuple(
                Candidate("add", None, "fact", "", turn.text, 0.9, (Quote(turn.message_id, 0, len(turn.text)),))
                for turn in typed
            ),
            summary="",
            through_message_id=turns[-1].message_id,
        )

    monkeypatch.setattr(closing, "extract_facts", extract)
    return calls


def test_twenty_beacons_and_as_many_workers_extract_once(trader, chat, extractions):
    def leave():
        with owned_tx(trader):
            note_left(conversation_id=chat.pk, now=JUNE)
            request_close(conversation_id=chat.pk, now=JUNE)

    race(*[leave, lambda: close_due(JUNE)] * (RACERS // 2))
    close_due(JUNE)

    assert len(extractions) == 1
    with owned(trader):
        assert Conversation.objects.get().status == ConversationStatus.IDLE


def test_expired_lease_is_taken_by_one_of_twenty(trader, chat, extractions):
    with owned_tx(trader):
        request_close(conversation_id=chat.pk, now=JUNE)

    race(*[lambda: close_due(JUNE + timedelta(minutes=9))] * RACERS)

    assert len(extractions) == 1


def test_messages_that_come_in_while_chats_are_closed_are_never_passed_over(trader, chat, extractions):
    def send(number):
        def work():
            with owned_tx(trader):
                accepted = talk.send(chat, f"I never hold more than {number} lots.")
            with owned_tx(trader):
                talk.finish(accepted.reply, text="Noted.")

        return work

    def close():
        close_conversation(chat.pk, user_id=trader.pk, clock=lambda: JUNE)

    refusals = []
    for number in range(4):
        refusals += race(send(number), close, send(number + 100), close)
    close()

    with owned(trader):
        typed = set(Message.objects.filter(role="user").values_list("content", flat=True))
        assert {fact.content for fact in UserFact.objects.believed()} == typed
        row = Conversation.objects.get()
        newest = Message.objects.order_by("-pk").first()
        assert (row.status, row.extracted_through) == (ConversationStatus.IDLE, newest.pk)
    assert refusals.count(None) > 8, "no message came in beside the closes"
