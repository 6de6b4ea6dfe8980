"""Merges are proposed for equal facts only."""

from datetime import timedelta

import pytest

from config.lib.llm.vectors import STATIC, compute_cosines
from memory.facts.review import dismiss_proposal
from memory.learning import consolidation
from memory.learning.consolidation import is_same_claim, propose_merges
from memory.models import MemoryEvent, MemoryProposal, ProposalKind, UserFact
from tests.factories.memory import JUNE, MAY, UserFactFactory


def is_same(one: str, other: str) -> bool:
    return is_same_claim(one, other, cosine=compute_cosines(one, [other], model=STATIC)[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I trade BTC and ETH only", "Only trades BTC and ETH"),
        ("Lives in Seattle", "The user lives in Seattle"),
        ("Likes Italian food", "User likes Italian food"),
        ("Max leverage 5x", "Maximum leverage is 5×"),
        ("Never holds over the weekend", "never holds positions over the weekend"),
    ],
)
def test_these_say_the_same(one, other):
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Max leverage 5x", "Max leverage 3x"),
        ("Risks 1% per trade", "Risks 2% per trade"),
        ("I never trade alts", "I trade alts"),
        ("I use stop losses", "I do not use stop losses"),
        ("Trades BTC", "Trades SOL"),
        ("Trades BTC and ETH", "Trades BTC and ETH only"),
        ("Wife's name is Sarah", "Wife's name is Anna"),
        ("I prefer long positions", "I prefer short positions"),
        ("Trades in the morning", "Trades in the evening"),
        ("At least 2 trades a day", "At most 2 trades a day"),
        ("No shorts", "No alts"),
    ],
)
def test_is_same_claim_rejects_different_facts(one, other):
    assert not is_same(one, other)
    assert not is_same(other, one)


def test_what_was_learned_is_to_end_in_favour_of_an_explicit_fact(as_trader):
    said = UserFactFactory(content="Lives in Seattle")
    learned = UserFactFactory(content="The user lives in Seattle", learned=True, created_at=JUNE)

    assert propose_merges(now=JUNE) == [learned]

    proposal = MemoryProposal.objects.get()
    assert (proposal.kind, proposal.status, proposal.target) == (ProposalKind.MERGE, "pending", said)


def test_of_two_alike_the_older_is_to_end_in_favour_of_the_newer(as_trader):
    older = UserFactFactory(content="Lives in Seattle")
    newer = UserFactFactory(content="The user lives in Seattle", created_at=MAY + timedelta(days=1))

    assert propose_merges(now=JUNE) == [older]
    assert MemoryProposal.objects.get().target == newer


def test_a_proposal_changes_nothing_until_its_owner_clicks(as_trader):
    UserFactFactory(content="Lives in Seattle")
    UserFactFactory(content="The user lives in Seattle")

    propose_merges(now=JUNE)

    assert UserFact.objects.current(JUNE).count() == 2
    assert not MemoryEvent.objects.exists()


def test_what_was_dismissed_is_not_proposed_again(as_trader):
    UserFactFactory(content="Lives in Seattle")
    UserFactFactory(content="The user lives in Seattle")
    propose_merges(now=JUNE)
    dismiss_proposal(proposal_id=MemoryProposal.objects.get().pk, now=JUNE)

    assert propose_merges(now=JUNE) == []
    assert MemoryProposal.objects.count() == 1


def test_without_vectors_only_equal_words_are_alike(as_trader, monkeypatch):
    monkeypatch.setattr(consolidation, "compute_cosines", lambda *args, **options: None)
    UserFactFactory(content="Lives in Seattle")
    UserFactFactory(content="The user lives in Seattle")
    UserFactFactory(content="Has his home in Seattle")

    assert len(propose_merges(now=JUNE)) == 1
