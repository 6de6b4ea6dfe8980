"""Randomly nested doors, tasks and threads: never a foreign row."""

import asyncio
import threading
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import DatabaseError, connection, connections, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.lib.owned import SYSTEM, ScopeError, current_owner, owned, owned_tx, system_tx
from memory.models import UserFact
from tests.factories.memory import UserFactFactory
from tests.factories.trading import TraderFactory
from tests.properties import examples

DOORS = {"owned": owned, "owned_tx": owned_tx, "system_tx": lambda user: system_tx("test")}


class Boom(Exception):
    """What goes wrong at the end of a step."""


@dataclass(frozen=True)
class Look:
    """Read everything."""


@dataclass(frozen=True)
class Write:
    """Save a fact of whoever is in scope."""


@dataclass(frozen=True)
class Door:
    """Do the steps inside a door, and maybe fail at the end."""

    name: str
    user: int  # 0 or 1
    steps: list
    fails: bool


@dataclass(frozen=True)
class Savepoint:
    """Do the steps in a transaction of their own, and maybe fail at the end."""

    steps: list
    fails: bool


@dataclass(frozen=True)
class Generator:
    """Do the steps while a generator that is suspended inside a door holds it open; then end it one way or another."""

    name: str
    user: int
    steps: list
    end: str  # a key of ENDS


@dataclass(frozen=True)
class Tasks:
    """Do several runs of steps, each as a task."""

    runs: list


@dataclass(frozen=True)
class Thread:
    """Do the steps on another thread, with or without the context of this one."""

    steps: list
    takes_context: bool


def throw(begun) -> None:
    with suppress(Boom):
        begun.throw(Boom)


ENDS = {"exhaust": list, "close": lambda begun: begun.close(), "throw": throw}

users = st.integers(0, 1)
names = st.sampled_from(sorted(DOORS))
# On SQLite one transaction writes at a time, and the thread's starter may be in one: a thread only reads.
thread_steps = st.recursive(
    st.just(Look()),
    lambda inner: st.builds(Door, st.just("owned"), users, st.lists(inner, max_size=2), st.booleans()),
    max_leaves=3,
)
programs = st.lists(
    st.recursive(
        st.sampled_from([Look(), Write()])
        | st.builds(Thread, st.lists(thread_steps, min_size=1, max_size=2), st.booleans()),
        lambda inner: st.one_of(
            st.builds(Door, names, users, st.lists(inner, max_size=3), st.booleans()),
            st.builds(Savepoint, st.lists(inner, max_size=3), st.booleans()),
            st.builds(Generator, names, users, st.lists(inner, max_size=3), st.sampled_from(sorted(ENDS))),
            st.builds(Tasks, st.lists(st.lists(inner, max_size=2), min_size=1, max_size=3)),
        ),
        max_leaves=12,
    ),
    max_size=4,
)


@dataclass
class World:
    """What the rows should be by now, kept beside the database that the steps are done on."""

    ids: tuple[int, int]
    facts: set = field(default_factory=set)  # of (owner's id, fact's id)

    def do(self, steps: list, at: "Place") -> None:
        for step in steps:
            getattr(self, f"do_{type(step).__name__.lower()}")(step, at)
            at.check()

    def do_look(self, step: Look, at: "Place") -> None:
        at.look(self.facts)

    def do_write(self, step: Write, at: "Place") -> None:
        if at.owner in (None, SYSTEM):
            with pytest.raises(ScopeError):
                UserFactFactory()
        else:
            self.facts.add((at.owner, UserFactFactory().pk))

    def do_door(self, step: Door, at: "Place") -> None:
        door = DOORS[step.name](self.ids[step.user])
        if not (inside := at.beyond(step.name, self.ids[step.user])):
            with pytest.raises(ScopeError), door:
                pass
            return
        is_undone = step.fails and (step.name != "owned" or connection.vendor == "postgresql")
        with self.rolled_back_if(is_undone), suppress(Boom), door:
            self.do(step.steps, inside)
            fail_if(step.fails)

    def do_savepoint(self, step: Savepoint, at: "Place") -> None:
        with self.rolled_back_if(step.fails), suppress(Boom), transaction.atomic():
            self.do(step.steps, at)
            fail_if(step.fails)

    def do_generator(self, step: Generator, at: "Place") -> None:
        def kept_open():
            with DOORS[step.name](self.ids[step.user]):
                yield

        begun = kept_open()
        if not (inside := at.beyond(step.name, self.ids[step.user])):
            with pytest.raises(ScopeError):
                next(begun)
            return
        has_transaction = step.name != "owned" or connection.vendor == "postgresql"
        with self.rolled_back_if(has_transaction and step.end != "exhaust"):
            next(begun)
            self.do(step.steps, inside)
            ENDS[step.end](begun)

    def do_tasks(self, step: Tasks, at: "Place") -> None:
        async def gather():
            await asyncio.gather(*(sync_to_async(self.do)(steps, at) for steps in step.runs))

        async_to_sync(gather)()

    def do_thread(self, step: Thread, at: "Place") -> None:
        there = replace(at, is_connected=False, is_exact=False, owner=at.owner if step.takes_context else None)
        context = copy_context() if step.takes_context else Context()
        failures = []

        def run():
            try:
                context.run(self.do, step.steps, there)
            except BaseException as failure:  # noqa: BLE001 - handed to the test's own thread
                failures.append(failure)
            finally:
                connections.close_all()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        for failure in failures:
            raise failure

    @contextmanager
    def rolled_back_if(self, is_undone: bool):
        before = set(self.facts)
        yield
        if is_undone:
            self.facts = before


def fail_if(fails: bool) -> None:
    if fails:
        raise Boom


@dataclass(frozen=True)
class Place:
    """Where a step is done: who should be in scope, and what the database should know and show of it."""

    owner: object = None
    is_connected: bool = True  # the door stands on this thread's connection
    is_exact: bool = True  # this thread sees what was written and not committed

    def beyond(self, name: str, user: int) -> "Place | None":
        """Return the place inside a door, or None if it must stay shut."""
        if name == "system_tx":
            return replace(self, owner=SYSTEM, is_connected=True) if self.owner in (None, SYSTEM) else None
        return replace(self, owner=user, is_connected=True) if self.owner in (None, SYSTEM, user) else None

    def check(self) -> None:
        """Check that the scope, and the setting, are those of this place."""
        assert owner_in_scope() == self.owner
        if connection.vendor == "postgresql":
            value = {None: "", SYSTEM: "0"}.get(self.owner, str(self.owner))
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_setting('app.user_id', true)")
                assert (cursor.fetchone()[0] or "") == (value if self.is_connected else "")

    def look(self, facts: set) -> None:
        """Check that exactly the rows of this place are seen, or none and loudly."""
        if self.owner is None:
            with pytest.raises(ScopeError):
                UserFact.objects.count()
        elif connection.vendor == "postgresql" and not self.is_connected:
            with pytest.raises(DatabaseError):
                UserFact.objects.count()
        else:
            own = {fact for fact in facts if self.owner in (SYSTEM, fact[0])}
            seen = set(UserFact.objects.values_list("user_id", "pk"))
            assert seen == own if self.is_exact else {user for user, _ in seen} <= {user for user, _ in own}


def owner_in_scope():
    with suppress(ScopeError):
        return current_owner()


@pytest.fixture
def ids(transactional_db):
    return TraderFactory().pk, TraderFactory().pk


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs)
def test_no_nesting_shows_a_foreign_row_or_leaves_a_scope_open(ids, program):
    with system_tx("test: begin without rows"):
        UserFact.objects.all().delete()
    nowhere = Place()

    World(ids).do([*program, Look()], nowhere)

    nowhere.check()
