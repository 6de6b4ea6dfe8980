import pytest
from django.conf import settings

from config.lib.llm.direct import PROVIDERS
from tests.config.test_environment import run_settings

SONNET, HAIKU = "openrouter/anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-haiku-4.5"
OFFLINE = settings.OFFLINE_MODEL
ROLES = {
    **{"CHAT_AGENT_MODEL": "chat/a", "CHAT_FALLBACK_MODELS": "chat/b,chat/a", "TITLE_MODELS": "title/a"},
    **{"EXTRACT_MODELS": "extract/a", "SUMMARY_MODELS": "summary/a", "CHAT_CRITIQUE_MODEL": "critique/a"},
    **{"TRADING_AGENT_MODEL": "agent/a", "REFLECTION_MODEL": "reflection/a"},
}


@pytest.fixture(autouse=True)
def _no_models(monkeypatch):
    for name in (*ROLES, "ALLOWED_MODELS", "MEMORY_EMBEDDING_MODEL", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "models"),
    [
        ({}, [OFFLINE, OFFLINE]),
        ({"OPENROUTER_API_KEY": "x"}, [HAIKU, HAIKU]),
        ({"TRADING_AGENT_MODEL": "a/b", "REFLECTION_MODEL": "c/d"}, ["a/b", "c/d"]),
    ],
    ids=["no key", "key", "own"],
)
def test_agents_and_reflection_have_a_small_model_where_there_is_a_key(environment, models, monkeypatch):
    read = run_settings(monkeypatch, **environment)

    assert [read["TRADING_AGENT_MODEL"], read["REFLECTION_MODEL"]] == models


@pytest.mark.parametrize(
    ("environment", "models"),
    [
        ({}, [OFFLINE]),
        ({"OPENROUTER_API_KEY": "x"}, [SONNET, HAIKU, OFFLINE]),
        (
            ROLES,
            [
                *("chat/a", "chat/b", "title/a", "extract/a", "summary/a", "critique/a", "agent/a", "reflection/a"),
                OFFLINE,
            ],
        ),
        ({"ALLOWED_MODELS": "x/y,z/w"}, ["x/y", "z/w"]),
    ],
    ids=["no key", "key", "roles", "named"],
)
def test_a_skill_may_name_the_models_of_all_roles_unless_they_are_listed(environment, models, monkeypatch):
    assert run_settings(monkeypatch, **environment)["ALLOWED_MODELS"] == models


def test_streams_are_read_directly_only_where_it_is_said_and_known_how(monkeypatch):
    assert run_settings(monkeypatch, LLM_DIRECT="")["LLM_DIRECT"] == []
    assert run_settings(monkeypatch, LLM_DIRECT=",".join(PROVIDERS))["LLM_DIRECT"] == list(PROVIDERS)
    with pytest.raises(SystemExit, match="LLM_DIRECT names anthropic; it takes openai, openrouter"):
        run_settings(monkeypatch, LLM_DIRECT="openai,anthropic")


def test_venue_keys_that_are_no_keys_stop_the_start(monkeypatch):
    with pytest.raises(SystemExit, match="VENUE_KEYS holds a key that is not 32 bytes"):
        run_settings(monkeypatch, VENUE_KEYS="too-short")


def test_provider_of_identities_may_be_posted_to_and_needs_its_client(monkeypatch):
    monkeypatch.setenv("OIDC_SERVER_URL", "https://login.example.com/realms/keel")
    with pytest.raises(SystemExit, match="OIDC_SERVER_URL and OIDC_CLIENT_ID need each other"):
        run_settings(monkeypatch)

    policy = run_settings(monkeypatch, OIDC_CLIENT_ID="k")["CONTENT_SECURITY_POLICY"]
    assert policy["DIRECTIVES"]["form-action"] == ["'self'", "https://login.example.com"]
