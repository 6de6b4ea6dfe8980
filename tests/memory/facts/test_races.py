from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from memory.facts.places import add_place
from memory.facts.review import ProposalDecided, accept_proposal, dismiss_proposal, propose_fact
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    delete_fact,
    demote_fact,
    forget_fact,
    link_facts,
    merge_facts,
    promote_fact,
    remember_fact,
    render_coach_block,
    restore_fact,
    set_switches,
    supersede_fact,
)
from memory.facts.trash import Erasure, purge_facts
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import FactChanged, FactNotFound, FactWrite, Origin
from memory.learning.writes import learn_fact
from memory.models import (
    TRASH_KEPT,
    Confidence,
    EventKind,
    FactLink,
    MemoryEvent,
    MemoryProposal,
    MemorySwitches,
    Place,
    PlaceMention,
    ProposalStatus,
    Tombstone,
    UserFact,
)
from tests.factories.memory import JULY, JUNE, MemoryProposalFactory, UserFactFactory
from tests.factories.trading import TraderFactory

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

RACERS = 20
Work = Callable[[], Any]


def race(*works: tuple[int, Work]) -> list[Any]:
    """Do all at once, each as a user on a connection of its own; return results and refusals in the given order."""
    start = Barrier(len(works))

    def run(user_id: int, work: Work) -> Any:
        try:
            start.wait()
            with owned_tx(user_id):
                return work()
        except DomainError as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(run, *work) for work in works]]


def moment(number: int):
    """The clocks of processes never agree to the millisecond."""
    return JUNE + timedelta(milliseconds=(number * 7) % RACERS)


@pytest.fixture
def fact(trader):
    """A fact that everybody wants to change."""
    with owned_tx(trader):
        return UserFactFactory(content="Retires at 50", inferred=True)


def test_one_of_twenty_concurrent_supersedes_wins(trader, fact):
    def supersede(number: int) -> Work:
        return lambda: supersede_fact(fact_id=fact.pk, content=f"Retires at {51 + number}", now=moment(number))

    results = race(*[(trader.pk, supersede(number)) for number in range(RACERS)])

    winners = [result for result in results if not isinstance(result, DomainError)]
    losers = [result for result in results if isinstance(result, DomainError)]
    assert {type(loser) for loser in losers} == {FactChanged}
    assert len(losers) == RACERS - 1
    with owned(trader):
        assert list(UserFact.objects.believed()) == [winners[0].fact]
        assert list(MemoryEvent.objects.all()) == [winners[0].event]
        assert UserFact.objects.count() == 2


def test_twenty_identical_saves_leave_one_row(trader):
    def remember(number: int) -> Work:
        words = ["Never trades alts", "never trades ALTS."][number % 2]
        return lambda: remember_fact(content=words, topic="symbols", now=moment(number))

    results = race(*[(trader.pk, remember(number)) for number in range(RACERS)])

    with owned(trader):
        row = UserFact.objects.get()
        assert [result.fact for result in results] == [row] * RACERS
        assert [result.event for result in results if result.event] == list(MemoryEvent.objects.all())
        assert MemoryEvent.objects.count() == 1


def test_twenty_saves_that_promote_leave_one_promotion(trader, fact):
    def remember(number: int) -> Work:
        return lambda: remember_fact(content=fact.content, confidence=Confidence.ASSERTED, now=moment(number))

    race(*[(trader.pk, remember(number)) for number in range(RACERS)])

    with owned(trader):
        assert UserFact.objects.believed().get().confidence == Confidence.ASSERTED
        assert [event.kind for event in MemoryEvent.objects.all()] == [EventKind.PROMOTE]


@pytest.mark.parametrize(
    ("write", "believed"),
    [
        (lambda fact: supersede_fact(fact_id=fact.pk, content="Retires at 55", now=JUNE), ["Retires at 50"]),
        (lambda fact: forget_fact(id_or_substring=str(fact.pk), now=JUNE), ["Retires at 50"]),
        (lambda fact: delete_fact(fact_id=fact.pk, now=JUNE), ["Retires at 50"]),
        (lambda fact: remember_fact(content="Never trades alts", now=JUNE), ["Retires at 50"]),
    ],
    ids=["supersede", "forget", "delete", "save"],
)
def test_twenty_undos_of_one_event_act_once(trader, fact, write, believed):
    with owned_tx(trader):
        event = write(fact).event
        count = UserFact.objects.count()

    results = race(
        *[(trader.pk, lambda at=at: undo_event(event_id=event.pk, now=JULY + at)) for at in _moments(RACERS)]
    )

    assert len({result.undone_at for result in results}) == 1
    with owned(trader):
        assert [row.content for row in UserFact.objects.believed()] == believed
        assert UserFact.objects.count() == count + (event.kind != EventKind.SAVE)
        assert not UserFact.objects.in_trash().exists()


@pytest.mark.parametrize("made", [{}, {"archived": True}], ids=["held true", "archived"])
def test_twenty_deletes_put_a_fact_into_the_trash_once(trader, made):
    with owned_tx(trader):
        fact = UserFactFactory(**made)

    results = race(
        *[(trader.pk, lambda number=n: delete_fact(fact_id=fact.pk, now=moment(number))) for n in range(RACERS)]
    )

    with owned(trader):
        assert [result.event for result in results if result.event] == list(MemoryEvent.objects.all())
        assert MemoryEvent.objects.count() == Tombstone.objects.count() == 1
        assert UserFact.objects.in_trash().get().pk == fact.pk


def test_twenty_concurrent_restores_restore_a_fact_once(trader, fact):
    with owned_tx(trader):
        delete_fact(fact_id=fact.pk, now=JUNE)

    results = race(*[(trader.pk, lambda: restore_fact(fact_id=fact.pk, now=JULY))] * RACERS)

    assert Counter(map(type, results)) == {FactWrite: 1, FactChanged: RACERS - 1}
    with owned(trader):
        assert UserFact.objects.believed().count() == 1
        assert UserFact.objects.count() == 2


def test_twenty_undos_of_a_batch_act_once(trader):
    batch = Origin(batch_id=uuid4())
    with owned_tx(trader):
        for fact in UserFactFactory.create_batch(3):
            archive_fact(fact_id=fact.pk, origin=batch, now=JUNE)

    results = race(*[(trader.pk, lambda: undo_batch(batch_id=batch.batch_id, now=JULY))] * RACERS)

    assert sorted(map(len, results)) == [0] * (RACERS - 1) + [3]
    with owned(trader):
        assert UserFact.objects.believed().count() == 3
        assert UserFact.objects.count() == 6


def test_twenty_concurrent_decisions_decide_a_proposal_once(trader):
    with owned_tx(trader):
        proposal = MemoryProposalFactory()
    decide = [accept_proposal, dismiss_proposal]

    results = race(
        *[(trader.pk, lambda n=n: decide[n % 2](proposal_id=proposal.pk, now=moment(n))) for n in range(RACERS)]
    )

    assert Counter(map(type, results)) == {MemoryProposal: 1, ProposalDecided: RACERS - 1}
    with owned(trader):
        is_accepted = MemoryProposal.objects.get().status == ProposalStatus.ACCEPTED
        assert UserFact.objects.count() == MemoryEvent.objects.count() == int(is_accepted)


def test_twenty_links_and_proposals_of_one_kind_leave_one(trader):
    with owned_tx(trader):
        ends = [str(fact.pk) for fact in UserFactFactory.create_batch(2)]

    def link() -> object:
        return link_facts(from_id=ends[0], to_id=ends[1], relation="relates_to", now=JUNE)

    def propose() -> object:
        return propose_fact(kind="import", content="Funds only", why="x", origin=Origin(), now=JUNE)

    results = race(*[(trader.pk, work) for work in [link, propose] * (RACERS // 2)])

    assert Counter(type(result) for result in results if result) == {MemoryEvent: 1, MemoryProposal: 1}
    with owned(trader):
        assert FactLink.objects.count() == MemoryProposal.objects.count() == 1


def test_twenty_first_switches_leave_one_row(trader):
    race(*[(trader.pk, lambda: set_switches(learns=False))] * RACERS)

    with owned(trader):
        assert not MemorySwitches.objects.get().learns


def test_twenty_mentions_of_a_place_from_one_message_count_once(trader):
    origin = Origin(conversation_id=uuid4(), message_id=1)

    race(*[(trader.pk, lambda: add_place(place_id="home", name="Home", origin=origin, now=JUNE))] * RACERS)

    with owned(trader):
        assert Place.objects.count() == PlaceMention.objects.count() == MemoryEvent.objects.count() == 1


def test_concurrent_extraction_keeps_explicit_fact(trader, fact):
    origin = Origin(quotes=({"message_id": 1, "start": 0, "end": 4},))
    given = {"topic": "", "category": None, "score": 0.9, "said_at": {1: JUNE}, "origin": origin, "now": JUNE}
    with owned_tx(trader):
        learned = learn_fact(content="Trades from Porto", **given).fact

    def learn() -> object:
        return learn_fact(content="Trades from Faro", target_id=learned.pk, **given)

    def say() -> object:
        return supersede_fact(fact_id=learned.pk, content="Trades from Lisbon", now=JUNE)

    results = race(*[(trader.pk, work) for work in [learn, say] * (RACERS // 2)])

    winners = [result for result in results if isinstance(result, FactWrite)]
    with owned(trader):
        last = UserFact.objects.believed().get(lineage=learned.lineage)
        assert [winner.fact for winner in winners] == [last]
        assert UserFact.objects.filter(lineage=learned.lineage).count() == 2


def test_purges_and_restores_at_once_leave_the_fact_whole_or_gone(trader):
    with owned_tx(trader):
        facts = UserFactFactory.create_batch(RACERS // 2)
        for fact in facts:
            delete_fact(fact_id=fact.pk, now=JUNE)
    works = [lambda fact=fact: restore_fact(fact_id=fact.pk, now=JULY) for fact in facts]

    results = race(
        *[(trader.pk, work) for work in works], *[(trader.pk, lambda: purge_facts(now=JUNE + TRASH_KEPT))] * len(works)
    )

    restored = {result.fact.lineage for result in results if isinstance(result, FactWrite)}
    assert {type(result) for result in results} <= {FactWrite, Erasure, FactNotFound}
    with owned(trader):
        assert set(UserFact.objects.values_list("lineage", flat=True)) == restored
        assert UserFact.objects.count() == 2 * len(restored)


def _moments(count: int) -> list[timedelta]:
    return [timedelta(milliseconds=number) for number in range(count)]


def test_concurrent_writes_leave_one_version_and_raise_domain_errors_only(trader, fact):
    with owned_tx(trader):
        other = UserFactFactory(content="Retires at 60")
        edited = supersede_fact(fact_id=fact.pk, content="Retires at 55", now=JUNE)
    now = JULY
    works = [
        lambda: undo_event(event_id=edited.event.pk, now=now),
        lambda: supersede_fact(fact_id=edited.fact.pk, content="Retires at 60", now=now),
        lambda: supersede_fact(fact_id=other.pk, content="Retires at 55", now=now),
        lambda: promote_fact(fact_id=edited.fact.pk, now=now),
        lambda: demote_fact(fact_id=edited.fact.pk, now=now),
        lambda: confirm_fact(fact_id=edited.fact.pk, now=now),
        lambda: archive_fact(fact_id=edited.fact.pk, now=now),
        lambda: forget_fact(id_or_substring="retires at 5", now=now),
        lambda: restore_fact(fact_id=fact.pk, now=now),
        lambda: remember_fact(content="Retires at 55", topic="goal", now=now),
        lambda: delete_fact(fact_id=fact.pk, now=now),
        lambda: merge_facts(fact_id=edited.fact.pk, into_id=other.pk, now=now),
    ]

    race(*[(trader.pk, work) for work in works * 2])

    with owned(trader):
        rows = list(UserFact.objects.all())
        replaced = [row.supersedes_id for row in rows if row.supersedes_id]
        assert len(replaced) == len(set(replaced))
        assert len({row.lineage for row in rows}) == len([row for row in rows if row.supersedes_id is None])
        for believed in UserFact.objects.believed():
            assert not UserFact.objects.filter(supersedes=believed).exists()
        texts = Counter(UserFact.objects.believed().values_list("normalised", flat=True))
        assert set(texts.values()) <= {1}


def test_block_rendered_while_its_facts_change_marks_no_closed_row(trader):
    with owned_tx(trader):
        facts = [UserFactFactory() for _ in range(RACERS // 2)]
    edits = [
        (trader.pk, lambda fact=fact: supersede_fact(fact_id=fact.pk, content=f"{fact.content}, corrected", now=JUNE))
        for fact in facts
    ]
    renders = [(trader.pk, lambda: render_coach_block(now=JULY))] * (RACERS // 2)

    race(*[work for pair in zip(edits, renders, strict=True) for work in pair])

    with owned(trader):
        for new in UserFact.objects.believed().select_related("supersedes"):
            assert new.last_referenced_at >= new.supersedes.last_referenced_at


def test_concurrent_users_do_not_affect_each_other(db):
    traders = TraderFactory.create_batch(RACERS)

    results = race(*[(trader.pk, lambda: remember_fact(content="Never trades alts", now=JUNE)) for trader in traders])

    assert [result.fact.user_id for result in results] == [trader.pk for trader in traders]
    assert {result.event.kind for result in results} == {EventKind.SAVE}
