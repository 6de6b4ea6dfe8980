from datetime import date, timedelta
from hashlib import sha256
from uuid import uuid4

import factory
from factory.django import DjangoModelFactory

from chat.cards import LIFETIME, digest_of
from chat.models import (
    ActionCard,
    Bookmark,
    CardStatus,
    Conversation,
    ConversationStatus,
    ConversationSummary,
    DayNote,
    MemorySnapshot,
    Message,
    MessageStatus,
    Role,
)
from tests.factories.memory import MAY
from trading.models.deployments import ActionType


class ConversationFactory(DjangoModelFactory):
    """An empty chat with the coach, begun in May. Make it inside the owner's scope."""

    class Meta:
        model = Conversation

    class Params:
        archived = factory.Trait(status=ConversationStatus.ARCHIVED)

    opening_context = factory.LazyFunction(lambda: {"mode": "ops"})
    created_at = MAY
    last_message_at = factory.SelfAttribute("created_at")


class MemorySnapshotFactory(DjangoModelFactory):
    """A rendered block without a fact."""

    class Meta:
        model = MemorySnapshot

    conversation = factory.SubFactory(ConversationFactory)
    sha256 = factory.LazyAttribute(lambda snapshot: sha256(snapshot.text.encode()).hexdigest())
    created_at = MAY


class MessageFactory(DjangoModelFactory):
    """What the user typed."""

    class Meta:
        model = Message

    conversation = factory.SubFactory(ConversationFactory)
    role = Role.USER
    content = factory.Sequence(lambda number: f"Message number {number}")
    client_id = factory.Faker("uuid4")
    created_at = MAY
    finished_at = factory.SelfAttribute("created_at")


class ReplyFactory(DjangoModelFactory):
    """A whole reply of one text part to a message of the same chat."""

    class Meta:
        model = Message

    class Params:
        streaming = factory.Trait(
            status=MessageStatus.STREAMING, heartbeat_at=factory.SelfAttribute("created_at"), finished_at=None
        )
        interrupted = factory.Trait(status=MessageStatus.INTERRUPTED, error="Keel was restarted while it answered.")
        failed = factory.Trait(status=MessageStatus.FAILED, error="The model cannot be reached.")
        replaced = factory.Trait(replaced_at=MAY + timedelta(minutes=1))

    reply_to = factory.SubFactory(MessageFactory)
    conversation = factory.SelfAttribute("reply_to.conversation")
    role = Role.ASSISTANT
    content = factory.Sequence(lambda number: f"Reply number {number}")
    parts = factory.LazyAttribute(lambda reply: [{"kind": "text", "step": 0, "text": reply.content}])
    model = "scripted/model"
    created_at = MAY
    finished_at = factory.LazyAttribute(lambda reply: reply.created_at + timedelta(seconds=4))


class ActionCardFactory(DjangoModelFactory):
    """A card to pause a deployment that is not there, whole in itself; `draw_card` makes the real ones."""

    class Meta:
        model = ActionCard

    class Params:
        confirmed = factory.Trait(status=CardStatus.CONFIRMED, decided_at=MAY + timedelta(minutes=1))
        cancelled = factory.Trait(status=CardStatus.CANCELLED, decided_at=MAY + timedelta(minutes=1))
        expired = factory.Trait(status=CardStatus.EXPIRED, decided_at=MAY + LIFETIME)

    conversation = factory.SubFactory(ConversationFactory)
    type = ActionType.PAUSE
    payload = factory.LazyFunction(lambda: {"deployment_id": str(uuid4())})
    lines = factory.LazyFunction(lambda: [["Skill", "Dips"], ["Note", "Positions stay open."]])
    fingerprint = "0" * 64
    digest = factory.LazyAttribute(digest_of)
    created_at = MAY
    expires_at = factory.LazyAttribute(lambda card: card.created_at + LIFETIME)


class ConversationSummaryFactory(DjangoModelFactory):
    """A summary of the older part of a chat."""

    class Meta:
        model = ConversationSummary

    conversation = factory.SubFactory(ConversationFactory)
    text = "They spoke of funding."
    sha256 = factory.LazyAttribute(lambda summary: sha256(summary.text.encode()).hexdigest())
    through = 1
    model = "scripted/model"
    created_at = MAY


class DayNoteFactory(DjangoModelFactory):
    """A note on the first of May."""

    class Meta:
        model = DayNote

    day = date(2026, 5, 1)
    text = "Calm, and patient with the entry"
    updated_at = MAY


class BookmarkFactory(DjangoModelFactory):
    """A reply kept in the journal, without a note."""

    class Meta:
        model = Bookmark

    message = factory.SubFactory(ReplyFactory)
    text = factory.SelfAttribute("message.content")
    created_at = MAY
    updated_at = factory.SelfAttribute("created_at")
