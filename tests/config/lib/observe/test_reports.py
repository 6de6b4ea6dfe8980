"""Reports of errors: where in the code, and nothing that a user typed."""

import json
import logging

import pytest
import sentry_sdk
from django.test import Client
from django.urls import reverse

from config.lib.observe import reports

CANARY = "canary-words"


@pytest.fixture
def sent(monkeypatch):
    """The reports that would be sent."""
    found = []

    class Transport(sentry_sdk.Transport):
        def capture_envelope(self, envelope):
            found.extend(item.payload.json for item in envelope.items if item.payload.json)

    original = sentry_sdk.init
    monkeypatch.setattr(sentry_sdk, "init", lambda **options: original(**options, transport=Transport))
    reports.start_reports("https://key@sentry.example.com/1")
    yield found
    sentry_sdk.get_client().close()
    original()


def test_report_of_a_failing_request_has_the_place_and_no_text(sent, monkeypatch, client, trader_signed_in):
    def fail(*args, **kwargs):
        private = CANARY
        raise ValueError(f"cannot read {private}")

    monkeypatch.setattr("trading.web.views.account.list_tokens", fail)
    client = trader_signed_in
    client.raise_request_exception = False
    response = client.post(reverse("trading:add_token") + f"?q={CANARY}", {"name": CANARY, "scope": CANARY})

    text = json.dumps(sent)
    assert response.status_code == 500
    assert CANARY not in text
    assert "example.com" not in text.replace("sentry.example.com", "")
    assert "cookie" not in text.lower()
    assert '"type": "ValueError"' in text
    assert "account.py" in text


def test_report_of_a_log_line_has_its_template_and_no_values(sent):
    logging.getLogger("chat").error("Fact %s of user %s is lost", CANARY, 7)

    (report,) = sent
    assert report["message"] == "Fact %s of user %s is lost"
    assert CANARY not in json.dumps(report)


@pytest.fixture
def trader_signed_in(db):
    from tests.factories.trading import TraderFactory  # noqa: PLC0415 - only here

    client = Client()
    client.force_login(
        TraderFactory(email="zoe@example.com"), backend="allauth.account.auth_backends.AuthenticationBackend"
    )
    return client
