"""Read settings from the environment: one reader for each kind of value.

Each error names the variable, its value and what the variable takes. An empty variable counts as missing, but for texts
and lists, where empty is a value.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
PACKAGES = 'docs/operations.md, "Packages"'


def read_text(name: str, default: str = "") -> str:
    """Return the text of a variable."""
    return os.environ.get(name, default).strip()


def read_bool(name: str, *, default: bool) -> bool:
    """Return true or false. Raises ImproperlyConfigured for other words."""
    text = read_text(name)
    if text.lower() not in {"", *_TRUE, *_FALSE}:
        raise _refusal(name, text, "true or false")
    return text.lower() in _TRUE if text else default


def read_int(name: str, default: int, *, low: int, high: int) -> int:
    """Return a whole number within its bounds. Raises ImproperlyConfigured."""
    text = read_text(name) or str(default)
    if not text.lstrip("-").isdecimal() or not low <= int(text) <= high:
        raise _refusal(name, text, f"a whole number from {low} to {high}")
    return int(text)


def read_float(name: str, default: float, *, low: float, high: float) -> float:
    """Return a number within its bounds. Raises ImproperlyConfigured."""
    text = read_text(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:  # also false for NaN
        raise _refusal(name, text, f"a number from {low:g} to {high:g}")
    return value


def read_choice(name: str, default: str, choices: Iterable[str]) -> str:
    """Return one of the choices. Raises ImproperlyConfigured."""
    text = read_text(name) or default
    if text not in (known := tuple(choices)):
        raise _refusal(name, text, f"one of {', '.join(known)}")
    return text


def read_list(name: str, default: Iterable[str] = ()) -> list[str]:
    """Return the comma-separated values of a variable. A variable that is set but empty is an empty list."""
    if name not in os.environ:
        return list(default)
    return [part for text in os.environ[name].split(",") if (part := text.strip())]


def read_days(name: str, defaults: Mapping[str, int]) -> dict[str, int]:
    """Return days by kind, such as `receipts=90,equity=0`; 0: for ever. Raises ImproperlyConfigured."""
    days = dict(defaults)
    for text in read_list(name):
        kind, _, number = text.partition("=")
        if kind not in defaults or not number.isdecimal() or int(number) > 100_000:
            raise _refusal(name, text, f"{'=DAYS,'.join(defaults)}=DAYS")
        days[kind] = int(number)
    return days


def read_url(name: str, schemes: Iterable[str], example: str) -> str:
    """Return a URL of one of the schemes, or an empty text. Raises ImproperlyConfigured."""
    text = read_text(name)
    parts = urlsplit(text)
    if text and (parts.scheme not in schemes or not (parts.hostname or parts.path)):
        raise _refusal(name, text, f"a URL such as {example}")
    return text


def read_database(name: str, default: str) -> dict[str, Any]:
    """Return Django's settings of a SQLite or PostgreSQL database. Raises ImproperlyConfigured."""
    example = "postgresql://user:password@host:5432/name or sqlite:///file"
    schemes = ("sqlite", "postgres", "postgresql", "psql", "pgsql")
    return _parse_url(name, default, schemes, example, environ.Env.db_url_config)


def read_email(name: str, default: str) -> dict[str, Any]:
    """Return Django's settings of a mail server. Raises ImproperlyConfigured."""
    example = "smtp+tls://user:password@host:587 or consolemail://"
    return _parse_url(name, default, environ.Env.EMAIL_SCHEMES, example, environ.Env.email_url_config)


def _parse_url(
    name: str, default: str, schemes: Iterable[str], example: str, parse: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    text = read_text(name) or default
    try:
        if urlsplit(text).scheme in schemes:
            return dict(parse(text))
    except ValueError as error:  # a port that is no number
        raise _refusal(name, text, example) from error
    raise _refusal(name, text, example)


def read_direct_providers() -> list[str]:
    """Return the providers that Keel calls without LiteLLM. Raises ImproperlyConfigured."""
    known = ("openai", "openrouter")
    names = read_list("LLM_DIRECT", known)
    if unknown := set(names) - set(known):
        raise ImproperlyConfigured(f"LLM_DIRECT names {', '.join(sorted(unknown))}; it takes {', '.join(known)}.")
    return names


def require_litellm(models: Iterable[str], own: Iterable[str]) -> None:
    """Raise ImproperlyConfigured where a model needs LiteLLM, which is not installed. `own` providers do without it."""
    others = [model for model in models if model.partition("/")[0] not in own]
    if others and find_spec("litellm") is None:
        raise ImproperlyConfigured(f"{others[0]} needs LiteLLM, which is not installed: keel[providers] ({PACKAGES}).")


def read_identity_providers() -> list[dict[str, object]]:
    """Return the OpenID Connect provider as allauth takes it, if any. Raises ImproperlyConfigured."""
    server = read_url("OIDC_SERVER_URL", ("https", "http"), "https://login.example.com/realms/keel")
    client = read_text("OIDC_CLIENT_ID")
    if bool(server) != bool(client):
        raise ImproperlyConfigured("OIDC_SERVER_URL and OIDC_CLIENT_ID need each other; one of them is missing.")
    secret, name = read_text("OIDC_CLIENT_SECRET"), read_text("OIDC_NAME") or "single sign-on"
    app = {"provider_id": "oidc", "name": name, "client_id": client, "secret": secret}
    return [{**app, "settings": {"server_url": server}}] if server else []


def get_origin(url: str) -> str:
    """Return the scheme and host of a URL."""
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))


def read_proxies() -> int:
    """Return the number of proxies in front; `true` is one. Raises ImproperlyConfigured."""
    text = read_text("BEHIND_PROXY").lower()
    if text in ("", "true", "yes", "on", "false", "no", "off"):
        return int(read_bool("BEHIND_PROXY", default=False))
    return read_int("BEHIND_PROXY", 0, low=0, high=10)


def read_jobs_engine(database: str) -> str:
    """Return JOBS_ENGINE. Raises ImproperlyConfigured where the database or a package is missing for it."""
    engine = read_choice("JOBS_ENGINE", "embedded", ("embedded", "procrastinate"))
    if engine == "procrastinate" and not database.endswith("postgresql"):
        raise ImproperlyConfigured("JOBS_ENGINE is procrastinate, which needs PostgreSQL: set DATABASE_URL.")
    if engine == "procrastinate" and find_spec("procrastinate") is None:
        raise ImproperlyConfigured(f"JOBS_ENGINE is procrastinate, which is not installed: keel[jobs] ({PACKAGES}).")
    return engine


def build_logging(*, level: str, form: str, has_access: bool) -> dict[str, Any]:
    """Return Django's LOGGING setting; `form` is `line` or `json`."""
    handler: dict[str, Any] = {"class": "logging.StreamHandler", "formatter": form}
    # By their paths: the package of JSON lines takes longer to import than all of these settings.
    json_lines = {
        "()": "config.lib.observe.logs.PrivateJsonFormatter",
        "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s",
        "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
    }
    lines = {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request": {"()": "config.lib.observe.logs.RequestIdFilter"}} if form == "json" else {},
        "formatters": {form: json_lines if form == "json" else lines},
        "handlers": {"console": {**handler, **({"filters": ["request"]} if form == "json" else {})}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django": {"handlers": [], "propagate": True},
            **{f"keel.{name}": {"level": "INFO" if has_access else "WARNING"} for name in ("access", "sign_in")},
            "security.scope": {"level": "WARNING"},
            # On DEBUG it writes each statement with its values.
            "django.db.backends": {"level": "INFO"},
            # Their request lines carry nothing we need and, for a provider, the whole address.
            "httpx": {"level": "WARNING"},
            "procrastinate": {"level": "WARNING"},  # each task twice
            "LiteLLM": {"level": "ERROR"},
            # On DEBUG it writes the headers of each request, with the key.
            "ccxt": {"level": "WARNING"},
        },
    }


def _refusal(name: str, value: str, choices: str) -> ImproperlyConfigured:
    parts = urlsplit(value)
    # A URL may hold a password, and this line ends in logs.
    shown = value.replace(parts.netloc, f"...@{parts.netloc.rpartition('@')[2]}") if "@" in parts.netloc else value
    return ImproperlyConfigured(f"{name} is {shown!r}; it must be {choices}.")
