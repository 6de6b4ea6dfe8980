"""Remove each security control and prove that a test fails without it: `make controls`, or `make controls ARGS=csp`.

A control is a piece of a file. The script copies the checkout, replaces the piece, and runs the tests that are named
here; they must fail. `test_controls.py` checks that each piece is still in its file, on every run of the suite.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SECONDS = 400  # for the tests of one control


@dataclass(frozen=True)
class Control:
    """A piece of a file whose removal the tests must notice."""

    name: str
    path: str
    piece: str
    without: str
    tests: str
    engine: str = "sqlite"


OWNED, GATE = "config/lib/owned.py", "chat/tools/gate.py"
SETTINGS, RESPONSES = "config/settings.py", "tests/config/lib/edge/test_responses.py"
CONSUMERS, SOCKETS = "chat/web/consumers.py", "tests/chat/web/test_consumers.py"
ENVIRONMENT, SERVICES = "tests/config/test_environment.py", "tests/chat/conversations/test_services.py"
REST, REST_TESTS = "config/lib/rest/views.py", "tests/config/lib/rest/test_views.py"
START, TEXT, TEXTS = "chat/turns/start.py", "config/lib/text.py", "tests/config/lib/test_text.py"
CONTROLS = (
    # Ownership
    Control(
        "owner filter of queries",
        OWNED,
        'return f"{column} = %s", (*params, owner)',
        "raise FullResultSet",
        "tests/config/lib/test_owned.py",
    ),
    Control(
        "queries without an owner",
        OWNED,
        'raise ScopeError("no owner in scope")',
        "return SYSTEM",
        "tests/config/lib/test_owned.py",
    ),
    Control(
        "foreign rows of joins",
        OWNED,
        'raise ScopeError("foreign row loaded")',
        "pass",
        "tests/config/lib/test_owned.py",
    ),
    Control(
        "owner of a saved row", OWNED, 'raise ScopeError("foreign row")\n', "pass\n", "tests/config/lib/test_owned.py"
    ),
    Control(
        "immutable columns",
        OWNED,
        """        self.model.refuse_columns(kwargs)
""",
        "",
        "tests/config/lib/test_owned.py",
    ),
    Control(
        "raw SQL of owned rows",
        OWNED,
        'raise ScopeError("raw() is not scoped")',
        "...",
        "tests/config/lib/test_owned.py",
    ),
    Control(
        "no way from a user's scope to the system's",
        OWNED,
        """raise ScopeError("a user's scope may not become the system's")""",
        "pass",
        "tests/config/lib/test_owned_doors.py",
    ),
    Control(
        "forced policies",
        "config/lib/rls.py",
        "ALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n",
        "",
        "tests/config/lib/test_rls.py",
        "postgres",
    ),
    Control(
        "policy of writes",
        "config/lib/rls.py",
        " WITH CHECK ({condition})",
        " WITH CHECK (true)",
        "tests/config/lib/test_rls.py",
        "postgres",
    ),
    # Confirm-cards
    Control(
        "digest of a card",
        "chat/cards.py",
        "if not (_is_equal(digest, card.digest) and _is_equal(digest_of(card), card.digest)):",
        "if False:",
        "tests/chat/test_cards.py",
    ),
    Control(
        "one decision a card",
        "chat/cards.py",
        "pk=card_id, status=CardStatus.PENDING, expires_at__gt=now",
        "pk=card_id, expires_at__gt=now",
        "tests/chat/test_cards.py",
    ),
    Control(
        "expiry of a card",
        "chat/cards.py",
        "status=CardStatus.PENDING, expires_at__gt=now",
        "status=CardStatus.PENDING",
        "tests/chat/test_cards.py",
    ),
    Control(
        "second factor of a card",
        "config/lib/edge/second_factor.py",
        'record["method"] == "mfa" and',
        "",
        "tests/chat/web/test_card_views.py",
    ),
    Control(
        "second factor of a command, by page",
        "trading/web/views/deployments.py",
        "if factor := ask_second_factor(",
        "if False and ask_second_factor(",
        "tests/trading/web/test_second_factor.py",
    ),
    Control(
        "second factor of a command, by API",
        "trading/api/deployments.py",
        "require_second_factor(self.request, now=now)",
        "pass",
        "tests/trading/web/test_second_factor.py",
    ),
    Control(
        "second factor of a deployment, by page",
        "trading/web/views/skills.py",
        "if factor := ask_second_factor(",
        "if False and ask_second_factor(",
        "tests/trading/web/test_second_factor.py",
    ),
    Control(
        "second factor of a deployment, by API",
        "trading/api/skills.py",
        "require_second_factor(self.request, now=now)",
        "pass",
        "tests/trading/web/test_second_factor.py",
    ),
    Control(
        "second factor of a token",
        "trading/web/views/account.py",
        "if factor := ask_second_factor(",
        "if False and ask_second_factor(",
        "tests/trading/web/test_second_factor.py",
    ),
    Control(
        "sign-up closed",
        "config/lib/edge/accounts.py",
        'return bool(settings.SIGN_UP == "open")',
        "return True",
        "tests/config/lib/edge/test_accounts.py",
    ),
    # Prompt injection
    Control(
        "gate of writes under untrusted text",
        GATE,
        "return None if is_exact and not is_backed else origin_of(context, quote)",
        "return origin_of(context, quote)",
        "tests/chat/tools/test_gate.py tests/chat/turns/test_taint.py",
    ),
    Control(
        "taint of tools that read untrusted text",
        "chat/turns/turn.py",
        "            self.window.note(tool.label, is_untrusted=tool.brings_untrusted(task.result()))\n",
        "",
        "tests/chat/turns/test_taint.py",
    ),
    Control(
        "secrets are never remembered",
        "memory/wording.py",
        '    r"\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b",\n',
        "",
        "tests/memory/test_wording.py",
    ),
    # The web
    Control("strict script-src", SETTINGS, """"script-src": ["'self'"]""", '"script-src": ["*"]', RESPONSES),
    Control("frame-ancestors", SETTINGS, """"frame-ancestors": ["'none'"]""", '"frame-ancestors": ["*"]', RESPONSES),
    Control("CSP middleware", SETTINGS, '    "csp.middleware.CSPMiddleware",\n', "", RESPONSES),
    Control(
        "X-Frame-Options", SETTINGS, '    "django.middleware.clickjacking.XFrameOptionsMiddleware",\n', "", RESPONSES
    ),
    Control(
        "secure cookies",
        SETTINGS,
        "SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_TLS",
        "SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = False",
        "tests/config/test_environment.py",
    ),
    Control(
        "HSTS",
        SETTINGS,
        "SECURE_HSTS_SECONDS = 31_536_000 if IS_TLS else 0",
        "SECURE_HSTS_SECONDS = 0",
        "tests/config/test_environment.py",
    ),
    Control(
        "redirect to https",
        SETTINGS,
        "SECURE_SSL_REDIRECT = IS_TLS",
        "SECURE_SSL_REDIRECT = False",
        "tests/config/test_environment.py",
    ),
    Control(
        "pages of signed-in users stay out of caches",
        SETTINGS,
        '    "config.lib.edge.responses.NoStoreMiddleware",\n',
        "",
        RESPONSES,
    ),
    Control(
        "default deny",
        SETTINGS,
        '    "config.lib.web.SignInMiddleware",\n',
        "",
        "tests/matrix/test_routes.py -k strangers",
    ),
    Control(
        "raw HTML off in Markdown",
        "chat/web/markdown.py",
        '"html": False',
        '"html": True',
        "tests/chat/web/test_markdown.py",
    ),
    Control(
        "sanitiser of Markdown",
        "chat/web/markdown.py",
        "return _sanitise_html(_MARKDOWN.render(text))",
        "return mark_safe(_MARKDOWN.render(text))",
        "tests/chat/web/test_markdown.py",
    ),
    Control(
        "scheme-relative links",
        "chat/web/markdown.py",
        'not url.strip().startswith(("//", "\\\\", "/\\\\")) and ',
        "",
        "tests/chat/web/test_markdown.py",
    ),
    Control("paths only in next", "config/lib/web.py", 'is_path = target.startswith("/") and', "is_path =", RESPONSES),
    Control(
        "size of a body",
        "config/lib/edge/bodies.py",
        "if announced.isdigit() and int(announced) > limit:",
        "if False:",
        "tests/config/lib/edge/test_bodies.py",
    ),
    Control(
        "trusted proxies",
        "config/lib/edge/requests.py",
        "entry = entries[-proxies]",
        "entry = entries[0]",
        "tests/config/lib/edge/test_requests.py",
    ),
    Control(
        "unknown fields of the API",
        "config/lib/rest/views.py",
        "raise serializers.ValidationError({name:",
        "({name:",
        "tests/config/lib/rest",
    ),
    Control(
        "depth of JSON",
        "config/lib/rest/parsing.py",
        "MAX_DEPTH: Final = 20",
        "MAX_DEPTH: Final = 10**9",
        "tests/config/lib/rest",
    ),
    Control(
        "formulas in CSV",
        "config/lib/text.py",
        """return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line""",
        "return line",
        "tests/config/lib/test_text.py",
    ),
    # Sockets
    Control(
        "origin of sockets", CONSUMERS, 'if not is_same_origin(dict(self.scope["headers"])):', "if False:", SOCKETS
    ),
    Control(
        "sockets of signed-out users",
        CONSUMERS,
        "        if user is None:\n            await self.close(SIGNED_OUT)\n            return\n",
        "        assert user is not None\n",
        SOCKETS,
    ),
    Control("size of a frame", CONSUMERS, " or len(text_data) > MAX_FRAME", "", SOCKETS),
    Control(
        "sockets close with their session",
        SETTINGS,
        '    "chat.web.middleware.SocketRecheckMiddleware",\n',
        "",
        SOCKETS,
    ),
    # Secrets and operations
    Control(
        "second factors encrypted",
        "config/lib/edge/second_factor.py",
        "return _get_cipher().encrypt(text.encode()).decode()",
        "return text",
        "tests/config/lib/edge/test_second_factor.py",
    ),
    Control(
        "hostile passkeys",
        "config/lib/edge/second_factor.py",
        "except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error):",
        "except ZeroDivisionError:",
        "tests/config/lib/edge/test_second_factor.py",
    ),
    Control(
        "token of the metrics",
        "chat/web/views/metrics.py",
        'if scheme != "Bearer" or not constant_time_compare(token, settings.METRICS_TOKEN):',
        "if False:",
        "tests/chat/web/test_metrics.py",
    ),
    Control(
        "exceptions without their text in JSON logs",
        "config/lib/observe/logs.py",
        "lines.append(type(link).__qualname__)",
        "lines.append(repr(link))",
        "tests/config/lib/observe",
    ),
    Control(
        "error reports without values",
        "config/lib/observe/reports.py",
        'link["value"] = ""',
        "pass",
        "tests/config/lib/observe",
    ),
    # Accounts
    Control(
        "lock-out of sign-in",
        SETTINGS,
        'LOGIN_URL = "account_login"\n',
        'LOGIN_URL = "account_login"\nACCOUNT_RATE_LIMITS = False\n',
        "tests/trading/account/test_accounts.py -k locks_out",
    ),
    Control(
        "sign-up that names no account", SETTINGS, '"mandatory" if HAS_MAIL else "optional"', '"optional"', ENVIRONMENT
    ),
    Control("Argon2", SETTINGS, '    "django.contrib.auth.hashers.Argon2PasswordHasher",\n', "", ENVIRONMENT),
    Control(
        "secret key of a public site",
        SETTINGS,
        "    if not IS_LOCAL:\n        raise",
        "    if False:\n        raise",
        ENVIRONMENT,
    ),
    Control("referrer policy", SETTINGS, "SECURE_REFERRER_POLICY =", "SECURE_REFERRER_POLICY = None and", RESPONSES),
    Control(
        "opener policy",
        SETTINGS,
        "SECURE_REFERRER_POLICY =",
        "SECURE_CROSS_ORIGIN_OPENER_POLICY = None\nSECURE_REFERRER_POLICY =",
        RESPONSES,
    ),
    Control(
        "token of a form",
        SETTINGS,
        '    "django.middleware.csrf.CsrfViewMiddleware",\n',
        "",
        "tests/matrix/test_routes.py -k need_their_token",
    ),
    # Limits
    Control("sign-in of the API", REST, "(IsAuthenticated, ScopeAllows)", "(ScopeAllows,)", REST_TESTS),
    Control("requests a minute", REST, "return store.incr(key) <= limit", "return True", REST_TESTS),
    Control("messages a minute", START, "if standing.recent >= settings.MESSAGES_PER_MINUTE:", "if False:", SERVICES),
    Control("running turns of a user", START, "if standing.running >= settings.TURNS_PER_USER:", "if False:", SERVICES),
    Control(
        "tokens a day",
        START,
        "if standing.spent + tokens > budget:",
        "if False:",
        "tests/chat/conversations/test_usage.py",
    ),
    Control("sockets of a user", CONSUMERS, "while len(mine) > settings.SOCKETS_PER_USER:", "while False:", SOCKETS),
    Control("length of a message", "chat/turns/accept.py", "if size > MAX_MESSAGE_BYTES:", "if False:", SERVICES),
    # Text
    Control(
        "headings and fences in lines of prompts", TEXT, '_HEADINGS.sub("", one_line(text))', "one_line(text)", TEXTS
    ),
    Control(
        "invisible characters in lines",
        TEXT,
        " or unicodedata.category(c) not in _UNSAFE_CATEGORIES)",
        " or True)",
        TEXTS,
    ),
    Control("controls in messages", TEXT, "c in _KEPT_IN_MESSAGES or not _is_broken(c)", "True", TEXTS),
    Control("images in Markdown", "chat/web/markdown.py", '.disable("image")', "", "tests/chat/web/test_markdown.py"),
    # Fences
    Control(
        "token of a closing",
        "chat/conversations/lifecycle.py",
        "pk=claim.conversation_id, closing_token=claim.token",
        "pk=claim.conversation_id",
        "tests/chat/endings tests/chat/conversations",
    ),
    Control(
        "checksums of a backup",
        "config/lib/operations/backups.py",
        "if summed.hexdigest() != digest:",
        "if False:",
        "tests/config/lib/operations/test_backups.py -k damaged",
    ),
)


@contextmanager
def _copied_checkout() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    with tempfile.TemporaryDirectory(prefix="keel-controls-") as folder:
        copy = Path(folder) / "keel"
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        yield copy


def remove(control: Control, checkout: Path) -> None:
    """Replace the control's piece in a copy of the checkout."""
    file = checkout / control.path
    file.write_text(file.read_text().replace(control.piece, control.without))


def is_noticed(control: Control, checkout: Path) -> bool:
    """Tell whether a test fails without the control."""
    original = (checkout / control.path).read_text()
    remove(control, checkout)
    # Through the starter of the suite, which brings PostgreSQL where a control needs it.
    is_local = control.engine == "sqlite"
    tests = [sys.executable, "-m", *(["pytest", "--reuse-db"] if is_local else ["tests"]), "-n0", "-q", "-x"]
    try:
        done = subprocess.run(
            [*tests, *control.tests.split()],
            cwd=checkout,
            env={**os.environ, "KEEL_TEST_ENGINE": control.engine},
            capture_output=True,
            timeout=SECONDS,
        )
    finally:
        (checkout / control.path).write_text(original)
    return done.returncode == 1  # 0: all pass; others: the tests did not run


def main() -> int:
    """Try each control whose name has the words of the command line."""
    words = " ".join(sys.argv[1:]).lower()
    chosen = [control for control in CONTROLS if words in control.name.lower()]
    missed = []
    with _copied_checkout() as checkout:
        for control in chosen:
            began = time.monotonic()
            noticed = is_noticed(control, checkout)
            missed += [] if noticed else [control.name]
            print(
                f"{'noticed' if noticed else 'MISSED':8} {control.name} ({time.monotonic() - began:.0f} s)", flush=True
            )
    print(f"{len(chosen) - len(missed)} of {len(chosen)} removals are noticed.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
