"""An archive brings a memory back as it was: bytes, blocks, as-of answers."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.endings.erasure import erase_user
from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from memory.facts.places import add_place
from memory.facts.queries import get_next_block
from memory.facts.review import accept_proposal, dismiss_proposal, propose_fact, propose_merge
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    delete_fact,
    demote_fact,
    forget_fact,
    link_facts,
    promote_fact,
    remember_fact,
    restore_fact,
    set_switches,
    supersede_fact,
)
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import Origin
from memory.models import FactLink, MemoryEvent, MemoryProposal, ProposalKind, Tombstone, UserFact
from memory.transfer.archive import iter_archive
from memory.transfer.arrival import DocumentRefused, import_archive, parse_archive
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory
from tests.factories.trading import TraderFactory
from tests.properties import examples

DAY = timedelta(days=1)
NOW = JULY + 60 * DAY
ASSISTANTS = ("coach", "advisor", "companion")


def export(user) -> str:
    return "".join(iter_archive(user.pk))


def list_blocks(user) -> list[str]:
    with owned(user):
        return [get_next_block(assistant=name, now=NOW).text for name in ASSISTANTS]


def list_beliefs(user) -> list[list[str]]:
    """Return what was believed at many pairs of times."""
    times = [MAY - DAY, MAY + DAY, JUNE - DAY, JUNE + 3 * DAY, JULY, JULY + 20 * DAY, NOW]
    with owned(user):
        return [
            sorted(UserFact.objects.as_of(valid, known).values_list("content", flat=True))
            for valid in times
            for known in times
        ]


def fill() -> None:
    """Write a memory with every kind of row."""
    first = remember_fact(content="Never risks more than 2 %", topic="risk", confidence="asserted", now=MAY).fact
    supersede_fact(fact_id=first.pk, content="Never risks more than 1 %", summary="Risks 1 %", now=JUNE)
    second = remember_fact(content="Trades BTC and ETH", topic="symbols", detail="Since 2019.", now=MAY).fact
    link_facts(from_id="Never risks", to_id=str(second.pk), relation="relates_to", now=JUNE)
    forget_fact(id_or_substring=str(remember_fact(content="Lives in Lisbon", now=MAY).fact.pk), now=JUNE)
    delete_fact(fact_id=remember_fact(content="Likes memes", now=MAY).fact.pk, now=JUNE)
    UserFactFactory(
        content="Seems to trade late",
        source="extracted",
        confidence="inferred",
        score=0.81,
        quotes=[{"message_id": 7, "start": 0, "end": 4}],
    )
    confirm_fact(fact_id=second.pk, now=JULY)
    add_place(place_id="gym", name="Gym", notes="Mornings", origin=Origin(conversation_id=UUID(int=7)), now=MAY)
    rejected = propose_fact(kind=ProposalKind.UNTRUSTED, content="Loves 100x", why="News", origin=Origin(), now=MAY)
    dismiss_proposal(proposal_id=rejected.pk, now=JUNE)
    propose_fact(
        kind=ProposalKind.CONFLICT, content="Risks 9 %", target_id=first.pk, why="Chat", origin=Origin(), now=JUNE
    )
    propose_merge(fact_id=first.pk, into_id=second.pk, why="Alike", now=JUNE)
    set_switches(learns=False)


@pytest.fixture
def full(trader):
    with owned_tx(trader):
        fill()
    return trader


def move(user) -> tuple[str, object]:
    """Export, erase, import into a new account; return the text and the account."""
    text = export(user)
    erase_user(user_id=user.pk)
    target = TraderFactory()
    with owned_tx(target):
        import_archive(parse_archive(text), now=NOW + DAY)
    return text, target


def test_export_erase_import_export_is_byte_equal_with_equal_blocks_and_beliefs(full):
    blocks, beliefs = list_blocks(full), list_beliefs(full)

    text, target = move(full)

    assert export(target) == text
    assert list_blocks(target) == blocks
    assert list_beliefs(target) == beliefs
    assert any("Risks 1 %" in block for block in blocks)
    with owned_tx(target):
        again = import_archive(parse_archive(text), now=NOW + 2 * DAY)
    assert (again.added, again.batch_id) == (0, None)
    assert export(target) == text


def test_import_beside_its_original_makes_rows_of_its_own(full):
    text = export(full)
    target = TraderFactory()

    with owned_tx(target):
        done = import_archive(parse_archive(text), now=NOW)

    assert done.added == 7
    assert export(target) == text == export(full)


def test_undo_of_an_import_takes_its_facts_back(full):
    text = export(full)
    target = TraderFactory()

    with owned_tx(target):
        done = import_archive(parse_archive(text), now=NOW)
        undo_batch(batch_id=done.batch_id, now=NOW + DAY)

        assert not UserFact.objects.believed().exists()
        assert import_archive(parse_archive(text), now=NOW + 2 * DAY).added == 7


def test_import_keeps_forgotten_facts_away_and_no_id_of_a_message_of_another_account(full):
    _, target = move(full)

    with owned(target):
        assert Tombstone.objects.count() == 2  # one was forgotten, one deleted
        assert [fact.quotes for fact in UserFact.objects.all() if fact.quotes] == []
        assert all("quotes" not in row.evidence for row in MemoryProposal.objects.all())


def test_import_into_a_filled_memory_keeps_the_known_fact_and_links_it(full):
    text = export(full)
    target = TraderFactory()
    with owned_tx(target):
        known = remember_fact(content="Trades BTC and ETH", now=JULY).fact
        import_archive(parse_archive(text), now=NOW)

        assert UserFact.objects.believed().get(content="Trades BTC and ETH").pk == known.pk
        assert MemoryEvent.objects.filter(kind="link").count() == 0
        assert known.pk in set(FactLink.objects.values_list("to_fact_id", flat=True))


def test_import_of_a_fact_that_contradicts_a_known_one_is_proposed(trader):
    with owned_tx(trader):
        remember_fact(content="My max leverage is 3x", topic="risk", now=MAY)
    text = export(trader)
    target = TraderFactory()

    with owned_tx(target):
        remember_fact(content="My max leverage is 5x", topic="risk", now=JULY)
        done = import_archive(parse_archive(text), now=NOW)

        assert (done.added, len(done.refused)) == (0, 1)
        assert UserFact.objects.believed().get().content == "My max leverage is 5x"
        assert MemoryProposal.objects.get().kind == ProposalKind.CONFLICT


def changed(text: str, change) -> str:
    data = json.loads(text)
    change(data)
    return json.dumps({"format": data.pop("format"), "version": data.pop("version"), **data})


def _set(part: str, **values):
    return lambda data: data[part][0].update(values)


@pytest.mark.parametrize(
    "change",
    [
        _set("facts", source="the moon"),
        _set("facts", created_at="yesterday"),
        _set("facts", created_at="2026-05-01T00:00:00"),
        _set("facts", score=7),
        _set("facts", supersedes="nobody"),
        _set("facts", lineage="nobody"),
        _set("facts", external=[]),
        _set("proposals", evidence=[]),
        _set("places", mentions=7),
        lambda data: data["facts"].append(data["facts"][0]),
        lambda data: data["facts"][0].pop("id"),
        lambda data: data.update(version=9),
        lambda data: data.update(facts={}),
        lambda data: data.update(facts=[7]),
        lambda data: data.update(switches=7),
    ],
)
def test_import_of_a_forged_archive_is_refused_and_changes_nothing(full, change):
    text = changed(export(full), change)
    target = TraderFactory()

    with owned_tx(target):
        with pytest.raises(DocumentRefused):
            import_archive(parse_archive(text), now=NOW)

        assert not UserFact.objects.exists()


def test_import_of_a_secret_leaves_that_fact_out(full):
    text = changed(export(full), _set("facts", content="My password is hunter2"))
    target = TraderFactory()

    with owned_tx(target):
        done = import_archive(parse_archive(text), now=NOW)

        assert len(done.refused) == 1
        assert "hunter2" not in " ".join(done.refused)
        assert not UserFact.objects.filter(content__contains="hunter2").exists()


ACTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=12)


def _act(kind: int, which: int, number: int, now) -> None:  # noqa: C901
    rows = list(UserFact.objects.order_by("created_at", "id"))
    row = rows[which % len(rows)] if rows else None
    match kind:
        case 0 | 1:
            remember_fact(content=f"Fact number {number}", topic=("risk", "", "goal")[number % 3], now=now)
        case _ if row is None:
            pass
        case 2:
            supersede_fact(fact_id=row.pk, content=f"Changed to {number}", now=now)
        case 3:
            archive_fact(fact_id=row.pk, now=now)
        case 4:
            restore_fact(fact_id=row.pk, now=now)
        case 5:
            (promote_fact if number % 2 else demote_fact)(fact_id=row.pk, now=now)
        case 6:
            delete_fact(fact_id=row.pk, now=now)
        case 7:
            link_facts(from_id=str(row.pk), to_id=str(rows[number % len(rows)].pk), relation="relates_to", now=now)
        case 8:
            made = propose_fact(
                kind=ProposalKind.IMPORT, content=f"Proposed {number}", why="List", origin=Origin(), now=now
            )
            if made and number % 2:
                accept_proposal(proposal_id=made.pk, now=now)
        case 9:
            undo_event(event_id=MemoryEvent.objects.order_by("-created_at", "id").first().pk, now=now)


@given(acts=ACTS)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_memory_survives_export_erase_and_import(db, acts):
    user = TraderFactory()
    for step, (kind, which, number) in enumerate(acts):
        try:
            with owned_tx(user):
                _act(kind, which, number, MAY + step * 3 * DAY)
        except DomainError:
            pass
    blocks, beliefs = list_blocks(user), list_beliefs(user)

    text, target = move(user)

    assert export(target) == text
    assert list_blocks(target) == blocks
    assert list_beliefs(target) == beliefs
