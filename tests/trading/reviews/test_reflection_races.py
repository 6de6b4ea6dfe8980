"""Concurrent reflections: the database lets one worker run."""

from collections import Counter
from functools import partial
from uuid import uuid4

import pytest
from django.db import connection

from config.lib.owned import owned, owned_tx
from config.lib.work.leases import LEASE
from tests.factories.memory import JUNE
from tests.factories.record import DeploymentFactory, ReflectionNoteFactory, ReflectionRunFactory, TradeFactory
from tests.factories.trading import TraderFactory
from tests.racing import PROCESSES, racers_at
from tests.trading.reflecting import reflect_once
from trading.models import NoteStatus, ReflectionNote, ReflectionRun
from trading.reviews.reflection import ReflectionOutcome

pytestmark = [
    pytest.mark.race,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("racing"),  # one set of processes at a time
]

ROUNDS = 4


@pytest.fixture(scope="module")
def racers(django_db_setup, tmp_path_factory):
    """The processes, on the test's database."""
    with racers_at(str(connection.settings_dict["NAME"]), tmp_path_factory.mktemp("racing")) as racers:
        yield racers


@pytest.fixture
def calls(tmp_path):
    """Where the stand-in for the model notes its calls."""
    path = tmp_path / "calls"
    path.touch()
    return path


@pytest.fixture
def records(db):
    """Deployments of a user each, with ten closed trades and older lessons."""
    made = []
    for trader in TraderFactory.create_batch(ROUNDS):
        with owned_tx(trader):
            made.append(DeploymentFactory())
            TradeFactory.create_batch(10, deployment=made[-1], entry_tick_at=JUNE)
            ReflectionNoteFactory(deployment=made[-1])
    return made


def left(record):
    """Return (active notes, superseded notes, runs by status)."""
    with owned(record.user_id):
        notes = Counter(ReflectionNote.objects.filter(deployment=record.pk).values_list("status", flat=True))
        runs = Counter(ReflectionRun.objects.filter(deployment=record.pk).values_list("status", flat=True))
    return notes[NoteStatus.ACTIVE], notes[NoteStatus.SUPERSEDED], dict(runs)


def test_concurrent_processes_reflect_once(racers, records, calls):
    for number, record in enumerate(records, start=1):
        act = partial(reflect_once, calls, record.user_id, record.pk, JUNE + LEASE)

        outcomes = Counter(racers.race(*[act] * PROCESSES))

        assert outcomes[ReflectionOutcome.WRITTEN] == 1
        assert outcomes.keys() <= {ReflectionOutcome.WRITTEN, ReflectionOutcome.UNDER_WAY, ReflectionOutcome.NOT_DUE}
        assert left(record) == (1, 1, {"done": 1})
        assert len(calls.read_text().split()) == number


def test_an_expired_lease_is_taken_over_by_one_process(racers, records, calls):
    for record in records:
        with owned_tx(record.user_id):
            ReflectionRunFactory(
                deployment=record, status="running", finished_at=None, lease=uuid4(), lease_until=JUNE + LEASE
            )
        act = partial(reflect_once, calls, record.user_id, record.pk, JUNE + LEASE)

        outcomes = Counter(racers.race(*[act] * PROCESSES))

        assert outcomes[ReflectionOutcome.WRITTEN] == 1
        assert left(record) == (1, 1, {"done": 1})


def test_reflections_that_overtake_each_other_leave_one_active_note(racers, records, calls):
    for record in records:
        # Each one's clock is past the lease of the one before, so all may take over from each other.
        acts = [
            partial(reflect_once, calls, record.user_id, record.pk, JUNE + number * LEASE, is_forced=True)
            for number in range(1, PROCESSES + 1)
        ]

        outcomes = Counter(racers.race(*acts))

        active, superseded, runs = left(record)
        assert active == 1
        assert superseded == outcomes[ReflectionOutcome.WRITTEN] >= 1
        assert runs == {"done": outcomes[ReflectionOutcome.WRITTEN]}
        assert set(outcomes) <= {ReflectionOutcome.WRITTEN, ReflectionOutcome.UNDER_WAY, ReflectionOutcome.TAKEN_OVER}
