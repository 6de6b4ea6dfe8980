"""The installed app: its worker keeps hashed files and the page without a connection, and nothing of a user."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_story import sign_up

ROOT = Path(__file__).parents[2]
IS_PUBLIC = re.compile(r"/static/.*\.[0-9a-f]{12}\.\w+$|/offline/$")
LIST_KEPT = """async () => {
    const names = await caches.keys();
    const lists = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return lists.flat().map((request) => request.url);
}"""


@pytest.fixture
def server(tmp_path):
    """A process that serves an empty site as in production: file names change with their content."""
    own = {
        **{"READ_DOT_ENV": "false", "KEEL_HOME": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3"},
        **{"ALLOWED_HOSTS": "127.0.0.1,keel.example", "TLS": "false", "SECRET_KEY": "for-one-test-" + "x" * 30},
        **{"REDIS_URL": "", "PYTHONUNBUFFERED": "1", "DJANGO_SETTINGS_MODULE": "config.settings"},
    }
    run, environment = [sys.executable, "manage.py"], {**os.environ, **own}
    for command in (["migrate", "-v", "0"], ["collectstatic", "--noinput", "-v", "0"]):
        subprocess.run([*run, *command], cwd=ROOT, env=environment, check=True)
    process = subprocess.Popen(
        [*run, "up", "--port", "0"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        process.url = re.search(r"http://[\d.:]+", process.stdout.readline())[0]
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_worker_shows_the_offline_page_and_keeps_nothing_private(server, page, problems):
    sign_up(page, server.url, "zoe@example.com")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.goto(f"{server.url}/profile/facts/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    kept = page.evaluate(LIST_KEPT)
    assert [address for address in kept if not IS_PUBLIC.search(address)] == []
    assert any(address.endswith("/offline/") for address in kept)

    server.terminate()
    server.wait()
    problems.clear()
    page.goto(f"{server.url}/trades/")
    expect(page.get_by_role("heading", name="There is no connection")).to_be_visible()
    assert "zoe@example.com" not in page.content()
    problems.clear()  # the browser says that the server does not answer
