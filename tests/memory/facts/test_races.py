from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import cycle
from typing import Any
from uuid import uuid4

import pytest

from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from memory.facts.places import PlaceWrite, add_place
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
    FactLink,
    MemoryEvent,
    MemoryProposal,
    MemorySwitches,
    Place,
    PlaceMention,
    Tombstone,
    UserFact,
    WriteKind,
)
from tests.factories.memory import JULY, JUNE, MemoryProposalFactory, UserFactFactory
from tests.factories.trading import TraderFactory
from tests.owners import as_owner
from tests.threads import race

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

RACERS = 20
Work = Callable[[], Any]


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

    results = race(*[supersede(number) for number in range(RACERS)], user=trader)

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

    results = race(*[remember(number) for number in range(RACERS)], user=trader)

    with owned(trader):
        row = UserFact.objects.get()
        assert [result.fact for result in results] == [row] * RACERS
        assert [result.event for result in results if result.event] == list(MemoryEvent.objects.all())
        assert MemoryEvent.objects.count() == 1


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

    undos = [partial(undo_event, event_id=event.pk, now=moment(number)) for number in range(RACERS)]
    results = race(*undos, user=trader)

    assert len({result.undone_at for result in results}) == 1
    with owned(trader):
        assert [row.content for row in UserFact.objects.believed()] == believed
        assert UserFact.objects.count() == count + (event.kind != WriteKind.SAVE)
        assert not UserFact.objects.in_trash().exists()


def delete(**made) -> Work:
    return partial(delete_fact, fact_id=UserFactFactory(**made).pk, now=JUNE)


def restore() -> Work:
    return partial(restore_fact, fact_id=delete()().fact.pk, now=JULY)


def undo_a_batch() -> Work:
    batch = Origin(batch_id=uuid4())
    for fact in UserFactFactory.create_batch(3):
        archive_fact(fact_id=fact.pk, origin=batch, now=JUNE)
    return partial(undo_batch, batch_id=batch.batch_id, now=JULY)


def promote() -> Work:
    fact = UserFactFactory(content="Retires at 50", inferred=True)
    return partial(remember_fact, content=fact.content, confidence=Confidence.ASSERTED, now=JUNE)


def link() -> Work:
    ends = [str(fact.pk) for fact in UserFactFactory.create_batch(2)]
    return partial(link_facts, from_id=ends[0], to_id=ends[1], relation="relates_to", now=JUNE)


def decide() -> Work:
    pk, decisions = MemoryProposalFactory().pk, cycle([accept_proposal, dismiss_proposal])
    return lambda: next(decisions)(proposal_id=pk, now=JUNE)


PROPOSES = {"kind": "import", "content": "Funds only", "why": "x", "origin": Origin(), "now": JUNE}
MENTIONS = {"place_id": "home", "name": "Home", "origin": Origin(conversation_id=uuid4(), message_id=1), "now": JUNE}

# What makes the work, the numbers of rows after it was done twenty times, and the results that are not None.
ONCE = {
    "delete": (delete, {UserFact: 1, MemoryEvent: 1, Tombstone: 1}, {FactWrite: RACERS}),
    "delete an archived fact": (
        partial(delete, archived=True),
        {UserFact: 1, MemoryEvent: 1, Tombstone: 1},
        {FactWrite: RACERS},
    ),
    "restore": (restore, {UserFact: 2, MemoryEvent: 2}, {FactWrite: 1, FactChanged: RACERS - 1}),
    "undo a batch": (undo_a_batch, {UserFact: 6, MemoryEvent: 3}, {list: RACERS}),
    "promote": (promote, {UserFact: 2, MemoryEvent: 1}, {FactWrite: RACERS}),
    "link": (link, {FactLink: 1, MemoryEvent: 1}, {MemoryEvent: 1}),
    "propose": (lambda: partial(propose_fact, **PROPOSES), {MemoryProposal: 1}, {MemoryProposal: 1}),
    "decide": (decide, {MemoryProposal: 1}, {MemoryProposal: 1, ProposalDecided: RACERS - 1}),
    "switch": (lambda: partial(set_switches, learns=False), {MemorySwitches: 1}, {MemorySwitches: RACERS}),
    "mention": (
        lambda: partial(add_place, **MENTIONS),
        {Place: 1, PlaceMention: 1, MemoryEvent: 1},
        {PlaceWrite: RACERS},
    ),
}


@pytest.mark.parametrize("name", ONCE)
def test_what_is_done_twenty_times_at_once_is_done_once(trader, name):
    make, rows, results = ONCE[name]
    with owned_tx(trader):
        work = make()

    done = race(*[work] * RACERS, user=trader)

    assert Counter(type(result) for result in done if result is not None) == results
    with owned(trader):
        assert {model: model.objects.count() for model in rows} == rows


def test_concurrent_extraction_keeps_explicit_fact(trader, fact):
    origin = Origin(quotes=({"message_id": 1, "start": 0, "end": 4},))
    given = {"topic": "", "category": None, "score": 0.9, "said_at": {1: JUNE}, "origin": origin, "now": JUNE}
    with owned_tx(trader):
        learned = learn_fact(content="Trades from Porto", **given).fact

    def learn() -> object:
        return learn_fact(content="Trades from Faro", target_id=learned.pk, **given)

    def say() -> object:
        return supersede_fact(fact_id=learned.pk, content="Trades from Lisbon", now=JUNE)

    results = race(*[learn, say] * (RACERS // 2), user=trader)

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

    results = race(*works, *[lambda: purge_facts(now=JUNE + TRASH_KEPT)] * len(works), user=trader)

    restored = {result.fact.lineage for result in results if isinstance(result, FactWrite)}
    assert {type(result) for result in results} <= {FactWrite, Erasure, FactNotFound}
    with owned(trader):
        assert set(UserFact.objects.values_list("lineage", flat=True)) == restored
        assert UserFact.objects.count() == 2 * len(restored)


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

    race(*works * 2, user=trader)

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
    edits = [partial(supersede_fact, fact_id=fact.pk, content=f"{fact.content}, corrected", now=JUNE) for fact in facts]

    race(*[work for edit in edits for work in (edit, lambda: render_coach_block(now=JULY))], user=trader)

    with owned(trader):
        for new in UserFact.objects.believed().select_related("supersedes"):
            assert new.last_referenced_at >= new.supersedes.last_referenced_at


def test_concurrent_users_do_not_affect_each_other(db):
    traders = TraderFactory.create_batch(RACERS)

    remember = partial(remember_fact, content="Never trades alts", now=JUNE)
    results = race(*[partial(as_owner, trader, remember) for trader in traders])

    assert [result.fact.user_id for result in results] == [trader.pk for trader in traders]
    assert {result.event.kind for result in results} == {WriteKind.SAVE}
