import io
import json
import sys

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from trading.models import Trader

pytestmark = pytest.mark.django_db

PASSWORD = "a-long-password-7"


def run(*args: str) -> str:
    """Run the command and return what it printed."""
    out = io.StringIO()
    call_command("createuser", *args, stdout=out)
    return out.getvalue()


def test_createuser_makes_an_ordinary_user():
    printed = run("Ann@Example.com", "--password", PASSWORD, "--tier", "expert")

    ann = Trader.objects.get()
    assert printed == "Created ann@example.com.\n"
    assert (ann.email, ann.experience_tier) == ("ann@example.com", "expert")
    assert ann.check_password(PASSWORD)
    assert (ann.is_staff, ann.is_superuser) == (False, False)


def test_createuser_prints_the_user_as_json_and_reads_the_password_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\nmore\n"))

    line = json.loads(run("ann@example.com", "--json"))

    assert line == {"id": Trader.objects.get().pk, "email": "ann@example.com", "tier": None}
    assert Trader.objects.get().check_password(PASSWORD)


def test_createuser_refuses_the_input_that_the_form_refuses():
    for email, password, words in (
        ("no address", PASSWORD, "valid email"),
        ("ann@example.com", "short", "at least 10 characters"),
        ("ann@example.com", "1234567890123", "entirely numeric"),
        ("ann@example.com", "ann@example.com", "too similar"),
        ("ann@example.com", "", "too short"),
    ):
        with pytest.raises(CommandError, match=words):
            run(email, "--password", password)
    assert Trader.objects.count() == 0


def test_createuser_refuses_an_address_that_is_taken():
    run("ann@example.com", "--password", PASSWORD)

    with pytest.raises(CommandError, match=r"The user ANN@example\.com exists already"):
        run("ANN@example.com", "--password", PASSWORD)
