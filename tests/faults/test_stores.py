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
from tests.faults.site import Site, run_servers, run_site
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


@contextmanager
def standing_redis():
    with Redis.from_url(redis_url()) as redis:
        pid = redis.info("server")["process_id"]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


def use_without_redis(site: Site) -> list[int]:
    """Ask the API, sign in and open a socket; return the statuses."""
    statuses = [site.ask("GET", "/api/me/").status_code for _ in range(10)]
    statuses += [site.ask("GET", path).status_code for path in ("/accounts/login/", "/healthz/", "/readyz/")]
    browser = site.sign_in()
    statuses.append(browser.get(f"{site.url}/profile/", allow_redirects=False).status_code)
    chat = site.ask("GET", "/api/conversations/").json()["items"][0]["id"]
    assert site.read_socket(browser, chat)["type"] == "snapshot"
    assert site.ask("GET", "/readyz/").json()["status"] == "degraded"
    return statuses


def test_redis_that_stands_still_leaves_api_sign_in_and_sockets_working():
    with run_site("postgres") as site:
        turns = site.begin_turns(ANSWERS)
        wait_for_running(site, ANSWERS)
        with standing_redis():
            statuses = use_without_redis(site)
        replies = [turn.result().json()["reply"]["status"] for turn in turns]

    print(f"statuses {sorted(set(statuses))}, readiness degraded")
    assert set(statuses) == {200}
    assert set(replies) == {"complete"}


def test_redis_that_stands_still_leaves_two_servers_working_with_limits_of_their_own():
    limit = 60
    with run_servers("postgres", 2, API_READS_PER_MINUTE=str(limit)) as sites:
        turns = [turn for site in sites for turn in site.begin_turns(ANSWERS)]
        for site in sites:
            wait_for_running(site, ANSWERS)
        with standing_redis():
            statuses = [status for site in sites for status in use_without_redis(site)]
            time.sleep(60 - time.time() % 60)  # limits count each minute anew
            passed = [count_passed(site, most=2 * limit) for site in sites]
        replies = [turn.result().json()["reply"]["status"] for turn in turns]

    print(
        f"statuses {sorted(set(statuses))} on two servers, which then let {passed} reads a minute pass (limit {limit})"
    )
    assert set(statuses) == {200}
    assert set(replies) == {"complete"}
    assert passed == [limit, limit], "each process counts for itself"


def count_passed(site: Site, most: int) -> int:
    """Read until the limit of reads refuses one; return how many passed."""
    statuses = []
    while len(statuses) < most and 429 not in statuses:
        statuses.append(site.ask("GET", "/api/me/").status_code)
    assert set(statuses) == {200, 429}
    return len(statuses) - 1


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
