from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection

from chat.jobs import clear_expired_sessions, follow_rules, refresh_statistics
from config.lib.owned import owned_tx
from config.lib.work import per_user
from config.lib.work.jobs import list_jobs
from config.lib.work.runs import run_job
from tests.factories.memory import MemoryEventFactory, UserFactFactory
from tests.factories.record import TradeFileFactory
from tests.owners import as_owner
from trading.jobs import drop_trade_files
from trading.models import TradeFile

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


@pytest.fixture
def opened(monkeypatch):
    """The users whose rows a job opened to write."""
    users: list[int] = []

    def open_rows(user_id):
        users.append(user_id)
        return owned_tx(user_id)

    monkeypatch.setattr(per_user, "owned_tx", open_rows)
    return users


@pytest.mark.django_db
def test_follow_rules_opens_the_rows_of_those_alone_whose_facts_changed_since_yesterday(trader, stranger, opened):
    for user, days in ((trader, 0), (stranger, 2)):
        as_owner(user, lambda days=days: MemoryEventFactory(created_at=NOON - timedelta(days=days)))

    assert follow_rules(NOON) == "1 users followed, 0 failed"
    assert opened == [trader.pk]
    assert follow_rules(NOON + timedelta(days=9)) == "0 users followed, 0 failed"


@pytest.mark.django_db
def test_old_files_of_trades_are_dropped_and_nobody_else_is_opened(trader, stranger, opened):
    for user, days in ((trader, 0), (stranger, 2)):
        as_owner(user, lambda days=days: TradeFileFactory(created_at=NOON - timedelta(days=days)))

    assert drop_trade_files(NOON) == "1 files of trades dropped"
    assert opened == [stranger.pk]
    assert as_owner(trader, TradeFile.objects.count) == 1


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps its own statistics")
def test_refresh_statistics_finds_rows_by_their_ids(trader):
    fact = as_owner(trader, UserFactFactory)

    assert refresh_statistics(NOON) == "statistics refreshed"

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_stat1 WHERE tbl = %s", [fact._meta.db_table])
        assert cursor.fetchone()[0] > 0
