"""The second factor: its secrets at rest, hostile answers, and what a request shows of it for an act that counts."""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
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

from config.lib.proofs import Door, Proof, ProofNeeded, SecondFactorNeeded


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
    shown = [datetime.fromtimestamp(record["at"], UTC) for record in records]
    factors = [at for at, record in zip(shown, records, strict=True) if record["method"] == "mfa"]
    return Proof(Door.SESSION, signed_in_at=max(shown, default=None), factor_at=max(factors, default=None), page=page)


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
        find_page = _find_factor_page if isinstance(error, SecondFactorNeeded) else _find_sign_in_page
        page = f"{find_page(request.user)}?{urlencode({'next': error.page or '/'})}"
        return HttpResponseClientRedirect(page) if request.headers.get("HX-Request") else redirect(page)


def _find_sign_in_page(user: Any) -> str:
    methods = get_adapter().get_reauthentication_methods(user)
    return str(methods[0]["url"]) if methods else reverse("account_logout")  # a provider knows who it is, Keel does not


def _find_factor_page(user: Any) -> str:
    ways = {Authenticator.Type.TOTP: "mfa_reauthenticate", Authenticator.Type.WEBAUTHN: "mfa_reauthenticate_webauthn"}
    return reverse(next((way for kind, way in ways.items() if is_mfa_enabled(user, [kind])), "mfa_index"))
