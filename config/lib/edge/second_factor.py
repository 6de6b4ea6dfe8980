"""The second factor: its secrets at rest, hostile answers, and what a request shows of it for an act that counts."""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

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

from config.lib.proofs import Door, Proof, ProofNeeded


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Encrypts secrets with SECRET_KEY, so that a backup of the database opens no account."""

    def encrypt(self, text: str) -> str:
        return get_cipher("second factor").encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return get_cipher("second factor").decrypt(encrypted_text.encode()).decode()


def get_cipher(purpose: str) -> MultiFernet:
    """Return the cipher of a purpose, by SECRET_KEY and those before it."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    digests = (sha256(purpose.encode() + key.encode()).digest() for key in keys)
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


def read_proof(request: HttpRequest | Request, *, page: str = "") -> Proof:
    """Return what a request shows for an act; a session that must show more comes back to `page`."""
    token = getattr(request, "auth", None)  # of the API
    if token is not None:
        return Proof(Door.TOKEN, may_write=token.may_write)
    records = get_authentication_records(request, request.user)
    shown = [record["at"] for record in records if record["method"] == "mfa"]
    return Proof(Door.SESSION, factor_at=datetime.fromtimestamp(max(shown), UTC) if shown else None, page=page)


class ProofMiddleware:
    """Leads from a page whose act needs more proof to the page that asks for it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer as the views do."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Lead to the page of the proof, and from there back; None for other errors."""
        if not isinstance(error, ProofNeeded):
            return None
        messages.info(request, str(error))
        page = f"{_find_factor_page(request.user)}?{urlencode({'next': error.page or '/'})}"
        return HttpResponseClientRedirect(page) if request.headers.get("HX-Request") else redirect(page)


def _find_factor_page(user: Any) -> str:
    ways = {Authenticator.Type.TOTP: "mfa_reauthenticate", Authenticator.Type.WEBAUTHN: "mfa_reauthenticate_webauthn"}
    return reverse(next((way for kind, way in ways.items() if is_mfa_enabled(user, [kind])), "mfa_index"))
