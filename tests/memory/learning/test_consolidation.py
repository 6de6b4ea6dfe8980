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
    ("one", "other", "are_same"),
    [
        ("I trade BTC and ETH only", "Only trades BTC and ETH", True),
        ("Lives in Seattle", "The user lives in Seattle", True),
        ("Likes Italian food", "User likes Italian food", True),
        ("Max leverage 5x", "Maximum leverage is 5×", True),
        ("Never holds over the weekend", "never holds positions over the weekend", True),
        ("Max leverage 5x", "Max leverage 3x", False),
        ("Risks 1% per trade", "Risks 2% per trade", False),
        ("I never trade alts", "I trade alts", False),
        ("I use stop losses", "I do not use stop losses", False),
        ("Trades BTC", "Trades SOL", False),
        ("Trades BTC and ETH", "Trades BTC and ETH only", False),
        ("Wife's name is Sarah", "Wife's name is Anna", False),
        ("I prefer long positions", "I prefer short positions", False),
        ("Trades in the morning", "Trades in the evening", False),
        ("At least 2 trades a day", "At most 2 trades a day", False),
        ("No shorts", "No alts", False),
    ],
)
def test_is_same_tells_the_same_claim_from_another(one, other, are_same):
    assert is_same(one, other) is are_same
    assert is_same(other, one) is are_same


@pytest.mark.parametrize("learned", [True, False])
def test_what_was_learned_or_is_older_is_to_end_in_favour_of_the_other(as_trader, learned):
    older = UserFactFactory(content="Lives in Seattle")
    newer = UserFactFactory(content="The user lives in Seattle", learned=learned, created_at=MAY + timedelta(days=1))

    assert propose_merges(now=JUNE) == [newer if learned else older]

    proposal = MemoryProposal.objects.get()
    assert (proposal.kind, proposal.status) == (ProposalKind.MERGE, "pending")
    assert proposal.target == (older if learned else newer)


def test_a_proposal_changes_nothing_until_its_owner_clicks_and_comes_once(as_trader):
    UserFactFactory(content="Lives in Seattle")
    UserFactFactory(content="The user lives in Seattle")
    propose_merges(now=JUNE)
    assert UserFact.objects.current(JUNE).count() == 2
    assert not MemoryEvent.objects.exists()
    dismiss_proposal(proposal_id=MemoryProposal.objects.get().pk, now=JUNE)

    assert propose_merges(now=JUNE) == []
    assert MemoryProposal.objects.count() == 1


def test_without_vectors_only_equal_words_are_alike(as_trader, monkeypatch):
    monkeypatch.setattr(consolidation, "compute_cosines", lambda *args, **options: None)
    UserFactFactory(content="Lives in Seattle")
    UserFactFactory(content="The user lives in Seattle")
    UserFactFactory(content="Has his home in Seattle")

    assert len(propose_merges(now=JUNE)) == 1
