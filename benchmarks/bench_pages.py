"""Measure each page of a large account: queries, the server's time, and the kilobytes of HTML and of script.

The time is the CPU time of this process, in which SQLite runs too, so other programs on the machine do not count.
BENCH_DATABASE_URL names another database, such as an empty one of PostgreSQL; the time of its server is left out then.
Queries for the session, the user and the owner's scope are left out. Scripts count as they are sent: compressed.
"""

import gzip
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.bench_recall import set_up

ROUNDS = 5
MOST_QUERIES, MOST_MS, MOST_HTML, MOST_SCRIPT = 12, 150, 150, 80
_OF_THE_SESSION = re.compile(r'FROM "(django_session|traders|account_)|set_config|SAVEPOINT|^BEGIN|^COMMIT')
_SCRIPT = re.compile(r'<script[^>]* src="/static/([^"?]+)"')
_IMPORT = re.compile(r'^\s*(?:import|export)\b[^;"]*"(\./[^"]+|\.\./[^"]+)"', re.MULTILINE)
# What a page imports once it has this in it; the panel's chat comes only when it is opened.
_LATER = {"data-chart": "charts/chart.js", "data-new-chat": "chat/page.js", 'id="coach-panel"': "chat/panel.js"}


class Weight(NamedTuple):
    """What one page costs."""

    queries: int
    ms: float
    html: float  # kB
    script: float  # kB

    @property
    def is_light(self) -> bool:
        return (
            self.queries <= MOST_QUERIES
            and self.ms <= MOST_MS
            and self.html <= MOST_HTML
            and self.script <= MOST_SCRIPT
        )


def weigh(client: Any, address: str) -> Weight:
    """Measure one page."""
    from django.db import connection  # noqa: PLC0415
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    with CaptureQueriesContext(connection) as asked:
        response = client.get(address, secure=True)
    assert response.status_code in (200, 302), (address, response.status_code)
    queries = sum(not _OF_THE_SESSION.search(query["sql"]) for query in asked.captured_queries)
    took = [_time(lambda: client.get(address, secure=True)) for _ in range(ROUNDS)]
    html = response.content.decode()
    return Weight(queries, median(took), len(response.content) / 1e3, _weigh_scripts(html) / 1e3)


def _time(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


def _weigh_scripts(html: str) -> int:
    """Return the bytes of a page's scripts and of all that they import."""
    names = set(_SCRIPT.findall(html))
    names |= {name for mark, name in _LATER.items() if mark in html}
    whole = set().union(*(_list_imports(name) for name in names)) if names else set()
    return sum(_count_bytes(name) for name in whole)


@cache
def _list_imports(name: str) -> frozenset[str]:
    """Return a script and what it imports."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            folder = Path(one).parent
            waiting += [str((Path("/") / folder / other).resolve())[1:] for other in _IMPORT.findall(_read(one))]
    return frozenset(found)


@cache
def _read(name: str) -> str:
    from django.contrib.staticfiles import finders  # noqa: PLC0415

    path = finders.find(name)
    assert path, name
    return Path(path).read_text()


@cache
def _count_bytes(name: str) -> int:
    return len(gzip.compress(_read(name).encode()))


def iter_weights() -> Iterator[tuple[str, Weight]]:
    """Yield the pages of a large account with their costs."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from chat.web.lifespan import freeze_modules  # noqa: PLC0415
    from tests.large import seed_large_account  # noqa: PLC0415
    from tests.pages import list_pages  # noqa: PLC0415

    user = get_user_model()._default_manager.create_user("bench@example.com", "a-long-password")
    seed_large_account(user, timezone.now())
    client = Client(headers={"host": "localhost"})
    client.login(email=user.email, password="a-long-password")
    freeze_modules()  # as a server does at its start
    for name, address in list_pages(user).items():
        yield name, weigh(client, address)


def main() -> int:
    """Print a line for each page; return 1 if one is too heavy."""
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        print(f"{'':<22}{'queries':>9}{'server':>11}{'HTML':>11}{'script':>11}")
        print(f"{'at most':<22}{MOST_QUERIES:>9}{MOST_MS:>8} ms{MOST_HTML:>8} kB{MOST_SCRIPT:>8} kB")
        heavy = 0
        for name, one in iter_weights():
            heavy += not one.is_light
            row = f"{name:<22}{one.queries:>9}{one.ms:>8.0f} ms{one.html:>8.0f} kB{one.script:>8.0f} kB"
            print(row + ("" if one.is_light else "  MISSED"), flush=True)
    return min(1, heavy)


if __name__ == "__main__":
    sys.exit(main())
