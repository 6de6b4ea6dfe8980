"""Nonsense in any variable stops the start with one line that names the variable, its value and what it takes."""

import re
import runpy
from importlib.util import find_spec

import pytest

from tests.source import ROOT

SETTINGS = ROOT / "config/settings.py"
NONSENSE = {
    "READ_DOT_ENV": "perhaps",
    "DEBUG": "maybe",
    "TLS": "2",
    "PORT": "abc",
    "DATABASE_URL": "localhost",
    "DATABASE_POOL_SIZE": "x",
    "REDIS_URL": "localhost:6379",
    "EMAIL_URL": "mail.example.com",
    "BEHIND_PROXY": "many",
    "LOG_LEVEL": "LOUD",
    "DEFAULT_ASSISTANT": "friend",
    "OFFLINE_DELAY_SECONDS": "-1",
    "KEEP_DAYS": "receipts=soon",
}
OTHERS = {"JOBS_ENGINE": "celery", "LLM_DIRECT": "nobody", "SECRET_KEY": "short"}


def run_settings(monkeypatch, **environment: str) -> dict[str, object]:
    monkeypatch.setenv("READ_DOT_ENV", "false")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(SETTINGS))


def list_typed() -> dict[str, str]:
    """Return the variables that the settings read with a type, and the reader of each."""
    return {name: kind for kind, name in re.findall(r'read_(\w+)\(\s*"(\w+)"', SETTINGS.read_text())}


@pytest.mark.parametrize("name", [name for name, kind in list_typed().items() if kind not in ("text", "list")])
def test_nonsense_stops_the_start_with_a_line_that_names_the_variable(name, monkeypatch):
    value = NONSENSE.get(name, "2M")

    with pytest.raises(SystemExit) as refused:
        run_settings(monkeypatch, **{name: value})

    assert re.fullmatch(rf"Keel cannot start: {name} is '{re.escape(value)}'; it must be .+\.", str(refused.value))


@pytest.mark.parametrize(("name", "value"), OTHERS.items())
def test_wrong_list_or_key_stops_the_start_with_a_line_that_names_the_variable(name, value, monkeypatch):
    with pytest.raises(SystemExit, match=f"Keel cannot start: {name} "):
        run_settings(monkeypatch, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "80.5"),
        ("OFFLINE_DELAY_SECONDS", "nan"),
        ("OFFLINE_DELAY_SECONDS", "fast"),
        ("BEHIND_PROXY", "-1"),
        ("REDIS_URL", "http://host"),
        ("DATABASE_URL", "mysql://host/name"),
        ("DATABASE_URL", "postgresql://host:x/name"),
    ],
)
def test_value_out_of_bounds_is_refused(name, value, monkeypatch):
    with pytest.raises(SystemExit, match=f"{name} is '{re.escape(value)}'"):
        run_settings(monkeypatch, **{name: value})


def test_refusal_keeps_the_password_of_a_url_to_itself(monkeypatch):
    with pytest.raises(SystemExit) as refused:
        run_settings(monkeypatch, DATABASE_URL="postgresql://keel:canary@host:x/name")

    assert "canary" not in str(refused.value)


def test_queue_in_postgresql_is_refused_without_postgresql_and_without_its_package(monkeypatch):
    with pytest.raises(SystemExit, match="needs PostgreSQL: set DATABASE_URL"):
        run_settings(monkeypatch, JOBS_ENGINE="procrastinate", DATABASE_URL="sqlite:///x.sqlite3")
    monkeypatch.setattr("config.environment.find_spec", {"litellm": find_spec("litellm")}.get)
    with pytest.raises(SystemExit, match=r"procrastinate, which is not installed: keel\[jobs\]"):
        run_settings(monkeypatch, JOBS_ENGINE="procrastinate", DATABASE_URL="postgresql://keel@host/keel")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CHAT_AGENT_MODEL", "anthropic/claude-sonnet-4-6"),
        ("CHAT_FALLBACK_MODELS", "openai/gpt-4o,gemini/pro"),
        ("ALLOWED_MODELS", "offline/keel,deepseek/chat"),
        ("MEMORY_EMBEDDING_MODEL", "openai/text-embedding-3-small"),
    ],
)
def test_model_that_needs_litellm_is_refused_without_it(monkeypatch, variable, value):
    monkeypatch.setenv("CHAT_AGENT_MODEL", "openrouter/anthropic/claude-sonnet-4.6")
    monkeypatch.setattr("config.environment.find_spec", lambda name: None)
    run_settings(monkeypatch)

    with pytest.raises(SystemExit, match=r"needs LiteLLM, .* keel\[providers\]"):
        run_settings(monkeypatch, **{variable: value})


@pytest.mark.parametrize(("text", "count"), [("", 0), ("false", 0), ("true", 1), ("1", 1), ("3", 3)])
def test_behind_proxy_is_a_number_of_proxies(text, count, monkeypatch):
    settings = run_settings(monkeypatch, BEHIND_PROXY=text)

    assert settings["TRUSTED_PROXIES"] == count
    assert (settings["SECURE_PROXY_SSL_HEADER"] is None) == (count == 0)


@pytest.mark.parametrize(
    ("url", "verification"), [("", "optional"), ("consolemail://", "optional"), ("smtp://host:25", "mandatory")]
)
def test_addresses_are_confirmed_where_mail_can_be_sent(url, verification, monkeypatch):
    assert run_settings(monkeypatch, EMAIL_URL=url)["ACCOUNT_EMAIL_VERIFICATION"] == verification


def test_public_site_needs_a_secret_key_of_its_own(monkeypatch):
    with pytest.raises(SystemExit, match="Keel cannot start: SECRET_KEY is missing"):
        run_settings(monkeypatch, ALLOWED_HOSTS="keel.example", SECRET_KEY="")


def test_new_passwords_are_hashed_by_argon2(monkeypatch):
    hashers = run_settings(monkeypatch)["PASSWORD_HASHERS"]

    assert hashers[0] == "django.contrib.auth.hashers.Argon2PasswordHasher"


def test_public_site_asks_for_https_everywhere(monkeypatch):
    environment = {"ALLOWED_HOSTS": "keel.example", "SECRET_KEY": "k" * 40}
    names = ("SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")

    public, local = run_settings(monkeypatch, **environment), run_settings(monkeypatch, ALLOWED_HOSTS="localhost")

    assert [public[name] for name in names] == [True, 31_536_000, True, True]
    assert [local[name] for name in names] == [False, 0, False, False]


def test_site_with_a_providers_key_is_closed_to_strangers_unless_it_says_otherwise(monkeypatch):
    assert run_settings(monkeypatch)["SIGN_UP"] == "open"
    assert run_settings(monkeypatch, OPENAI_API_KEY="sk-1")["SIGN_UP"] == "closed"
    assert run_settings(monkeypatch, OPENAI_API_KEY="sk-1", SIGN_UP="open")["SIGN_UP"] == "open"


@pytest.mark.parametrize(
    ("environment", "sender"),
    [
        ({}, "Keel <keel@localhost>"),
        ({"ALLOWED_HOSTS": "keel.example,127.0.0.1"}, "Keel <keel@keel.example>"),
        ({"ALLOWED_HOSTS": ".keel.example"}, "Keel <keel@keel.example>"),
        ({"ALLOWED_HOSTS": "*"}, "Keel <keel@localhost>"),
        ({"ALLOWED_HOSTS": "keel.example", "DEFAULT_FROM_EMAIL": "me@example.com"}, "me@example.com"),
    ],
    ids=["local", "site", "domain", "any", "own"],
)
def test_mails_come_from_the_name_of_the_site(monkeypatch, environment, sender):
    read = run_settings(monkeypatch, SECRET_KEY="k" * 40, **environment)

    assert read["DEFAULT_FROM_EMAIL"] == sender


def test_hsts_covers_names_below_and_the_lists_of_browsers_only_on_demand(monkeypatch):
    names = ("SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD")
    public = {"ALLOWED_HOSTS": "keel.example", "SECRET_KEY": "k" * 40}
    asked = {**public, "HSTS_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"}

    assert [run_settings(monkeypatch, **public)[name] for name in names] == [False, False]
    assert [run_settings(monkeypatch, **asked)[name] for name in names] == [True, True]


def test_home_that_keel_makes_is_for_its_owner_alone(monkeypatch, tmp_path, usual_umask):
    home = tmp_path / "home"

    run_settings(monkeypatch, KEEL_HOME=str(home), ALLOWED_HOSTS="localhost", SECRET_KEY="", VENUE_KEYS="")

    modes = {path.relative_to(tmp_path).as_posix(): path.stat().st_mode & 0o777 for path in home.rglob("*")}
    assert home.stat().st_mode & 0o777 == 0o700
    assert modes == {"home/var": 0o700, "home/var/secret-key": 0o600, "home/var/venue-key": 0o600}
