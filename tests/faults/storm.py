"""Two servers, three workers, PostgreSQL and Redis under kills and outages: what is lost, what is done twice?

`python -m tests.faults.storm --kills 100 --stalls 20 --losses 20`. People chat and close their chats, deployments tick
each minute, venue accounts are read, accounts are made and passwords forgotten, all with fake models and a fake venue
(`storm_process`). Processes die by kill -9 and start again, the database stands still (once for a minute), Redis goes
away and comes back empty, and the mail server refuses, hangs up or is silent half of the time. Then the storm ends,
everything may come to rest, and `storm_checks` compares the rows and the mails with what was sent.
"""

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import psycopg
import requests

from tests import services
from tests.faults.storm_outages import MailServer, Outages, Supervised, lose_redis, read_parent
from tests.faults.storm_people import DEPLOYMENTS_EACH, NEWCOMERS, Newcomer, Person, make_rows

SERVERS, WORKERS = 2, 3
REST_SECONDS = 900  # for what failed in the storm: it is tried again after one and five minutes


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


def set_up(folder: Path, mail_port: int) -> tuple[int, str]:
    """Start the stores and point Django at them; return the pid of PostgreSQL and the address of Redis."""
    database, redis = services.start_postgres(), services.start_redis()
    os.environ |= {
        **{"DJANGO_SETTINGS_MODULE": "config.settings", "READ_DOT_ENV": "false", "KEEL_HOME": str(folder)},
        **{"DATABASE_URL": database, "REDIS_URL": f"{redis}/0", "JOBS_ENGINE": "procrastinate"},
        **{"EMAIL_URL": f"smtp://127.0.0.1:{mail_port}", "SIGN_UP": "open"},
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
    mail, outages = MailServer(), Outages()
    server_pid, redis = set_up(folder, mail.server_address[1])
    from tests.faults import storm_checks  # noqa: PLC0415

    began, stopped = datetime.now(UTC).replace(microsecond=0), threading.Event()
    people, deployments = make_rows(began)
    threading.Thread(target=feed_bars, args=(stopped,), daemon=True).start()
    with running_site(folder, began) as (processes, urls):
        talkers = [Person(token, account, urls, stopped) for token, account in people]
        newcomers = [Newcomer(number, urls, stopped) for number in range(NEWCOMERS)]
        mails = threading.Thread(target=mail.come_and_go, args=(stopped,))
        for thread in (*talkers, *newcomers, mails):
            thread.start()
        break_all(size, outages, processes, server_pid, redis)
        print(f"the storm is over after {datetime.now(UTC) - began}: kills {outages.count_kills()}", flush=True)
        for number, deployment in enumerate(deployments):
            talkers[number // DEPLOYMENTS_EACH].insist(f"/api/deployments/{deployment}/commands/", {"kind": "stop"})
        stopped.set()
        for thread in (*talkers, *newcomers, mails):
            thread.join()
        left = wait_for_rest(storm_checks)
    statuses = sum((one.statuses for one in (*talkers, *newcomers)), Counter[str]())
    sent = [one for talker in talkers for one in talker.sent]
    closed = [one for talker in talkers for one in talker.closed]
    promised, asked = (sum((getattr(one, name) for one in newcomers), Counter()) for name in ("promised", "asked"))
    starts = {one.name: one.starts for one in processes}
    print(f"{len(sent)} messages, {len(closed)} chats closed; answers {dict(statuses)}; starts {starts}")
    print(storm_checks.describe_rows())
    print(storm_checks.describe_mails(promised, mail))
    print_errors(processes)
    return [
        *(f"stuck: {one}" for one in left),
        *(f"{count} x {status}" for status, count in statuses.items() if status[0] == "5" and status != "503"),
        *storm_checks.find_message_losses(sent),
        *storm_checks.find_closing_losses(closed),
        *storm_checks.find_tick_losses(),
        *storm_checks.find_sync_losses(began.timestamp()),
        *storm_checks.find_mail_losses(promised, asked, mail.taken, outages),
    ]


def break_all(
    size: argparse.Namespace, outages: Outages, processes: list[Supervised], server_pid: int, redis: str
) -> None:
    """Kill processes and break the stores, until all of it is done."""
    seconds = size.minutes * 60
    stalls = (server_pid, size.stalls, seconds / max(size.stalls, 1) - 6)
    losses = (redis, size.losses, seconds / max(size.losses, 1) - 5)
    stores = [
        threading.Thread(target=outages.stall_database, args=stalls),
        threading.Thread(target=lose_redis, args=losses),
    ]
    for thread in stores:
        thread.start()
    outages.kill_processes(processes, size.kills, seconds / max(size.kills, 1))
    for thread in stores:
        thread.join()


def wait_for_rest(storm_checks: ModuleType) -> list[str]:
    """Wait until nothing is left to do; return what still is."""
    deadline = time.monotonic() + REST_SECONDS
    while left := storm_checks.list_unfinished():
        if time.monotonic() > deadline:
            break
        storm_checks.run_late_tries()
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
