"""Many deployments that are due at one instant: does each decide once, and what is left behind?

`make bench ARGS="bench_deployments --deployments 10000 --users 1000 --due 1000 --workers 4"` is the full size. Each
worker is a process like `run_jobs`; its model waits and holds. The engine of jobs is Procrastinate on PostgreSQL,
where BENCH_DATABASE_URL names SQLite the embedded one. Printed: how late the ticks end.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from tempfile import TemporaryFile
from typing import Any

from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.report import Report, benchmark, size
from benchmarks.site import make_bars
from chat.management.commands.run_jobs import work_until
from config.lib.llm.answer import Piece, Usage
from config.lib.owned import system, system_tx
from config.lib.work.models import WorkRun
from trading.models import Bar, DecisionSnapshot, Deployment, Skill, SkillVersion, Trader
from trading.runs.due import list_due
from trading.skills.schemas import Schedule, parse_payload

MODEL_SECONDS = 0.05
PATIENCE_SECONDS = 900
QUARTER, DAY = timedelta(minutes=15), timedelta(days=1)
SIZES = {"deployments": size(400, 12), "users": size(40, 3), "due": size(100, 4), "workers": size(2, 1)}

# A worker and its parent have the same model and the jobs of deployments alone.
settings.LLM_PROVIDERS = {**settings.LLM_PROVIDERS, "holding": "benchmarks.bench_deployments.Holding"}
settings.TRADING_AGENT_MODEL = "holding/model"
settings.JOBS = ["trading.jobs.JOBS"]


class Holding:
    """A model that waits and holds; each answer is one line of output."""

    async def stream(self, model: str, request: Any) -> AsyncIterator[Piece]:
        await asyncio.sleep(MODEL_SECONDS)
        print("asked", flush=True)
        call = {"index": 0, "id": "call_1", "function": {"name": "hold", "arguments": '{"reason": "nothing to do"}'}}
        yield Piece(content="", calls=[call], finish_reason="tool_calls", usage=Usage(100, 10))


def work() -> None:
    """Run a worker until standard input ends."""
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
    work_until(stopped, lambda _: None)


def make_versions(users: int, past: datetime) -> list[SkillVersion]:
    """Store users with a skill each, which ticks each 15 minutes; return its versions."""
    body = {
        "name": "Bench",
        "trading_style": "day",
        "strategy": {"thesis": "Bench", "entry": "A close above the 20-bar high.", "exit": "A close below the mean."},
        "context": {"symbols": ["BTC"], "bars_interval": "15m", "bars_lookback": 30},
        "schedule": {"type": "interval", "value": "15m"},
    }
    payload = parse_payload(body).stored()
    people = Trader.objects.bulk_create(Trader(email=f"bench-{number}@example.com") for number in range(users))
    skills = Skill.objects.bulk_create(
        Skill(user=user, name="Bench", trading_style="day", latest_version=1, created_at=past, updated_at=past)
        for user in people
    )
    return SkillVersion.objects.bulk_create(
        SkillVersion(user=skill.user, skill=skill, version=1, payload=payload, created_at=past) for skill in skills
    )


def make_deployments(users: int, count: int, at: datetime) -> list[Any]:
    """Store users with skills and deployments that tick each 15 minutes, none of them due; return their ids."""
    past = at - DAY
    with system_tx("benchmark"):
        versions = make_versions(users, past)
        rows = [
            Deployment(
                user_id=versions[number % users].user_id,
                skill=versions[number % users].skill,
                version=versions[number % users],
                broker_kind="paper",
                starting_equity_usd=10_000,
                created_at=past,
                due_at=None,
            )
            for number in range(count)
        ]
        Deployment.objects.bulk_create(rows, batch_size=1_000)
        Bar.objects.bulk_create(make_bars([Decimal(100)] * 96, "15m", QUARTER, past))
    return [row.pk for row in rows]


def count_finder(now: datetime) -> int:
    """Return the queries of looking for due deployments."""
    with system("benchmark"), CaptureQueriesContext(connection) as queries:
        list_due(now)
    return len(queries)


def play_round(ids: list[Any], *, at: datetime) -> list[float]:
    """Make deployments due, wait until all have ticked; return how late each ended."""
    with system_tx("benchmark"):
        Deployment.objects.filter(pk__in=ids).update(due_at=at)
    began, deadline = timezone.now(), time.monotonic() + PATIENCE_SECONDS
    while True:
        with system("benchmark"):
            left = Deployment.objects.filter(pk__in=ids).exclude(last_tick_at__gte=at, lease=None).count()
        if not left:
            break
        assert time.monotonic() < deadline, f"{left} deployments are left"
        time.sleep(0.2)
    ended = WorkRun.objects.filter(name="tick_deployment", finished_at__gte=began).values_list("finished_at", flat=True)
    return sorted((moment - began).total_seconds() for moment in ended)


def count_queue() -> int:
    """Return the jobs that wait; the embedded engine keeps none."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_jobs")
        return cursor.fetchone()[0]


def start_workers(count: int) -> list[tuple[subprocess.Popen[str], Any]]:
    """Start the workers; return each with the file of its output."""
    command = [sys.executable, "-m", "benchmarks.bench_deployments", "--work"]
    outputs = [TemporaryFile("w+") for _ in range(count)]  # noqa: SIM115 - until the workers end
    return [(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, text=True), out) for out in outputs]


def stop_workers(workers: list[tuple[subprocess.Popen[str], Any]]) -> int:
    """Let the workers end; return how often they called the model."""
    for worker, _ in workers:
        worker.stdin.close()
        worker.wait()
    asked = 0
    for _, output in workers:
        output.seek(0)
        asked += output.read().count("asked")
    return asked


@benchmark
def main(report: Report) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    sizes = parser.parse_args()
    at = Schedule(type="interval", value="15m").find_last(timezone.now())
    ids = make_deployments(sizes.users, sizes.deployments, at)
    queries = count_finder(timezone.now())
    workers = start_workers(sizes.workers)
    rounds = ids[: sizes.due], ids[sizes.due : 2 * sizes.due]
    for number, chosen in enumerate(rounds, start=1):
        lags = play_round(chosen, at=at)
        print(
            f"round {number}: {len(chosen)} due of {len(ids)}, {len(chosen) / lags[-1]:.0f} ticks/s, ended after"
            f" p50 {statistics.median(lags):.1f} s, last {lags[-1]:.1f} s"
        )
    asked = stop_workers(workers)
    wanted = Counter(ids[: 2 * sizes.due])
    with system("benchmark"):
        decided = Counter(DecisionSnapshot.objects.values_list("deployment_id", flat=True))
    wrong = (wanted - decided) + (decided - wanted)
    report.add("decisions that are missing, doubled or not due", wrong.total() + abs(asked - wanted.total()))
    report.add("jobs left in the queue", count_queue())
    report.add("queries that find the due ones", queries)


if __name__ == "__main__":
    sys.exit(work() if sys.argv[1:] == ["--work"] else main())
