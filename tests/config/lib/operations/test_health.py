"""Databases from before the squash are refused, others accepted."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from django.conf import settings as site_settings
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.lib.operations import health
from config.lib.operations.health import (
    NotMigrated,
    OldDatabase,
    check_databases,
    require_current_database,
    require_migrations,
)
from tests.source import ROOT

REASON = "comes from an earlier development state of Keel and cannot be upgraded"
REMEDY = "Move the SQLite file away or create a new database, then run the command again."


@pytest.fixture(params=[("chat", "0001_initial"), ("memory", "0001_schema"), ("trading", "0001_initial")])
def old_database(request, db):
    """A database in which the old migrations of one app were applied."""
    MigrationRecorder(connection).record_applied(*request.param)


def test_old_database_is_refused(old_database):
    with pytest.raises(OldDatabase, match=f"{REASON}.*{REMEDY}"):
        require_current_database()


def test_migrate_and_the_job_worker_refuse_an_old_database(old_database):
    with pytest.raises(SystemCheckError, match=f"(?s){REASON}.*HINT: {REMEDY}"):
        call_command("migrate", skip_checks=False, verbosity=0)
    with pytest.raises(CommandError, match=REASON):
        call_command("run_jobs", "--once")


def test_current_database_is_accepted_although_another_app_has_a_migration_of_an_old_name(db):
    assert ("auth", "0001_initial") in MigrationRecorder(connection).applied_migrations()

    require_current_database()
    call_command("migrate", skip_checks=False, verbosity=0)


def test_check_leaves_the_database_alone_unless_it_is_asked_for(django_assert_num_queries, old_database):
    with django_assert_num_queries(0):
        assert check_databases(databases=None) == []


def test_outage_is_no_reason_to_refuse(monkeypatch):
    def fail(recorder: MigrationRecorder) -> None:
        raise OperationalError("the database is down")

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", fail)

    require_current_database()


@pytest.mark.sqlite
def test_command_stops_with_one_message_and_exit_code_1(tmp_path):
    path = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied text)")
        database.execute("INSERT INTO django_migrations VALUES (1, 'chat', '0001_initial', '2026-05-01 12:00:00')")
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": f"sqlite:///{path}"}

    done = subprocess.run(
        [sys.executable, "manage.py", "up"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count(REASON) == done.stderr.count(REMEDY) == 1
    assert "Traceback" not in done.stderr


# --- Migrations that are pending ---


@pytest.fixture
def unmigrated(db):
    """A database that lacks the last migration of an app, as far as its list says."""
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app="work", name="0004_mail_policy").delete()


def test_readiness_counts_pending_migrations(unmigrated, client):
    answer = client.get("/readyz/")

    assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")
    assert answer.json()["stores"]["database"] == "1 migrations are pending"


@pytest.mark.parametrize("command", [("run_jobs", "--once"), ("up", "--no-migrate")])
def test_command_names_pending_migrations_and_stops(unmigrated, command):
    with pytest.raises(CommandError, match="1 migrations are pending: run `migrate`"):
        call_command(*command)


def test_up_applies_pending_migrations_where_it_may(unmigrated, monkeypatch):
    applied = []
    monkeypatch.setattr(health, "call_command", lambda name, **options: applied.append(name))

    require_migrations(migrates=True)

    assert applied == ["migrate"]
    with pytest.raises(NotMigrated):
        require_migrations()


@pytest.mark.sqlite
def test_up_migrates_a_new_sqlite_file_by_itself(tmp_path, monkeypatch):
    path = tmp_path / "new.sqlite3"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": f"sqlite:///{path}"}
    code = (
        "import django; django.setup(); from chat.management.commands import up; from unittest import mock\n"
        "from django.core.management import call_command\n"
        "with mock.patch.object(up, '_bind', side_effect=SystemExit(7)): call_command('up')"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, timeout=110)

    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'mails'").fetchone()
    assert (done.returncode, tables) == (7, (1,))


# --- Probes ---


def test_liveness_asks_the_database_nothing_also_with_a_session(trader, client, django_assert_num_queries):
    client.force_login(trader)

    with django_assert_num_queries(0):
        answer = client.get("/healthz/")

    assert answer.status_code == 200


def test_readiness_asks_the_database_for_its_migrations_alone(trader, client):
    client.force_login(trader)

    with CaptureQueriesContext(connection) as asked:
        client.get("/readyz/")

    assert asked.captured_queries
    assert not [query for query in asked if "django_session" in query["sql"] or "traders" in query["sql"]]


def test_process_lives_while_its_database_is_away(monkeypatch, client):
    monkeypatch.setattr(health, "_check_database", lambda: "away")

    assert client.get("/healthz/").status_code == 200


@pytest.mark.parametrize(
    ("database", "redis", "status", "code"),
    [
        ("ok", "ok", "ok", 200),
        ("ok", "not used", "ok", 200),
        ("ok", "away", "degraded", 200),
        ("away", "ok", "unavailable", 503),
        ("away", "away", "unavailable", 503),
    ],
)
def test_readiness_names_the_state_of_each_store(database, redis, status, code, monkeypatch, client):
    monkeypatch.setattr(health, "_check_database", lambda: database)
    monkeypatch.setattr(health, "_check_redis", lambda: redis)

    answer = client.get("/readyz/")

    assert (answer.status_code, answer.json()) == (
        code,
        {"status": status, "stores": {"database": database, "redis": redis}},
    )


@pytest.mark.django_db
@pytest.mark.parametrize("path", [*site_settings.DIRECT_PATHS, "/"])
def test_probes_of_the_machine_itself_are_not_sent_to_https(path, settings):
    settings.SECURE_SSL_REDIRECT = True

    assert (Client().get(path).status_code == 301) == (path == "/")


@pytest.mark.django_db
def test_stores_that_answer_are_ok(client, settings):
    stores = client.get("/readyz/").json()["stores"]

    assert stores == {"database": "ok", "redis": "ok" if settings.REDIS_URL else "not used"}


def test_database_that_refuses_is_away(monkeypatch, client):
    def refuse():
        raise OperationalError("no route")

    monkeypatch.setattr(health.connection, "cursor", refuse)

    assert client.get("/readyz/").json()["stores"]["database"] == "away"
