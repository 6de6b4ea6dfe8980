"""Liveness, readiness, and the refusal of old databases."""

from collections.abc import Collection
from contextlib import suppress
from http import HTTPStatus
from itertools import product
from typing import Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.core.checks import CheckMessage, Error
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.lib.errors import StateConflict

# The first migrations of each app before each squash. Every older database has applied one of them.
_OLD_MIGRATIONS: Final = set(product(("chat", "memory", "trading"), ("0001_initial", "0001_schema")))

_REASON: Final = "This database comes from an earlier development state of Keel and cannot be upgraded."
_REMEDY: Final = (
    "Move the SQLite file away or create a new database, then run the command again."
    " To keep the data, export it first with the version that created the database."
)


class OldDatabase(StateConflict):
    """The database comes from an earlier development state."""

    def __init__(self) -> None:
        super().__init__(f"{_REASON} {_REMEDY}")


def check_databases(*, databases: Collection[str] | None = None, **kwargs: object) -> list[CheckMessage]:
    """Report old databases: a system check that `migrate` runs."""
    return [Error(_REASON, hint=_REMEDY, id="keel.E001") for alias in databases or () if _is_old(alias)]


def require_current_database() -> None:
    """Raise OldDatabase when the default database is old."""
    if _is_old(DEFAULT_DB_ALIAS):
        raise OldDatabase


def _is_old(alias: str) -> bool:
    # A server starts while its database is down and serves once it is back, so an outage is no reason to refuse.
    with suppress(DatabaseError):
        return not _OLD_MIGRATIONS.isdisjoint(MigrationRecorder(connections[alias]).applied_migrations())
    return False


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
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "away"
    return "ok"


def _check_redis() -> str:
    if not settings.REDIS_URL:
        return "not used"
    cache.has_key("readyz")  # asks Redis, unless it was away a moment ago
    return "away" if getattr(cache, "is_away", False) else "ok"
