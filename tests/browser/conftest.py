"""A real Chromium against the real ASGI application, on the engine of the run."""

import asyncio
import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
import uvicorn
from django.conf import settings
from django.db import connection
from django.test import Client

from config.asgi import application

SHOTS = Path(__file__).parent.parent.parent / "shots"
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
START_SECONDS = 30
STOP_SECONDS = 15
IDLE_SECONDS = 5


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """Launch the system's Chromium; skip without one, fail in CI."""
    if CHROMIUM is None:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse("no Chromium: install the `chromium` package, or name one in CHROMIUM")
    flags = [
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--force-color-profile=srgb",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # nothing from other hosts, ever
    ]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium refuses its sandbox to root
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": flags}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    """Give each context a laptop's window, English and UTC."""
    return {
        **browser_context_args,
        "viewport": {"width": 1200, "height": 800},
        "locale": "en-US",
        "timezone_id": "UTC",
        "reduced_motion": "reduce",
    }


@pytest.fixture(scope="session")
def browser(browser):
    """Chromium, which may be closed after a test of another kind (see `pytest_runtest_protocol`)."""
    loop = asyncio._get_running_loop()
    yield browser
    asyncio._set_running_loop(loop)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # the databases are dropped while that loop is marked as running


@pytest.fixture(scope="session")
def _databases(django_db_setup, django_db_blocker):
    """The test databases; at the end the connections that threads of the server left open are ended.

    PostgreSQL does not drop a database that is in use.
    """
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = current_user"
            )


@pytest.fixture(scope="package")
def asgi_server(_databases, django_db_blocker):
    """The server that `manage.py up` starts, on a free port, in a thread of this process.

    It ends with the last test of this folder, since its sweeps would touch the rows of other tests.
    """
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        log_config=None,
        ws="websockets-sansio",
        ws_max_size=65536,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    with django_db_blocker.unblock():
        thread.start()
        _wait_until(lambda: server.started or not thread.is_alive(), START_SECONDS)
        assert server.started, "the server did not start"
        yield server
        server.should_exit = True
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "the server did not stop"
        listener.close()


def _wait_until(holds, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture
def site(asgi_server, transactional_db):
    """The server's address, for rows that are committed; at the end its requests and sockets are over."""
    yield asgi_server.url
    state = asgi_server.server_state
    _wait_until(lambda: not state.connections and not state.tasks, IDLE_SECONDS)


@pytest.fixture
def sign_in(site):
    """A function that gives a browser context the session of a user who has just typed the password."""

    def give(context, user) -> None:
        client = Client()
        client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[0])
        session = client.session
        session["account_authentication_methods"] = [{"method": "password", "at": time.time(), "email": user.email}]
        session.save()
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": site}])

    return give


@pytest.fixture
def ann(site, django_user_model):
    """An ordinary user."""
    return django_user_model.objects.create_user(email="ann@example.com", password="a-long-password")


@pytest.fixture
def logged_in(context, ann, sign_in):
    """Ann, signed in in the test's browser context."""
    sign_in(context, ann)
    return ann


@pytest.fixture
def problems():
    """What the browser complained about; a test that provokes a complaint removes it from here."""
    return []


@pytest.fixture
def context(site, context, problems):
    """The test's browser context, which fails the test that left complaints in the console."""
    watch(context, problems)
    yield context
    assert problems == []


def watch(context, problems: list[str]) -> None:
    """Collect the errors and warnings of all pages of a context."""
    context.on("console", lambda m: problems.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
    context.on("weberror", lambda error: problems.append(f"uncaught: {error.error}"))


@pytest.fixture
def shoot(page):
    """A function that keeps a picture of the page in `shots/` under a name, if KEEL_TEST_SHOTS asks for pictures."""

    def take(name: str, **options) -> None:
        if "KEEL_TEST_SHOTS" not in os.environ:
            return
        SHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png", **options)

    return take
