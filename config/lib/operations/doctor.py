"""The state of a site: what works, what is missing, what to do."""

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.mail import get_connection
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connection

from config.lib.figures import format_duration
from config.lib.llm import door
from config.lib.operations.health import check_databases, count_pending_migrations
from config.lib.operations.sizes import measure_database, measure_tables
from config.lib.owned import OwnedModel
from config.lib.work.models import BACKUP
from config.lib.work.runs import count_failed, measure_age
from config.lib.work.spending import count_site_tokens

logger = logging.getLogger(__name__)

State = Literal["ok", "warn", "fail"]

OLDEST_POSTGRESQL: Final = 150_000
CLOCK_WARNS: Final = timedelta(seconds=1)
CLOCK_FAILS: Final = timedelta(seconds=10)  # codes of authenticator apps change each 30 seconds
WORKER_WARNS: Final = timedelta(minutes=2)  # it looks each five seconds
BACKUP_WARNS: Final = timedelta(days=2)
DISK_WARNS: Final = 2 * 1024**3
DISK_FAILS: Final = 200 * 1024**2
MODEL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class SiteCheck:
    """The result of one check."""

    name: str
    state: State
    text: str


def examine_site(clock: Callable[[], datetime]) -> Iterator[SiteCheck]:
    """Run all checks; one that breaks is a failure."""
    for name, check in _CHECKS.items():
        try:
            state, text = check(clock())
        except DatabaseError:
            state, text = "fail", "The database is away or lacks tables: start it, check DATABASE_URL, run `migrate`."
        except Exception as error:
            logger.debug("doctor: %s", name, exc_info=True)
            state, text = "fail", f"The check broke with {type(error).__name__}."
        yield SiteCheck(name, state, text)


def _fetch(query: str, *values: str) -> Any:
    """Return the first row of a query, or its value if it has one column."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        row = cursor.fetchone()
    return row[0] if len(row) == 1 else row


def _check_settings(now: datetime) -> tuple[State, str]:
    reported = checks.run_checks(include_deployment_checks=not settings.IS_LOCAL)
    found = [problem for problem in reported if not problem.is_silenced()]
    errors = [problem for problem in found if problem.is_serious()]
    if not found:
        return "ok", "a site of this machine alone" if settings.IS_LOCAL else ", ".join(settings.ALLOWED_HOSTS)
    return "fail" if errors else "warn", f"`check` reports {len(found)}: {(errors or found)[0].msg}"


def _check_database(now: datetime) -> tuple[State, str]:
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        if (verdict := _fetch("PRAGMA quick_check(1)")) != "ok":
            return "fail", f"SQLite reports damage: {verdict}. Restore a backup."
        mode = _fetch("PRAGMA journal_mode")
        return "ok" if mode in ("wal", "memory") else "warn", f"SQLite, whole, journal {mode}"
    version = connection.pg_version  # type: ignore[attr-defined]
    text = f"PostgreSQL {version // 10_000}.{version % 10_000}"
    return ("ok", text) if version >= OLDEST_POSTGRESQL else ("fail", f"{text} is too old: Keel needs 15.")


def _check_role(now: datetime) -> tuple[State, str]:
    if connection.vendor != "postgresql":
        return "ok", "not used by SQLite"
    name, is_free = _fetch("SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    if is_free:
        return "fail", f"The role {name} passes by the policies: make it NOSUPERUSER NOBYPASSRLS."
    foreign = _fetch("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tableowner <> %s", name)
    return ("fail", f"{foreign} tables do not belong to {name}.") if foreign else ("ok", f"{name}, bound by policies")


def _check_policies(now: datetime) -> tuple[State, str]:
    tables = sorted(model._meta.db_table for model in apps.get_models() if issubclass(model, OwnedModel))
    if connection.vendor != "postgresql":
        return "ok", "SQLite has none; the application filters by owner"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_policies ON tablename = relname AND schemaname = current_schema()"
            " WHERE relrowsecurity AND relforcerowsecurity AND relnamespace = current_schema()::regnamespace"
        )
        bound = {name for (name,) in cursor.fetchall()}
    if missing := [table for table in tables if table not in bound]:
        return "fail", f"{len(missing)} of {len(tables)} owned tables have no policy in force: {missing[0]}"
    return "ok", f"in force on all {len(tables)} owned tables"


def _check_migrations(now: datetime) -> tuple[State, str]:
    missing = count_pending_migrations()
    return ("fail", f"{missing} are missing: run `migrate`.") if missing else ("ok", "all applied")


def _check_search(now: datetime) -> tuple[State, str]:
    found = check_databases(databases=[DEFAULT_DB_ALIAS])
    return ("fail", f"{found[0].msg} {found[0].hint}") if found else ("ok", "its triggers follow each write")


def _check_redis(now: datetime) -> tuple[State, str]:
    if not settings.REDIS_URL:
        return "ok", "not used: one process serves the site"
    from redis import Redis  # noqa: PLC0415 - a local site has none

    with Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
        began = time.perf_counter()
        try:
            client.ping()
        except OSError:
            return "fail", "does not answer; limits count per process, and other processes send no news"
        return "ok", f"answers in {1000 * (time.perf_counter() - began):.0f} ms"


def _check_mail(now: datetime) -> tuple[State, str]:
    if not settings.HAS_MAIL:
        return ("ok" if settings.IS_LOCAL else "warn"), "mails are printed: set EMAIL_URL to send them"
    server = get_connection(timeout=10)
    try:
        server.open()
    except OSError as error:
        return "fail", f"The mail server refuses: {type(error).__name__}. Check EMAIL_URL."
    server.close()
    return "ok", "the server takes our sign-in; `sendtestemail` sends a mail"


def _check_sign_up(now: datetime) -> tuple[State, str]:
    if settings.SIGN_UP == "closed":
        return "ok", "closed: `createuser` makes accounts"
    if settings.SIGN_UP == "invited":
        return "ok", "by invitation: the admin and `invite` make them"
    return ("ok" if settings.IS_LOCAL else "warn"), "open to all who find the site: set SIGN_UP=invited or closed"


def _check_budget(now: datetime) -> tuple[State, str]:
    if settings.SITE_DAILY_TOKEN_BUDGET:
        used = count_site_tokens(now.date())
        return "ok", f"{used:,} of {settings.SITE_DAILY_TOKEN_BUDGET:,} tokens of today used"
    text = f"none for the site, {settings.DAILY_TOKEN_BUDGET:,} tokens a day for each user: set SITE_DAILY_TOKEN_BUDGET"
    return ("ok" if settings.IS_LOCAL else "warn"), text


def _check_model(now: datetime) -> tuple[State, str]:
    model = settings.CHAT_AGENT_MODEL
    began = time.perf_counter()
    asked = door.complete([{"role": "user", "content": "Answer with OK."}], models=[model], max_tokens=64)
    try:
        door.run(asyncio.wait_for(asked, MODEL_SECONDS))
    except (door.LLMUnavailable, TimeoutError) as error:
        return "fail", f"{model}: {str(error) or 'no answer in time'} `check_models` tries all models."
    return "ok", f"{model} answers in {time.perf_counter() - began:.1f} s"


def _check_clock(now: datetime) -> tuple[State, str]:
    if connection.vendor != "postgresql":
        return "ok", f"{now:%Y-%m-%d %H:%M:%S} UTC; compare it with yours"
    gap = abs(_fetch("SELECT clock_timestamp()") - now)
    state: State = "ok" if gap < CLOCK_WARNS else "warn" if gap < CLOCK_FAILS else "fail"
    return state, f"{gap.total_seconds():.1f} s from the database's"


def _check_disk(now: datetime) -> tuple[State, str]:
    folder = Path(settings.DATABASES["default"]["NAME"]).parent if connection.vendor == "sqlite" else settings.HOME_DIR
    free = shutil.disk_usage(folder if folder.exists() else settings.HOME_DIR).free
    state: State = "ok" if free > DISK_WARNS else "warn" if free > DISK_FAILS else "fail"
    return state, f"{free / 1024**3:.1f} GB free"


def _check_size(now: datetime) -> tuple[State, str]:
    total = f"{measure_database() / 1024**2:,.0f} MB"
    try:
        tables = list(measure_tables().items())[:3]
    except OperationalError:  # a SQLite that was built without `dbstat`
        return "ok", total
    return "ok", f"{total}; {', '.join(f'{name} {size / 1024**2:,.0f} MB' for name, size in tables)}"


def _check_worker(now: datetime) -> tuple[State, str]:
    age = measure_age(now)
    if age is None or age > WORKER_WARNS:
        said = "has never run" if age is None else f"ended its last job {format_duration(age)} ago"
        return "warn", f"The worker {said}: start `up` or `run_jobs`."
    failed = count_failed()
    return ("warn", f"{failed} jobs and tasks failed: see Work runs in the admin") if failed else ("ok", "works")


def _check_backup(now: datetime) -> tuple[State, str]:
    age = measure_age(now, BACKUP)
    text = "there is none by `backup`" if age is None else f"the last is {format_duration(age)} old"
    return ("ok" if settings.IS_LOCAL or (age and age < BACKUP_WARNS) else "warn"), text


def _check_files(now: datetime) -> tuple[State, str]:
    if settings.IS_LOCAL:
        return "ok", "served from the source"
    if (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        return "ok", "collected"
    return "fail", "The static files are not collected: run `collectstatic`."


def _check_keys(now: datetime) -> tuple[State, str]:
    for name, package in (("METRICS_TOKEN", "prometheus_client"), ("SENTRY_DSN", "sentry_sdk")):
        if getattr(settings, name) and find_spec(package) is None:
            return "fail", f"{name} needs {package}: install keel[metrics]."
    if settings.VENUE_KEYS:
        return "ok", "set"
    return "warn", "VENUE_KEYS is missing: users can add no account that needs an API key"


_CHECKS: Final[dict[str, Callable[[datetime], tuple[State, str]]]] = {
    "settings": _check_settings,
    "database": _check_database,
    "role": _check_role,
    "policies": _check_policies,
    "migrations": _check_migrations,
    "search": _check_search,
    "clock": _check_clock,
    "Redis": _check_redis,
    "mail": _check_mail,
    "new accounts": _check_sign_up,
    "budget": _check_budget,
    "model": _check_model,
    "disk": _check_disk,
    "size": _check_size,
    "worker": _check_worker,
    "backup": _check_backup,
    "static files": _check_files,
    "keys": _check_keys,
}
