"""Wrong passwords are counted by place, and by device where the account signed in before.

Counted by account, as allauth does, anybody can keep its owner out (OWASP: device cookies).
"""

import secrets
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

COOKIE: Final = "device"
_LASTS: Final = 365 * 24 * 3600  # seconds
_DAY: Final = 24 * 3600


class DeviceAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Gives a device of an earlier sign-in a count of its own, and tells the owner of refusals elsewhere."""

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        """Sign the device in for the next time, too."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        response.set_signed_cookie(
            COOKIE,
            f"{_digest_login(user.email)}:{secrets.token_urlsafe(16)}",
            salt=COOKIE,
            max_age=_LASTS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
        return response

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        key: str = super()._get_login_attempts_cache_key(request, **credentials)
        cookie = request.get_signed_cookie(COOKIE, "", salt=COOKIE, max_age=_LASTS) or ""
        login, _, device = cookie.partition(":")
        is_known = compare_digest(login, _digest_login(credentials.get("email", "")))
        return f"{key}:{device if is_known else get_ip(request)}"

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse after too many wrong passwords from here, and tell the owner once a day."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            self._tell_owner(credentials.get("email", "").lower())
            raise

    def _tell_owner(self, email: str) -> None:
        if not settings.HAS_MAIL or not cache.add(f"guessed:{_digest_login(email)}", 1, timeout=_DAY):
            return
        if get_user_model()._default_manager.filter(email=email, is_active=True).exists():
            self.send_mail("account/email/guessed", email, {})


def _digest_login(email: str) -> str:
    return sha256(email.lower().encode()).hexdigest()
