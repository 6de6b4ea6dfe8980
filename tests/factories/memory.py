from datetime import UTC, datetime, timedelta
from uuid import uuid4

import factory
from factory.django import DjangoModelFactory

from memory.models import ArchivedReason, Confidence, EventKind, FactSource, MemoryEvent, UserFact

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)  # when the factories' facts were written
JUNE = datetime(2026, 6, 1, 12, tzinfo=UTC)  # now
JULY = datetime(2026, 7, 1, 12, tzinfo=UTC)


class UserFactFactory(DjangoModelFactory):
    """A fact said outright in a chat, held true since May. Make it inside the owner's scope."""

    class Meta:
        model = UserFact

    class Params:
        inferred = factory.Trait(confidence=Confidence.INFERRED)
        learned = factory.Trait(source=FactSource.EXTRACTED, confidence=Confidence.INFERRED, score=0.9)
        archived = factory.Trait(archived_at=MAY + timedelta(days=1), archived_reason=ArchivedReason.USER_ARCHIVED)
        ended = factory.Trait(valid_until=MAY + timedelta(days=1))
        begins_later = factory.Trait(valid_from=JULY)

    id = factory.LazyFunction(uuid4)
    lineage = factory.SelfAttribute("id")
    content = factory.Sequence(lambda number: f"Fact number {number}")
    source = FactSource.CHAT
    confidence = Confidence.ASSERTED
    valid_from = MAY
    created_at = MAY
    learned_at = factory.SelfAttribute("created_at")
    last_referenced_at = factory.SelfAttribute("created_at")


class MemoryEventFactory(DjangoModelFactory):
    """The save of a fact, as the undo log keeps it."""

    class Meta:
        model = MemoryEvent

    kind = EventKind.SAVE
    after = factory.SubFactory(UserFactFactory)
    lineage = factory.SelfAttribute("after.lineage")
    created_at = MAY
