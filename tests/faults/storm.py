"""Two servers, three workers, PostgreSQL and Redis under kills and outages: what is lost, what is done twice?

`python -m tests.faults.storm --kills 100 --stalls 20 --losses 20`. People chat and close their chats, deployments tick
each minute, venue accounts are read, all with fake models and a fake venue (`storm_process`). Processes die by kill -9
and start again, the database stands still (once for a minute), and Redis goes away and comes back empty. Then
the storm ends, everything may come to rest, and `storm_checks` compares the rows with what was sent.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import requests
from redis import Redis

from tests import services

PEOPLE = 6
DEPLOYMENTS_EACH = 2
SERVERS, WORKERS = 2, 3
STALL_SECONDS = (4.0, 8.0)
LONG_STALL_SECONDS = 60.0
LOSS_SECONDS = (3.0, 6.0)
MESSAGES_PER_CHAT = 3
REST_SECONDS = 900  # for what failed in the storm: it is tried again after one and five minutes
SAID = (
    "I trade only with the trend, and I keep leverage at {n}x or less. How are my deployments doing?",
    "What did I lose most on in the last {n} days?",
    "I never risk more than {n}% of the account on one trade. What can you do for me?",
)


class Supervised:
    """A process that is started again whenever it ends, as systemd would."""

    def __init__(self, name: str, arguments: list[str], environment: dict[str, str], folder: Path) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        self._command = [sys.executable, "-m", "tests.faults.storm_process", *arguments]
        self._environment = environment
        self._is_over = False
        self.starts = 0
        self.child: subprocess.Popen[bytes] | None = None

    def watch(self) -> None:
        """Start the process, and again after each end, until `end` is called."""
        while not self._is_over:
            with self.log.open("ab") as log:
                self.child = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)
            self.starts += 1
            self.child.wait()
            time.sleep(0.5)

    def kill(self) -> bool:
        """Kill the process; False if none runs just now."""
        if self.child is None or self.child.poll() is not None:
            return False
        self.child.kill()
        return True

    def end(self) -> None:
        """Stop the process in order, for good."""
        self._is_over = True
        if self.child is not None:
            self.child.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(30)
            self.child.kill()


class Person(threading.Thread):
    """Someone who sends messages, closes chats and reads accounts until told to stop; nobody gives up on a request."""

    def __init__(self, token: str, account: Any, urls: list[str], stopped: threading.Event) -> None:
        super().__init__(daemon=True)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._account, self._urls, self._stopped = account, urls, stopped
        self._chance = random.Random(token)
        self.sent: list[UUID] = []
        self.closed: list[UUID] = []
        self.statuses: Counter[str] = Counter()

    def run(self) -> None:
        """Talk."""
        for number in count(1):
            chat = None
            for said in SAID[:MESSAGES_PER_CHAT]:
                client_id = uuid4()
                self.sent.append(client_id)
                body = {"message": said.format(n=number % 9 + 1), "client_id": str(client_id), "stream": False}
                answer = self.insist("POST", "/api/chat/", body | ({"conversationId": chat} if chat else {}))
                chat = answer["conversation_id"]
                if self._stopped.is_set():
                    break
            self.insist("POST", f"/api/conversations/{chat}/close/", {})
            self.closed.append(UUID(chat))
            self.read_account()
            if self._stopped.is_set():
                return

    def read_account(self) -> None:
        """Ask for a reading of the account, as its page does; an outage loses the request."""
        from django.db import Error, close_old_connections  # noqa: PLC0415

        from config.lib.owned import owned_tx  # noqa: PLC0415
        from trading.intake.sync import make_due  # noqa: PLC0415

        close_old_connections()
        with suppress(Error), owned_tx(self._account.user_id):
            make_due(self._account.pk, now=datetime.now(UTC))

    def insist(self, method: str, path: str, body: dict[str, Any]) -> Any:
        """Ask one server or the other until one answers, with the same body; count what they answer."""
        while True:
            url = self._chance.choice(self._urls)
            try:
                found = requests.request(method, f"{url}{path}", json=body, headers=self._headers, timeout=120)
            except requests.RequestException:
                self.statuses["no answer"] += 1
            else:
                self.statuses[str(found.status_code)] += 1
                if found.ok:
                    return found.json() if found.content else None
                if found.status_code >= 500 and found.status_code != 503:
                    print(f"{found.status_code} of {path}: {found.text[:200]}", flush=True)
            time.sleep(0.5 + self._chance.random())


def freeze(pids: list[int], seconds: float) -> None:
    """Let processes stand still."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def read_parent(pid: int) -> int:
    """Return the parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def list_family(pid: int) -> list[int]:
    """Return a process and its children, the parent first: it starts no others then."""
    children = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if read_parent(int(path.name)) == pid:
                children.append(int(path.name))
    return [pid, *children]


def stall_database(server_pid: int, times: int, pause: float) -> None:
    """Let PostgreSQL stand still again and again, once for long."""
    for number in range(times):
        time.sleep(pause * random.uniform(0.5, 1.5))
        seconds = LONG_STALL_SECONDS if number == times // 2 else random.uniform(*STALL_SECONDS)
        freeze(list_family(server_pid), seconds)


def lose_redis(url: str, times: int, pause: float) -> None:
    """Take Redis away again and again; it comes back empty and without its connections, as after a restart."""
    client = Redis.from_url(url)
    pid = client.info("server")["process_id"]
    for _ in range(times):
        time.sleep(pause * random.uniform(0.5, 1.5))
        freeze([pid], random.uniform(*LOSS_SECONDS))
        client.flushall()
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")


def kill_processes(processes: list[Supervised], times: int, pause: float) -> Counter[str]:
    """Kill random processes."""
    kills: Counter[str] = Counter()
    while kills.total() < times:
        time.sleep(pause * random.uniform(0.2, 1.8))
        one = random.choice(processes)
        kills[one.name] += one.kill()
    return kills


def make_rows(began: datetime) -> tuple[list[tuple[str, Any]], list[UUID]]:
    """Store people with deployments and venue accounts; return tokens with accounts, and the deployments."""
    from config.lib.owned import owned_tx  # noqa: PLC0415
    from config.lib.proofs import OPERATOR  # noqa: PLC0415
    from trading.account.tokens import create_token  # noqa: PLC0415
    from trading.intake.sync import NewAccount, add_account  # noqa: PLC0415
    from trading.models import Skill, SkillVersion, Trader  # noqa: PLC0415
    from trading.record.deployments import deploy_skill  # noqa: PLC0415
    from trading.skills.schemas import parse_payload  # noqa: PLC0415

    body = {
        "name": "Storm",
        "trading_style": "day",
        "strategy": {"thesis": "Storm", "entry": "A close above the 20-bar high.", "exit": "A close below the mean."},
        "context": {"symbols": ["BTC"], "bars_interval": "1m", "bars_lookback": 30},
        "schedule": {"type": "interval", "value": "1m"},
    }
    people, deployments = [], []
    for number in range(PEOPLE):
        user = Trader.objects.create_user(email=f"storm-{number}@example.com", password=None)
        with owned_tx(user):
            token = create_token(name="storm", scope="write", expires_at=None, proof=OPERATOR, now=began)[1]
            skill = Skill.objects.create(
                name="Storm", trading_style="day", latest_version=1, created_at=began, updated_at=began
            )
            payload = parse_payload(body).stored()
            SkillVersion.objects.create(skill=skill, version=1, payload=payload, created_at=began)
            deployments += [
                deploy_skill(skill_id=skill.pk, proof=OPERATOR, now=began).pk for _ in range(DEPLOYMENTS_EACH)
            ]
            account = add_account(NewAccount("hyperliquid", address=f"0x{number:040x}"), proof=OPERATOR, now=began)
        people.append((token, account))
    return people, deployments


def feed_bars(stopped: threading.Event) -> None:
    """Store the bar of each minute once it has ended."""
    from django.db import DatabaseError, InterfaceError, connection  # noqa: PLC0415

    from trading.models import Bar  # noqa: PLC0415

    last = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=90)
    while not stopped.wait(0.2):
        newest = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=1)
        steps = [last + timedelta(minutes=number) for number in range(1, int((newest - last).total_seconds() / 60) + 1)]
        shape = {"symbol": "BTC", "interval": "1m", "open": 100, "high": 101, "low": 99, "close": 100, "volume": 9_000}
        try:
            Bar.objects.bulk_create((Bar(opened_at=at, source="storm", **shape) for at in steps), ignore_conflicts=True)
            last = newest
        except (DatabaseError, InterfaceError):
            connection.close()


@contextmanager
def running_site(folder: Path, began: datetime) -> Iterator[tuple[list[Supervised], list[str]]]:
    """Run servers and workers; yield them with the addresses of the servers."""
    ports = [services._free_port() for _ in range(SERVERS)]
    environment = {**os.environ, "STORM_BEGAN": str(began.timestamp()), "PYTHONUNBUFFERED": "1"}
    processes = [
        Supervised(f"server-{number}", ["up", "--port", str(port)], environment, folder)
        for number, port in enumerate(ports)
    ]
    processes += [Supervised(f"worker-{number}", ["run_jobs"], environment, folder) for number in range(WORKERS)]
    for one in processes:
        threading.Thread(target=one.watch, daemon=True).start()
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    try:
        for url in urls:
            wait_until_ready(url)
        yield processes, urls
    finally:
        for one in processes:
            one.end()


def wait_until_ready(url: str) -> None:
    """Wait for a server."""
    for _ in range(600):
        with suppress(requests.RequestException):
            if requests.get(f"{url}/readyz/", timeout=5).ok:
                return
        time.sleep(0.2)
    raise AssertionError(f"{url} does not serve")


def set_up(folder: Path) -> tuple[int, str]:
    """Start the stores and point Django at them; return the pid of PostgreSQL and the address of Redis."""
    database, redis = services.start_postgres(), services.start_redis()
    os.environ |= {
        **{"DJANGO_SETTINGS_MODULE": "config.settings", "READ_DOT_ENV": "false", "KEEL_HOME": str(folder)},
        **{"DATABASE_URL": database, "REDIS_URL": f"{redis}/0", "JOBS_ENGINE": "procrastinate"},
        **{"CHAT_AGENT_MODEL": "offline/keel", "TRADING_AGENT_MODEL": "storm/trader", "OFFLINE_DELAY_SECONDS": "0.05"},
        **{"TURNS_PER_USER": "100", "MESSAGES_PER_MINUTE": "10000", "API_WRITES_PER_MINUTE": "1000000"},
        **{"API_READS_PER_MINUTE": "1000000", "DAILY_TOKEN_BUDGET": "10000000000", "LOG_LEVEL": "WARNING"},
    }
    import django  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    with psycopg.connect(database) as connection:
        (backend,) = connection.execute("SELECT pg_backend_pid()").fetchone()
        return read_parent(backend), redis


def play(size: argparse.Namespace, folder: Path) -> list[str]:
    """Run the storm; return what was lost or doubled."""
    server_pid, redis = set_up(folder)
    from tests.faults import storm_checks  # noqa: PLC0415

    began, stopped = datetime.now(UTC).replace(microsecond=0), threading.Event()
    people, deployments = make_rows(began)
    threading.Thread(target=feed_bars, args=(stopped,), daemon=True).start()
    with running_site(folder, began) as (processes, urls):
        talkers = [Person(token, account, urls, stopped) for token, account in people]
        seconds = size.minutes * 60
        faults = [
            threading.Thread(target=stall_database, args=(server_pid, size.stalls, seconds / max(size.stalls, 1) - 6)),
            threading.Thread(target=lose_redis, args=(redis, size.losses, seconds / max(size.losses, 1) - 5)),
        ]
        for thread in (*talkers, *faults):
            thread.start()
        kills = kill_processes(processes, size.kills, seconds / max(size.kills, 1))
        for thread in faults:
            thread.join()
        print(f"the storm is over after {datetime.now(UTC) - began}: kills {dict(kills)}", flush=True)
        for number, deployment in enumerate(deployments):
            talkers[number // DEPLOYMENTS_EACH].insist(
                "POST", f"/api/deployments/{deployment}/commands/", {"kind": "stop"}
            )
        stopped.set()
        for talker in talkers:
            talker.join()
        left = wait_for_rest(storm_checks.list_unfinished)
    sent = [one for talker in talkers for one in talker.sent]
    closed = [one for talker in talkers for one in talker.closed]
    statuses = sum((talker.statuses for talker in talkers), Counter[str]())
    starts = {one.name: one.starts for one in processes}
    print(f"{len(sent)} messages, {len(closed)} chats closed; answers {dict(statuses)}; starts {starts}")
    print(storm_checks.describe_rows())
    print_errors(processes)
    fives = [f"{count} x {status}" for status, count in statuses.items() if status[0] == "5" and status != "503"]
    return [
        *(f"stuck: {one}" for one in left),
        *fives,
        *storm_checks.find_message_losses(sent),
        *storm_checks.find_closing_losses(closed),
        *storm_checks.find_tick_losses(),
        *storm_checks.find_sync_losses(began.timestamp()),
    ]


def wait_for_rest(list_unfinished: Any) -> list[str]:
    """Wait until nothing is left to do; return what still is."""
    deadline = time.monotonic() + REST_SECONDS
    while left := list_unfinished():
        if time.monotonic() > deadline:
            break
        time.sleep(2)
    print(f"at rest after {REST_SECONDS - deadline + time.monotonic():.0f} s", flush=True)
    return left


def print_errors(processes: list[Supervised]) -> None:
    """Print the last lines of tracebacks in the logs, by number."""
    ends: Counter[str] = Counter()
    raised = re.compile(r"^(\w[\w.]*(?:Error|Exception|Timeout|NotAvailable|Canceled)\b.{0,80})", re.MULTILINE)
    for one in processes:
        ends.update(raised.findall(one.log.read_text(errors="replace")))
    for line, number in ends.most_common(15):
        print(f"  {number} x {line}")


def main() -> int:
    """Run the storm; return 1 if anything was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("kills", 100), ("stalls", 20), ("losses", 20), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--logs", type=Path, help="keep the logs of the processes here")
    size = parser.parse_args()
    random.seed(size.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no process outlives it
    with tempfile.TemporaryDirectory(prefix="keel-storm-") as temporary:
        problems = play(size, size.logs or Path(temporary))
    for problem in problems[:40]:
        print(f"FAILED: {problem}")
    print(f"{len(problems)} problems" if problems else "nothing was lost, nothing was done twice")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
