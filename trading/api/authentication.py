"""Authenticate API requests by bearer token."""

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from config.lib.owned import owned, owned_tx
from trading.account.tokens import find_token, note_use
from trading.models import ApiToken, Trader
from trading.models.tokens import token_owner


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer keel_...`; any other scheme is left to the session."""

    def authenticate(self, request: Request) -> tuple[Trader, ApiToken] | None:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = _live_token(given.strip())
        if token is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge; without it DRF answers 403."""
        return 'Bearer realm="Keel"'


def _live_token(given: str) -> ApiToken | None:
    now, owner = timezone.now(), token_owner(given)
    if owner is None:
        return None
    with owned(owner):
        token = find_token(given, now=now)
    if token is None or not token.user.is_active:
        return None
    if token.is_use_due(now):
        with owned_tx(owner):
            note_use(token=token, now=now)
    return token
