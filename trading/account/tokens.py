"""Personal API tokens; call each function in its owner's scope."""

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from config.lib.errors import DomainError, NotFound
from config.lib.owned import owner_id
from config.lib.postgresql.locks import lock_owner
from config.lib.proofs import Proof, require_factor, require_sign_in
from config.lib.text import one_line
from trading.models import ApiToken, TokenArea, TokenScope
from trading.models.tokens import MAX_TOKEN_NAME, SECRET_BYTES, SECRET_SHOWN, USE_NOTED_EVERY, token_digest, token_text

MAX_TOKENS: Final = 20


class TokenNotFound(NotFound):
    """The user has no such token."""


class TokenRefused(DomainError):
    """The token cannot be made; the message says why."""


def list_tokens() -> list[ApiToken]:
    """Return unrevoked tokens, expired ones too, newest first."""
    return list(ApiToken.objects.filter(revoked_at__isnull=True).order_by("-created_at", "id"))


def find_token(token: str, *, now: datetime) -> ApiToken | None:
    """Return a live token with its user, else None."""
    rows = ApiToken.objects.live(now).select_related("user")
    return rows.filter(digest=token_digest(token)).first()


def create_token(
    *,
    name: str,
    scope: str = TokenScope.READ,
    areas: Collection[str] = tuple(TokenArea),
    expires_at: datetime | None = None,
    proof: Proof,
    now: datetime,
) -> tuple[ApiToken, str]:
    """Create a token; return its row and its secret text. Raises TokenRefused, ProofRefused."""
    require_factor(proof, now=now)
    require_sign_in(proof, now=now)
    text = one_line(name)
    if not 0 < len(text) <= MAX_TOKEN_NAME:
        raise TokenRefused(f"A token needs a name of at most {MAX_TOKEN_NAME} characters.")
    if expires_at is not None and expires_at <= now:
        raise TokenRefused("A token must expire later than now.")
    if not areas:
        raise TokenRefused("A token needs an area.")
    owner = owner_id()
    lock_owner()  # or two at once could both be the last that is allowed
    if ApiToken.objects.live(now).count() >= MAX_TOKENS:
        raise TokenRefused(f"There are {MAX_TOKENS} tokens already. Revoke one that is not used any more.")
    token = token_text(owner, secret := secrets.token_urlsafe(SECRET_BYTES))
    row = ApiToken.objects.create(
        name=text,
        scope=scope,
        areas=" ".join(area for area in TokenArea.values if area in areas),
        digest=token_digest(token),
        prefix=token_text(owner, secret[:SECRET_SHOWN]),
        created_at=now,
        expires_at=expires_at,
    )
    return row, token


def revoke_token(*, token_id: UUID, now: datetime) -> ApiToken:
    """Revoke a token; idempotent. Raises TokenNotFound."""
    ApiToken.objects.filter(pk=token_id, revoked_at__isnull=True).update(revoked_at=now)
    return ApiToken.objects.filter(pk=token_id).first_or(TokenNotFound("There is no such token."))


def revoke_all_tokens(*, now: datetime) -> int:
    """Revoke all tokens of the owner; return their number."""
    return ApiToken.objects.filter(revoked_at__isnull=True).update(revoked_at=now)


def note_use(*, token: ApiToken, now: datetime) -> None:
    """Note a token's use, at most once an hour."""
    due = ApiToken.objects.filter(pk=token.pk).exclude(last_used_at__gt=now - USE_NOTED_EVERY)
    due.update(last_used_at=now)
