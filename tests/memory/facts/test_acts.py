from uuid import uuid4

import pytest

from config.lib.errors import NotFound
from config.lib.owned import ScopeError
from memory.facts.review import accept_proposal, dismiss_proposal, propose_fact, propose_merge, reopen_proposal
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
    supersede_fact,
    unlink_facts,
)
from memory.facts.trash import erase_fact
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import PAGE, FactChanged, Origin
from memory.models import Confidence, FactSource, UserFact, WriteKind
from tests.factories.memory import (
    JUNE,
    MAY,
    FactLinkFactory,
    MemoryEventFactory,
    MemoryProposalFactory,
    UserFactFactory,
)
from tests.owners import as_owner

ASSERTED, INFERRED = Confidence.ASSERTED, Confidence.INFERRED
CHAT, PROFILE = FactSource.CHAT, FactSource.PROFILE

ACTS = [
    pytest.param(lambda pk: supersede_fact(fact_id=pk, content="Mine now", now=JUNE), id="supersede"),
    pytest.param(lambda pk: confirm_fact(fact_id=pk, now=JUNE), id="confirm"),
    pytest.param(lambda pk: promote_fact(fact_id=pk, now=JUNE), id="promote"),
    pytest.param(lambda pk: demote_fact(fact_id=pk, now=JUNE), id="demote"),
    pytest.param(lambda pk: archive_fact(fact_id=pk, now=JUNE), id="archive"),
]

RELATES = {"relation": "relates_to", "now": JUNE}
PROPOSES = {"kind": "conflict", "content": "Trades silver only", "why": "", "origin": PAGE, "now": JUNE}
# Each act on what a stranger has: its row, and the act on the id of it.
OF_STRANGERS = [
    *((UserFactFactory, act.values[0]) for act in ACTS),
    (UserFactFactory, lambda pk: restore_fact(fact_id=pk, now=JUNE)),
    (UserFactFactory, lambda pk: delete_fact(fact_id=pk, now=JUNE)),
    (UserFactFactory, lambda pk: erase_fact(fact_id=pk)),
    (UserFactFactory, lambda pk: forget_fact(id_or_substring=str(pk), now=JUNE)),
    (UserFactFactory, lambda pk: link_facts(from_id=str(pk), to_id=str(UserFactFactory().pk), **RELATES)),
    (UserFactFactory, lambda pk: link_facts(from_id=str(UserFactFactory().pk), to_id=str(pk), **RELATES)),
    (UserFactFactory, lambda pk: propose_fact(target_id=pk, **PROPOSES)),
    (UserFactFactory, lambda pk: propose_merge(fact_id=pk, into_id=UserFactFactory().pk, why="", now=JUNE)),
    (FactLinkFactory, lambda pk: unlink_facts(link_id=pk, now=JUNE)),
    (MemoryEventFactory, lambda pk: undo_event(event_id=pk, now=JUNE)),
    (MemoryProposalFactory, lambda pk: accept_proposal(proposal_id=pk, now=JUNE)),
    (MemoryProposalFactory, lambda pk: dismiss_proposal(proposal_id=pk, now=JUNE)),
    (MemoryProposalFactory, lambda pk: reopen_proposal(proposal_id=pk, now=JUNE)),
]


def row(fact: UserFact) -> tuple:
    return fact.confidence, fact.score, fact.source


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, (INFERRED, None, CHAT)),
        ({"confidence": ASSERTED}, (ASSERTED, None, CHAT)),
        ({"confidence": ASSERTED, "source": PROFILE}, (ASSERTED, None, PROFILE)),
    ],
    ids=["nothing said", "said outright", "from the page"],
)
def test_remember_leaves_confidence_and_source_as_given_and_no_score(as_trader, given, left):
    assert row(remember_fact(content="Max 5x leverage", **given, now=JUNE).fact) == left


@pytest.mark.parametrize(
    "made",
    [{}, {"inferred": True}, {"source": PROFILE}, {"learned": True}, {"learned": True, "source": FactSource.INFERRED}],
    ids=["asserted", "inferred", "from the page", "extracted", "observed"],
)
@pytest.mark.parametrize(
    ("act", "confidence", "score", "source"),
    [
        (lambda fact: supersede_fact(fact_id=fact.pk, content="Corrected", now=JUNE), ASSERTED, None, PROFILE),
        (
            lambda fact: supersede_fact(fact_id=fact.pk, content="Corrected", source=CHAT, now=JUNE),
            ASSERTED,
            None,
            CHAT,
        ),
        (lambda fact: promote_fact(fact_id=fact.pk, now=JUNE), ASSERTED, "kept or none", "kept"),
        (lambda fact: demote_fact(fact_id=fact.pk, now=JUNE), INFERRED, "kept or none", "kept"),
        (lambda fact: confirm_fact(fact_id=fact.pk, now=JUNE), "kept", "kept", "kept"),
    ],
    ids=["page edit", "tool update", "promote", "demote", "confirm"],
)
def test_act_leaves_confidence_score_and_source_by_the_table(as_trader, made, act, confidence, score, source):
    before = UserFactFactory(**made)

    after = act(before).fact

    # A promote of an asserted fact, or a demote of an inferred one, changes nothing: then the score stays too.
    kept_score = before.score if score == "kept" or (score and before.confidence == confidence) else None
    assert row(after) == (
        before.confidence if confidence == "kept" else confidence,
        kept_score,
        before.source if source == "kept" else source,
    )


@pytest.mark.parametrize("act", ACTS)
def test_act_refuses_an_archived_fact(as_trader, act):
    archived = UserFactFactory(archived=True)
    before = UserFact.objects.filter(pk=archived.pk).values().get()

    with pytest.raises(FactChanged):
        act(archived.pk)

    assert list(UserFact.objects.values()) == [before]


def test_confirm_fact_resets_the_clock_and_nothing_else(as_trader):
    fact = UserFactFactory(learned=True, last_confirmed_at=MAY)
    before = UserFact.objects.filter(pk=fact.pk).values().get()

    written = confirm_fact(fact_id=fact.pk, now=JUNE)

    after = UserFact.objects.filter(pk=fact.pk).values().get()
    assert after == before | {"last_confirmed_at": JUNE}
    assert (written.event.kind, written.event.before, written.event.after) == (WriteKind.CONFIRM, fact, fact)
    assert written.event.previous_confirmed_at == MAY


@pytest.mark.parametrize("now", [MAY, JUNE], ids=["earlier", "the same"])
def test_confirm_fact_never_sets_the_clock_back(as_trader, now):
    fact = UserFactFactory(last_confirmed_at=JUNE)

    written = confirm_fact(fact_id=fact.pk, now=now)

    fact.refresh_from_db()
    assert (written.event, fact.last_confirmed_at) == (None, JUNE)


@pytest.mark.parametrize(("make", "act"), OF_STRANGERS)
def test_act_refuses_what_is_a_strangers_like_what_is_missing_and_needs_an_owner(trader, stranger, make, act):
    foreign = as_owner(stranger, make).pk
    refusals = []
    for pk in (foreign, uuid4()):
        with pytest.raises(NotFound) as refusal:
            as_owner(trader, lambda pk=pk: act(pk))
        refusals.append(str(refusal.value))

    assert len(set(refusals)) == 1
    with pytest.raises(ScopeError):
        act(foreign)


def test_undo_batch_refuses_a_strangers_batch_like_a_missing_one(stranger, as_trader):
    batch_id = uuid4()
    as_owner(stranger, lambda: remember_fact(content="Theirs", origin=Origin(batch_id=batch_id), now=MAY))

    for pk in (batch_id, uuid4()):
        with pytest.raises(NotFound, match="There is nothing to undo"):
            undo_batch(batch_id=pk, now=JUNE)
