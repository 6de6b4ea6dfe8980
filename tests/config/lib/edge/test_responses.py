"""Answers of any view: private pages, unreadable bodies, outages."""

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

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


def break_database(monkeypatch):
    def refuse(*args, **kwargs):
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(account, "owned_tx", refuse)


def test_outage_gives_back_what_was_typed_but_no_secret(patient, monkeypatch):
    break_database(monkeypatch)
    typed = {"name": "My bot's <token>", "scope": "read", "password": "canary-1", "csrfmiddlewaretoken": "canary-2"}

    answer = patient.post(reverse("trading:add_token"), {**typed, "days": "30"})

    text = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"], answer["Cache-Control"]) == (503, "30", "no-store")
    assert "My bot&#x27;s &lt;token&gt;" in text
    assert "canary" not in text


def test_other_errors_stay_errors(patient, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("a canary of the inside")

    monkeypatch.setattr(account, "owned_tx", fail)
    answer = patient.post(reverse("trading:add_token"), {"name": "x", "scope": "read", "days": "30"})

    assert (answer.status_code, b"canary" in answer.content) == (500, False)


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


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/nowhere/", "/admin/login/", "/healthz/"])
def test_every_page_has_the_whole_content_security_policy(path, client, db):
    answer = client.get(path)

    assert sorted(answer["Content-Security-Policy"].split("; ")) == sorted(POLICY.split("; "))
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")
    assert answer["Referrer-Policy"] == settings.SECURE_REFERRER_POLICY


def test_page_of_the_api_has_the_whole_content_security_policy(patient):
    assert sorted(patient.get("/api/docs/")["Content-Security-Policy"].split("; ")) == sorted(POLICY.split("; "))


@pytest.mark.parametrize("next_page", ["x", "0", "foo bar", "chat:index", "//evil.example", "/\\evil.example", "home"])
def test_next_that_is_no_path_leads_to_the_default(next_page, patient):
    answer = patient.post(reverse("trading:theme"), {"theme": "dark", "next": next_page})

    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_next_that_is_a_path_is_followed(patient):
    assert (
        patient.post(reverse("trading:theme"), {"theme": "dark", "next": "/skills/?a=b"})["Location"] == "/skills/?a=b"
    )
