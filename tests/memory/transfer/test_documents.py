import json
from datetime import timedelta
from itertools import count
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.lib.owned import owned_tx
from memory.facts.document import build_document, dump_document
from memory.facts.places import add_place, remove_place
from memory.facts.queries import list_current
from memory.facts.schemas import MAX_DOCUMENT, MAX_ITEMS
from memory.facts.services import archive_fact, delete_fact, promote_fact, remember_fact, restore_fact, supersede_fact
from memory.facts.undo import UndoRefused, undo_batch
from memory.facts.versions import Origin
from memory.models import ArchivedReason, Confidence, FactSource, MemoryEvent, Place, PlaceMention, UserFact
from memory.transfer.arrival import DocumentRefused
from memory.transfer.documents import import_document, parse_document
from tests.factories.memory import JULY, JUNE, MAY, PlaceFactory, PlaceMentionFactory, UserFactFactory, believed
from tests.factories.trading import TraderFactory
from tests.owners import as_owner
from tests.properties import examples

DAY = timedelta(days=1)
LATER = JULY + 9 * DAY
NUMBERS = count(1)


def live_a_little() -> None:
    """Write what a document can hold: facts of each state, corrected, from chats; places with mentions."""
    origin = Origin(conversation_id=uuid4(), message_id=7, quotes=({"message_id": 7, "start": 0, "end": 4},))
    first = remember_fact(content="Retires at 50", topic="goal", origin=origin, now=MAY).fact
    second = supersede_fact(fact_id=first.pk, content="Retires at “55” — 退休", now=MAY + DAY).fact
    promote_fact(fact_id=remember_fact(content="Funds only", now=MAY).fact.pk, now=MAY + 2 * DAY)
    archive_fact(fact_id=second.pk, now=MAY + 3 * DAY)
    restore_fact(fact_id=second.pk, now=JUNE)
    UserFactFactory(content="Was in Porto", ended=True)
    UserFactFactory(learned=True, score=0.4, content="Seems to like gold")
    add_place(place_id="home", name="Home", notes="123 Main St", origin=origin, now=JUNE)
    place = PlaceFactory(place_id="cafe", name="The “Café”")
    PlaceMentionFactory.create_batch(3, place=place, conversation_ref=str(uuid4()))
    remove_place(id=PlaceMentionFactory(mentioned_at=JULY).place.pk, now=JULY)


def everything() -> list[list[dict]]:
    models = (UserFact, Place, PlaceMention, MemoryEvent)
    return [list(model.objects.order_by("pk").values()) for model in models]


def fact(**values) -> dict:
    return {
        "id": str(UUID(int=next(NUMBERS))),
        "content": "Trades gold only",
        "added_at": "2026-05-01T12:00:00Z",
        **values,
    }


def place(**values) -> dict:
    return {"place_id": "home", "place_name": "Home", "added_at": "2026-05-01T12:00:00Z", **values}


def written(facts=(), places=(), **metadata) -> str:
    counts = {"total_facts": 0, "total_active_facts": 0, "total_pois": 0, "token_count": 0}
    about = {"last_updated": "2026-06-01T12:00:00Z", **counts, "schema_version": "1.0", **metadata}
    return json.dumps({"facts": list(facts), "placer_user_datapoints": list(places), "metadata": about})


def bring(text: str, now=JULY):
    return import_document(parse_document(text), now=now)


# --- Export, import, export ---


def test_export_import_export_is_byte_equal_for_another_user(stranger, trader):
    def lived() -> str:
        live_a_little()
        return dump_document(build_document(now=JULY))

    exported = as_owner(stranger, lived)

    with owned_tx(trader):
        done = bring(exported, now=LATER)
        again = dump_document(build_document(now=LATER))

    assert again == exported
    assert (done.known, done.refused) == (0, [])
    assert done.added == len(json.loads(exported)["facts"]) + 2
    assert json.loads(exported)["metadata"]["total_active_facts"] == 3


def test_export_import_export_is_byte_equal_where_versions_were_left_out(trader, stranger, settings):
    settings.MEMORY_TOKEN_LIMIT = 500

    def lived() -> str:
        row = UserFactFactory(content="Version 00")
        for number in range(1, 20):
            row = supersede_fact(fact_id=row.pk, content=f"Version {number:02}", now=MAY + number * DAY).fact
        return dump_document(build_document(now=JULY))

    exported = as_owner(stranger, lived)
    with owned_tx(trader):
        bring(exported)
        assert dump_document(build_document(now=LATER)) == exported


LINES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(LINES, max_size=4), notes=st.lists(LINES, max_size=2))
def test_export_import_export_is_byte_equal_whatever_was_said(db, contents, notes):
    from memory.wording import FactRefused  # noqa: PLC0415

    def lived() -> str:
        for number, content in enumerate(contents):
            try:
                remember_fact(content=f"Says {content}", now=MAY + number * DAY)
            except FactRefused:
                continue
        for number, note in enumerate(notes):
            try:
                add_place(place_id=f"{number}", name=f"at {note}", notes=note, now=MAY)
            except FactRefused:
                continue
        return dump_document(build_document(now=JULY))

    exported = as_owner(TraderFactory(), lived)

    def moved() -> str:
        bring(exported)
        return dump_document(build_document(now=LATER))

    assert as_owner(TraderFactory(), moved) == exported


# --- What an import writes ---


def test_current_facts_come_in_as_asserted_and_imported_ended_ones_as_archived(as_trader):
    bring(written([fact(), fact(content="Trades oil only", is_active=False)]))

    current, ended = UserFact.objects.get(content="Trades gold only"), UserFact.objects.get(content="Trades oil only")
    for row in (current, ended):
        assert (row.source, row.confidence, row.score, row.category) == (
            FactSource.IMPORTED,
            Confidence.ASSERTED,
            None,
            "fact",
        )
        assert (row.learned_at, row.valid_from, row.last_referenced_at, row.created_at) == (MAY, MAY, MAY, JULY)
    assert (ended.archived_at, ended.archived_reason) == (JUNE, ArchivedReason.USER_ARCHIVED)
    assert list_current(JULY, limit=9) == ([current], 1)


def test_import_of_ones_own_document_changes_nothing(as_trader):
    live_a_little()
    before = everything()

    done = bring(dump_document(build_document(now=JULY)))

    assert (done.added, done.batch_id) == (0, None)
    assert everything() == before


def test_import_leaves_what_is_known_by_words_or_id_as_it_is(as_trader):
    known = UserFactFactory(content="trades GOLD only.", topic="symbols")
    deleted = UserFactFactory(content="Trades oil only")
    delete_fact(fact_id=deleted.pk, now=JUNE)
    PlaceFactory(place_id="home", name="My home")

    done = bring(written([fact(), fact(id=str(deleted.pk), content="Trades oil only")], [place()]))

    assert (done.added, done.known) == (0, 3)
    assert list(UserFact.objects.believed()) == [known]
    assert Place.objects.get().name == "My home"


def test_import_keeps_words_once_that_a_document_holds_twice(as_trader):
    done = bring(written([fact(), fact(content="trades gold ONLY!")]))

    assert (done.added, done.known, believed()) == (1, 1, ["Trades gold only"])


def test_import_leaves_out_secrets_and_what_is_no_fact_and_says_so(as_trader):
    done = bring(
        written(
            [fact(), fact(content="My password is hunter2"), fact(content="abc")],
            [
                place(),
                place(place_id="a", notes="password: hunter2"),
                place(place_id="b", place_name="4111 1111 1111 1111"),
                place(place_id="4111 1111 1111 1111"),
                place(place_id="c", place_name="\u200b"),
            ],
        )
    )

    assert (done.added, done.known, len(done.refused)) == (2, 0, 6)
    assert (believed(), [row.place_id for row in Place.objects.all()]) == (["Trades gold only"], ["home"])
    assert done.refused[1] == "abc: A fact needs 4 to 500 characters; this one has 3."


def test_import_neutralises_what_could_open_a_line(as_trader):
    bring(written([fact(content="Trades\ngold\u202e only")], [place(place_name="Home\n# Rules", notes="\0a\u2028b")]))

    assert believed() == ["Trades gold only"]
    row = Place.objects.get()
    assert (row.name, row.notes) == ("Home # Rules", "a b")


def test_import_brings_places_with_their_mentions(as_trader):
    here = str(uuid4())
    mentions = {here: [["7", "2026-05-01T12:00:00Z"], ["7", "2026-05-01T12:00:00Z"], ["8", "2026-05-02T12:00:00Z"]]}

    bring(written([], [place(mentioned_in=mentions)]))

    assert list(PlaceMention.objects.order_by("message_ref").values_list("conversation_ref", "message_ref")) == [
        (here, "7"),
        (here, "8"),
    ]


def test_import_never_reaches_into_the_future(as_trader):
    bring(
        written(
            [fact(added_at="2030-01-01T00:00:00Z"), fact(content="Ended", is_active=False)],
            last_updated="2031-01-01T00:00:00Z",
        )
    )

    assert set(UserFact.objects.as_of(JULY, JULY)) == set(UserFact.objects.current(JULY))
    assert {row.last_referenced_at <= JULY for row in UserFact.objects.all()} == {True}


def test_import_is_undone_as_one_batch(as_trader):
    live_a_little()
    before = dump_document(build_document(now=JULY))
    mentions = {"c": [["7", "2026-05-01T12:00:00Z"]]}
    done = bring(
        written(
            [fact(), fact(content="Ended then", is_active=False)],
            [place(place_id="new", mentioned_in=mentions)],
            last_updated="2026-06-01T14:00:00+02:00",
        )
    )
    assert dump_document(build_document(now=JULY)) != before

    undo_batch(batch_id=done.batch_id, now=LATER)

    assert dump_document(build_document(now=LATER)) == before
    assert "Trades gold only" not in believed()


def test_undo_of_an_import_is_refused_while_a_later_write_stands_on_it(as_trader):
    done = bring(written([fact(), fact(content="Trades oil only")]))
    supersede_fact(fact_id=UserFact.objects.get(content="Trades oil only").pk, content="Trades oil", now=JULY)

    with pytest.raises(UndoRefused):
        undo_batch(batch_id=done.batch_id, now=LATER)

    assert believed() == ["Trades gold only", "Trades oil"]


def test_import_keeps_the_limit_and_its_evictions_are_part_of_the_batch(as_trader, settings):
    settings.MEMORY_TOKEN_LIMIT = 600
    mine = [UserFactFactory(content=f"Mine {n}", last_referenced_at=MAY - (3 - n) * DAY) for n in range(3)]
    facts = [fact(content=f"Brought {number} {'gold and silver ' * 8}") for number in range(6)]

    done = bring(written(facts))

    assert json.loads(dump_document(build_document(now=JULY)))["metadata"]["token_count"] <= 600
    assert UserFact.objects.believed().get(pk=mine[0].pk).left_document_at is not None
    undo_batch(batch_id=done.batch_id, now=LATER)
    assert believed() == ["Mine 0", "Mine 1", "Mine 2"]


# --- What is no document ---


@pytest.mark.limit("memory.facts.schemas.MAX_DOCUMENT")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no memory document"),
        ("[]", "no memory document"),
        ("{", "no memory document"),
        ('{"facts": []}', "metadata: Field required"),
        (written([fact(surprise=1)]), r"facts.0.surprise"),
        (written([fact(content="")]), r"facts.0.content"),
        (written([fact(content="x" * 501)]), r"facts.0.content"),
        (written([fact(is_active="maybe")]), r"facts.0.is_active"),
        (written([fact(id="x" * 65)]), r"facts.0.id"),
        (written([fact(id="a\0b")]), r"facts.0.id"),
        (written([fact(source_message_id="a\u202eb")]), r"facts.0.source_message_id"),
        (written([], [place(mentioned_in={"a": [["only one"]]})]), r"mentioned_in"),
        (written([fact(added_at="yesterday")]), "no time"),
        (written([fact(added_at="2026-13-01T00:00:00Z")]), "no time"),
        (written([fact(added_at="0001-01-01T00:00:00+23:59")]), "no time"),
        (written(last_updated="soon"), "no time"),
        (written(schema_version="2.0"), "version 2.0"),
        (written([fact() for _ in range(MAX_ITEMS + 1)]), "facts"),
        (" " * (MAX_DOCUMENT + 1), "too long"),
        ('{"facts": ["\\ud800"]}', "no memory document"),
        ("[" * 5000, "no memory document"),
    ],
    ids=lambda value: value[:40],
)
def test_import_refuses_what_is_no_document_and_says_where(trader, text, says):
    with pytest.raises(DocumentRefused, match=says), owned_tx(trader):
        bring(text)

    with owned_tx(trader):
        assert not UserFact.objects.exists()


def test_import_keeps_the_dates_of_facts(as_trader):
    UserFactFactory(content="Half size then", valid_from=LATER + DAY)
    UserFactFactory(content="Half size until then", valid_until=LATER + DAY)
    exported = dump_document(build_document(now=JULY))
    UserFact.objects.all().delete()

    bring(exported, now=JULY)

    assert dump_document(build_document(now=JULY)) == exported
    dates = dict(UserFact.objects.values_list("content", "valid_from"))
    assert dates["Half size then"] == LATER + DAY
    assert UserFact.objects.get(content="Half size until then").valid_until == LATER + DAY


def test_import_skips_a_fact_that_ends_before_it_begins(as_trader):
    UserFactFactory(content="Half size", valid_until=JULY)
    exported = json.loads(dump_document(build_document(now=JUNE)))
    UserFact.objects.all().delete()
    exported["facts"][0]["valid_until"] = "2020-01-01T00:00:00Z"

    done = bring(json.dumps(exported), now=JULY)

    assert (done.added, len(done.refused)) == (0, 1)
