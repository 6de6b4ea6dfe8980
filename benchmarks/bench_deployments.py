"""Many deployments that are due at one instant: how late they tick, and what that leaves behind.

`python -m benchmarks.bench_deployments --deployments 10000 --users 1000 --due 1000 --workers 4` is the full size. Each
worker is a process like `run_jobs`; its model waits and holds. The engine
is Procrastinate on PostgreSQL, from the wheel unless BENCH_DATABASE_URL names one; `--embedded` uses the other engine.

Checked: each due deployment decides once and no other does, the queue is empty afterwards, and the queries that find
the due ones are as many for all sizes.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

MODEL_SECONDS = 0.05
PATIENCE_SECONDS = 900


class Holding:
    """A model that waits and holds; each answer is one line of output."""

    async def stream(self, model: str, request: Any) -> AsyncIterator[Any]:
        from config.lib.llm.answer import Piece, Usage  # noqa: PLC0415

        await asyncio.sleep(MODEL_SECONDS)
        print("asked", flush=True)
        call = {"index": 0, "id": "call_1", "function": {"name": "hold", "arguments": '{"reason": "nothing to do"}'}}
        yield Piece(content="", calls=[call], finish_reason="tool_calls", usage=Usage(100, 10))


def set_up(engine: str, url: str) -> None:
    """Point Django at the database."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "READ_DOT_ENV": "false",
        "DATABASE_URL": url,
        "JOBS_ENGINE": engine,
        "TRADING_AGENT_MODEL": "holding/model",
        "LOG_LEVEL": "ERROR",
    }
    import django  # noqa: PLC0415  after the environment
    from django.conf import settings  # noqa: PLC0415

    settings.LLM_PROVIDERS = {**settings.LLM_PROVIDERS, "holding": "benchmarks.bench_deployments.Holding"}
    settings.JOBS = ["trading.jobs.JOBS"]
    django.setup()


def work() -> None:
    """Run a worker until standard input ends."""
    from chat.management.commands.run_jobs import work_until  # noqa: PLC0415

    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
    work_until(stopped, lambda run: print("run", flush=True) if run.key else None)


def make_versions(users: int, past: datetime) -> list[Any]:
    """Store users with a skill each, which ticks each 15 minutes; return its versions."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415

    from trading.models import Skill, SkillVersion  # noqa: PLC0415
    from trading.skills.schemas import parse_payload  # noqa: PLC0415

    body = {
        "name": "Bench",
        "trading_style": "day",
        "strategy": {"thesis": "Bench", "entry": "A close above the 20-bar high.", "exit": "A close below the mean."},
        "context": {"symbols": ["BTC"], "bars_interval": "15m", "bars_lookback": 30},
        "schedule": {"type": "interval", "value": "15m"},
    }
    payload = parse_payload(body).stored()
    model: Any = get_user_model()
    people = model._default_manager.bulk_create(model(email=f"bench-{number}@example.com") for number in range(users))
    skills = Skill.objects.bulk_create(
        Skill(user=user, name="Bench", trading_style="day", latest_version=1, created_at=past, updated_at=past)
        for user in people
    )
    return SkillVersion.objects.bulk_create(
        SkillVersion(user=skill.user, skill=skill, version=1, payload=payload, created_at=past) for skill in skills
    )


def make_bars(at: datetime) -> None:
    """Store a day of bars before an instant."""
    from trading.models import Bar  # noqa: PLC0415

    prices = {"open": 100, "high": 101, "low": 99, "close": 100, "volume": 9}
    steps = [at - number * timedelta(minutes=15) for number in range(1, 100)]
    Bar.objects.bulk_create(Bar(symbol="BTC", interval="15m", opened_at=step, source="b", **prices) for step in steps)


def make_deployments(users: int, count: int, at: datetime) -> list[Any]:
    """Store users with skills and deployments that tick each 15 minutes, none of them due; return their ids."""
    from config.lib.owned import system_tx  # noqa: PLC0415
    from trading.models import Deployment  # noqa: PLC0415

    past = at - timedelta(days=1)
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
        make_bars(at)
    return [row.pk for row in rows]


def count_finder(now: datetime) -> tuple[int, float]:
    """Return the queries and milliseconds of looking for due deployments."""
    from django.db import connection  # noqa: PLC0415
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    from config.lib.owned import system  # noqa: PLC0415
    from trading.runs.due import list_due  # noqa: PLC0415

    with system("benchmark"), CaptureQueriesContext(connection) as queries:
        began = time.perf_counter()
        list_due(now)
    return len(queries), (time.perf_counter() - began) * 1e3


def play_round(ids: list[Any], *, at: datetime) -> list[float]:
    """Make deployments due, wait until all have ticked; return how late each ended."""
    from django.utils import timezone  # noqa: PLC0415

    from config.lib.owned import system, system_tx  # noqa: PLC0415
    from config.lib.work.models import WorkRun  # noqa: PLC0415
    from trading.models import Deployment  # noqa: PLC0415

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


def count_rows() -> dict[str, int]:
    """Return the rows of work that are left."""
    from django.db import connection  # noqa: PLC0415

    from config.lib.work.models import WorkRun  # noqa: PLC0415

    rows = {"runs": WorkRun.objects.exclude(key="").count()}
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM procrastinate_jobs")
            rows["queue"] = cursor.fetchone()[0]
    return rows


def start_workers(size: argparse.Namespace) -> list[tuple[Any, Any]]:
    """Start the workers; return each with the file of its output."""
    flags = ["--work", *(["--embedded"] if size.embedded else [])]
    command = [sys.executable, "-m", "benchmarks.bench_deployments", *flags]
    outputs = [open(f"{os.environ['BENCH_FOLDER']}/worker-{number}", "w+") for number in range(size.workers)]  # noqa: SIM115
    return [(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, text=True), out) for out in outputs]


def stop_workers(workers: list[tuple[Any, Any]]) -> int:
    """Let the workers end; return how often they called the model."""
    for worker, _ in workers:
        worker.stdin.close()
        worker.wait()
    asked = 0
    for _, output in workers:
        output.seek(0)
        asked += output.read().count("asked")
    return asked


def measure(size: argparse.Namespace) -> int:
    """Play two rounds; print and check the figures."""
    from django.core.management import call_command  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from config.lib.owned import system  # noqa: PLC0415
    from trading.models import DecisionSnapshot  # noqa: PLC0415
    from trading.skills.schemas import Schedule  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    at = Schedule(type="interval", value="15m").find_last(timezone.now())
    ids = make_deployments(size.users, size.deployments, at)
    queries, took = count_finder(timezone.now())
    workers = start_workers(size)
    for number in (1, 2):
        chosen = ids[(number - 1) * size.due : number * size.due]
        lags = play_round(chosen, at=at)
        print(
            f"round {number}: {len(chosen)} due of {len(ids)}, {len(chosen) / lags[-1]:.0f} ticks/s, ended after"
            f" p50 {statistics.median(lags):.1f} s, p99 {lags[int(len(lags) * 0.99) - 1]:.1f} s, last {lags[-1]:.1f} s;"
            f" rows left: {json.dumps(count_rows())}"
        )
    asked = stop_workers(workers)
    with system("benchmark"):
        decided = DecisionSnapshot.objects.count()
    print(f"{decided} decisions of {2 * size.due} wanted, {asked} calls of the model")
    print(f"finding that none of {len(ids)} is due: {queries} queries, {took:.1f} ms")
    checks = {
        "a deployment ticked twice or not at all": decided == 2 * size.due == asked,
        "the queue is not empty": not count_rows().get("queue"),
        "finding takes too many queries": queries <= 6,
    }
    problems = [problem for problem, is_fine in checks.items() if not is_fine]
    for problem in problems:
        print(f"FAILED: {problem}")
    return len(problems)


def main() -> int:
    """Run the benchmark, or a worker of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("deployments", 400), ("users", 40), ("due", 100), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("embedded", "work"):
        parser.add_argument(f"--{name}", action="store_true")
    size = parser.parse_args()
    engine = "embedded" if size.embedded else "procrastinate"
    if size.work:
        set_up(engine, os.environ["BENCH_DATABASE_URL"])
        work()
        return 0
    import tempfile  # noqa: PLC0415

    from tests.services import postgres_url  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCH_FOLDER"] = folder
        url = f"sqlite:///{folder}/bench.sqlite3" if size.embedded else ""
        os.environ["BENCH_DATABASE_URL"] = os.environ.get("BENCH_DATABASE_URL") or url or postgres_url()
        set_up(engine, os.environ["BENCH_DATABASE_URL"])
        return measure(size)


if __name__ == "__main__":
    sys.exit(main())
