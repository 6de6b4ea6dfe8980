from uuid import uuid4

import pytest

from memory.facts.document import count_document_tokens
from memory.facts.queries import iter_block_facts
from memory.facts.review import (
    ProposalDecided,
    accept_proposal,
    close_fulfilled,
    dismiss_proposal,
    propose_fact,
    propose_merge,
    reopen_proposal,
)
from memory.facts.services import archive_fact, remember_fact, supersede_fact
from memory.facts.undo import UndoRefused, undo_event
from memory.facts.versions import FactChanged, Origin
from memory.models import (
    ArchivedReason,
    Confidence,
    FactSource,
    MemoryEvent,
    MemoryProposal,
    ProposalKind,
    ProposalStatus,
    UserFact,
    WriteKind,
)
from memory.wording import FactRefused
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory, believed

QUOTE = {"message_id": 7, "start": 0, "end": 9}


# Ids count, too, and two of one length may differ by some tokens: a document of a short line must still be the shorter.
LONG_LINE = (
    "Treasures gold bars in a vault by the lake, and nothing else at all, whatever silver, platinum or copper may do"
)


def propose(content: str = "Trades silver only", **values) -> MemoryProposal | None:
    given = {"kind": ProposalKind.UNTRUSTED, "why": "A chat wanted it.", "origin": Origin(), "now": MAY, **values}
    return propose_fact(content=content, **given)


def accept(proposal: MemoryProposal, now=JUNE) -> MemoryProposal:
    return accept_proposal(proposal_id=proposal.pk, now=now)


def dismiss(proposal: MemoryProposal) -> MemoryProposal:
    return dismiss_proposal(proposal_id=proposal.pk, now=JUNE)


def reopen(proposal: MemoryProposal, now=JULY) -> MemoryProposal:
    return reopen_proposal(proposal_id=proposal.pk, now=now)


# --- Into the queue ---


@pytest.mark.parametrize("kind", [ProposalKind.CONFLICT, ProposalKind.UNTRUSTED, ProposalKind.IMPORT])
def test_propose_fact_stays_out_of_prompts(as_trader, kind):
    origin = Origin(conversation_id=uuid4(), message_id=7, quotes=(QUOTE,))

    proposal = propose("  Trades silver \n only ", kind=kind, topic="Symbols", origin=origin)

    proposal.refresh_from_db()
    assert (proposal.kind, proposal.status, proposal.decided_at) == (kind, ProposalStatus.PENDING, None)
    assert proposal.payload == {"content": "Trades silver only", "topic": "symbols", "category": "finance_context"}
    assert proposal.evidence == {"why": "A chat wanted it.", "quotes": [QUOTE], "message_id": 7}
    assert (proposal.conversation_id, proposal.created_at, proposal.target) == (origin.conversation_id, MAY, None)
    assert not UserFact.objects.exists()
    assert list(iter_block_facts(JUNE)) == []


def test_propose_fact_returns_none_for_repeated_or_known_text(as_trader):
    first = propose()
    UserFactFactory(content="Trades gold only")

    assert propose("trades SILVER only.", topic="goal", now=JUNE) is None
    assert propose("trades gold only!") is None
    assert list(MemoryProposal.objects.all()) == [first]


@pytest.mark.parametrize("decide", [accept, dismiss])
def test_propose_fact_returns_none_after_decision(as_trader, decide):
    decide(propose())
    for fact in UserFact.objects.believed():
        archive_fact(fact_id=fact.pk, now=JUNE)

    assert propose() is None
    assert MemoryProposal.objects.count() == 1


@pytest.mark.parametrize(
    "values",
    [{"content": "abc"}, {"content": "x" * 501}, {"content": "password: hunter2"}, {"topic": "4111 1111 1111 1111"}],
    ids=str,
)
def test_proposal_refuses_what_cannot_be_a_fact(as_trader, values):
    with pytest.raises(FactRefused):
        propose(**{"content": "Pays with this card", **values})

    assert not MemoryProposal.objects.exists()


# --- Accepting ---


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        (ProposalKind.CONFLICT, FactSource.PROFILE),
        (ProposalKind.UNTRUSTED, FactSource.PROFILE),
        (ProposalKind.IMPORT, FactSource.IMPORTED),
    ],
)
def test_accept_proposal_saves_asserted_fact(as_trader, kind, source):
    proposal = accept(propose(kind=kind, topic="goal", category="fact"))

    fact = UserFact.objects.get()
    assert (fact.content, fact.topic, fact.category, fact.source) == ("Trades silver only", "goal", "fact", source)
    assert (fact.confidence, fact.score, fact.created_at) == (Confidence.ASSERTED, None, JUNE)
    assert (proposal.status, proposal.decided_at) == (ProposalStatus.ACCEPTED, JUNE)
    assert MemoryEvent.objects.get().batch_id == proposal.batch_id


def test_accepting_replaces_the_newest_version_of_its_target_or_saves_a_new_fact_where_that_was_archived(as_trader):
    targets = [UserFactFactory(content=content) for content in ("Treasures gold bars", "Hoards tin")]
    proposals = [propose(content, target_id=fact.pk) for content, fact in zip(("Silver", "Zinc"), targets, strict=True)]
    newer = supersede_fact(fact_id=targets[0].pk, content="Trades gold and oil", now=MAY).fact
    archive_fact(fact_id=targets[1].pk, now=MAY)

    for proposal in proposals:
        accept(proposal)

    assert UserFact.objects.believed().get(content="Silver").supersedes == newer
    assert UserFact.objects.believed().get(content="Zinc").lineage != targets[1].lineage


def test_accept_proposal_with_known_text_changes_nothing(as_trader):
    proposal = propose()
    fact = remember_fact(content="Trades silver only", confidence=Confidence.ASSERTED, now=MAY).fact

    assert accept(proposal).batch_id is None
    assert list(UserFact.objects.all()) == [fact]
    assert reopen(proposal).status == ProposalStatus.PENDING


# --- Merges ---


@pytest.fixture
def twins(as_trader):
    return UserFactFactory(content="Good are funds"), UserFactFactory(content="Funds are good")


def propose_twins(twins, **values):
    ids = {"fact_id": twins[0].pk, "into_id": twins[1].pk}
    return propose_merge(**{**ids, "why": "They say the same.", "now": MAY, **values})


def test_merge_is_proposed_and_done_only_by_accepting(twins):
    proposal = propose_twins(twins)
    assert believed() == ["Funds are good", "Good are funds"]

    accept(proposal)

    twins[0].refresh_from_db()
    assert (believed(), twins[0].archived_reason) == (["Funds are good"], ArchivedReason.MERGED)
    assert MemoryEvent.objects.get().kind == WriteKind.MERGE


def test_merge_is_proposed_once_whichever_way_round(twins):
    first = propose_twins(twins)

    assert propose_twins(twins[::-1]) is None
    dismiss(first)
    assert propose_twins(twins) is None


@pytest.mark.parametrize("which", [0, 1])
def test_accepting_a_merge_is_refused_when_a_fact_ended_since(twins, which):
    proposal = propose_twins(twins)
    archive_fact(fact_id=twins[which].pk, now=MAY)

    with pytest.raises(FactChanged):
        accept(proposal)

    proposal.refresh_from_db()
    assert proposal.status == ProposalStatus.PENDING
    assert len(believed()) == 1


# --- Decisions and their undo ---


@pytest.mark.parametrize("first", [accept, dismiss])
@pytest.mark.parametrize("second", [accept, dismiss])
def test_proposal_is_decided_once(as_trader, first, second):
    proposal = first(propose())

    with pytest.raises(ProposalDecided):
        second(proposal)

    assert MemoryProposal.objects.get().status == proposal.status


def test_reopen_proposal_undoes_its_writes(as_trader):
    target = UserFactFactory(content="Treasures gold bars")
    proposal = accept(propose(target_id=target.pk))

    reopened = reopen(proposal)

    assert (reopened.status, reopened.decided_at, reopened.batch_id) == (ProposalStatus.PENDING, None, None)
    assert believed() == ["Treasures gold bars"]
    accept(reopened, now=JULY)
    assert believed() == ["Trades silver only"]


def test_reopen_proposal_refuses_after_later_write(as_trader):
    proposal = accept(propose())
    supersede_fact(fact_id=UserFact.objects.get().pk, content="Trades oil only", now=JUNE)

    with pytest.raises(UndoRefused):
        reopen(proposal)

    proposal.refresh_from_db()
    assert (proposal.status, believed()) == (ProposalStatus.ACCEPTED, ["Trades oil only"])


def event_of(proposal: MemoryProposal) -> MemoryEvent:
    """Return what accepting a proposal wrote, beside what was evicted for it."""
    return MemoryEvent.objects.exclude(kind=WriteKind.EVICT).get(batch_id=proposal.batch_id)


@pytest.mark.parametrize("is_merge", [False, True], ids=["words", "merge"])
def test_undo_event_reopens_the_proposal(twins, is_merge):
    proposal = accept(propose_twins(twins) if is_merge else propose())

    undo_event(event_id=event_of(proposal).pk, now=JULY)

    proposal.refresh_from_db()
    assert (proposal.status, proposal.decided_at, proposal.batch_id) == (ProposalStatus.PENDING, None, None)
    assert believed() == ["Funds are good", "Good are funds"]
    accept(proposal, now=JULY)
    assert believed() == (
        ["Funds are good"] if is_merge else ["Funds are good", "Good are funds", "Trades silver only"]
    )


def test_undo_event_reopens_proposal_despite_evictions(as_trader, settings):
    old = UserFactFactory(content=LONG_LINE, learned=True)
    settings.MEMORY_TOKEN_LIMIT = count_document_tokens([old]) + 1
    proposal = accept(propose())

    undo_event(event_id=event_of(proposal).pk, now=JULY)

    proposal.refresh_from_db()
    assert (proposal.status, believed()) == (ProposalStatus.PENDING, [old.content])


# --- Fulfilled by a write ---


@pytest.mark.parametrize(
    ("proposed", "saved", "is_quoted", "closes"),
    [
        ("Trades silver only", "Trades silver only", False, True),
        ("My max leverage is 3x", "I never use more than 3x leverage", False, True),
        ("Trades the NY session", "I trade the New York session", True, True),
        ("Trades the NY session", "I trade the New York session", False, False),  # said elsewhere
        ("Trades ETH by day", "I trade BTC at night", True, False),  # another statement of the same message
        ("Risks 2% on gold trades", "I risk 1% on gold trades", True, False),
        ("Trades the NY session", "I never trade the NY session", True, False),
    ],
)
def test_close_fulfilled_closes_what_a_write_has_saved(as_trader, proposed, saved, is_quoted, closes):
    chat = uuid4()
    proposal = propose(proposed, origin=Origin(conversation_id=chat, message_id=7))
    quotes = (QUOTE,) if is_quoted else ()
    remember_fact(content=saved, origin=Origin(conversation_id=chat, quotes=quotes), now=JUNE)

    close_fulfilled(conversation_id=chat, now=JUNE)

    proposal.refresh_from_db()
    assert (proposal.status == ProposalStatus.ACCEPTED) is closes
    assert ("fulfilled_by" in proposal.evidence) is closes


def test_close_fulfilled_leaves_a_replacement_whose_target_still_holds(as_trader):
    target = UserFactFactory(content="Trades gold")
    proposal = propose("Trades silver only", target_id=target.pk)
    remember_fact(content="Trades silver only", now=JUNE)

    assert close_fulfilled(conversation_id=None, now=JUNE) == []
    proposal.refresh_from_db()
    assert proposal.status == ProposalStatus.PENDING


def test_fulfilled_proposal_can_be_reopened_and_keeps_the_fact(as_trader):
    proposal = propose()
    remember_fact(content="Trades silver only", now=JUNE)
    close_fulfilled(conversation_id=None, now=JUNE)

    reopen(proposal)

    assert believed() == ["Trades silver only"]
