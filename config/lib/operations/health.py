"""Liveness, readiness, and the refusal of databases that are old or not migrated."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from itertools import product
from typing import Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.core.checks import CheckMessage, Error, Warning
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import resolve
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.lib.errors import StateConflict
from config.lib.fields import SearchTermsField
from config.lib.search.index import has_triggers

# The first migrations of each app before each squash. Every older database has applied one of them.
_OLD_MIGRATIONS: Final = set(product(("chat", "memory", "trading"), ("0001_initial", "0001_schema")))

_REASON: Final = "This database comes from an earlier development state of Keel and cannot be upgraded."
_REMEDY: Final = (
    "Move the SQLite file away or create a new database, then run the command again."
    " To keep the data, export it first with the version that created the database."
)


class OldDatabase(StateConflict):
    """The database comes from an earlier development state."""


class NotMigrated(StateConflict):
    """The database lacks migrations of this version."""


def check_databases(*, databases: Collection[str] | None = None, **kwargs: object) -> list[CheckMessage]:
    """Report old databases and search indexes that miss new rows: a system check that `migrate` runs."""
    return [problem for alias in databases or () for problem in _list_problems(alias)]


def _list_problems(alias: str) -> Iterator[CheckMessage]:
    if _is_old(alias):
        yield Error(_REASON, hint=_REMEDY, id="keel.E001")
        return
    with suppress(DatabaseError):  # an outage, as for an old database
        using = connections[alias]
        tables = set(using.introspection.table_names())
        for model in apps.get_models():
            is_searched = any(isinstance(field, SearchTermsField) for field in model._meta.concrete_fields)
            if not is_searched or model._meta.db_table not in tables or has_triggers(model, using):
                continue
            # A warning: `migrate` stops at errors, and the cure is a migration.
            yield Warning(
                f"The table {model._meta.db_table} lost its search triggers, so search misses new rows.",
                hint=f'End the migration that altered it with KeepSearchIndex("{model.__name__}", ...), or add a'
                ' migration with it: docs/architecture.md, "A column".',
                obj=model,
                id="keel.W001",
            )


def require_current_database() -> None:
    """Raise OldDatabase when the default database is old."""
    if _is_old(DEFAULT_DB_ALIAS):
        raise OldDatabase(f"{_REASON} {_REMEDY}")


def require_migrations(*, migrates: bool = False) -> None:
    """Raise OldDatabase or, if migrations are pending, apply them or raise NotMigrated."""
    require_current_database()
    pending = 0
    with suppress(DatabaseError):  # an outage, as for an old database
        pending = count_pending_migrations()
    if pending and not migrates:
        raise NotMigrated(f"{pending} migrations are pending: run `migrate`, or start with `up --migrate`.")
    if pending:
        call_command("migrate", verbosity=0)


def count_pending_migrations() -> int:
    """Return the number of migrations that the default database lacks."""
    return len(_list_migrations() - MigrationRecorder(connection).applied_migrations().keys())


@lru_cache
def _list_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).graph.nodes)


def _is_old(alias: str) -> bool:
    # A server starts while its database is down and serves once it is back, so an outage is no reason to refuse.
    with suppress(DatabaseError):
        return not _OLD_MIGRATIONS.isdisjoint(MigrationRecorder(connections[alias]).applied_migrations())
    return False


class ProbeMiddleware:
    """Answers what the machine asks before a session is read: a database that stands still must not fail liveness."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a probe here, everything else further in."""
        if request.path_info not in settings.DIRECT_PATHS:
            return self.get_response(request)
        answer: HttpResponse = resolve(request.path_info).func(request)
        return answer


@require_safe
@never_cache
@login_not_required
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while this process lives. A store that is away is no reason to restart it."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the process can serve, else 503, with the state of each store."""
    stores = {"database": _check_database(), "redis": _check_redis()}
    is_ready = stores["database"] == "ok"
    status = "unavailable" if not is_ready else "degraded" if stores["redis"] == "away" else "ok"
    return JsonResponse({"status": status, "stores": stores}, status=HTTPStatus.OK if is_ready else 503)


def _check_database() -> str:
    try:
        pending = count_pending_migrations()
    except DatabaseError:
        return "away"
    return f"{pending} migrations are pending" if pending else "ok"


def _check_redis() -> str:
    if not settings.REDIS_URL:
        return "not used"
    cache.has_key("readyz")  # asks Redis, unless it was away a moment ago
    return "away" if getattr(cache, "is_away", False) else "ok"
