"""Answers of any view: private pages, unreadable bodies, outages."""

import time
from contextlib import closing

import pytest
from django.db import InternalError, OperationalError, ProgrammingError, connection, connections, transaction
from django.test import Client
from django.urls import reverse
from psycopg.errors import DuplicateColumn, IdleInTransactionSessionTimeout, NoActiveSqlTransaction, UndefinedTable

from trading.web.views import account


@pytest.fixture
def patient(trader):
    """A signed-in client that shows the page of an error."""
    client = Client(raise_request_exception=False)
    client.force_login(trader)
    return client


@pytest.mark.parametrize("path", ["/", "/profile/", "/accounts/password/change/", "/accounts/email/", "/nowhere/"])
def test_pages_of_a_signed_in_user_stay_out_of_caches(path, patient):
    assert "no-store" in patient.get(path)["Cache-Control"]


def test_page_of_a_stranger_may_be_cached(client):
    assert not client.get("/").has_header("Cache-Control")


@pytest.mark.django_db
def test_unreadable_body_at_an_unknown_address_is_a_bad_request():
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.cookies["csrftoken"] = "a" * 32

    answer = client.generic("POST", "/nowhere/", b"x", content_type="multipart/form-data")

    assert answer.status_code == 400


def break_database(monkeypatch, cause=None, kind=OperationalError):
    def refuse(*args, **kwargs):
        raise kind("database or disk is full") from cause

    monkeypatch.setattr(account, "owned_tx", refuse)


def add_token(client):
    return client.post(reverse("trading:add_token"), {"name": "x", "scope": "read", "areas": "facts", "days": "30"})


def test_outage_gives_back_what_was_typed_but_no_secret(patient, monkeypatch):
    break_database(monkeypatch)
    typed = {"name": "My bot's <token>", "scope": "read", "password": "canary-1", "csrfmiddlewaretoken": "canary-2"}

    answer = patient.post(reverse("trading:add_token"), {**typed, "areas": "facts", "days": "30"})

    text = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"], answer["Cache-Control"]) == (503, "30", "no-store")
    assert "My bot&#x27;s &lt;token&gt;" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("kind", "cause", "status"),
    [
        (InternalError, IdleInTransactionSessionTimeout(), 503),  # the transaction ended in a stall
        (InternalError, NoActiveSqlTransaction(), 500),
        (ProgrammingError, UndefinedTable(), 503),  # the database is not migrated
        (ProgrammingError, DuplicateColumn(), 500),
        (RuntimeError, None, 500),
    ],
)
def test_only_an_outage_is_answered_as_one_and_no_reason_is_shown(kind, cause, status, patient, monkeypatch):
    break_database(monkeypatch, cause, kind)

    answer = add_token(patient)

    assert (answer.status_code, b"disk is full" in answer.content) == (status, False)


def test_page_of_a_database_without_its_migrations_names_them(patient, monkeypatch):
    def ask(*args, **kwargs):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM a_table_of_the_next_version")

    monkeypatch.setattr(account, "owned_tx", ask)

    answer = add_token(patient)

    assert (answer.status_code, "database lacks migrations" in answer.content.decode()) == (503, True)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite ends no transaction")
def test_transaction_that_postgresql_ended_is_an_outage(patient, monkeypatch, db):
    def stall(*args, **kwargs):
        with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
            cursor.execute("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10ms'")
            time.sleep(0.2)
            cursor.execute("SELECT 1")

    monkeypatch.setattr(account, "owned_tx", stall)

    assert add_token(patient).status_code == 503


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the limit is SQLite's")
def test_form_on_a_full_disk_gives_back_what_was_typed(patient, db):
    note, url = "The day began well. " * 24, reverse("chat:day_note")
    with connection.cursor() as cursor:
        # Earlier tests leave free pages; overflow pages of one blob take them all.
        free, size = (cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_size"))
        cursor.execute("CREATE TABLE filler (content BLOB)")
        cursor.execute("INSERT INTO filler VALUES (zeroblob(%s))", [max(0, free - 1) * (size - 4)])
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        answers = [patient.post(url, {"day": f"2026-01-{day:02}", "text": note}) for day in range(1, 29)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")

    refused = [answer for answer in answers if answer.status_code == 503]
    assert refused
    assert all(note.strip() in answer.content.decode() for answer in refused)


def test_outage_is_a_problem_for_the_api(patient, monkeypatch):
    def refuse(self):
        raise OperationalError("the connection is closed")

    monkeypatch.setattr("config.lib.rest.views.PerMinute.wait", refuse)
    monkeypatch.setattr("config.lib.rest.views.PerMinute.allow_request", lambda *args: refuse(None))

    answer = patient.get("/api/me/")

    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "unavailable", "30")


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/nowhere/", "/admin/login/", "/healthz/", "/api/docs/"])
def test_every_page_has_the_whole_content_security_policy(path, patient):
    answer = patient.get(path)

    assert sorted(answer["Content-Security-Policy"].split("; ")) == sorted(POLICY.split("; "))
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")
    assert (answer["Referrer-Policy"], answer["Cross-Origin-Opener-Policy"]) == ("same-origin", "same-origin")


NEXT = dict.fromkeys(["x", "0", "foo bar", "chat:index", "//evil.example", "/\\evil.example", "home"], "/")


@pytest.mark.parametrize(("next_page", "location"), [*NEXT.items(), ("/skills/?a=b", "/skills/?a=b")])
def test_next_is_followed_if_it_is_a_path(next_page, location, patient):
    answer = patient.post(reverse("trading:theme"), {"theme": "dark", "next": next_page})

    assert (answer.status_code, answer["Location"]) == (302, location)
