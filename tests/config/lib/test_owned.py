"""Every access to owned rows: without owner, as stranger, as system."""

import pickle
from contextlib import suppress
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from config.lib.owned import ScopeError, owned, owned_tx, system_tx
from memory.models import MemoryEvent, UserFact
from tests.config.lib.access import ASKED_AGAIN, HANDOVERS, RAW, READS, READS_OF_ONE, TAKEOVERS, WRITES, WRITES_BY_QUERY
from tests.factories.memory import JUNE, MAY, MemoryEventFactory, UserFactFactory
from tests.tables import each_case

pytestmark = pytest.mark.django_db

Trader = get_user_model()


@pytest.fixture
def as_ann(ann, anns, bobs):
    with owned_tx(ann):
        yield ann


def stored(user) -> list[dict]:
    with owned(user):
        return list(UserFact.objects.order_by("pk").values())


# --- Without an owner ---


@each_case("way, reach", (READS | READS_OF_ONE | RAW | WRITES | WRITES_BY_QUERY).items())
def test_without_an_owner_nothing_is_reached(way, reach, bobs):
    with pytest.raises(ScopeError):
        reach(UserFact.objects, bobs)


def test_without_an_owner_a_user_is_not_deleted(bob, bobs):
    with pytest.raises(ScopeError):
        bob.delete()


def test_without_an_owner_nothing_is_dumped(bobs):
    with pytest.raises(CommandError, match="no owner in scope"):
        call_command("dumpdata", "memory", stdout=StringIO())


def test_without_an_owner_nothing_is_loaded(bobs, tmp_path):
    path = str(tmp_path / "dump.json")
    with system_tx("test"):
        call_command("dumpdata", "memory", output=path)

    with pytest.raises(ScopeError):
        call_command("loaddata", path, verbosity=0)


# --- As somebody else ---


@each_case("way, read", READS.items())
def test_as_another_user_a_read_finds_nothing_of_bob(way, read, as_ann, bobs):
    found = read(UserFact.objects, bobs)

    assert bobs.content.encode() not in pickle.dumps(found)


@each_case("reach, found", [("count", 1), ("length", 1), ("contains", False), ("in_bulk", {}), ("reverse_key", [])])
def test_as_another_user_only_own_rows_count_and_a_row_is_not_among_the_others(reach, found, as_ann, bobs):
    assert READS[reach](UserFact.objects, bobs) == found


@each_case("way, read", READS_OF_ONE.items())
def test_as_another_user_a_row_does_not_exist(way, read, as_ann, bobs):
    with pytest.raises(UserFact.DoesNotExist):
        read(UserFact.objects, bobs)


@each_case("way, reach", RAW.items())
def test_raw_sql_is_refused_in_any_scope(way, reach, as_ann, bobs):
    with pytest.raises(ScopeError):
        reach(UserFact.objects, bobs)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_as_another_user_a_write_is_refused(write, ann, bob, bobs):
    before = stored(bob)

    with owned_tx(ann), pytest.raises(ScopeError):
        write(UserFact.objects, bobs)

    assert stored(bob) == before


@pytest.mark.parametrize("write", WRITES_BY_QUERY.values(), ids=WRITES_BY_QUERY)
def test_as_another_user_a_write_by_query_changes_nothing(write, ann, bob, bobs):
    before = stored(bob)

    with owned_tx(ann):
        written = write(UserFact.objects, bobs)

    assert not written
    assert stored(bob) == before


@pytest.mark.parametrize("write", TAKEOVERS.values(), ids=TAKEOVERS)
def test_a_row_with_a_foreign_id_does_not_take_it_over(write, ann, bob, bobs):
    before = stored(bob)

    with suppress(DatabaseError, ScopeError), owned_tx(ann):
        write(UserFactFactory.build(id=bobs.pk, user=ann, content="Mine now"))

    assert stored(bob) == before


def test_a_new_row_belongs_to_the_owner_in_scope(as_ann):
    assert UserFactFactory().user == as_ann
    assert UserFact.objects.bulk_create([UserFactFactory.build()])[0].user == as_ann


def test_insert_and_update_row_store_what_save_stores(as_ann):
    row = UserFactFactory.build(content="Stored by a statement of its own", valid_from=MAY, valid_until=JUNE)
    row.insert()
    UserFact.update_row(row.pk, {"topic": "risk", "valid_until": None})
    again = UserFact.objects.get(pk=row.pk)
    row.topic, row.valid_until = "risk", None
    row.save()

    columns = [field.attname for field in UserFact._meta.concrete_fields]
    stored = UserFact.objects.get(pk=row.pk)
    assert [getattr(again, name) for name in columns] == [getattr(stored, name) for name in columns]
    assert (row.user, row.normalised) == (as_ann, "stored by a statement of its own")


# --- The owner never changes ---


@pytest.mark.parametrize("hand_over", HANDOVERS.values(), ids=HANDOVERS)
def test_neither_an_owner_nor_the_system_can_give_a_row_away(hand_over, ann, anns, bob):
    for door in (owned_tx(ann), system_tx("test")):
        with door, pytest.raises(ScopeError):
            hand_over(UserFact.objects.get(), bob)


@pytest.mark.parametrize("hand_over", [HANDOVERS["save"], HANDOVERS["bulk_update_of_another_column"]])
def test_a_row_just_made_cannot_be_given_away(hand_over, ann, bob):
    with system_tx("test"), pytest.raises(ScopeError):
        hand_over(UserFactFactory(user=ann), bob)


def test_a_row_taken_along_from_another_scope_cannot_be_kept(ann, bobs):
    with owned_tx(ann), pytest.raises(ScopeError):
        HANDOVERS["save"](bobs, ann)


# --- The system ---


def test_the_system_sees_rows_of_all_users(anns, bobs):
    with system_tx("test"):
        assert set(UserFact.objects.all()) == {anns, bobs}


@pytest.mark.parametrize(
    "write",
    [
        UserFactFactory,
        lambda: UserFact.objects.bulk_create([UserFactFactory.build()]),
        lambda: MemoryEvent.objects.create(kind="save", created_at=MAY),
    ],
    ids=["create", "bulk_create", "another_model"],
)
def test_the_system_must_name_an_owner(write):
    with system_tx("test"), pytest.raises(ScopeError, match="must name an owner"):
        write()


def test_the_system_writes_for_an_owner_it_names(ann, bob):
    with system_tx("test"):
        UserFactFactory(user=ann)

    assert (len(stored(ann)), len(stored(bob))) == (1, 0)


def test_the_system_erases_one_user_alone(bob, anns, bobs):
    with system_tx("test"):
        bob.delete()

        assert UserFact.objects.get() == anns


def test_the_system_dumps_and_loads(anns, bobs, tmp_path):
    path = str(tmp_path / "dump.json")

    with system_tx("test"):
        call_command("dumpdata", "memory", output=path)
        UserFact.objects.all().delete()
        call_command("loaddata", path, verbosity=0)

        assert set(UserFact.objects.all()) == {anns, bobs}


# --- Joins use no manager ---


@pytest.fixture
def cross_link(as_ann, bobs):
    """An event of Ann's that points to a fact of Bob's, as no service would write it."""
    return MemoryEventFactory(after=None, after_id=bobs.pk, lineage=bobs.lineage)


def test_a_planted_link_leads_nowhere(cross_link):
    with pytest.raises(UserFact.DoesNotExist):
        _ = MemoryEvent.objects.get().after


@pytest.mark.sqlite
def test_a_join_over_a_planted_link_is_refused(cross_link):
    with pytest.raises(ScopeError, match="foreign row loaded"):
        MemoryEvent.objects.select_related("after").get()


@pytest.mark.postgres
def test_a_join_over_a_planted_link_finds_nothing(cross_link):
    assert MemoryEvent.objects.select_related("after").get().after is None


@pytest.mark.postgres
def test_values_over_a_planted_link_find_nothing(cross_link):
    # On SQLite they would: hence no `__` path over an owned relation in our code (tests/test_guards.py).
    assert list(MemoryEvent.objects.values_list("after__content", flat=True)) == [None]


@pytest.mark.postgres
def test_a_join_from_an_unowned_table_finds_nothing(as_ann, bobs):
    assert not Trader.objects.filter(userfact__content=bobs.content).exists()


# --- Lazy querysets follow the scope ---


class Listing:
    """A page as a library would write it: its queryset is made once, with the class."""

    rows = UserFact.objects.all()


def test_a_queryset_made_without_a_scope_follows_each(ann, anns, bob, bobs):
    for user, fact in [(ann, anns), (bob, bobs), (ann, anns)]:
        with owned(user):
            assert list(Listing.rows) == [fact]
    with pytest.raises(ScopeError):
        list(Listing.rows)


@pytest.mark.parametrize("ask", ASKED_AGAIN.values(), ids=ASKED_AGAIN)
def test_a_queryset_fetched_for_one_owner_is_asked_again_for_the_next(ask, ann, anns, bob, bobs):
    with owned(ann):
        rows = UserFact.objects.all()
        list(rows)

    with owned(bob):
        assert ask(rows) == {bobs.pk}


def test_a_queryset_is_fetched_once_in_its_scope(as_ann, anns, django_assert_num_queries):
    rows = UserFact.objects.all()

    with django_assert_num_queries(1):
        assert list(rows) == list(rows) == [anns]


def test_a_subquery_follows_the_scope(ann, anns, bob, bobs):
    owners = Trader.objects.filter(pk__in=UserFact.objects.values("user"))

    for user in (ann, bob):
        with owned(user):
            assert list(owners.all()) == [user]


@pytest.fixture
def begun(ann):
    """An iterator over facts of Ann's that has yielded one in her scope."""
    with owned_tx(ann):
        UserFactFactory.create_batch(3)
        rows = UserFact.objects.iterator(chunk_size=1)
        assert next(rows).user_id == ann.pk
    return rows


def test_an_iterator_yields_nothing_after_its_scope(begun):
    with pytest.raises((ScopeError, DatabaseError)):
        next(begun)


def test_an_iterator_yields_nothing_in_another_scope(begun, bob):
    with owned(bob), pytest.raises((ScopeError, StopIteration)):  # on PostgreSQL there is nothing left to yield
        next(begun)
