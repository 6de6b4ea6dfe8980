"""The doctor: each fault is named, with what to do, and fails the command."""

import json
import socket
import sqlite3
from datetime import timedelta
from unittest.mock import MagicMock

import pytest
from django.core import checks
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from config.lib.operations import doctor
from config.lib.operations.doctor import examine_site
from config.lib.work.models import BACKUP, SiteDay, WorkRun

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def site(settings):
    settings.CHAT_AGENT_MODEL = "offline/keel"


def examine_all() -> dict[str, tuple[str, str]]:
    return {check.name: (check.state, check.text) for check in examine_site(timezone.now)}


def examine(name: str) -> tuple[str, str]:
    """Return the result of one check alone."""
    return doctor._CHECKS[name](timezone.now())


def test_doctor_on_a_working_site_fails_nothing(capsys):
    call_command("doctor", json=True)

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["state"] for line in found} <= {"ok", "warn"}
    assert [line["name"] for line in found] == list(doctor._CHECKS)


def test_doctor_says_what_to_do_about_a_database_that_cannot_answer(monkeypatch):
    def fail(*_):
        raise OperationalError("no such table: work_runs")

    monkeypatch.setattr(doctor, "measure_age", fail)

    state, text = examine_all()["worker"]

    assert state == "fail"
    assert "DATABASE_URL" in text
    assert "`migrate`" in text


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_doctor_of_a_public_site_keeps_silent_where_the_settings_do(settings, monkeypatch):
    settings.IS_LOCAL = False
    asked = checks.Warning("Cover the names below the site's.", id="security.W005")
    monkeypatch.setattr(checks, "run_checks", lambda **_: [asked])

    assert examine("settings") == ("ok", ", ".join(settings.ALLOWED_HOSTS))


def test_doctor_names_stores_that_are_away_and_what_a_public_site_lacks(settings, tmp_path, monkeypatch):
    """One site with all of it: a check costs seconds where others look for what is there."""
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    settings.HAS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    settings.IS_LOCAL, settings.STATIC_ROOT, settings.VENUE_KEYS = False, tmp_path, []
    found = examine_all()
    settings.HAS_MAIL, settings.METRICS_TOKEN = False, "x"
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    later = examine_all()

    assert (found["Redis"][0], found["static files"][0], found["keys"][0]) == ("fail", "fail", "warn")
    assert found["mail"] == ("fail", "The mail server refuses: ConnectionRefusedError. Check EMAIL_URL.")
    assert later["mail"][0] == "warn"
    assert later["keys"] == ("fail", "METRICS_TOKEN needs prometheus_client: install keel[metrics].")


def test_doctor_names_open_registration_and_a_missing_budget_of_a_public_site(settings):
    settings.IS_LOCAL, settings.SIGN_UP, settings.SITE_DAILY_TOKEN_BUDGET = False, "open", 0
    assert [examine(name)[0] for name in ("new accounts", "budget")] == ["warn", "warn"]

    settings.SIGN_UP, settings.SITE_DAILY_TOKEN_BUDGET = "closed", 5_000_000
    SiteDay.objects.create(day=timezone.now().date(), tokens=1_234)
    assert examine("new accounts")[0] == "ok"
    assert examine("budget") == ("ok", "1,234 of 5,000,000 tokens of today used")
    settings.SIGN_UP = "invited"
    assert examine("new accounts") == ("ok", "by invitation: the admin and `invite` make them")


def test_doctor_names_a_model_that_cannot_be_reached(settings, monkeypatch):
    settings.CHAT_AGENT_MODEL = "openai/local"
    monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")

    state, text = examine("model")

    assert (state, "openai/local" in text, "sk-canary" in text) == ("fail", True, False)


def test_doctor_names_migrations_that_are_missing():
    MigrationRecorder.Migration.objects.filter(app="chat").order_by("-id")[0].delete()

    assert examine("migrations") == ("fail", "1 are missing: run `migrate`.")


@pytest.mark.parametrize(("free", "state"), [(10**11, "ok"), (10**9, "warn"), (10**7, "fail")])
def test_doctor_judges_the_free_space(monkeypatch, free, state):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": free}))

    assert examine("disk")[0] == state


def test_check_that_breaks_fails_the_command_and_the_others_run(monkeypatch, capsys):
    monkeypatch.setitem(doctor._CHECKS, "database", lambda now: 1 / 0)

    with pytest.raises(CommandError, match="1 of the checks failed"):
        call_command("doctor")

    shown = capsys.readouterr().out
    assert "fail database      The check broke with ZeroDivisionError." in shown
    assert "keys" in shown


@pytest.mark.sqlite
def test_doctor_names_a_damaged_file(monkeypatch, tmp_path):
    path = tmp_path / "x.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE a (b TEXT)")
        database.executemany("INSERT INTO a VALUES (?)", [("x" * 500,)] * 200)
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(bytes(content))
    damaged = connection.copy()
    damaged.settings_dict = {**connection.settings_dict, "NAME": str(path), "OPTIONS": {}}
    monkeypatch.setattr(doctor, "connection", damaged)

    assert examine("database")[0] == "fail"
    damaged.close()


@pytest.mark.parametrize(
    ("is_free", "foreign", "finding"),
    [
        (True, 0, ("fail", "The role keel passes by the policies: make it NOSUPERUSER NOBYPASSRLS.")),
        (False, 3, ("fail", "3 tables do not belong to keel.")),
        (False, 0, ("ok", "keel, bound by policies")),
    ],
)
def test_doctor_judges_the_role_of_the_database(is_free, foreign, finding, monkeypatch):
    database = MagicMock(vendor="postgresql")
    database.cursor().__enter__().fetchone.side_effect = [("keel", is_free), (foreign,)]
    monkeypatch.setattr(doctor, "connection", database)

    assert doctor._check_role(timezone.now()) == finding


@pytest.mark.postgres
def test_doctor_names_a_table_without_its_policy():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE user_facts NO FORCE ROW LEVEL SECURITY")

    assert "user_facts" in examine("policies")[1]


@pytest.mark.postgres
@pytest.mark.parametrize(("seconds", "state"), [(0, "ok"), (5, "warn"), (-60, "fail")])
def test_doctor_compares_the_clock_with_the_databases(seconds, state):
    assert doctor._CHECKS["clock"](timezone.now() + timedelta(seconds=seconds))[0] == state


def test_doctor_knows_whether_the_worker_lives_and_how_old_the_backup_is(settings):
    settings.IS_LOCAL, now = False, timezone.now()
    assert examine("worker") == ("warn", "The worker has never run: start `up` or `run_jobs`.")
    assert examine("backup") == ("warn", "there is none by `backup`")

    WorkRun.objects.create(name=BACKUP, finished_at=now)
    assert examine("worker")[1].startswith("The worker has never run"), "a backup is no job"
    assert examine("backup")[0] == "ok"
    WorkRun.objects.create(name="find:tick", started_at=now, finished_at=now)
    assert examine("worker") == ("ok", "works")
    WorkRun.objects.create(name="tick", key="1:2", finished_at=now, tries=2)
    assert examine("worker") == ("warn", "1 jobs and tasks failed: see Work runs in the admin")

    WorkRun.objects.update(finished_at=now - timedelta(days=3))
    assert examine("worker")[1] == "The worker ended its last job 3 d ago: start `up` or `run_jobs`."
    assert examine("backup") == ("warn", "the last is 3 d old")
