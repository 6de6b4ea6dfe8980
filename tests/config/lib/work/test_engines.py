"""One contract for both engines: what is deferred runs once, in turn, at its time, and only if it was committed."""

import threading
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.utils import timezone

from config.lib.work import jobs
from config.lib.work.defer import defer, defer_found, get_engine
from config.lib.work.jobs import Key, Task
from config.lib.work.models import WorkRun
from config.lib.work.runs import run_task

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 20  # seconds, until a test fails
SOON = timedelta(seconds=0.2)


def key(row: int, user: int = 1) -> Key:
    return Key(user, UUID(int=row))


class Work:
    """A task that notes its runs, and waits in each while its gate is shut."""

    def __init__(self) -> None:
        self.ran, self.together, self.gate, self.problem = [], [], threading.Event(), None
        self.gate.set()
        self._running, self._changed = [], threading.Condition()

    def run(self, key, clock):
        with self._changed:
            self.ran.append((key, timezone.now()))
            self._running.append(key)
            self.together.append(list(self._running))
            self._changed.notify_all()
        assert self.gate.wait(PATIENCE)
        with self._changed:
            self._running.remove(key)
            self._changed.notify_all()
        if self.problem is not None:
            raise self.problem
        return "done"

    @property
    def keys(self):
        return [key for key, _ in self.ran]

    def wait(self, count):
        """Wait until as many have begun, and all are done when the gate is open."""
        with self._changed:
            is_there = lambda: len(self.ran) >= count and (not self.gate.is_set() or not self._running)  # noqa: E731
            assert self._changed.wait_for(is_there, PATIENCE), self.keys


@pytest.fixture(params=["embedded", pytest.param("procrastinate", marks=pytest.mark.postgres)])
def engine(request, settings):
    settings.JOBS_ENGINE = request.param
    yield request.param
    if request.param == "procrastinate":
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")
            cursor.execute("DELETE FROM procrastinate_workers")


@pytest.fixture
def work(monkeypatch, engine):
    work = Work()
    task = Task("work", "backtests", timedelta(seconds=5), lambda now: [], work.run)
    wide = Task("wide", "agents", timedelta(seconds=5), lambda now: [], work.run)
    monkeypatch.setattr(jobs, "list_work", lambda: [task, wide])
    return work


@contextmanager
def worker():
    """A worker in this process, ready."""
    stopped, reports = threading.Event(), []
    run = lambda name, key: reports.append(run_task(name, key, timezone.now()))  # noqa: E731
    thread = threading.Thread(target=get_engine().work, args=(stopped, run))
    thread.start()
    try:
        _wait_until_ready()
        yield reports
    finally:
        stopped.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def _wait_until_ready():
    def is_ready():
        if django_settings.JOBS_ENGINE == "embedded":
            return bool(get_engine()._queues)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'")
            listening = cursor.fetchone()[0]
            cursor.execute("SELECT count(*) FROM procrastinate_workers")
            return cursor.fetchone()[0] == len(jobs.LANES) <= listening

    wait_for(is_ready)


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def commit(*keys, task="work", at=None):
    with transaction.atomic():
        for one in keys:
            defer(task, one, at=at)


def test_defer_runs_the_task_when_the_transaction_commits_and_never_when_it_is_rolled_back(work):
    with worker():
        with suppress(ZeroDivisionError), transaction.atomic():
            defer("work", key(1))
            raise ZeroDivisionError
        with transaction.atomic():
            defer("work", key(2))
            assert work.ran == []
        work.wait(1)

    assert work.keys == [key(2)]


@pytest.mark.clock
def test_users_act_starts_its_task_within_200_milliseconds(work):
    with worker():
        begun = []
        for row in range(10):
            begun.append(timezone.now())
            commit(key(row))
            work.wait(row + 1)

    waits = sorted(at - began for (_, at), began in zip(work.ran, begun, strict=True))
    assert waits[4] < SOON, waits


def test_task_that_waits_already_runs_once_and_one_that_runs_runs_again(work):
    with worker():
        work.gate.clear()
        commit(key(1))
        work.wait(1)
        for _ in range(3):
            commit(key(1), key(2))
        work.gate.set()
        work.wait(3)

    assert sorted(work.keys) == [key(1), key(1), key(2)]


def test_rows_task_never_runs_twice_at_once_and_others_run_beside_it(work):
    with worker():
        work.gate.clear()
        commit(key(1), task="wide")
        work.wait(1)
        commit(key(1), key(2), key(3), task="wide")
        work.wait(3)
        work.gate.set()
        work.wait(4)

    assert sorted(work.keys) == [key(1), key(1), key(2), key(3)]
    assert all(len(running) == len(set(running)) for running in work.together)
    assert max(len(running) for running in work.together) == 3


def test_users_take_turns_with_what_was_found_due(work):
    with worker():
        work.gate.clear()
        commit(key(99))
        work.wait(1)
        defer_found("work", [*(key(row) for row in range(4)), key(5, user=2), key(6, user=3)])
        work.gate.set()
        work.wait(7)

    assert {one.user_id for one in work.keys[1:4]} == {1, 2, 3}


def test_task_waits_for_its_instant_and_the_rows_other_tasks_do_not(work):
    later = timezone.now() + timedelta(seconds=0.5)
    with worker():
        commit(key(1), at=later)
        commit(key(1))
        work.wait(1)
        assert work.ran[0][1] < later or len(work.ran) == 1
        work.wait(2)

    assert work.ran[1][1] >= later


def test_task_that_fails_is_noted_and_leaves_the_worker_at_work(work):
    with worker() as reports:
        work.problem = RuntimeError("private")
        commit(key(1))
        work.wait(1)
        wait_for(lambda: reports)
        work.problem = None
        commit(key(2))
        work.wait(2)
        wait_for(lambda: len(reports) == 2)

    assert [report.has_failed for report in reports] == [True, False]
    row = WorkRun.objects.get(key=str(key(1)))
    assert (row.tries, row.summary) == (1, "failed: RuntimeError")


@pytest.mark.parametrize("engine", [pytest.param("procrastinate", marks=pytest.mark.postgres)], indirect=True)
def test_task_of_a_worker_that_died_is_run_by_another(work, monkeypatch):
    commit(key(1))
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')")
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)"
        )
    with worker():
        work.wait(1)

    assert work.keys == [key(1)]


def test_defer_without_a_worker_in_the_process_drops_or_keeps_the_task(work, engine):
    commit(key(1))
    with worker():
        commit(key(2))
        work.wait(1 if engine == "embedded" else 2)

    assert set(work.keys) == ({key(2)} if engine == "embedded" else {key(1), key(2)})


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["procrastinate"], indirect=True)
def test_next_run_of_a_row_does_not_wait_for_the_run_of_a_worker_that_died(work, monkeypatch):
    monkeypatch.setattr("config.lib.work.postgresql_queue.RESCUE_SECONDS", 0.05)
    commit(key(1))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing'")  # its worker was forgotten
    commit(key(1), key(2))

    with worker():
        work.wait(2)
        wait_for(lambda: count_jobs() == 0)

    assert sorted(work.keys) == [key(1), key(2)]


def count_jobs() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_jobs")
        return cursor.fetchone()[0]
