"""The settings under test: the application's own, on the engine in KEEL_TEST_ENGINE, with no provider in reach."""

import os
import re
import secrets
import tempfile
from pathlib import Path

from tests.services import postgres_url, redis_url

ENGINE = os.environ.get("KEEL_TEST_ENGINE", "sqlite")  # or "postgres", which brings Redis as well
WORKER = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
SCRIPTED_MODEL = "scripted/model"  # says what the test told it to say: tests/fakes.py


def _forget_surroundings() -> None:
    # What the developer's shell says must neither change a test nor open a way to a provider.
    example = Path(__file__).parent.parent / ".env.example"
    listed = re.findall(r"^#? ?([A-Z][A-Z0-9_]+)=", example.read_text(), re.MULTILINE) if example.exists() else []
    for name in list(os.environ):
        is_provider = re.search(r"(_API_KEY|_API_BASE|_BASE_URL|_API_TOKEN|_MODELS?)$|^AWS_|^GOOGLE_", name)
        if name in listed or (is_provider and not name.startswith("WIRE_")):  # WIRE_: a server named for tests/wire
            del os.environ[name]


# One folder for this run and its worker processes; conftest.py makes and removes it.
_name = f"{tempfile.gettempdir()}/keel-tests-{secrets.token_hex(8)}"
TEST_FOLDER = os.environ.setdefault("KEEL_TEST_FOLDER", _name)

_forget_surroundings()
os.environ |= {
    "READ_DOT_ENV": "false",
    "SECRET_KEY": "only-for-tests-" + "x" * 40,
    "VENUE_KEYS": "b25seS1mb3ItdGVzdHMtb25seS1mb3ItdGVzdHMtMTI=",
    "CHAT_AGENT_MODEL": SCRIPTED_MODEL,
    "TITLE_MODELS": "",  # a title is written after the turn, when a test may be over: the tests of titles name one
    "EXTRACT_MODELS": "offline/keel",
    "OFFLINE_DELAY_SECONDS": "0",
    "API_READS_PER_MINUTE": "1000000",
    "API_WRITES_PER_MINUTE": "1000000",
    "LOG_LEVEL": "WARNING",
    "DATABASE_URL": postgres_url() if ENGINE == "postgres" else f"sqlite:///{TEST_FOLDER}/never-used.sqlite3",
    "REDIS_URL": f"{redis_url()}/{WORKER}" if ENGINE == "postgres" else "",
    # Read by LiteLLM at import: no look at the network, no `.env` of its own.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
}

from config.settings import *  # noqa: E402, F403 - the environment above comes first
from config.settings import CHANNEL_LAYERS, DATABASES, INSTALLED_APPS  # noqa: E402

INSTALLED_APPS.append("allauth.socialaccount.providers.openid_connect")  # tests of it name a provider
if ENGINE == "sqlite":
    # A file, not memory: the server, the races and the worker open connections of their own.
    DATABASES["default"]["TEST"] = {"NAME": f"{TEST_FOLDER}/test.sqlite3"}
else:
    # Redis publishes across its numbered databases, so worker processes need names of their own too.
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = f"test-{WORKER}"
    INSTALLED_APPS.append("procrastinate.contrib.django")  # its tables; tests of the engine set JOBS_ENGINE

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
