import pytest

from memory.facts.queries import list_links
from memory.facts.services import (
    LinkRefused,
    archive_fact,
    delete_fact,
    forget_fact,
    link_facts,
    merge_facts,
    restore_fact,
    supersede_fact,
    unlink_facts,
)
from memory.facts.undo import UndoRefused, undo_event
from memory.models import FactLink, MemoryEvent, UserFact, WriteKind
from tests.factories.memory import JULY, JUNE, UserFactFactory

ENDINGS = {
    "forget": lambda fact: forget_fact(id_or_substring=str(fact.pk), now=JUNE),
    "archive": lambda fact: archive_fact(fact_id=fact.pk, now=JUNE),
    "delete": lambda fact: delete_fact(fact_id=fact.pk, now=JUNE),
}


@pytest.fixture
def ends(as_trader):
    return UserFactFactory(content="Funds only"), UserFactFactory(content="No single stocks")


def link(ends, relation: str = "relates_to") -> MemoryEvent | None:
    first, second = ends
    return link_facts(from_id=str(first.pk), to_id=str(second.pk), relation=relation, now=JUNE)


def shown(fact: UserFact) -> list[tuple[str, str]]:
    """Return what the page of the fact's newest version links to."""
    last = UserFact.objects.last_of_lineage().get(lineage=fact.lineage)
    links = list_links(last)
    return [(link.relation, (link.to_fact if link.from_fact == last else link.from_fact).content) for link in links]


def test_link_facts_relates_two_current_facts(ends):
    event = link(ends, "contradicts")

    row = FactLink.objects.get()
    assert (row.from_fact, row.to_fact, row.relation, row.event, row.created_at) == (*ends, "contradicts", event, JUNE)
    assert (event.kind, event.lineage) == (WriteKind.LINK, ends[0].lineage)
    assert shown(ends[0]) == [("contradicts", "No single stocks")]
    assert shown(ends[1]) == [("contradicts", "Funds only")]


def test_link_facts_relates_the_same_facts_in_the_same_way_once(ends):
    link(ends)

    assert link(ends) is None
    assert FactLink.objects.count() == MemoryEvent.objects.count() == 1
    assert link(ends, "contradicts") is not None


@pytest.mark.limit("memory.wording.MAX_RELATION")
@pytest.mark.parametrize("relation", ["", "  ", "x" * 41])
def test_link_facts_refuses_a_relation_without_words_or_too_long(ends, relation):
    with pytest.raises(LinkRefused, match="1 to 40"):
        link(ends, relation)

    assert not FactLink.objects.exists()


def test_link_facts_refuses_a_fact_and_itself(ends):
    with pytest.raises(LinkRefused, match="itself"):
        link((ends[0], ends[0]))


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("which", [0, 1])
def test_link_to_a_dead_fact_disappears_and_restoring_brings_it_back(ends, how, which):
    link(ends)
    ended, other = ends[which], ends[1 - which]

    ENDINGS[how](ended)
    assert shown(other) == []

    restore_fact(fact_id=ended.pk, now=JULY)
    assert shown(other) == [("relates_to", ended.content)]


def test_merge_gives_the_links_to_the_fact_that_stays_and_undo_takes_them_away_again(ends):
    link(ends)
    stays = UserFactFactory(content="Only funds")

    written = merge_facts(fact_id=ends[0].pk, into_id=stays.pk, now=JUNE)
    assert shown(ends[1]) == [("relates_to", "Only funds")]

    undo_event(event_id=written.event.pk, now=JULY)
    assert shown(ends[1]) == [("relates_to", "Funds only")]
    assert shown(stays) == []


def test_merge_of_two_linked_facts_leaves_no_link_of_a_fact_to_itself(ends):
    link(ends)

    merge_facts(fact_id=ends[0].pk, into_id=ends[1].pk, now=JUNE)

    assert shown(ends[1]) == []


def test_merge_keeps_a_link_that_the_fact_that_stays_had_of_its_own(ends):
    stays = UserFactFactory(content="Only funds")
    link(ends)
    own = link((stays, ends[1]))
    written = merge_facts(fact_id=ends[0].pk, into_id=stays.pk, now=JUNE)

    undo_event(event_id=written.event.pk, now=JULY)

    assert FactLink.objects.get(from_fact=stays).event == own


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda fact: unlink_facts(link_id=FactLink.objects.get().pk, now=JUNE), "removed since"),
        (lambda fact: merge_facts(fact_id=fact.pk, into_id=UserFactFactory().pk, now=JUNE).event, None),
    ],
    ids=["removed", "taken over by another fact"],
)
def test_undo_of_a_link_is_refused_while_a_later_act_on_it_stands(ends, act, says):
    event = link(ends)
    later = act(ends[0])

    with pytest.raises(UndoRefused, match=says):
        undo_event(event_id=event.pk, now=JULY)
    undo_event(event_id=later.pk, now=JULY)
    undo_event(event_id=event.pk, now=JULY)

    assert not FactLink.objects.exists()


@pytest.mark.parametrize("between", ["nothing", "a newer version", "the same link"])
def test_unlink_facts_takes_the_link_away_and_its_undo_brings_it_back_once(ends, between):
    made = link(ends)
    event = unlink_facts(link_id=FactLink.objects.get().pk, now=JUNE)
    assert (event.kind, shown(ends[0])) == (WriteKind.UNLINK, [])
    newest = ends[0]
    if between == "a newer version":
        newest = supersede_fact(fact_id=ends[0].pk, content="Funds and bonds only", now=JUNE).fact
    if between == "the same link":
        made = link(ends)

    undo_event(event_id=event.pk, now=JULY)

    assert shown(newest) == [("relates_to", "No single stocks")]
    assert (FactLink.objects.get().event, FactLink.objects.get().from_fact) == (made, newest)


def test_undo_of_an_unlink_never_resurrects_the_copy_of_a_merge_that_was_undone(ends):
    link(ends)
    stays = UserFactFactory(content="Only funds")
    merged = merge_facts(fact_id=ends[0].pk, into_id=stays.pk, now=JUNE)
    removal = unlink_facts(link_id=FactLink.objects.get(from_fact=stays).pk, now=JUNE)
    undo_event(event_id=merged.event.pk, now=JULY)

    with pytest.raises(UndoRefused):
        undo_event(event_id=removal.pk, now=JULY)

    assert shown(stays) == []
