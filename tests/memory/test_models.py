from datetime import timedelta
from uuid import UUID

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import Model, RestrictedError

from config.lib.fields import content_key
from config.lib.owned import ScopeError, system_tx
from memory.models import (
    ArchivedReason,
    Confidence,
    FactCategory,
    FactSource,
    MemoryEvent,
    ProposalKind,
    ProposalStatus,
    Tombstone,
    UserFact,
    WriteKind,
)
from tests.factories.memory import (
    JULY,
    JUNE,
    MAY,
    FactLinkFactory,
    MemoryEventFactory,
    MemoryProposalFactory,
    MemorySwitchesFactory,
    PlaceFactory,
    PlaceMentionFactory,
    TombstoneFactory,
    UserFactFactory,
)
from tests.owners import as_owner

SECOND = timedelta(seconds=1)
SETTLED_KINDS = {
    *("save", "update", "confirm", "forget", "promote", "demote", "archive", "delete", "restore"),
    *("merge", "link", "unlink", "place", "mention", "evict", "import"),
}
ARCHIVED = {"archived_at": JUNE, "archived_reason": ArchivedReason.USER_ARCHIVED}
LEARNED = {"source": FactSource.EXTRACTED, "confidence": Confidence.INFERRED}


def refused(constraint: str):
    """Expect the database itself to refuse a write, by that constraint (SQLite names the columns of a unique one)."""
    columns = {
        "user_fact_said_once": "user_facts.user_id, user_facts.content_key",
        "user_fact_one_believed_version": "user_facts.user_id, user_facts.lineage",
        "supersedes_id": "user_facts.supersedes_id",
        "memory_link_once": "memory_links.user_id, memory_links.from_id, memory_links.to_id, memory_links.relation",
        "memory_place_known_once": "memory_places.user_id, memory_places.place_id",
        "memory_place_mentioned_once": "memory_place_mentions.user_id, memory_place_mentions.place_id",
        "memory_proposal_made_once": "memory_proposals.user_id, memory_proposals.kind, memory_proposals.fingerprint",
        "memory_switches_once": "memory_switches.user_id",
    }
    words = columns.get(constraint, constraint) if connection.vendor == "sqlite" else constraint
    return pytest.raises(IntegrityError, match=words)


@pytest.mark.parametrize(
    ("constraint", "row"),
    [
        ("user_fact_category_known", {"category": "gossip"}),
        ("user_fact_category_known", {"category": ""}),
        ("user_fact_source_known", {"source": "rumour"}),
        ("user_fact_confidence_known", {"confidence": "certain"}),
        ("user_fact_content_length", {"content": "abc"}),
        ("user_fact_content_length", {"content": ""}),
        ("user_fact_score_is_a_share", {**LEARNED, "score": 1.01}),
        ("user_fact_score_is_a_share", {**LEARNED, "score": -0.01}),
        ("user_fact_only_learned_has_score", {"source": "chat", "confidence": "inferred", "score": 0.5}),
        ("user_fact_only_learned_has_score", {"source": "profile", "confidence": "inferred", "score": 0.5}),
        ("user_fact_only_learned_has_score", {"source": "imported", "confidence": "inferred", "score": 0.5}),
        ("user_fact_only_learned_has_score", {"source": "extracted", "confidence": "asserted", "score": 0.5}),
        ("user_fact_archived_for_a_reason", {"archived_at": JUNE}),
        ("user_fact_archived_for_a_reason", {"archived_reason": "undone"}),
        ("user_fact_archived_for_a_reason", {"archived_at": JUNE, "archived_reason": "boredom"}),
        ("user_fact_trash_is_archived", {"trashed_at": JUNE}),
        ("user_fact_ends_after_start", {"valid_from": JUNE, "valid_until": JUNE}),
        ("user_fact_ends_after_start", {"valid_from": JUNE, "valid_until": MAY}),
    ],
    ids=str,
)
def test_database_refuses_a_fact_that_cannot_be(as_trader, constraint, row):
    with refused(constraint), transaction.atomic():
        UserFactFactory(**row)

    assert not UserFact.objects.exists()


@pytest.mark.parametrize(
    "row",
    [
        {"content": "abcd"},
        {"content": "x" * 500},
        {"content": "日本語で"},
        {**LEARNED, "score": 0},
        {**LEARNED, "score": 1},
        {**LEARNED, "source": FactSource.INFERRED, "score": 0.5},
        {"source": FactSource.EXTRACTED, "confidence": Confidence.ASSERTED},
        {"archived_at": JUNE, "archived_reason": "user_deleted", "trashed_at": JUNE},
        {**ARCHIVED, "trashed_at": JUNE},
        {"valid_from": JUNE, "valid_until": JUNE + SECOND},
        *({"category": value} for value in FactCategory.values),
        *({"source": value} for value in FactSource.values),
        *({"archived_at": JUNE, "archived_reason": value} for value in ArchivedReason.values),
    ],
    ids=str,
)
def test_database_takes_a_fact_at_the_edge(as_trader, row):
    UserFactFactory(**row)

    assert UserFact.objects.count() == 1


def make_the_same_words_twice() -> None:
    UserFactFactory(content="Never trades alts")
    UserFactFactory(content=" never trades ALTS. ", category="profile", topic="symbols")


def make_two_successors() -> None:
    first = UserFactFactory(archived=True)
    for _ in range(2):
        UserFactFactory(lineage=first.lineage, supersedes=first, archived=True)


@pytest.mark.parametrize(
    ("constraint", "make"),
    [
        ("user_fact_said_once", make_the_same_words_twice),
        ("user_fact_one_believed_version", lambda: UserFactFactory(lineage=UserFactFactory().lineage)),
        ("supersedes_id", make_two_successors),
        ("user_fact_not_its_own_successor", lambda: UserFactFactory(id=UUID(int=1), supersedes_id=UUID(int=1))),
    ],
)
def test_database_refuses_facts_that_cannot_stand_beside_each_other(as_trader, constraint, make):
    with refused(constraint), transaction.atomic():
        make()


def test_one_version_of_a_fact_cannot_be_deleted_alone(as_trader):
    first = UserFactFactory(archived=True)
    UserFactFactory(lineage=first.lineage, supersedes=first)

    with pytest.raises(RestrictedError):
        first.delete()


def test_fact_is_deleted_with_all_its_versions_and_events(as_trader):
    first = UserFactFactory(archived=True)
    MemoryEventFactory(after=UserFactFactory(lineage=first.lineage, supersedes=first), before=first)

    UserFact.objects.filter(lineage=first.lineage).delete()

    assert not UserFact.objects.exists()
    assert not MemoryEvent.objects.exists()


def make_one_of_each() -> None:
    event = MemoryEventFactory()
    FactLinkFactory(event=event)
    TombstoneFactory(event=event)
    PlaceMentionFactory()
    MemoryProposalFactory(target=event.after)
    MemorySwitchesFactory()


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in apps.get_app_config("memory").get_models()}


def link_to_itself() -> None:
    fact = UserFactFactory()
    FactLinkFactory(from_fact=fact, to_fact=fact)


def test_rows_of_every_kind_go_with_their_user(stranger):
    as_owner(stranger, make_one_of_each)
    assert 0 not in as_owner(stranger, counts).values()

    with system_tx("a test"):
        stranger.delete()

        assert set(counts().values()) == {0}


def test_what_hangs_on_a_fact_goes_with_it_and_tombstones_stay(as_trader):
    make_one_of_each()

    UserFact.objects.all().delete()

    left = {name for name, count in counts().items() if count}
    assert left == {"Tombstone", "Place", "PlaceMention", "MemorySwitches"}, "add a model whose rows outlive their fact"
    assert Tombstone.objects.get().event is None


def test_derived_columns_follow_the_content(as_trader):
    fact = UserFactFactory(content="  Max  5x LEVERAG\uff25!  ")

    fact.refresh_from_db()
    assert fact.normalised == "max 5x leverage"
    assert fact.content_key == content_key("max 5x leverage")


@pytest.mark.parametrize("column", ["content", "summary", "body", "normalised", "content_key", "search_terms"])
def test_content_is_never_updated_in_place(as_trader, column):
    fact = UserFactFactory()

    with pytest.raises(ScopeError, match=f"the {column} of a stored row never changes"):
        UserFact.objects.update(**{column: "Other words"})
    with pytest.raises(ScopeError, match=f"the {column} of a stored row never changes"):
        UserFact.objects.bulk_update([fact], [column])
    with pytest.raises(ScopeError, match=f"the {column} of a stored row never changes"):
        fact.save(update_fields=[column])


@pytest.mark.parametrize(
    ("row", "is_current"),
    [
        ({}, True),
        ({"valid_from": JUNE}, True),
        ({"valid_from": JUNE + SECOND}, False),
        ({"valid_until": JUNE}, False),
        ({"valid_until": JUNE + SECOND}, True),
        (ARCHIVED, False),
        ({"archived_at": JULY, "archived_reason": "undone"}, False),
    ],
    ids=str,
)
def test_current_keeps_what_is_believed_and_holds_now(as_trader, row, is_current):
    UserFactFactory(**row)

    assert UserFact.objects.current(JUNE).exists() is is_current


@pytest.mark.parametrize(
    ("constraint", "make", "values"),
    [
        ("memory_event_kind_known", MemoryEventFactory, {"kind": "gossip"}),
        ("memory_event_has_a_row", MemoryEventFactory, {"after": None, "lineage": UUID(int=1)}),
        ("memory_link_not_to_itself", link_to_itself, {}),
        ("memory_link_has_a_relation", FactLinkFactory, {"relation": ""}),
        ("tombstone_category_known", TombstoneFactory, {"category": "gossip"}),
        ("memory_place_has_a_name", PlaceFactory, {"name": ""}),
        ("memory_place_has_a_name", PlaceFactory, {"place_id": ""}),
        ("memory_proposal_kind_known", MemoryProposalFactory, {"kind": "gossip"}),
        ("memory_proposal_status_known", MemoryProposalFactory, {"status": "maybe", "decided_at": JUNE}),
        ("memory_proposal_decided_once", MemoryProposalFactory, {"status": "pending", "decided_at": JUNE}),
        ("memory_proposal_decided_once", MemoryProposalFactory, {"status": "accepted"}),
        ("memory_proposal_decided_once", MemoryProposalFactory, {"status": "dismissed"}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_database_refuses_a_row_that_cannot_be(as_trader, constraint, make, values):
    with refused(constraint), transaction.atomic():
        make(**values)


@pytest.mark.parametrize(
    ("constraint", "make", "columns"),
    [
        ("memory_link_once", FactLinkFactory, ("from_fact", "to_fact", "relation")),
        ("memory_place_known_once", PlaceFactory, ("place_id",)),
        ("memory_place_mentioned_once", PlaceMentionFactory, ("place", "conversation_ref", "message_ref")),
        ("memory_proposal_made_once", MemoryProposalFactory, ("kind", "fingerprint")),
        ("memory_switches_once", MemorySwitchesFactory, ()),
    ],
)
def test_database_refuses_the_same_row_twice_and_takes_a_strangers(stranger, as_trader, constraint, make, columns):
    first = make()
    again = {column: getattr(first, column) for column in columns}

    with refused(constraint), transaction.atomic():
        make(**again)

    plain = {name: value for name, value in again.items() if not isinstance(value, Model)}
    assert as_owner(stranger, lambda: make(**plain)).user_id == stranger.pk


@pytest.mark.parametrize(
    ("make", "shows"),
    [
        (lambda: PlaceFactory(name="Home"), "Home"),
        (lambda: PlaceMentionFactory(conversation_ref="a chat"), "a chat (2026-05-01)"),
        (lambda: MemoryProposalFactory(payload={"content": "Funds only"}), "Funds only"),
        (lambda: MemoryProposalFactory(kind="merge", payload={"fact_id": "a"}), "Says the same twice"),
        (TombstoneFactory, "Facts, 2026-05-01"),
        (lambda: MemorySwitchesFactory(learns=False), "uses facts: True, learns: False"),
    ],
    ids=["place", "mention", "proposal", "merge", "tombstone", "switches"],
)
def test_row_says_what_it_is(as_trader, make, shows):
    assert str(make()) == shows


def test_search_terms_follow_content_summary_and_body(as_trader):
    words = {"content": "gold gold gold", "summary": "silver", "body": "copper"}
    alone = [UserFactFactory(content=f"{word} {word}", archived=True) for word in ("gold", "silver", "copper")]

    together = set(UserFactFactory(**words).search_terms.split())

    assert all(set(fact.search_terms.split()) <= together for fact in alone)


@pytest.mark.parametrize(
    ("choices", "values"),
    [
        (WriteKind, SETTLED_KINDS),
        (FactSource, {"chat", "profile", "extracted", "inferred", "imported"}),
        (Confidence, {"asserted", "inferred"}),
        (ProposalKind, {"conflict", "untrusted", "merge", "import"}),
        (ProposalStatus, {"pending", "accepted", "dismissed"}),
    ],
)
def test_choices_are_those_of_the_design(choices, values):
    assert set(choices.values) == values
