from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection

from chat.jobs import clear_expired_sessions, refresh_statistics
from config.lib.work.jobs import list_jobs
from config.lib.work.runs import run_job
from tests.factories.memory import UserFactFactory
from tests.owners import as_owner

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("job", list_jobs(), ids=lambda job: job.name)
@pytest.mark.django_db
def test_every_job_can_run_twice(job):
    first, second = (run_job(job, NOON) for _ in range(2))

    assert (first.has_failed, second.has_failed) == (False, False)


@pytest.mark.django_db
def test_clear_expired_sessions_keeps_the_living():
    for key, days in (("a", -1), ("b", 1)):
        Session.objects.create(session_key=key, session_data="", expire_date=NOON + timedelta(days=days))

    assert clear_expired_sessions(NOON) == "1 expired sessions deleted"
    assert list(Session.objects.values_list("session_key", flat=True)) == ["b"]


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps its own statistics")
def test_refresh_statistics_finds_rows_by_their_ids(trader):
    fact = as_owner(trader, UserFactFactory)

    assert refresh_statistics(NOON) == "statistics refreshed"

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_stat1 WHERE tbl = %s", [fact._meta.db_table])
        assert cursor.fetchone()[0] > 0
