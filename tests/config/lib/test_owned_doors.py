"""The doors to owned rows: permission to open, state after closing."""

import asyncio
import threading
from contextlib import nullcontext, suppress
from contextvars import copy_context

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import SynchronousOnlyOperation
from django.db import DatabaseError, IntegrityError, connection, connections, transaction

from config.lib.owned import SYSTEM, ScopeError, current_owner, owned, owned_tx, owner_id, system_tx
from config.lib.threads import run_in_thread
from memory.models import UserFact
from tests.factories.memory import UserFactFactory
from tests.factories.trading import TraderFactory

pytestmark = pytest.mark.django_db

USER_DOORS = {"owned": owned, "owned_tx": owned_tx}
DOORS = {**USER_DOORS, "system_tx": lambda user: system_tx("test")}


class Boom(Exception):
    """What goes wrong inside a door."""


@pytest.fixture
def rows(ann, bob):
    """A fact of each."""
    for user in (ann, bob):
        with owned_tx(user):
            UserFactFactory()


def scope():
    """Return the owner in scope, None without one; and, on PostgreSQL, what its policies would go by."""
    try:
        owner = current_owner()
    except ScopeError:
        owner = None
    if connection.vendor != "postgresql":
        return owner, None
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.user_id', true)")
        return owner, cursor.fetchone()[0] or ""


def scope_of(user) -> tuple:
    return user.pk, str(user.pk) if connection.vendor == "postgresql" else None


def system_scope() -> tuple:
    return SYSTEM, "0" if connection.vendor == "postgresql" else None


def owners_seen() -> set[int]:
    return set(UserFact.objects.values_list("user_id", flat=True))


each_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
each_user_door = pytest.mark.parametrize("door", USER_DOORS.values(), ids=USER_DOORS)


# --- Who may open which ---


@each_user_door
def test_scope_shows_the_users_own_rows_only(door, ann, rows):
    with door(ann):
        assert scope() == scope_of(ann)
        assert owners_seen() == {ann.pk}


@each_user_door
def test_scope_opens_for_a_users_id(door, ann):
    with door(ann.pk):
        assert owner_id() == ann.pk


@each_user_door
@pytest.mark.parametrize(
    "nobody",
    [None, AnonymousUser(), TraderFactory.build(), 0, -1, True],
    ids=["none", "anonymous", "unsaved", "zero", "negative", "true"],
)
def test_scope_refuses_anonymous_and_unsaved_users(door, nobody):
    before = scope()

    with pytest.raises(ScopeError), door(nobody):
        pass

    assert scope() == before


@pytest.mark.parametrize("around", [nullcontext, lambda: system_tx("test")], ids=["alone", "inside the system's"])
@pytest.mark.parametrize("outer", USER_DOORS.values(), ids=USER_DOORS)
@pytest.mark.parametrize("inner", DOORS.values(), ids=DOORS)
def test_a_users_scope_becomes_neither_anothers_nor_the_systems(outer, inner, around, ann, bob, rows):
    with around(), outer(ann):
        with pytest.raises(ScopeError), inner(bob):
            pass

        assert scope() == scope_of(ann)
        assert owners_seen() == {ann.pk}


def test_the_system_has_no_owner_id():
    with system_tx("test"), pytest.raises(ScopeError):
        owner_id()


def test_the_system_says_why_it_looks(caplog):
    caplog.set_level("INFO", "security.scope")

    with system_tx("counting facts"):
        pass

    assert "counting facts" in caplog.text


def test_owned_tx_rolls_back_after_an_error(ann):
    with suppress(Boom), owned_tx(ann):
        UserFactFactory()
        raise Boom

    with owned(ann):
        assert not UserFact.objects.exists()


# --- What a door leaves behind ---


@each_door
@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_scope_is_closed_after_an_error(door, error, ann):
    before = scope()

    with pytest.raises(error), door(ann):
        raise error

    assert scope() == before


@each_door
def test_scope_is_closed_after_a_database_error_and_a_rollback(door, ann):
    before = scope()
    with pytest.raises(DatabaseError), door(ann), connection.cursor() as cursor, transaction.atomic():
        cursor.execute("SELECT 1 FROM no_such_table")
    assert scope() == before

    with transaction.atomic(), door(ann):
        transaction.set_rollback(True)
    assert scope() == before


@each_door
def test_scope_may_be_nested_in_itself(door, ann):
    with door(ann):
        before = scope()
        with door(ann):
            assert scope() == before

        assert scope() == before


@each_user_door
@pytest.mark.parametrize("fails", [False, True])
def test_user_scope_restores_the_system_scope(door, fails, ann, bob, rows):
    with system_tx("test"):
        for user in (ann, bob):
            with suppress(Boom), door(user):
                assert owners_seen() == {user.pk}
                if fails:
                    raise Boom

            assert scope() == system_scope()
        assert owners_seen() == {ann.pk, bob.pk}


def test_savepoint_rolled_back_inside_keeps_the_scope(ann, rows):
    with owned_tx(ann):
        fact = UserFactFactory(content="Once")
        with suppress(IntegrityError), transaction.atomic():
            UserFactFactory(id=fact.pk)

        assert scope() == scope_of(ann)
        assert owners_seen() == {ann.pk}


def test_failed_inner_scope_rolls_back_its_own_writes_only(ann):
    with owned_tx(ann):
        kept = UserFactFactory(content="Kept")
        with suppress(Boom), owned_tx(ann):
            UserFactFactory(content="Undone")
            raise Boom

        assert list(UserFact.objects.all()) == [kept]
        assert scope() == scope_of(ann)


# --- Generators ---


def kept_open(door, user):
    """Yield inside a door: it stays open for whoever iterates."""
    with door(user):
        yield


@each_door
@pytest.mark.parametrize(
    "leave", [list, lambda begun: begun.close(), lambda begun: None], ids=["exhausted", "closed", "given up"]
)
def test_generator_closes_its_scope(door, leave, ann):
    before = scope()
    begun = kept_open(door, ann)
    next(begun)
    during = scope()

    leave(begun)
    del begun

    assert during != before
    assert scope() == before


@pytest.mark.parametrize("first", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("second", USER_DOORS.values(), ids=USER_DOORS)
def test_generators_left_in_any_order_leave_nothing_open(first, second, ann):
    outer, inner = kept_open(first, ann), kept_open(second, ann)
    next(outer)
    next(inner)

    outer.close()
    between = scope()[0]
    inner.close()

    assert (between, scope()[0]) == (None, None)


# --- Threads and tasks ---


def in_new_thread(work):
    """Run work on a thread of its own, with its own connection, and return what came of it."""
    outcome = []

    def run():
        try:
            outcome.append(work())
        except (ScopeError, DatabaseError) as error:
            outcome.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    return outcome[0]


@pytest.mark.django_db(transaction=True)
@each_door
def test_thread_starts_without_a_scope(door, ann, rows):
    with door(ann):
        assert isinstance(in_new_thread(owners_seen), ScopeError)


@pytest.mark.django_db(transaction=True)
@each_door
def test_thread_with_a_scope_of_its_own_leaves_the_other_alone(door, ann, bob, rows):
    def look():
        with owned(bob):
            return owners_seen()

    with door(ann):
        before = scope()

        assert in_new_thread(look) == {bob.pk}
        assert scope() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.sqlite
@each_user_door
def test_thread_that_takes_the_scope_along_sees_its_rows_alone(door, ann, rows):
    with door(ann):
        context = copy_context()

        assert in_new_thread(lambda: context.run(owners_seen)) == {ann.pk}


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
@each_door
def test_thread_that_takes_the_scope_along_without_its_transaction_is_refused(door, ann, rows):
    # Its connection is another one: the policies know no user there.
    with door(ann):
        context = copy_context()

        assert isinstance(in_new_thread(lambda: context.run(owners_seen)), DatabaseError)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("carry", [run_in_thread, lambda work, *args: sync_to_async(work)(*args)], ids=["pool", "main"])
async def test_tasks_of_two_users_never_mix(carry, ann, bob, rows):
    def look(user):
        with owned_tx(user):
            return owners_seen()

    async def look_often(user):
        return [await carry(look, user) for _ in range(8)]

    of_ann, of_bob, _ = await asyncio.gather(look_often(ann), look_often(bob), look_often(ann))

    assert (of_ann, of_bob) == ([{ann.pk}] * 8, [{bob.pk}] * 8)


@pytest.mark.sqlite
async def test_tasks_that_hold_a_scope_while_they_wait_never_mix(ann, bob, rows):
    async def look_often(user):
        with owned(user):
            return [row.user_id for _ in range(8) async for row in UserFact.objects.all()]

    of_ann, of_bob = await asyncio.gather(look_often(ann), look_often(bob))

    assert (of_ann, of_bob) == ([ann.pk] * 8, [bob.pk] * 8)


@pytest.mark.sqlite
async def test_asynchronous_iteration_ends_with_the_scope(ann, rows):
    with owned(ann):
        begun = aiter(UserFact.objects.all())

    with pytest.raises(ScopeError):
        await anext(begun)


@pytest.mark.postgres
@each_door
async def test_door_is_not_opened_in_an_event_loop(door, ann):
    with pytest.raises(SynchronousOnlyOperation), door(ann):
        pass

    with pytest.raises(ScopeError):
        current_owner()
