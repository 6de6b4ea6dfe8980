"""The second factor: its secrets at rest, hostile answers, and the demand for it before an act that counts."""

import struct
from base64 import urlsafe_b64encode
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import urlencode

from allauth.account import app_settings
from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.mfa.webauthn import forms
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect
from rest_framework.request import Request

from config.lib.errors import DomainError


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Encrypts secrets with SECRET_KEY, so that a backup of the database opens no account."""

    def encrypt(self, text: str) -> str:
        return _get_cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _get_cipher().decrypt(encrypted_text.encode()).decode()


def _get_cipher() -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    digests = (sha256(b"second factor" + key.encode()).digest() for key in keys)
    return MultiFernet([Fernet(urlsafe_b64encode(digest)) for digest in digests])


class _GuardedForm:
    """Refuses a credential that has another form than a browser's; the library raises what its parsers raise."""

    def full_clean(self) -> None:
        """Clean the fields."""
        try:
            super().full_clean()  # type: ignore[misc]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error):
            self.cleaned_data: dict[str, object] = {}
            self.add_error(None, "This key did not answer as expected. Try again.")  # type: ignore[attr-defined]


class AddKeyForm(_GuardedForm, forms.AddWebAuthnForm):  # type: ignore[misc]
    """Adds a passkey or security key."""


class FactorKeyForm(_GuardedForm, forms.AuthenticateWebAuthnForm):  # type: ignore[misc]
    """Signs in with a key after the password."""


class LoginKeyForm(_GuardedForm, forms.LoginWebAuthnForm):  # type: ignore[misc]
    """Signs in with a passkey alone."""


class ConfirmKeyForm(_GuardedForm, forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """Proves with a key that it is still the user."""


class SecondFactorNeeded(DomainError):
    """The site asks for a second factor before this act."""

    http_status = HTTPStatus.FORBIDDEN

    def __init__(self) -> None:
        super().__init__(
            "This site asks for a second factor before this. Show it on the site and try again within five minutes, or"
            " use a token."
        )


def require_second_factor(request: Request, *, now: datetime) -> None:
    """Raise SecondFactorNeeded unless the session of a request has shown the factor a moment ago, or need not.

    A request with a token need not: the token was made with the factor.
    """
    if request.auth is None and find_second_factor_page(request, next_url="/", now=now):
        raise SecondFactorNeeded


def ask_second_factor(request: HttpRequest, *, act: str, next_url: str, now: datetime) -> HttpResponse | None:
    """Return the way to the page that asks for the second factor before an act, "it confirms a card"; None: go on."""
    page = find_second_factor_page(request, next_url=next_url, now=now)
    if page is None:
        return None
    messages.info(request, f"This site asks for a second factor before {act}.")
    return HttpResponseClientRedirect(page) if request.headers.get("HX-Request") else redirect(page)


def find_second_factor_page(request: HttpRequest, *, next_url: str, now: datetime) -> str | None:
    """Return the page that asks for the second factor before an act, or adds one; None: not needed now."""
    if not settings.CONFIRM_NEEDS_SECOND_FACTOR:
        return None
    since = now.timestamp() - app_settings.REAUTHENTICATION_TIMEOUT
    records = get_authentication_records(request, request.user)
    if any(record["method"] == "mfa" and record["at"] > since for record in records):
        return None
    if is_mfa_enabled(request.user, [Authenticator.Type.TOTP]):
        page = reverse("mfa_reauthenticate")
    elif is_mfa_enabled(request.user, [Authenticator.Type.WEBAUTHN]):
        page = reverse("mfa_reauthenticate_webauthn")
    else:
        return reverse("mfa_index")
    return f"{page}?{urlencode({'next': next_url})}"
