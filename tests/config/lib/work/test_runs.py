from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from config.lib.errors import DomainError
from config.lib.owned import SYSTEM, current_owner
from config.lib.work import jobs
from config.lib.work.jobs import Job, Key, Task, list_jobs, list_tasks
from config.lib.work.models import WorkRun
from config.lib.work.runs import (
    FIRST_RETRY,
    KEPT,
    MAX_TRIES,
    REST,
    JobRun,
    forget_old_runs,
    forget_user,
    list_due,
    list_finders,
    run_again,
    run_due,
    run_job,
    run_rows,
    run_task,
)
from tests.threads import race

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
KEY = Key(1, UUID(int=1))

pytestmark = pytest.mark.django_db


def counting(name="count", every=HOUR):
    """A job that notes when it ran."""
    runs: list[datetime] = []

    def run(now):
        runs.append(now)
        return f"run {len(runs)}"

    return Job(name, every, run), runs


def broken(now):
    raise RuntimeError("a canary of the inside")


class Rows:
    """A task that notes its runs, fails as long as `problem` is set, and finds `due`."""

    def __init__(self, monkeypatch) -> None:
        self.ran, self.due, self.problem = [], [KEY], None
        self.task = Task("count", "chats", timedelta(seconds=5), self.find, self.run)
        monkeypatch.setattr(jobs, "list_work", lambda: [self.task])

    def find(self, now):
        assert current_owner() is SYSTEM
        return self.due

    def run(self, key, clock):
        self.ran.append((key, clock()))
        if self.problem is not None:
            raise self.problem
        return f"run {len(self.ran)}"


@pytest.fixture
def rows(monkeypatch):
    return Rows(monkeypatch)


@pytest.fixture
def deferred(monkeypatch):
    """What was deferred: tasks, keys, instants."""
    calls = []
    monkeypatch.setattr("config.lib.work.runs.defer", lambda *task, at=None: calls.append((*task, at)))
    return calls


# --- Scheduled jobs ---


def test_run_due_runs_a_job_once_a_turn_of_the_clock():
    job, runs = counting()
    moments = [NOON, NOON + SECOND, NOON + HOUR - SECOND, NOON + HOUR, NOON + 3 * HOUR + SECOND]

    for moment in moments:
        list(run_due([job], moment))

    assert runs == [NOON, NOON + HOUR, NOON + 3 * HOUR + SECOND]


def test_run_due_yields_and_notes_what_ran():
    job, _ = counting()

    assert list(run_due([job], NOON)) == [JobRun("count", "run 1", has_failed=False)]
    assert list(run_due([job], NOON)) == []
    row = WorkRun.objects.get()
    assert (row.name, row.key, row.summary, row.tries) == ("count", "", "run 1", 0)
    assert (row.started_at, row.next_at) == (NOON, NOON + HOUR)


def test_run_due_keeps_jobs_apart():
    one, runs_of_one = counting("one")
    two, runs_of_two = counting("two", timedelta(minutes=1))

    for minutes in range(3):
        list(run_due([one, two], NOON + timedelta(minutes=minutes)))

    assert (len(runs_of_one), len(runs_of_two)) == (1, 3)


def test_job_that_fails_is_reported_and_stops_no_other(caplog):
    job, runs = counting()

    reports = list(run_due([Job("broken", HOUR, broken), job], NOON))

    assert reports[0] == JobRun("broken", "failed: RuntimeError", has_failed=True)
    assert runs == [NOON]
    assert "broken failed" in caplog.text
    row = WorkRun.objects.get(name="broken")
    assert (row.tries, row.next_at, row.summary) == (1, NOON + HOUR, "failed: RuntimeError")


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_schedulers_of_many_workers_run_a_job_once_a_turn():
    job, runs = counting()

    for turn in range(3):
        race(*[lambda at=NOON + turn * HOUR: list(run_due([job], at))] * 6)

    assert runs == [NOON, NOON + HOUR, NOON + 2 * HOUR]


def test_run_again_makes_a_job_due():
    job, runs = counting()
    list(run_due([job], NOON))

    run_again(WorkRun.objects.get(), NOON + SECOND)
    list(run_due([job], NOON + SECOND))

    assert len(runs) == 2


# --- Tasks on rows ---


def test_run_task_notes_the_run(rows):
    result = run_task("count", KEY, NOON)

    assert result == JobRun("count", "run 1", has_failed=False, key=str(KEY))
    row = WorkRun.objects.get()
    assert (row.name, row.key, row.tries, row.next_at) == ("count", f"1:{UUID(int=1)}", 0, None)
    assert rows.ran[0][0] == KEY
    assert Key.parse(row.key) == KEY


def test_task_that_fails_is_tried_five_times_ever_later(rows, deferred):
    rows.problem, now, waits = RuntimeError("private"), NOON, []

    for _ in range(MAX_TRIES):
        run_task("count", KEY, now)
        row = WorkRun.objects.get()
        waits.append(row.next_at - row.finished_at)
        now = row.next_at

    assert waits == [FIRST_RETRY, 5 * FIRST_RETRY, 25 * FIRST_RETRY, 125 * FIRST_RETRY, REST]
    assert (row.tries, row.summary) == (MAX_TRIES, "failed: RuntimeError")
    assert [call[:2] for call in deferred] == [("count", KEY)] * (MAX_TRIES - 1)


def test_failure_gives_a_domain_errors_words_and_no_other_ones(rows, deferred):
    rows.problem = DomainError("The venue did not answer.")

    assert run_task("count", KEY, NOON).summary == "failed: The venue did not answer."


def test_list_due_leaves_out_what_waits_for_its_next_try(rows, deferred):
    other = Key(2, uuid4())
    rows.due, rows.problem = [KEY, other], RuntimeError()
    run_task("count", KEY, NOON)
    rows.problem = None

    assert list_due(rows.task, NOON + SECOND) == [other]
    assert list_due(rows.task, NOON + 2 * FIRST_RETRY) == [KEY, other]


def test_success_ends_the_tries(rows, deferred):
    rows.problem = RuntimeError()
    run_task("count", KEY, NOON)
    rows.problem = None

    run_task("count", KEY, NOON + HOUR)

    row = WorkRun.objects.get()
    assert (row.tries, row.next_at, row.summary) == (0, None, "run 2")


def test_run_again_defers_a_failed_task_with_new_tries(rows, deferred):
    rows.problem = RuntimeError()
    for _ in range(MAX_TRIES):
        run_task("count", KEY, NOON)
    deferred.clear()

    run_again(WorkRun.objects.get(), NOON + HOUR)

    assert deferred == [("count", KEY, None)]
    assert list_due(rows.task, NOON + HOUR) == [KEY]
    assert WorkRun.objects.get().tries == 0


def test_finder_defers_the_due_rows(rows, monkeypatch):
    found = []
    monkeypatch.setattr("config.lib.work.runs.defer_found", lambda *task: found.append(task))

    (finder,) = list_finders()

    assert (finder.run(NOON), finder.every) == ("1 due", rows.task.every)
    assert found == [("count", [KEY])]


def test_run_rows_runs_all_that_is_due_here(rows):
    rows.due = [KEY, Key(2, uuid4())]

    assert [run.summary for run in run_rows(rows.task, NOON)] == ["run 1", "run 2"]


def test_old_runs_are_forgotten_but_not_the_failed_ones_nor_jobs(rows, deferred):
    failed = Key(2, uuid4())
    run_task("count", KEY, NOON)
    rows.problem = RuntimeError()
    run_task("count", failed, NOON)
    run_job(counting("job")[0], NOON)

    assert forget_old_runs(NOON + KEPT) == "0 runs forgotten"
    assert forget_old_runs(NOON + KEPT + HOUR) == "1 runs forgotten"
    assert set(WorkRun.objects.values_list("key", flat=True)) == {str(failed), ""}


def test_forget_user_deletes_the_runs_on_the_users_rows_alone(rows):
    others = [Key(12, uuid4()), Key(2, uuid4())]
    for key in (KEY, *others):
        run_task("count", key, NOON)

    forget_user(1)

    assert set(WorkRun.objects.values_list("key", flat=True)) == {str(key) for key in others}


def test_names_of_jobs_and_tasks_are_unique():
    names = [work.name for work in (*list_jobs(), *list_tasks(), *list_finders())]

    assert len(set(names)) == len(names)
    assert {task.lane for task in list_tasks()} == set(jobs.LANES)
