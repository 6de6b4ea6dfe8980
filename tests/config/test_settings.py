import os
import subprocess
import sys

import pytest
from django.conf import settings

from config.lib.llm.direct import PROVIDERS

SONNET, HAIKU = "openrouter/anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-haiku-4.5"
OFFLINE = settings.OFFLINE_MODEL


def printed(expression: str, environment: dict[str, str]) -> list[str]:
    """Return the words that a fresh start of the settings prints."""
    surroundings = {
        name: value for name, value in os.environ.items() if not name.endswith(("_MODELS", "_MODEL", "_API_KEY"))
    }
    done = subprocess.run(
        [sys.executable, "-c", f"from config import settings; print({expression})"],
        env={**surroundings, "READ_DOT_ENV": "false", **environment},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("environment", "models"),
    [
        ({}, [OFFLINE, OFFLINE]),
        ({"OPENROUTER_API_KEY": "x"}, [HAIKU, HAIKU]),
        ({"TRADING_AGENT_MODEL": "a/b", "REFLECTION_MODEL": "c/d"}, ["a/b", "c/d"]),
    ],
    ids=["no key", "key", "own"],
)
def test_agents_and_reflection_have_a_small_model_where_there_is_a_key(environment, models):
    assert printed("settings.TRADING_AGENT_MODEL, settings.REFLECTION_MODEL", environment) == models


@pytest.mark.parametrize(
    ("environment", "models"),
    [
        ({}, [OFFLINE]),
        ({"OPENROUTER_API_KEY": "x"}, [SONNET, HAIKU, OFFLINE]),
        (
            {
                "CHAT_AGENT_MODEL": "chat/a",
                "CHAT_FALLBACK_MODELS": "chat/b,chat/a",
                "TITLE_MODELS": "title/a",
                "EXTRACT_MODELS": "extract/a",
                "SUMMARY_MODELS": "summary/a",
                "CHAT_CRITIQUE_MODEL": "critique/a",
                "TRADING_AGENT_MODEL": "agent/a",
                "REFLECTION_MODEL": "reflection/a",
            },
            [
                *("chat/a", "chat/b", "title/a", "extract/a", "summary/a", "critique/a", "agent/a", "reflection/a"),
                OFFLINE,
            ],
        ),
        ({"ALLOWED_MODELS": "x/y,z/w"}, ["x/y", "z/w"]),
    ],
    ids=["no key", "key", "roles", "named"],
)
def test_a_skill_may_name_the_models_of_all_roles_unless_they_are_listed(environment, models):
    assert printed("*settings.ALLOWED_MODELS", environment) == models


def test_streams_are_read_directly_only_where_it_is_said_and_known_how():
    known = ",".join(sorted(PROVIDERS))

    assert printed("*settings.LLM_DIRECT", {"LLM_DIRECT": ""}) == []
    assert printed("*settings.LLM_DIRECT", {"LLM_DIRECT": known}) == sorted(PROVIDERS)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        printed("settings.LLM_DIRECT", {"LLM_DIRECT": "openai,anthropic"})
    assert refused.value.stderr.strip() == (
        "Keel cannot start: LLM_DIRECT names anthropic; it takes openai, openrouter."
    )


def test_venue_keys_that_are_no_keys_stop_the_start():
    with pytest.raises(subprocess.CalledProcessError) as refused:
        printed("settings.VENUE_KEYS", {"VENUE_KEYS": "too-short"})

    assert "VENUE_KEYS holds a key that is not 32 bytes" in refused.value.stderr


def test_provider_of_identities_may_be_posted_to_and_needs_its_client():
    server = {"OIDC_SERVER_URL": "https://login.example.com/realms/keel"}

    words = printed("*settings.CONTENT_SECURITY_POLICY['DIRECTIVES']['form-action']", {**server, "OIDC_CLIENT_ID": "k"})

    assert words == ["'self'", "https://login.example.com"]
    with pytest.raises(subprocess.CalledProcessError) as refused:
        printed("settings.IDENTITY_PROVIDERS", server)
    assert "OIDC_SERVER_URL and OIDC_CLIENT_ID need each other" in refused.value.stderr
