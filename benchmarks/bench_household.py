"""A household's server: memory with twenty accounts of 1,000 trades, and the CPU of a start.

The server is `manage.py up` on SQLite, which runs the jobs, too. Memory is the most that its process had at once, as
Linux counts it, at ten page loads at once, too.
"""

import os
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.utils import timezone

from benchmarks.chats import read_cpu, serve
from benchmarks.report import Report, benchmark, size
from benchmarks.site import make_user, sign_in
from config.lib.owned import owned_tx
from tests.large import Size, seed_large_account
from trading.models import Deployment

AT_ONCE = 10
ACCOUNT = Size(trades=size(1_000, 20), facts=100, messages=40, chats=20, bars=size(2_000, 200), decisions=100)
PAGES = (
    *("/", "/trades/", "/trades/?show=days", "/trades/?show=paths"),
    *("/profile/facts/", "/journal/", "/chat/?new=1"),
)


def make_session() -> str:
    """Make an account, signed in; return the key of its session."""
    user = make_user()
    seed_large_account(user, timezone.now(), ACCOUNT)
    with owned_tx(user):
        # Its open trades have no state to tick on from.
        Deployment.objects.filter(broker_kind="paper").update(status="paused", due_at=None)
    return sign_in(user).cookies["sessionid"].value


def load_pages(url: str, sessions: Sequence[str], at_once: int) -> None:
    """Read each page of each account."""

    def load(session: str, page: str) -> None:
        request = urllib.request.Request(f"{url.rstrip('/')}{page}", headers={"Cookie": f"sessionid={session}"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - our own server
            assert answer.geturl().endswith(page), "not signed in"
            answer.read()

    with ThreadPoolExecutor(at_once) as clients:
        list(clients.map(load, *zip(*((session, page) for session in sessions for page in PAGES), strict=True)))


def read_peak(process: subprocess.Popen[str], name: str) -> float:
    """Print and return the most megabytes that a process had since the last call."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    print(f"{name:<20}{peak:6.0f} MB,{status['Threads']} threads, {read_cpu(process):6.2f} s of CPU", flush=True)
    return peak


def until_idle(process: subprocess.Popen[str]) -> None:
    """Wait until a process has done what it does at its start."""
    calm, last = 0, read_cpu(process)
    while calm < 4:
        time.sleep(0.5)
        now = read_cpu(process)
        calm, last = calm + 1 if now - last < 0.05 else 0, now


def time_check() -> float:
    """Return the CPU seconds of `manage.py check`, the least of three: the first compiles the modules."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "manage.py", "check"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


@benchmark
def main(report: Report) -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed, where modules are compiled once
    sessions = [make_session() for _ in range(size(20, 2))]
    with serve() as [(process, url)]:
        peaks = [read_peak(process, "until it announces")]
        until_idle(process)
        peaks.append(read_peak(process, "until it is idle"))
        for at_once in (1, *[AT_ONCE] * size(3, 1)):
            load_pages(url, sessions, at_once)
            peaks.append(read_peak(process, f"{at_once} at once"))
    report.add("memory of web and worker", max(peaks))
    report.add("CPU of manage.py check", time_check())


if __name__ == "__main__":
    sys.exit(main())
