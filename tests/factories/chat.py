from datetime import timedelta
from hashlib import sha256

import factory
from factory.django import DjangoModelFactory

from chat.models import Conversation, ConversationStatus, MemorySnapshot, Message, MessageStatus, Role
from tests.factories.memory import MAY


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
