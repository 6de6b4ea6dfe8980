"""The pieces that `make controls` removes, by file and the tests that must fail without: name, piece, replacement."""

ON_POSTGRES = {"tests/config/lib/test_rls.py"}
PIECES = {
    # Ownership
    ("config/lib/owned.py", "tests/config/lib/test_owned.py"): [
        ("owner filter of queries", 'return f"{column} = %s", (*params, owner)', "raise FullResultSet"),
        ("queries without an owner", 'raise ScopeError("no owner in scope")', "return SYSTEM"),
        ("foreign rows of joins", 'raise ScopeError("foreign row loaded")', "pass"),
        ("owner of a saved row", 'raise ScopeError("foreign row")\n', "pass\n"),
        ("immutable columns", "        self.model.refuse_columns(kwargs)\n", ""),
        ("raw SQL of owned rows", 'raise ScopeError("raw() is not scoped")', "..."),
    ],
    ("config/lib/owned.py", "tests/config/lib/test_owned_doors.py"): [
        (
            "no way from a user's scope to the system's",
            "raise ScopeError(\"a user's scope may not become the system's\")",
            "pass",
        )
    ],
    ("config/lib/rls.py", "tests/config/lib/test_rls.py"): [
        ("forced policies", "ALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n", ""),
        ("policy of writes", " WITH CHECK ({condition})", " WITH CHECK (true)"),
    ],
    # Confirm-cards
    ("chat/cards.py", "tests/chat/test_cards.py"): [
        (
            "digest of a card",
            "if not (_is_equal(digest, card.digest) and _is_equal(digest_of(card), card.digest)):",
            "if False:",
        ),
        (
            "one decision a card",
            "pk=card_id, status=CardStatus.PENDING, expires_at__gt=now",
            "pk=card_id, expires_at__gt=now",
        ),
        ("expiry of a card", "status=CardStatus.PENDING, expires_at__gt=now", "status=CardStatus.PENDING"),
    ],
    ("config/lib/edge/second_factor.py", "tests/chat/web/test_card_views.py"): [
        ("second factor of a card", ' if record["method"] == "mfa"', "")
    ],
    ("config/lib/proofs.py", "tests/config/lib/test_proofs.py"): [
        ("token that may only read", "if proof.door is Door.TOKEN and not proof.may_write:", "if False:"),
        ("reason of staff", "if proof.door is Door.STAFF and not proof.reason:", "if False:"),
        ("recent sign-in", "if proof.door is Door.SESSION and not _is_fresh(proof.signed_in_at, now):", "if False:"),
        ("time of what a session showed", "shown_at is not None and shown_at > now", "shown_at is not None or now"),
    ],
    ("trading/record/deployments.py", "tests/trading/record/test_deployments.py"): [
        (f"second factor of {act}", before + "    require_factor(proof, now=now)\n", before)
        for act, before in (
            ("a deployment", 'elsewhere the equity is not known.\n    """\n'),
            ("a command", 'Raises DeploymentNotFound, CommandRefused, ProofRefused."""\n'),
        )
    ],
    ("trading/record/actions.py", "tests/chat/test_cards.py"): [
        ("second factor of an action", "    require_factor(proof, now=now)\n", "")
    ],
    ("trading/account/tokens.py", "tests/trading/account/test_tokens.py"): [
        ("second factor of a token", "    require_factor(proof, now=now)\n", "")
    ],
    ("trading/models/tokens.py", "tests/trading/account/test_tokens.py"): [
        ("expiry of a token", "Q(expires_at__isnull=True) | Q(expires_at__gt=now), ", ""),
        ("end of a revoked token", ", revoked_at__isnull=True", ""),
    ],
    ("trading/api/authentication.py", "tests/trading/account/test_tokens.py"): [
        ("tokens of switched-off users", " or not token.user.is_active", "")
    ],
    ("config/lib/edge/accounts.py", "tests/config/lib/edge/test_accounts.py"): [
        ("sign-up closed", 'return settings.SIGN_UP == "open" or ', "return True or ")
    ],
    ("config/lib/edge/accounts.py", "tests/config/lib/edge/test_invitations.py"): [
        ("invited address of a provider", "and stated == {invitation.address}", "")
    ],
    ("config/lib/edge/invitations.py", "tests/config/lib/edge/test_invitations.py"): [
        ("invitation for its address", ".filter(address=address.lower())", ""),
        ("invitation used once", "digest=digest, used_at=None, ", "digest=digest, "),
        ("invitation withdrawn", "withdrawn_at=None, expires_at__gt=now)", "expires_at__gt=now)"),
        ("invitation expired", ", expires_at__gt=now)", ")"),
    ],
    ("config/lib/edge/mails.py", "tests/config/lib/edge/test_accounts.py"): [
        ("waiting mails encrypted", 'get_cipher("mail").encrypt(words.encode()).decode()', "words"),
        ("waiting mails of a user", "Mail(user_id=user_id, ", "Mail("),
    ],
    ("config/lib/edge/devices.py", "tests/config/lib/edge/test_devices.py"): [
        ("wrong passwords by device and place", ":{device if is_known else get_ip(request)}", ""),
        (
            "signature of a device",
            'request.get_signed_cookie(COOKIE, "", salt=COOKIE, max_age=_LASTS) or ""',
            'request.COOKIES.get(COOKIE, "")',
        ),
        (
            "device of another account",
            'compare_digest(login, _digest_login(credentials.get("email", "")))',
            "bool(login)",
        ),
    ],
    ("config/lib/admin.py", "tests/chat/test_admin.py -k acts_on_staff"): [
        (
            "staff as subjects of superusers alone",
            "return bool(staff.is_superuser) or not users",
            "return True or not users",
        )
    ],
    ("config/lib/rest/views.py", "tests/matrix/test_doors.py -k tokens_of_their_areas"): [
        ("areas of tokens", "if not token.opens(areas):", "if False:")
    ],
    # Prompt injection
    ("chat/tools/gate.py", "tests/chat/tools/test_gate_cases.py"): [
        (
            "gate of writes under untrusted text",
            "return None if is_exact and not is_backed else origin_of(context, quote)",
            "return origin_of(context, quote)",
        )
    ],
    ("chat/turns/turn.py", "tests/chat/turns/test_taint.py"): [
        (
            "taint of tools that read untrusted text",
            """            self.window.note(tool.label, is_untrusted=tool.brings_untrusted(task.result()))
""",
            "",
        )
    ],
    ("memory/wording.py", "tests/memory/test_wording.py"): [
        ("secrets are never remembered", '    r"\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b",\n', "")
    ],
    # The web
    ("config/settings.py", "tests/config/lib/edge/test_responses.py"): [
        ("strict script-src", '"script-src": ["\'self\'"]', '"script-src": ["*"]'),
        ("frame-ancestors", '"frame-ancestors": ["\'none\'"]', '"frame-ancestors": ["*"]'),
        ("CSP middleware", '    "csp.middleware.CSPMiddleware",\n', ""),
        ("X-Frame-Options", '    "django.middleware.clickjacking.XFrameOptionsMiddleware",\n', ""),
        ("pages of signed-in users stay out of caches", '    "config.lib.edge.responses.NoStoreMiddleware",\n', ""),
        ("referrer policy", "SECURE_REFERRER_POLICY =", "SECURE_REFERRER_POLICY = None and"),
        (
            "opener policy",
            "SECURE_REFERRER_POLICY =",
            "SECURE_CROSS_ORIGIN_OPENER_POLICY = None\nSECURE_REFERRER_POLICY =",
        ),
    ],
    ("config/settings.py", "tests/config/test_environment.py"): [
        (
            "secure cookies",
            "SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_TLS",
            "SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = False",
        ),
        ("HSTS", "SECURE_HSTS_SECONDS = 31_536_000 if IS_TLS else 0", "SECURE_HSTS_SECONDS = 0"),
        ("redirect to https", "SECURE_SSL_REDIRECT = IS_TLS", "SECURE_SSL_REDIRECT = False"),
        ("sign-up that names no account", '"mandatory" if HAS_MAIL else "optional"', '"optional"'),
        ("Argon2", '    "django.contrib.auth.hashers.Argon2PasswordHasher",\n', ""),
        ("secret key of a public site", "    if not IS_LOCAL:\n        raise", "    if False:\n        raise"),
    ],
    ("config/settings.py", "tests/matrix/test_routes.py -k strangers"): [
        ("default deny", '    "config.lib.web.SignInMiddleware",\n', "")
    ],
    ("chat/web/markdown.py", "tests/chat/web/test_markdown.py"): [
        ("raw HTML off in Markdown", '"html": False', '"html": True'),
        (
            "sanitiser of Markdown",
            "return _sanitise_html(_MARKDOWN.render(text))",
            "return mark_safe(_MARKDOWN.render(text))",
        ),
        ("scheme-relative links", 'not url.strip().startswith(("//", "\\\\", "/\\\\")) and ', ""),
        ("images in Markdown", '.disable("image")', ""),
    ],
    ("config/lib/web.py", "tests/config/lib/edge/test_responses.py"): [
        ("paths only in next", 'is_path = target.startswith("/") and', "is_path =")
    ],
    ("config/lib/edge/bodies.py", "tests/config/lib/edge/test_bodies.py"): [
        ("size of a body", "if announced.isdigit() and int(announced) > limit:", "if False:"),
        (
            "size of a body without a length",
            'return {"type": "http.disconnect"} if left < 0 else message',
            "return message",
        ),
    ],
    ("config/lib/edge/requests.py", "tests/config/lib/edge/test_requests.py"): [
        ("trusted proxies", "entry = entries[-proxies]", "entry = entries[0]")
    ],
    ("config/lib/rest/views.py", "tests/config/lib/rest"): [
        ("unknown fields of the API", "raise serializers.ValidationError({name:", "({name:")
    ],
    ("config/lib/rest/parsing.py", "tests/config/lib/rest"): [
        ("depth of JSON", "MAX_DEPTH: Final = 20", "MAX_DEPTH: Final = 10**9"),
        ("size of a body of the API", "if len(body) > limit:", "if False:"),
    ],
    # Text
    ("config/lib/text.py", "tests/config/lib/test_text.py"): [
        ("formulas in CSV", 'return f"\'{line}" if line.startswith(("=", "+", "-", "@")) else line', "return line"),
        ("headings and fences in lines of prompts", '_HEADINGS.sub("", one_line(text))', "one_line(text)"),
        ("invisible characters in lines", " or unicodedata.category(c) not in _UNSAFE_CATEGORIES)", " or True)"),
        ("controls in messages", "c in _KEPT_IN_MESSAGES or not _is_broken(c)", "True"),
    ],
    # Sockets
    ("chat/web/consumers.py", "tests/chat/web/test_consumers.py"): [
        ("origin of sockets", 'if not is_same_origin(dict(self.scope["headers"])):', "if False:"),
        (
            "sockets of signed-out users",
            """        if user is None:
            await self.close(SIGNED_OUT)
            return
""",
            "        assert user is not None\n",
        ),
        ("size of a frame", " or len(text_data) > MAX_FRAME", ""),
        ("sockets of a user", "while len(mine) > settings.SOCKETS_PER_USER:", "while False:"),
    ],
    ("config/settings.py", "tests/chat/web/test_consumers.py"): [
        ("sockets close with their session", '    "chat.web.middleware.SocketRecheckMiddleware",\n', "")
    ],
    # Secrets and operations
    ("config/lib/edge/second_factor.py", "tests/config/lib/edge/test_second_factor.py"): [
        ("second factors encrypted", 'return get_cipher("second factor").encrypt(', "return text or ("),
        (
            "hostile passkeys",
            "except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error):",
            "except ZeroDivisionError:",
        ),
    ],
    ("chat/web/views/metrics.py", "tests/chat/web/test_metrics.py"): [
        (
            "token of the metrics",
            'if scheme != "Bearer" or not constant_time_compare(token, settings.METRICS_TOKEN):',
            "if False:",
        ),
        ("metrics of a site without a token", "if not settings.METRICS_TOKEN:", "if False:"),
    ],
    ("config/lib/observe/logs.py", "tests/config/lib/observe"): [
        (
            "exceptions without their text in JSON logs",
            "lines.append(type(link).__qualname__)",
            "lines.append(repr(link))",
        )
    ],
    ("config/lib/observe/reports.py", "tests/config/lib/observe"): [
        ("error reports without values", 'link["value"] = ""', "pass")
    ],
    # Accounts
    ("config/settings.py", "tests/trading/account/test_accounts.py -k locks_out"): [
        (
            "lock-out of sign-in",
            'LOGIN_URL = "account_login"\n',
            'LOGIN_URL = "account_login"\nACCOUNT_RATE_LIMITS = False\n',
        )
    ],
    ("config/settings.py", "tests/matrix/test_routes.py -k need_their_token"): [
        ("token of a form", '    "django.middleware.csrf.CsrfViewMiddleware",\n', "")
    ],
    # Limits
    ("config/lib/rest/views.py", "tests/config/lib/rest/test_views.py"): [
        ("sign-in of the API", "(IsAuthenticated, ScopeAllows)", "(ScopeAllows,)"),
        ("requests a minute", "return store.incr(key) <= limit", "return True"),
    ],
    ("chat/turns/start.py", "tests/chat/conversations/test_services.py"): [
        ("messages a minute", "if standing.recent >= settings.MESSAGES_PER_MINUTE:", "if False:"),
        ("running turns of a user", "if standing.running >= settings.TURNS_PER_USER:", "if False:"),
    ],
    ("chat/turns/start.py", "tests/chat/conversations/test_usage.py"): [
        ("tokens a day", "if standing.spent + tokens > budget:", "if False:")
    ],
    ("chat/turns/accept.py", "tests/chat/conversations/test_services.py"): [
        ("length of a message", "if size > MAX_MESSAGE_BYTES:", "if False:")
    ],
    # Fences
    ("chat/conversations/lifecycle.py", "tests/chat/endings tests/chat/conversations"): [
        ("token of a closing", "pk=claim.conversation_id, closing_token=claim.token", "pk=claim.conversation_id")
    ],
    ("config/lib/operations/backups.py", "tests/config/lib/operations/test_backups.py -k damaged"): [
        ("checksums of a backup", "if summed.hexdigest() != digest:", "if False:")
    ],
    # Jobs
    ("chat/jobs.py", "tests/test_guards_operations.py"): [
        (f"job {name}", line, "")
        for name, line in (
            ("sweep_cards", '    Job("sweep_cards", timedelta(minutes=1), sweep_cards),\n'),
            (
                "close_chat",
                '    Task(CLOSE, "chats", timedelta(seconds=5), lambda now: list_due(now=now), close_chat),\n',
            ),
            ("empty_trash", '    Job("empty_trash", timedelta(hours=1), empty_trash),\n'),
            (
                "clear_expired_sessions",
                '    Job("clear_expired_sessions", timedelta(days=1), clear_expired_sessions),\n',
            ),
            ("retention of receipts", '    Kept("receipts", drop_receipts),\n'),
        )
    ],
    ("trading/jobs.py", "tests/test_guards_operations.py"): [
        ("job drop_trade_files", '    Job("drop_trade_files", timedelta(hours=1), drop_trade_files),\n', ""),
        ("job sync_account", '    Task(SYNC, "venues", timedelta(minutes=1), list_due_accounts, read_account),\n', ""),
    ],
    ("memory/jobs.py", "tests/test_guards_operations.py"): [
        ("job enforce_token_limits", '        ("enforce_token_limits", "facts evicted", _evict_facts),\n', "")
    ],
    ("config/settings.py", "tests/test_guards_operations.py"): [
        ("jobs of mails", ', "config.lib.edge.mails.JOBS"]', "]")
    ],
    # Files
    ("config/files.py", "tests/config/test_files.py"): [
        ("mode of a new private file", "os.O_TRUNC, 0o600)", "os.O_TRUNC, 0o644)"),
        ("mode of a private file that was open to others", "        os.fchmod(descriptor, 0o600)\n", "        pass\n"),
        ("mode of a database and its log", "os.chmod(path, 0o600)", "pass"),
    ],
    ("config/files.py", "tests/config/test_environment.py -k home"): [
        ("mode of the folder of keys", "mkdir(0o700, exist_ok=True)", "mkdir(exist_ok=True)")
    ],
    ("chat/management/commands/export_everything.py", "tests/test_guards_files.py"): [
        ("writers of files are known", "open_private(Path(file))", 'Path(file).open("wb")')
    ],
    ("config/settings.py", "tests/config/test_environment.py -k home"): [
        ("mode of the home folder", "HOME_DIR.mkdir(0o700, ", "HOME_DIR.mkdir(")
    ],
    ("chat/management/commands/export_everything.py", "tests/chat/endings/test_export.py -k command"): [
        ("mode of an export", "open_private(Path(file))", 'Path(file).open("wb")')
    ],
    ("config/lib/operations/backups.py", "tests/config/lib/operations/test_backups.py -k empty_database"): [
        ("mode of a backup", "with open_private(part) as file:", 'with part.open("wb") as file:')
    ],
    ("config/lib/operations/backups.py", "tests/config/lib/operations/test_backups.py -k copy"): [
        ("mode of the copy in a backup", "path.touch(0o600)", "path.touch()")
    ],
    # Whose word is taken
    ("config/asgi.py", "tests/config/test_trust.py"): [
        ("X-Forwarded-For of trusted proxies", "proxies=settings.TRUSTED_PROXIES)", "proxies=1)"),
        ("X-Request-ID of trusted proxies", "trusts_header=bool(settings.TRUSTED_PROXIES)", "trusts_header=True"),
    ],
    ("config/settings.py", "tests/config/test_trust.py"): [
        ("X-Forwarded-Proto of trusted proxies", '"https") if TRUSTED_PROXIES else None', '"https")'),
        (
            "X-Forwarded-Host of nobody",
            "SECURE_SSL_REDIRECT = IS_TLS\n",
            "SECURE_SSL_REDIRECT = IS_TLS\nUSE_X_FORWARDED_HOST = True\n",
        ),
        (
            "names of the site",
            "SECURE_SSL_REDIRECT = IS_TLS\n",
            'SECURE_SSL_REDIRECT = IS_TLS\nALLOWED_HOSTS = ["*"]\n',
        ),
    ],
    ("chat/management/commands/up.py", "tests/config/test_trust.py"): [
        ("headers of proxies and the server itself", "proxy_headers=False", "proxy_headers=True")
    ],
    ("config/lib/edge/requests.py", "tests/config/lib/edge/test_requests.py -k refused"): [
        ("requests that went around the proxies", "if len(entries) < proxies:", "if not entries:")
    ],
    ("config/settings.py", "tests/config/lib/edge/test_second_factor.py -k known_address"): [
        (
            "addresses of single sign-on",
            "SECURE_SSL_REDIRECT = IS_TLS\n",
            "SECURE_SSL_REDIRECT = IS_TLS\nSOCIALACCOUNT_EMAIL_AUTHENTICATION = True\n",
        )
    ],
    ("config/lib/web.py", "tests/chat/web/test_consumers.py -k handshake"): [
        ("scheme of sockets", "return scheme_fits and bool(host)", "return bool(host)"),
        ("sockets of switched-off users", " and user.is_active", ""),
        ("port of sockets", "parts.netloc == host", 'parts.hostname == host.partition(":")[0]'),
    ],
    # Inputs
    ("memory/web/forms.py", "tests/test_guards_inputs.py"): [
        ("length of a text in a form", "        max_length=wording.MAX_RELATION,\n", "")
    ],
    ("memory/api/facts.py", "tests/test_guards_inputs.py"): [
        (
            "length of a text of the API",
            'CharField(max_length=wording.MAX_CONTENT, help_text="One line',
            'CharField(help_text="One line',
        )
    ],
}
