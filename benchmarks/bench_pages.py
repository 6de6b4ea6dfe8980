"""Each page of a large account: queries, the server's CPU, and the kilobytes of HTML and of script; Home of a small
account.

Queries for the session, the user and the owner's scope are left out. Scripts count as they are sent: compressed.
"""

import gzip
import re
import sys
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.report import Report, benchmark, size, time_cpu
from benchmarks.site import make_user, sign_in
from chat.web.lifespan import freeze_modules
from tests.large import Size, seed_large_account
from tests.pages import list_pages

ROUNDS = 5
SMALL = Size(trades=100, facts=100, messages=40, chats=60, decisions=100)
LARGE = size(Size(), SMALL)
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


CLAIMS = (  # of the heaviest page, in the order of a weight
    "queries of a page, large account",
    "CPU of a page, large account",
    "HTML of a page, large account",
    "scripts of a page, large account",
)


def weigh(client: Client, address: str) -> Weight:
    """Measure one page."""
    with CaptureQueriesContext(connection) as asked:
        response = client.get(address, secure=True)
    assert response.status_code in (200, 302), (address, response.status_code)
    assert "/login/" not in response.get("Location", ""), f"signed out at {address}"
    queries = sum(not _OF_THE_SESSION.search(query["sql"]) for query in asked.captured_queries)
    took = time_cpu(lambda: client.get(address, secure=True), rounds=ROUNDS)
    return Weight(queries, took, len(response.content) / 1e3, _weigh_scripts(response.content.decode()) / 1e3)


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
    path = finders.find(name)
    assert path, name
    return Path(path).read_text()


@cache
def _count_bytes(name: str) -> int:
    return len(gzip.compress(_read(name).encode()))


@benchmark
def main(report: Report) -> None:
    user, small = make_user(), make_user()
    user.set_password("a-long-password")  # a page asks for it
    user.save()
    seed_large_account(user, timezone.now(), LARGE)
    seed_large_account(small, timezone.now(), SMALL)
    freeze_modules()  # as a server does at its start
    client, weights = sign_in(user), []
    print(f"{'':<26}{'queries':>9}{'CPU':>11}{'HTML':>11}{'script':>11}")
    for name, address in list(list_pages(user).items())[:: size(1, 4)]:
        weights.append(one := weigh(client, address))
        print(f"{name:<26}{one.queries:>9}{one.ms:>8.0f} ms{one.html:>8.0f} kB{one.script:>8.0f} kB", flush=True)
    for claim, values in zip(CLAIMS, zip(*weights, strict=True), strict=True):
        report.add(claim, max(values))
    print(f"median page: {median(one.ms for one in weights):.1f} ms")
    report.add("CPU of Home, small account", weigh(sign_in(small), "/").ms)


if __name__ == "__main__":
    sys.exit(main())
