"""All settings, read from the environment (`.env.example`)."""

import os
import re
import secrets
import sys
from base64 import urlsafe_b64encode
from importlib.metadata import distribution
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from config.environment import (
    build_logging,
    get_origin,
    read_bool,
    read_choice,
    read_database,
    read_days,
    read_direct_providers,
    read_email,
    read_float,
    read_identity_providers,
    read_int,
    read_jobs_engine,
    read_list,
    read_proxies,
    read_text,
    read_url,
    require_litellm,
)
from config.files import PrivateConnection, keep_text

BASE_DIR = Path(__file__).resolve().parent.parent
# A checkout has its pages beside the packages and keeps its data there. An installed Keel has the pages inside its
# package, and its data where KEEL_HOME says.
IS_CHECKOUT = (BASE_DIR / "manage.py").exists()
PAGES_DIR = BASE_DIR if IS_CHECKOUT else BASE_DIR / "config" / "pages"
HOME_DIR = Path(read_text("KEEL_HOME") or (BASE_DIR if IS_CHECKOUT else Path.home() / ".local" / "share" / "keel"))
HOME_DIR.mkdir(0o700, parents=True, exist_ok=True)

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "")
_THIS_MACHINE = ["localhost", "127.0.0.1", "[::1]"]


def _read_secret_key() -> str:
    key = read_text("SECRET_KEY")
    if key and len(key) < 32:
        raise ImproperlyConfigured("SECRET_KEY is too short; it needs at least 32 characters.")
    if key:
        return key
    if not IS_LOCAL:
        raise ImproperlyConfigured(
            "SECRET_KEY is missing; it is required when ALLOWED_HOSTS names more than this machine."
        )
    return keep_text(HOME_DIR / "var" / "secret-key", secrets.token_urlsafe(64))


def _read_venue_keys() -> list[str]:
    keys = read_list("VENUE_KEYS")
    if any(not re.fullmatch(r"[A-Za-z0-9_-]{43}=", key) for key in keys):
        raise ImproperlyConfigured("VENUE_KEYS holds a key that is not 32 bytes in URL-safe base64.")
    if keys or not IS_LOCAL:
        return keys
    return [keep_text(HOME_DIR / "var" / "venue-key", urlsafe_b64encode(secrets.token_bytes(32)).decode())]


try:
    if read_bool("READ_DOT_ENV", default=True):
        environ.Env.read_env(HOME_DIR / ".env")
    DEBUG = read_bool("DEBUG", default=False)
    ALLOWED_HOSTS = read_list("ALLOWED_HOSTS", _THIS_MACHINE)
    # A site that answers to this machine's own names only: the demo, a trial, tests. It needs no configuration.
    IS_LOCAL = set(ALLOWED_HOSTS) <= {*_THIS_MACHINE, "testserver"}
    SECRET_KEY = _read_secret_key()
    SECRET_KEY_FALLBACKS = read_list("SECRET_KEY_FALLBACKS")
    CSRF_TRUSTED_ORIGINS = read_list("CSRF_TRUSTED_ORIGINS")
    HOST = read_text("HOST", "127.0.0.1")
    PORT = read_int("PORT", 8000, low=1, high=65535)

    DATABASES = {"default": read_database("DATABASE_URL", default=f"sqlite:///{HOME_DIR / 'db.sqlite3'}")}
    DATABASE_POOL_SIZE = read_int("DATABASE_POOL_SIZE", 20, low=1, high=1_000)
    REDIS_URL = read_url("REDIS_URL", ("redis", "rediss", "unix"), "redis://host:6379/0")
    EMAIL = read_email("EMAIL_URL", default="consolemail://")
    HAS_MAIL = read_text("EMAIL_URL").startswith("smtp")
    _MAIL_HOST = "" if IS_LOCAL else ALLOWED_HOSTS[0].lstrip("*.")  # mail servers refuse mails from `localhost`
    DEFAULT_FROM_EMAIL = read_text("DEFAULT_FROM_EMAIL", f"Keel <keel@{_MAIL_HOST or 'localhost'}>")
    # Bytes of a request's body, and of the addresses that take more: pushes of a record, chats over the API, imports.
    MAX_BODY_BYTES = 512 * 1024
    LARGER_BODIES = {"/api/": 9 * 1024 * 1024, "/profile/facts/": 9 * 1024 * 1024, "/trades/import/": 21 * 1024 * 1024}
    LARGER_BODIES["/trades/pictures/"] = 6 * 1024 * 1024
    IS_TLS = read_bool("TLS", default=not IS_LOCAL)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = read_bool("HSTS_SUBDOMAINS", default=False)
    SECURE_HSTS_PRELOAD = read_bool("HSTS_PRELOAD", default=False)
    TRUSTED_PROXIES = read_proxies()
    IDENTITY_PROVIDERS = read_identity_providers()
    # Whoever signs up spends from the operator's key.
    _HAS_ANY_KEY = any(name.endswith("_API_KEY") and value.strip() for name, value in os.environ.items())
    SIGN_UP = read_choice("SIGN_UP", "closed" if _HAS_ANY_KEY else "open", ("open", "invited", "closed"))
    CONFIRM_NEEDS_SECOND_FACTOR = read_bool("CONFIRM_NEEDS_SECOND_FACTOR", default=False)
    LOG_LEVEL = read_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
    LOG_FORMAT = read_choice("LOG_FORMAT", "line", ("line", "json"))
    HAS_ACCESS_LOG = read_bool("ACCESS_LOG", default=not IS_LOCAL)
    METRICS_TOKEN = read_text("METRICS_TOKEN")
    SENTRY_DSN = read_url("SENTRY_DSN", ("https", "http"), "https://key@sentry.example.com/1")

    OFFLINE_MODEL = "offline/keel"
    _HAS_PROVIDER_KEY = bool(read_text("OPENROUTER_API_KEY"))
    _COACH = "openrouter/anthropic/claude-sonnet-4.6" if _HAS_PROVIDER_KEY else OFFLINE_MODEL
    _SMALL = "openrouter/anthropic/claude-haiku-4.5" if _HAS_PROVIDER_KEY else OFFLINE_MODEL
    CHAT_AGENT_MODEL = read_text("CHAT_AGENT_MODEL", _COACH)
    CHAT_FALLBACK_MODELS = read_list("CHAT_FALLBACK_MODELS")
    TITLE_MODELS = read_list("TITLE_MODELS", [_SMALL])
    SUMMARY_MODELS = read_list("SUMMARY_MODELS", [_SMALL])
    CHAT_CRITIQUE_MODEL = read_text("CHAT_CRITIQUE_MODEL", _SMALL)
    EXTRACT_MODELS = read_list("EXTRACT_MODELS", TITLE_MODELS or [_SMALL])
    TRADING_AGENT_MODEL = read_text("TRADING_AGENT_MODEL", _SMALL)
    REFLECTION_MODEL = read_text("REFLECTION_MODEL", _SMALL)
    _OF_ROLES = [CHAT_AGENT_MODEL, *CHAT_FALLBACK_MODELS, *TITLE_MODELS, *EXTRACT_MODELS, *SUMMARY_MODELS]
    _OF_ROLES += [CHAT_CRITIQUE_MODEL, TRADING_AGENT_MODEL, REFLECTION_MODEL, OFFLINE_MODEL]
    MODELS_IN_USE = list(dict.fromkeys(_OF_ROLES))
    ALLOWED_MODELS = read_list("ALLOWED_MODELS", MODELS_IN_USE)
    LLM_DIRECT = read_direct_providers()
    # Providers of our own, by the first part of a model's name; the door loads a class at its first call.
    LLM_PROVIDERS = {"offline": "offline.model.OfflineProvider"}
    LLM_CONNECT_TIMEOUT_SECONDS = read_int("LLM_CONNECT_TIMEOUT_SECONDS", 10, low=1, high=300)
    LLM_READ_TIMEOUT_SECONDS = read_int("LLM_READ_TIMEOUT_SECONDS", 120, low=1, high=600)
    CHAT_MAX_OUTPUT_TOKENS = read_int("CHAT_MAX_OUTPUT_TOKENS", 8192, low=256, high=1_000_000)
    CHAT_REASONING_EFFORT = read_choice("CHAT_REASONING_EFFORT", "", _EFFORTS)
    TRADING_REASONING_EFFORT = read_choice("TRADING_REASONING_EFFORT", "", _EFFORTS)
    MEMORY_EMBEDDING_MODEL = read_text("MEMORY_EMBEDDING_MODEL", "static")
    _REMOTE = {MEMORY_EMBEDDING_MODEL} - {"", "static"}
    require_litellm([*MODELS_IN_USE, *ALLOWED_MODELS], own=[*LLM_PROVIDERS, *LLM_DIRECT])
    require_litellm(_REMOTE, own=())
    OFFLINE_DELAY_SECONDS = read_float("OFFLINE_DELAY_SECONDS", 0.02, low=0, high=10)

    DEFAULT_ASSISTANT = read_choice("DEFAULT_ASSISTANT", "coach", ("coach", "advisor", "companion"))
    TURN_TIMEOUT_SECONDS = read_int("TURN_TIMEOUT_SECONDS", 300, low=5, high=3600)
    TURN_MAX_STEPS = read_int("TURN_MAX_STEPS", 8, low=1, high=50)
    JOBS_ENGINE = read_jobs_engine(DATABASES["default"]["ENGINE"])
    AGENT_WORKERS = read_int("AGENT_WORKERS", 4, low=1, high=16)
    TURNS_PER_USER = read_int("TURNS_PER_USER", 2, low=1, high=100)
    MESSAGES_PER_MINUTE = read_int("MESSAGES_PER_MINUTE", 30, low=1, high=10_000)
    SOCKETS_PER_USER = read_int("SOCKETS_PER_USER", 5, low=1, high=1000)
    API_READS_PER_MINUTE = read_int("API_READS_PER_MINUTE", 600, low=1, high=1_000_000)
    API_WRITES_PER_MINUTE = read_int("API_WRITES_PER_MINUTE", 120, low=1, high=1_000_000)
    CONTEXT_BUDGET_TOKENS = read_int("CONTEXT_BUDGET_TOKENS", 32_000, low=1_000, high=2_000_000)
    CONTEXT_FILL_PCT = read_int("CONTEXT_FILL_PCT", 80, low=10, high=95)
    DAILY_TOKEN_BUDGET = read_int("DAILY_TOKEN_BUDGET", 2_000_000, low=1_000, high=10_000_000_000)
    SITE_DAILY_TOKEN_BUDGET = read_int("SITE_DAILY_TOKEN_BUDGET", 0, low=0, high=10_000_000_000_000)
    VENUE_KEYS = _read_venue_keys()
    # How long rows stay that come with each tick, reply and act of staff; 0: for ever.
    _KEPT = {"contexts": 730, "equity": 365, "receipts": 365, "staff_log": 0, "invitations": 30}
    KEEP_DAYS = read_days("KEEP_DAYS", _KEPT)
    PICTURES_MB_PER_USER = read_int("PICTURES_MB_PER_USER", 200, low=1, high=1_000_000)
    MEMORY_TOKEN_LIMIT = read_int("MEMORY_TOKEN_LIMIT", 10_000, low=500, high=1_000_000)
    AGENT_DAILY_PROMPT_TOKENS_WARNING = read_int(
        "AGENT_DAILY_PROMPT_TOKENS_WARNING", 1_000_000, low=1_000, high=1_000_000_000
    )
except ImproperlyConfigured as error:
    # One clear line naming the variable, where Django would print a traceback.
    sys.exit(f"Keel cannot start: {error}".replace("\n", " "))

INSTALLED_APPS = [
    "config.apps.KeelAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "channels",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config.lib.work",
    "trading",
    "memory",
    "chat",
]

if IDENTITY_PROVIDERS:  # it imports an HTTP client, for which each command would wait
    INSTALLED_APPS.append("allauth.socialaccount.providers.openid_connect")
if JOBS_ENGINE == "procrastinate":
    INSTALLED_APPS.append("procrastinate.contrib.django")
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = ""  # the engine itself names its one task
JOBS = ["memory.jobs.JOBS", "trading.jobs.JOBS", "chat.jobs.JOBS", "config.lib.edge.mails.JOBS"]
DEMO = ["chat.demo.seed_chats", "trading.demo.seed_demo"]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.lib.edge.staticfiles.StaticFilesMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.lib.operations.health.ProbeMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.lib.edge.requests.NameUserMiddleware",
    "config.lib.edge.responses.NoStoreMiddleware",
    "chat.web.middleware.SocketRecheckMiddleware",
    "config.lib.web.SignInMiddleware",
    "config.lib.web.TimeZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "config.lib.edge.second_factor.ProofMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

_LOADERS = ["config.templates.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PAGES_DIR / "templates"],
        "OPTIONS": {
            "builtins": ["config.lib.lists", "config.lib.moments"],
            "loaders": [("django.template.loaders.cached.Loader", _LOADERS)],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.lib.web.appearance",
                "chat.web.page_context.page_context",
            ],
        },
    }
]

_database = DATABASES["default"]
if _database["ENGINE"].endswith("sqlite3"):
    _database["OPTIONS"] = {
        # Without IMMEDIATE, most transactions that read and then write fail under load instead of waiting.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "factory": PrivateConnection,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
    _database["CONN_MAX_AGE"] = None
elif _database["ENGINE"].endswith("postgresql"):
    _database["CONN_MAX_AGE"] = 0  # the pool keeps the connections; Django refuses both
    _database["ENGINE"] = "config.lib.postgresql"  # checks each connection that it takes from the pool
    _database["OPTIONS"] = {
        "pool": {"min_size": 2, "max_size": DATABASE_POOL_SIZE, "timeout": 10},
        # A connection plans a statement once: planning took half the time of the statements of a message.
        "server_side_binding": True,
        "prepare_threshold": 2,
        "options": "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if REDIS_URL:
    CACHES = {"default": {"BACKEND": "config.lib.edge.stores.SturdyRedisCache", "LOCATION": REDIS_URL}}
    CHANNEL_LAYERS = {"default": {"BACKEND": "config.lib.edge.layer.SharedLayer", "CONFIG": {"url": REDIS_URL}}}
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

AUTH_USER_MODEL = "trading.Trader"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "config.lib.edge.accounts.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "config.lib.edge.accounts.SocialAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]  # the form can show what was typed
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
# With mail, sign-up answers a known and an unknown address alike; the known one gets a mail. Without mail, nobody could
# confirm an address, and sign-up tells that an address is taken.
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if HAS_MAIL else "optional"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Keel: "
ACCOUNT_LOGOUT_REDIRECT_URL = "home"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # seconds
ACCOUNT_FORMS = {"signup": "trading.web.forms.SignupForm"}
globals().update(EMAIL)
EMAIL_TIMEOUT = 10  # seconds; without it a silent server holds a request for ever

MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Keel"
MFA_ADAPTER = "config.lib.edge.second_factor.SecondFactorAdapter"
MFA_FORMS = {
    "add_webauthn": "config.lib.edge.second_factor.AddKeyForm",
    "authenticate_webauthn": "config.lib.edge.second_factor.FactorKeyForm",
    "login_webauthn": "config.lib.edge.second_factor.LoginKeyForm",
    "reauthenticate_webauthn": "config.lib.edge.second_factor.ConfirmKeyForm",
}
MFA_ALLOW_UNVERIFIED_EMAIL = not HAS_MAIL  # without mail nobody can verify an address
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = IS_LOCAL and not IS_TLS  # http://localhost
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": IDENTITY_PROVIDERS, "OAUTH_PKCE_ENABLED": True}}

SECURE_SSL_REDIRECT = IS_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_HSTS_SECONDS = 31_536_000 if IS_TLS else 0
# Whoever has the domain knows whether each name below it has TLS.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
DIRECT_PATHS = ["/healthz/", "/readyz/", "/metrics"]  # asked from inside, without the proxy and a session
SECURE_REDIRECT_EXEMPT = [f"^{path.removeprefix('/')}$" for path in DIRECT_PATHS]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_TLS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        # A browser checks the redirect to the identity provider that follows the form, too.
        "form-action": ["'self'", *([get_origin(read_text("OIDC_SERVER_URL"))] if IDENTITY_PROVIDERS else [])],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# The other classes of the API are set on the base view: config/lib/rest/views.py.
REST_FRAMEWORK = {
    # The token first: it says what a 401 asks for, where the session alone would make it a 403.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "trading.api.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "config.lib.rest.openapi.OperationSchema",
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "config.lib.rest.problems.build_problem",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Keel",
    "DESCRIPTION": "Talking to Keel, what it knows of you, and the record of your trading agents.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/",
    "COMPONENT_SPLIT_REQUEST": True,
    # Choices of several that fields of one name have; the others are named by their field.
    "ENUM_NAME_OVERRIDES": {
        name: f"trading.models.{name}"
        for name in (
            *("BrokerKind", "CommandKind", "DeploymentStatus", "DraftStatus", "TradeSide", "TradeStatus"),
            "WorkStatus",
        )
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.lib.rest.openapi.complete_operations",
    ],
}

STATIC_URL = "static/"
STATIC_ROOT = HOME_DIR / "staticfiles"
STATICFILES_DIRS = [
    PAGES_DIR / "static",
    # lightweight-charts of TradingView (Apache-2.0), as the package litecharts carries it; its Python part is not used.
    ("litecharts", Path(str(distribution("litecharts").locate_file("litecharts/js")))),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if IS_LOCAL
        else "config.lib.edge.staticfiles.HashedStaticFilesStorage"
    },
}
SERVESTATIC_USE_FINDERS = IS_LOCAL
SERVESTATIC_AUTOREFRESH = DEBUG

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

LOGGING = build_logging(level=LOG_LEVEL, form=LOG_FORMAT, has_access=HAS_ACCESS_LOG)
