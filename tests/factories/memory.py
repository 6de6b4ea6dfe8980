from datetime import UTC, datetime, timedelta
from uuid import uuid4

import factory
from factory.django import DjangoModelFactory

from memory.claims.subjects import read_subject
from memory.models import (
    ArchivedReason,
    Confidence,
    FactCategory,
    FactLink,
    FactSource,
    MemoryEvent,
    MemoryProposal,
    MemorySwitches,
    Place,
    PlaceMention,
    ProposalKind,
    ProposalStatus,
    Tombstone,
    UserFact,
    WriteKind,
)

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)  # when the factories' facts were written
JUNE = datetime(2026, 6, 1, 12, tzinfo=UTC)  # now
JULY = datetime(2026, 7, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


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
    subject = factory.LazyAttribute(lambda fact: read_subject(fact.content).key)
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

    kind = WriteKind.SAVE
    after = factory.SubFactory(UserFactFactory)
    lineage = factory.SelfAttribute("after.lineage")
    created_at = MAY


class FactLinkFactory(DjangoModelFactory):
    """A relation between two facts."""

    class Meta:
        model = FactLink

    from_fact = factory.SubFactory(UserFactFactory)
    to_fact = factory.SubFactory(UserFactFactory)
    relation = "relates_to"
    created_at = MAY


class TombstoneFactory(DjangoModelFactory):
    """What is left of a fact that was forgotten in May."""

    class Meta:
        model = Tombstone

    category = FactCategory.FACT
    digest = factory.Sequence(lambda number: f"{number:064x}")
    created_at = MAY


class PlaceFactory(DjangoModelFactory):
    """A place that its owner spoke of in May."""

    class Meta:
        model = Place

    place_id = factory.Sequence(lambda number: f"place-{number}")
    name = factory.Sequence(lambda number: f"Place number {number}")
    added_at = MAY
    updated_at = factory.SelfAttribute("added_at")


class PlaceMentionFactory(DjangoModelFactory):
    """A message that spoke of a place."""

    class Meta:
        model = PlaceMention

    place = factory.SubFactory(PlaceFactory)
    conversation_ref = factory.LazyFunction(lambda: str(uuid4()))
    message_ref = factory.Sequence(str)
    mentioned_at = MAY


class MemoryProposalFactory(DjangoModelFactory):
    """Words from elsewhere that wait for their owner."""

    class Meta:
        model = MemoryProposal

    class Params:
        dismissed = factory.Trait(status=ProposalStatus.DISMISSED, decided_at=MAY)

    kind = ProposalKind.IMPORT
    payload = factory.Sequence(
        lambda number: {"content": f"Proposal number {number}", "topic": "", "category": FactCategory.FACT}
    )
    evidence = factory.LazyFunction(lambda: {"why": "From a list.", "quotes": []})
    fingerprint = factory.Sequence(lambda number: f"{number:064x}")
    created_at = MAY


class MemorySwitchesFactory(DjangoModelFactory):
    """What its owner lets memory do."""

    class Meta:
        model = MemorySwitches


def believed() -> list[str]:
    """Return the texts of the believed facts of the owner in scope, alphabetically."""
    return sorted(UserFact.objects.believed().values_list("content", flat=True))
