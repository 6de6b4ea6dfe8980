"""Invitations: a link that lets one address make one account.

Nobody's address is verified by a link, which staff may have passed on by hand: the usual mail asks.
"""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from allauth.account.adapter import get_adapter
from allauth.account.utils import filter_users_by_email
from allauth.core import context as allauth_context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.lib.errors import StateConflict
from config.lib.work.models import Invitation
from config.lib.work.retention import delete_batch

VALID_FOR: Final = timedelta(days=14)
_KEY: Final = "invitation"  # in the session: the digest of the token, also while a provider is asked who it is


class AddressTaken(StateConflict):
    """The address has an account, or an invitation that nobody has used."""


class InvitationEnded(StateConflict):
    """The invitation was used or withdrawn."""


def require_free(address: str) -> None:
    """Raise AddressTaken; to be told to staff alone."""
    if filter_users_by_email(address):
        raise AddressTaken(f"{address} has an account already.")
    if Invitation.objects.filter(address=address, used_at=None, withdrawn_at=None).exists():
        raise AddressTaken(f"{address} is invited already: send that invitation again, or withdraw it.")


def invite(invitation: Invitation, *, made_by: Any, now: datetime) -> str:
    """Save a new invitation; return its token. Raises AddressTaken."""
    require_free(invitation.address)
    invitation.made_by, invitation.made_at = made_by, now
    return _issue_token(invitation, now)


def renew(invitation: Invitation, *, now: datetime) -> str:
    """Give an invitation a new token and all its days again; return the token. Raises InvitationEnded."""
    _require_unused(invitation)
    return _issue_token(invitation, now)


def withdraw(invitation: Invitation, *, now: datetime) -> None:
    """End an invitation that nobody has used. Raises InvitationEnded."""
    _require_unused(invitation)
    invitation.withdrawn_at = now
    invitation.save(update_fields=["withdrawn_at"])


def describe_state(invitation: Invitation, now: datetime) -> str:
    """Return waiting, expired, used or withdrawn."""
    if invitation.used_at is not None:
        return "used"
    if invitation.withdrawn_at is not None:
        return "withdrawn"
    return "waiting" if invitation.expires_at > now else "expired"


def mail_link(invitation: Invitation, token: str) -> str:
    """Mail the link of an invitation, inside a request; return a line with it, for staff to see once."""
    link = allauth_context.request.build_absolute_uri(make_path(token))
    context = {"link": link, "expires_at": invitation.expires_at}
    get_adapter().send_mail("account/email/invitation", invitation.address, context)
    return f"The mail to {invitation} is on its way. Its link, shown this once: {link}"


def make_path(token: str) -> str:
    """Return the path of the link with a token."""
    return reverse("account_invitation", args=[token])


@require_safe
@never_cache
@login_not_required
def open_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Lead from the link to sign-up; one sentence for all links that do not work."""
    request.session[_KEY] = _digest(token)
    if find_invitation(request, timezone.now()) is None:
        del request.session[_KEY]
        # Not a 404, whose path the log would keep: the link may work once the site is no longer closed.
        return render(request, "account/signup_closed.html", {"is_dead_link": True})
    return redirect("account_signup")


def find_invitation(request: HttpRequest | None, now: datetime) -> Invitation | None:
    """Return the invitation whose link this browser has opened, if it can still be used."""
    return _select_open(request, now).first()


def save_invited(request: HttpRequest, address: str, save: Callable[[], Any], now: datetime) -> Any:
    """Save an account and use its invitation up, both or neither; return the account.

    Only an open site saves one without an invitation of that address. Raises ImmediateHttpResponse.
    """
    with transaction.atomic():
        # Of two requests at one instant the second waits here, and then finds the invitation used.
        rows = _select_open(request, now).filter(address=address.lower())
        invitation = rows.select_for_update().first()
        if invitation is None and settings.SIGN_UP != "open":
            raise ImmediateHttpResponse(render(request, "account/signup_closed.html", {"is_dead_link": True}))
        user = save()
        if invitation is not None:
            invitation.used_at, invitation.used_by = now, user
            invitation.save(update_fields=["used_at", "used_by"])
    return user


def drop_invitations(before: datetime) -> int:
    """Delete at most BATCH invitations that ended unused before an instant; return how many."""
    return delete_batch(Invitation.objects.filter(Q(expires_at__lt=before) | Q(withdrawn_at__lt=before), used_at=None))


def _select_open(request: HttpRequest | None, now: datetime) -> QuerySet[Invitation]:
    digest = getattr(request, "session", {}).get(_KEY)
    if digest is None or settings.SIGN_UP == "closed":
        return Invitation.objects.none()
    return Invitation.objects.filter(digest=digest, used_at=None, withdrawn_at=None, expires_at__gt=now)


def _issue_token(invitation: Invitation, now: datetime) -> str:
    token = secrets.token_urlsafe(32)
    invitation.digest, invitation.expires_at = _digest(token), now + VALID_FOR
    invitation.save()
    return token


def _require_unused(invitation: Invitation) -> None:
    if invitation.used_at is not None or invitation.withdrawn_at is not None:
        raise InvitationEnded("This invitation was used or withdrawn: make a new one.")


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
