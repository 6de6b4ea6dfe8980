from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.sessions.models import Session

from chat.jobs import clear_expired_sessions, sweep_dead_turns
from chat.models import Message, MessageStatus
from config.lib.work.jobs import Job, JobRun, list_jobs, run_due, run_job
from tests.factories.chat import ReplyFactory
from tests.factories.memory import JUNE
from tests.owners import as_owner

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def counting(name="count", every=HOUR):
    """A job that notes when it ran."""
    runs: list[datetime] = []

    def run(now):
        runs.append(now)
        return f"run {len(runs)}"

    return Job(name, every, run), runs


def broken(now):
    raise RuntimeError("a canary of the inside")


def test_run_due_runs_a_job_once_a_turn_of_the_clock():
    job, runs = counting()
    moments = [NOON, NOON + SECOND, NOON + HOUR - SECOND, NOON + HOUR, NOON + 3 * HOUR + SECOND]

    for moment in moments:
        list(run_due([job], moment))

    assert runs == [NOON, NOON + HOUR, NOON + 3 * HOUR + SECOND]


def test_run_due_yields_what_ran():
    job, _ = counting()

    assert list(run_due([job], NOON)) == [JobRun("count", "run 1", has_failed=False)]
    assert list(run_due([job], NOON)) == []


def test_run_due_keeps_jobs_apart():
    one, runs_of_one = counting("one")
    two, runs_of_two = counting("two", timedelta(minutes=1))

    for minutes in range(3):
        list(run_due([one, two], NOON + timedelta(minutes=minutes)))

    assert (len(runs_of_one), len(runs_of_two)) == (1, 3)


def test_job_that_fails_is_reported_and_stops_no_other(caplog):
    job, runs = counting()

    reports = list(run_due([Job("broken", HOUR, broken), job], NOON))

    assert reports[0] == JobRun("broken", "failed; the log says why", has_failed=True)
    assert runs == [NOON]
    assert "Job broken failed" in caplog.text


def test_run_job_runs_whatever_the_clock_says():
    job, runs = counting()

    for _ in range(2):
        run_job(job, NOON)

    assert len(runs) == 2


def test_names_of_jobs_are_unique():
    assert len({job.name for job in list_jobs()}) == len(list_jobs())


@pytest.mark.parametrize("job", list_jobs(), ids=lambda job: job.name)
@pytest.mark.django_db
def test_every_job_can_run_twice(job):
    first, second = (run_job(job, NOON) for _ in range(2))

    assert (first.has_failed, second.has_failed) == (False, False)


def test_sweep_dead_turns_closes_everybodys(trader, stranger):
    replies = [as_owner(user, lambda: ReplyFactory(streaming=True, heartbeat_at=JUNE)) for user in (trader, stranger)]

    assert sweep_dead_turns(JUNE + timedelta(seconds=10)) == "0 replies marked as interrupted"
    assert sweep_dead_turns(JUNE + timedelta(seconds=11)) == "2 replies marked as interrupted"

    for user, reply in zip((trader, stranger), replies, strict=True):
        row = as_owner(user, lambda pk=reply.pk: Message.objects.get(pk=pk))
        assert row.status == MessageStatus.INTERRUPTED


@pytest.mark.django_db
def test_clear_expired_sessions_keeps_the_living():
    for key, days in (("a", -1), ("b", 1)):
        Session.objects.create(session_key=key, session_data="", expire_date=NOON + timedelta(days=days))

    assert clear_expired_sessions(NOON) == "1 expired sessions deleted"
    assert list(Session.objects.values_list("session_key", flat=True)) == ["b"]
