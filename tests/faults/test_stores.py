"""Stores that stand still under a real site with running answers: no answer is cut, no 5xx but 503, all recovers."""

import os
import signal
import sqlite3
import time
from contextlib import contextmanager

import psycopg
import pytest
from redis import Redis

from chat.management.commands.up import GRACE_SECONDS
from tests.faults.site import Site, run_site
from tests.services import postgres_url, redis_url

pytestmark = [pytest.mark.skipif("FAULTS" not in os.environ, reason="`make faults` runs it"), pytest.mark.timeout(600)]

ANSWERS = int(os.environ.get("FAULTS_ANSWERS", "5"))


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request):
    return request.param


def wait_for_running(site: Site, count: int) -> None:
    for _ in range(600):
        if site.count_running() >= count:
            return
        time.sleep(0.1)
    raise AssertionError("the answers did not begin")


@contextmanager
def standing_database(site: Site, engine: str):
    """Let the database stand still: a write lock of another process, or stopped backends."""
    if engine == "sqlite":
        with sqlite3.connect(site.database.removeprefix("sqlite:///"), isolation_level=None, timeout=30) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    name = site.database.rpartition("/")[2]
    with psycopg.connect(postgres_url(), autocommit=True) as other:
        pids = [pid for (pid,) in other.execute("SELECT pid FROM pg_stat_activity WHERE datname = %s", [name])]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("seconds", [12, 45])
def test_database_that_stands_still_cuts_no_answer(engine, seconds):
    with run_site(engine) as site:
        turns = site.begin_turns(ANSWERS)
        wait_for_running(site, ANSWERS)
        with standing_database(site, engine):
            time.sleep(seconds)
        replies = [turn.result().json()["reply"] for turn in turns]
        log = site.log.read_text()

    cut = [reply for reply in replies if reply["status"] != "complete" and not reply.get("error")]
    print(f"{len(cut)} of {len(replies)} answers cut without a reason")
    assert cut == []
    assert "Traceback" not in log


def test_redis_that_stands_still_leaves_api_sign_in_and_sockets_working():
    with run_site("postgres") as site, Redis.from_url(redis_url()) as redis:
        turns = site.begin_turns(ANSWERS)
        wait_for_running(site, ANSWERS)
        pid = redis.info("server")["process_id"]
        os.kill(pid, signal.SIGSTOP)
        try:
            statuses = [site.ask("GET", "/api/me/").status_code for _ in range(10)]
            statuses += [site.ask("GET", path).status_code for path in ("/accounts/login/", "/healthz/", "/readyz/")]
            browser = site.sign_in()
            statuses.append(browser.get(f"{site.url}/profile/", allow_redirects=False).status_code)
            chat = site.ask("GET", "/api/conversations/").json()["items"][0]["id"]
            frame = site.read_socket(browser, chat)
            state = site.ask("GET", "/readyz/").json()["status"]
        finally:
            os.kill(pid, signal.SIGCONT)
        replies = [turn.result().json()["reply"]["status"] for turn in turns]

    print(f"statuses {sorted(set(statuses))}, readiness {state}")
    assert set(statuses) == {200}
    assert (state, frame["type"]) == ("degraded", "snapshot")
    assert set(replies) == {"complete"}


def test_site_that_is_told_to_stop_saves_each_answer_within_ten_seconds(engine):
    with run_site(engine) as site:
        site.begin_turns(ANSWERS)
        wait_for_running(site, ANSWERS)
        began = time.monotonic()
        site.process.send_signal(signal.SIGTERM)
        site.process.wait(30)
        took = time.monotonic() - began
        statuses = read_statuses(site, engine)

    print(f"stopped in {took:.1f} s: {statuses}")
    assert set(statuses) == {"interrupted"}
    assert took < GRACE_SECONDS


def read_statuses(site: Site, engine: str) -> list[str]:
    query = "SELECT status FROM agent_messages WHERE role = 'assistant'"
    if engine == "sqlite":
        with sqlite3.connect(site.database.removeprefix("sqlite:///")) as database:
            return [status for (status,) in database.execute(query)]
    with psycopg.connect(site.database) as database:
        database.execute("SELECT set_config('app.user_id', '0', true)")
        return [status for (status,) in database.execute(query)]
