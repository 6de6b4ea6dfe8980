"""Reading a trader's own things: every function answers for the owner in scope."""

from datetime import datetime

from trading.models import ApiToken
from trading.models.tokens import token_digest


def list_tokens() -> list[ApiToken]:
    """Return the tokens that were not revoked, newest first; the expired ones too."""
    return list(ApiToken.objects.filter(revoked_at__isnull=True).order_by("-created_at", "id"))


def find_token(token: str, *, now: datetime) -> ApiToken | None:
    """Return the row of a live token with its user; None for one that is unknown, expired or revoked."""
    rows = ApiToken.objects.live(now).select_related("user")
    found: ApiToken | None = rows.filter(digest=token_digest(token)).first()
    return found
