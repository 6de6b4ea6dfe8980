import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from config.lib.llm.tokens import count_tokens
from memory.facts.document import build_document, dump_document
from memory.facts.places import add_place, remove_place
from memory.facts.services import archive_fact, delete_fact, forget_fact, restore_fact, supersede_fact
from memory.facts.versions import Origin
from memory.models import UserFact
from tests.factories.memory import JULY, JUNE, MAY, PlaceFactory, PlaceMentionFactory, UserFactFactory

FACT_KEYS = ["id", "content", "added_at", "source_conversation_id", "source_message_id", "is_active"]
PLACE_KEYS = ["place_id", "place_name", "notes", "mentioned_in", "added_at"]
METADATA_KEYS = ["last_updated", "total_facts", "total_active_facts", "total_pois", "token_count", "schema_version"]


def document(now=JULY) -> dict:
    return json.loads(dump_document(build_document(now=now)))


def test_document_has_exactly_the_keys_of_the_seed(as_trader):
    UserFactFactory()
    PlaceMentionFactory()

    found = document()

    assert list(found) == ["facts", "placer_user_datapoints", "metadata"]
    assert list(found["metadata"]) == METADATA_KEYS
    assert [list(fact) for fact in found["facts"]] == [FACT_KEYS]
    assert [list(place) for place in found["placer_user_datapoints"]] == [PLACE_KEYS]


def test_empty_document_is_well_formed(as_trader):
    found = document()

    assert (found["facts"], found["placer_user_datapoints"]) == ([], [])
    assert found["metadata"] == {
        "last_updated": "1970-01-01T00:00:00Z",
        "total_facts": 0,
        "total_active_facts": 0,
        "total_pois": 0,
        "token_count": count_tokens('{"facts":[],"placer_user_datapoints":[]}'),
        "schema_version": "1.0",
    }


def test_document_fact_names_its_source(as_trader):
    conversation = uuid4()
    quotes = [{"message_id": 42, "start": 0, "end": 4}]
    fact = UserFactFactory(content="Risks 1% “a trade”", summary="1%", conversation_id=conversation, quotes=quotes)

    assert document()["facts"] == [
        {
            "id": str(fact.pk),
            "content": "Risks 1% “a trade”",
            "added_at": "2026-05-01T12:00:00Z",
            "source_conversation_id": str(conversation),
            "source_message_id": "42",
            "is_active": True,
        }
    ]


def test_document_place_lists_mentions_by_conversation(as_trader):
    here = str(uuid4())
    place = PlaceFactory(place_id="home", name="Home", notes="123 Main St")
    for message, moment in [("8", JUNE), ("7", MAY)]:
        PlaceMentionFactory(place=place, conversation_ref=here, message_ref=message, mentioned_at=moment)

    assert document()["placer_user_datapoints"] == [
        {
            "place_id": "home",
            "place_name": "Home",
            "notes": "123 Main St",
            "mentioned_in": {here: [["7", "2026-05-01T12:00:00Z"], ["8", "2026-06-01T12:00:00Z"]]},
            "added_at": "2026-05-01T12:00:00Z",
        }
    ]


def test_place_without_notes_has_none_and_a_removed_one_is_not_there(as_trader):
    PlaceFactory(place_id="work")
    remove_place(id=PlaceMentionFactory(mentioned_at=JULY).place.pk, now=JULY)

    found = document()

    assert [(place["place_id"], place["notes"]) for place in found["placer_user_datapoints"]] == [("work", None)]
    assert (found["metadata"]["total_pois"], found["metadata"]["last_updated"]) == (1, "2026-05-01T12:00:00Z")


def test_token_count_leaves_the_metadata_out_and_is_that_of_the_canonical_body(as_trader):
    UserFactFactory(content="Trades “gold” — nothing else, 金 only")
    add_place(place_id="home", name="Home", origin=Origin(conversation_id=uuid4(), message_id=1), now=JUNE)

    found = document()

    body = {name: found[name] for name in ("facts", "placer_user_datapoints")}
    assert found["metadata"]["token_count"] == count_tokens(json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def test_document_marks_facts_that_are_over_as_inactive(as_trader):
    first = UserFactFactory(content="Version one")
    supersede_fact(fact_id=first.pk, content="Version two", now=JUNE)
    archive_fact(fact_id=UserFactFactory(content="Archived").pk, now=JUNE)
    forget_fact(id_or_substring=str(UserFactFactory(content="Forgotten").pk), now=JUNE)
    delete_fact(fact_id=UserFactFactory(content="In the trash").pk, now=JUNE)
    UserFactFactory(content="Ended", ended=True)
    UserFactFactory(content="Later", valid_from=JULY + timedelta(seconds=1))

    found = document()

    assert {fact["content"]: fact["is_active"] for fact in found["facts"]} == {
        "Version one": False,
        "Version two": True,
        "Archived": False,
        "Forgotten": False,
        "Ended": False,
        "Later": True,
    }
    assert (found["metadata"]["total_facts"], found["metadata"]["total_active_facts"]) == (6, 2)


def test_same_rows_give_the_same_bytes(as_trader):
    UserFactFactory.create_batch(3)
    PlaceMentionFactory.create_batch(3)

    assert dump_document(build_document(now=JUNE)) == dump_document(build_document(now=JULY))


def test_last_updated_follows_each_kind_of_write(as_trader):
    def last_updated() -> datetime:
        return datetime.fromisoformat(document(now=JULY + timedelta(days=9))["metadata"]["last_updated"])

    def at(day: int) -> datetime:
        return datetime(2026, 7, day, tzinfo=UTC)

    fact = UserFactFactory()
    writes = [
        lambda now: supersede_fact(fact_id=fact.pk, content="Corrected", now=now),
        lambda now: archive_fact(fact_id=UserFact.objects.believed().get().pk, now=now),
        lambda now: restore_fact(fact_id=fact.pk, now=now),
        lambda now: add_place(place_id="home", name="Home", now=now),
        lambda now: add_place(
            place_id="home", name="Home", origin=Origin(conversation_id=uuid4(), message_id=1), now=now
        ),
    ]
    for day, write in enumerate(writes, start=2):
        write(at(day))
        assert last_updated() == at(day)


def test_document_leaves_out_the_oldest_inactive_versions_first(as_trader, settings):
    settings.MEMORY_TOKEN_LIMIT = 500
    fact = UserFactFactory(content="Version 00")
    for number in range(1, 20):
        now = MAY + timedelta(hours=number)
        fact = supersede_fact(fact_id=fact.pk, content=f"Version {number:02}", now=now).fact

    found = document()

    contents = [row["content"] for row in found["facts"]]
    assert contents == [f"Version {number:02}" for number in range(20 - len(contents), 20)]
    assert 3 < len(contents) < 20
    assert found["metadata"]["token_count"] <= 500
    assert found["metadata"]["total_active_facts"] == 1


def test_document_fact_has_its_dates_where_it_has_some(as_trader):
    UserFactFactory(begins_later=True, content="Half size then")
    UserFactFactory(valid_until=JULY, content="Half size until then")

    later, until = sorted(document(now=JUNE)["facts"], key=lambda fact: fact["content"])

    assert (later["is_active"], later["valid_from"], "valid_until" in later) == (True, "2026-07-01T12:00:00Z", False)
    assert (until["is_active"], until["valid_until"], "valid_from" in until) == (True, "2026-07-01T12:00:00Z", False)
