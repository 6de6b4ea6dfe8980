"""How the matrix asks: cases of addresses, requests with braces for names, and what of an answer is compared."""

import inspect
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from zipfile import ZipFile

from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from tests.strangers import Answer, Names, Person, dump, filled

IS_BRIEF = os.environ.get("KEEL_TEST_SCOPE") == "usual"  # `make test` tries one name of a kind, `make test-all` each
METHODS = ("get", "post") if IS_BRIEF else ("get", "head", "post", "options")


@dataclass(frozen=True)
class Case:
    """What a route is asked beyond its bare address; braces stand for names of Bob's, or of nobody."""

    queries: tuple[str, ...] = ()
    posts: tuple[dict[str, str], ...] = ({},)
    headers: tuple[dict[str, str], ...] = ()
    sends: tuple[tuple[str, dict[str, object]], ...] = ()  # methods with JSON, as the API is written to
    is_public: bool = False  # for people who are not signed in, too
    is_nowhere: bool = False  # there is nothing, for anybody


def from_htmx(target: str) -> dict[str, str]:
    return {"HX-Request": "true", "HX-Target": target}


# Groups of addresses, by their path and their names, that are not about one user's rows. Each address is still asked
# by strangers and by Ann.
EXEMPT = {
    ("admin/", "admin:"): "staff look at everybody's rows, under the system's scope",
    ("accounts/", ("account_", "mfa_", "socialaccount_", "openid_connect_")): "allauth's own, which know no owned row",
}


@dataclass(frozen=True)
class Entry:
    """One address of the site."""

    name: str
    path: str  # with braces for its arguments
    callback: object

    @property
    def group(self) -> str | None:
        return next((p for p, names in EXEMPT if self.path.startswith(p) and self.name.startswith(names)), None)


def entries(patterns=None, path: str = "", namespace: str = "") -> list[Entry]:
    found = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        here = path + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", _without_regex(str(pattern.pattern)))
        if isinstance(pattern, URLPattern):
            found.append(Entry(namespace + (pattern.name or here), here, pattern.callback))
        else:
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            found += entries(pattern.url_patterns, here, inner)
    return found


def _without_regex(route: str) -> str:
    return re.sub(r"\(\?P(<\w+>)(?:[^()]|\\.)*\)", r"\1", route).strip("^$")


ENTRIES = entries()
OURS = {entry.name: entry for entry in ENTRIES if entry.group is None}
API = {name for name, entry in OURS.items() if entry.path.startswith("api/")} - {"api:docs"}  # that one is a page


@dataclass(frozen=True)
class Ask:
    """One request, with braces for names."""

    method: str
    path: str
    query: str = ""
    body: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    json: str | None = None

    def telling_names(self, person: Person) -> list[Names]:
        """Return names of a person for all the ways to send it; one, if it only tries another header."""
        told = {filled(f"{self.path} {self.query} {self.body} {self.json}", names): names for names in person.names()}
        return list(told.values())[: 1 if self.headers else None]

    def send(self, client: Client, names: Names) -> HttpResponse:
        query = {key: filled(value, names) for key, _, value in (p.partition("=") for p in self.query.split("&") if p)}
        data = {filled(key, names): filled(value, names) for key, value in self.body}
        headers = {key: filled(value, names) for key, value in self.headers}
        content: dict[str, object] = {"data": data} if self.method == "post" else {}
        if self.json is not None:
            content = {"data": filled(self.json, names), "content_type": "application/json"}
        client.cookies.pop("messages", None)  # of an earlier request
        path = "/" + filled(self.path, names)
        assert "{" not in path, f"nobody bears a name for {path}: add it to tests/strangers.py"
        return getattr(client, self.method)(path, query_params=query, headers=headers, **content)


def asks(entry: Entry, case: Case) -> list[Ask]:
    """Return the requests that a route is tried with; each header with the bare ones, each of the others with one."""
    is_api = entry.name in API
    bare = [Ask(method, entry.path, json="{}" if is_api and method == "post" else None) for method in METHODS]
    reads = [Ask("get", entry.path, query) for query in ("", *case.queries)]
    writes = [] if is_api else [Ask("post", entry.path, body=tuple(body.items())) for body in case.posts]
    sends = [Ask(method, entry.path, json=json.dumps(body)) for method, body in case.sends]
    fetches = [
        replace(ask, headers=tuple(head.items()))
        for tried in (reads, writes)
        for turn, ask in enumerate(tried)
        for number, head in enumerate(case.headers)
        if turn == 0 or turn % len(case.headers) == number
    ]
    return [*dict.fromkeys([*bare, *reads, *writes, *sends, *fetches])]


def read_body(response: HttpResponse) -> str:
    """Return the text of a response, streamed or not; of a zip that of its files, but for the one with the time."""
    body = b"".join(response)
    if not body or response.headers.get("Content-Type") != "application/zip":  # HEAD has no body
        return body.decode()
    with ZipFile(BytesIO(body)) as packed:
        return " ".join(packed.read(name).decode() for name in packed.namelist() if name != "schema.json")


def answer(response: HttpResponse, names: Names) -> Answer:
    cookies = {
        name: cookie.value for name, cookie in response.cookies.items() if name not in ("csrftoken", "sessionid")
    }
    headers = sorted((name, value) for name, value in response.headers.items() if name != "Content-Length")
    return Answer(f"{response.status_code} {headers} {cookies} {read_body(response)}", names)


class Undo(Exception):
    """Ends a transaction whose writes are not wanted."""


@contextmanager
def undone():
    """Take back what is written inside, so that every request finds the same rows."""
    with suppress(Undo), transaction.atomic():
        yield
        raise Undo


class Watch:
    """Compares a person's rows with those before, where something was written at all."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.before = dump(person.user)
        self._has_written = False

    def __call__(self, execute, sql, params, many, context):
        """Note whether a statement may write: each that Django executes passes by here."""
        self._has_written |= not sql.lstrip().startswith(("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK"))
        return execute(sql, params, many, context)

    @contextmanager
    def undone(self):
        """Find the rows as they were after what is done inside, and take that back."""
        with suppress(Undo), transaction.atomic():
            with connection.execute_wrapper(self):
                yield
            has_written, self._has_written = self._has_written, False
            assert not has_written or dump(self.person.user) == self.before, "a row of somebody else was written"
            raise Undo


def read_view(entry: Entry) -> str:
    """Return the source of the function that answers an address; nothing for a class."""
    view = inspect.unwrap(entry.callback)
    return inspect.getsource(view) if inspect.isfunction(view) else ""


_HARMLESS = re.compile(
    r"\brequest(?:\.user\b|: \w+)|\bListForm\(request\.GET\b|\b(?:render|TemplateResponse|show_page)\(request\b"
)


def guess_case(entry: Entry) -> Case | None:
    """Return what to ask a view that reads nothing of its request but the user and the page of a list."""
    source = read_view(entry)
    reads_more = re.search(r"\brequest\b", _HARMLESS.sub("", source))
    return None if reads_more or not source else Case(queries=("page=2",) if "ListForm(" in source else ())


def is_turned_away(response: HttpResponse) -> bool:
    """Tell whether a stranger was sent to the login."""
    is_sent_to_login = response.status_code == 302 and response["Location"].startswith(reverse("account_login"))
    return is_sent_to_login or response.status_code == 401
