"""What Keel changes of allauth's accounts: who may sign up, and mails that wait for their server."""

import logging
from datetime import datetime
from functools import partial
from typing import Any, Final

from allauth.account.utils import filter_users_by_email
from allauth.core import context as allauth_context
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.sites.shortcuts import get_current_site
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from config.lib.edge.devices import DeviceAdapter
from config.lib.edge.invitations import find_invitation, save_invited
from config.lib.edge.mails import keep_mail

logger = logging.getLogger("keel.sign_in")
MAX_EMAIL: Final = 254  # RFC 3696, erratum 1690; Django's forms take 320


class AccountAdapter(DeviceAdapter):
    """Asks the settings who may sign up; leaves mails to the worker."""

    def is_open_for_signup(self, request: HttpRequest | None) -> bool:
        """Tell whether a request may make an account: on an open site, or by an invitation."""
        return settings.SIGN_UP == "open" or find_invitation(request, _read_clock()) is not None

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """Save the account of a form, and use its invitation up."""
        save = partial(super().save_user, request, user, form, commit)
        return save_invited(request, form.cleaned_data["email"], save, _read_clock())

    def clean_email(self, email: str) -> str:
        """Refuse an address that its column does not hold. Raises ValidationError."""
        if len(email) > MAX_EMAIL:
            raise ValidationError(f"An address has at most {MAX_EMAIL} characters.")
        return str(super().clean_email(email))

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Lead to the tokens, which a new password does not end."""
        return f"{reverse('trading:profile')}#tokens"

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Log a wrong password: for which account, if there is one, and from where; never what was typed."""
        _log_sign_in(request, "wrong password", _find_user_id(credentials.get("email") or ""))
        super().authentication_failed(request, **credentials)

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **more: Any) -> Any:
        """Log who signed in."""
        _log_sign_in(request, "signed in", user.pk)
        return super().post_login(request, user, **more)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Render a mail and let the worker send it, so that no page waits for the mail server."""
        request: HttpRequest | None = allauth_context.request
        site = {"request": request, "email": email, "current_site": get_current_site(request)}
        context = {**site, **context, "sign_up": settings.SIGN_UP}
        user_id = context["user"].pk if context.get("user") else _find_user_id(email)
        keep_mail(self.render_mail(template_prefix, email, context), user_id=user_id, now=_read_clock())


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Asks the settings whom a provider of identities may bring."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Tell whether a request may make an account; of an invitation, for the address that the provider states."""
        if settings.SIGN_UP == "open":
            return True
        invitation = find_invitation(request, _read_clock())
        stated = {sociallogin.user.email.lower(), *(one.email.lower() for one in sociallogin.email_addresses)}
        return invitation is not None and stated == {invitation.address}

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Save an account, and use its invitation up; that of a form does it for itself."""
        save = partial(super().save_user, request, sociallogin, form)
        return save() if form else save_invited(request, sociallogin.user.email, save, _read_clock())


def _read_clock() -> datetime:
    return timezone.now()


def _find_user_id(email: str) -> int | None:
    return next((user.pk for user in filter_users_by_email(email)), None)


def _log_sign_in(request: HttpRequest, act: str, user_id: int | None) -> None:
    values = {"act": act, "user": user_id, "address": request.META.get("REMOTE_ADDR", "")}
    logger.info("%(act)s: user %(user)s, %(address)s", values, extra=values)
