"""A real site in a process of its own, for faults of its stores: `manage.py up` on a fresh database."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from websockets.sync.client import connect

from tests.services import new_database, redis_url

ROOT = Path(__file__).parent.parent.parent
USER, PASSWORD = "ann@example.com", "a long and quiet night"
# Prints a token of a new user.
MAKE_USER = f"""
from django.utils import timezone
from config.lib.owned import owned_tx
from config.lib.proofs import OPERATOR
from trading.account.tokens import create_token
from trading.models import Trader
user = Trader.objects.create_user(email="{USER}", password="{PASSWORD}")
with owned_tx(user):
    print("token", create_token(name="x", scope="write", expires_at=None, proof=OPERATOR, now=timezone.now())[1])
"""


@dataclass
class Site:
    """A running site and the way to ask it."""

    url: str
    token: str
    database: str
    process: subprocess.Popen[str]
    log: Path

    def ask(self, method: str, path: str, **kwargs) -> requests.Response:
        """Ask the API as the user."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return requests.request(method, f"{self.url}{path}", headers=headers, timeout=180, **kwargs)

    def sign_in(self) -> requests.Session:
        """Sign in as a browser does; return its session."""
        browser = requests.Session()
        page = browser.get(f"{self.url}/accounts/login/", timeout=60)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
        typed = {"csrfmiddlewaretoken": token, "login": USER, "password": PASSWORD}
        browser.post(f"{self.url}/accounts/login/", data=typed, timeout=60).raise_for_status()
        return browser

    def read_socket(self, browser: requests.Session, conversation_id: str) -> dict[str, Any]:
        """Open a socket on a chat; return its first frame."""
        address = f"{self.url.replace('http', 'ws', 1)}/ws/chat/{conversation_id}/"
        cookies = {"Cookie": f"sessionid={browser.cookies['sessionid']}"}
        with connect(address, additional_headers=cookies, origin=self.url, open_timeout=60) as socket:
            return json.loads(socket.recv(60))

    def begin_turns(self, count: int) -> list[Future[requests.Response]]:
        """Send messages at once, each in a new chat; each future is a whole answer."""
        pool = ThreadPoolExecutor(count)
        said = {"message": "What can you do for me? Tell me everything at length.", "stream": False}
        return [pool.submit(self.ask, "POST", "/api/chat/", json=said) for _ in range(count)]

    def count_running(self) -> int:
        """Return the number of replies that are being written."""
        found = requests.get(f"{self.url}/metrics", headers={"Authorization": "Bearer m"}, timeout=60)
        return int(float(re.search(r"^keel_running_turns (\S+)", found.text, re.MULTILINE)[1]))


@contextmanager
def run_site(engine: str) -> Iterator[Site]:
    """Run a site of one server on SQLite, or on PostgreSQL and Redis."""
    with run_servers(engine, 1) as (site,):
        yield site


@contextmanager
def run_servers(engine: str, count: int, **settings: str) -> Iterator[list[Site]]:
    """Run a site of several servers on one database; each server is a `Site`."""
    with tempfile.TemporaryDirectory(prefix="keel-faults-") as folder, _make_database(engine, folder) as database:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("KEEL_", "DJANGO"))},
            **{"DATABASE_URL": database, "REDIS_URL": f"{redis_url()}/9" if engine == "postgres" else ""},
            **{"KEEL_HOME": folder, "READ_DOT_ENV": "false", "METRICS_TOKEN": "m", "TURNS_PER_USER": "100"},
            **{"MESSAGES_PER_MINUTE": "1000", "OFFLINE_DELAY_SECONDS": "0.4", "CHAT_AGENT_MODEL": "offline/keel"},
            **settings,
        }
        command = [sys.executable, "manage.py"]
        subprocess.run([*command, "migrate", "-v", "0"], cwd=ROOT, env=environment, check=True)
        made = subprocess.run(
            [*command, "shell", "-v", "0", "-c", MAKE_USER],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        token = re.search(r"token (\S+)", made.stdout)[1]
        with ExitStack() as servers:
            logs = [Path(folder) / f"log-{number}" for number in range(count)]
            started = [servers.enter_context(_run_server(command, environment, log)) for log in logs]
            yield [Site(url, token, database, process, log) for (url, process), log in zip(started, logs, strict=True)]


@contextmanager
def _run_server(
    command: list[str], environment: dict[str, str], log: Path
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*command, "up", "--port", "0", "--json"],
            cwd=ROOT,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
        )
    try:
        yield json.loads(process.stdout.readline())["url"].rstrip("/"), process
    finally:
        process.kill()
        process.communicate()


def _make_database(engine: str, folder: str) -> AbstractContextManager[str]:
    return nullcontext(f"sqlite:///{folder}/db.sqlite3") if engine == "sqlite" else new_database()
