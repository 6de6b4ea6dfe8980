import re
from collections.abc import Collection
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import combinations
from typing import Final, Self
from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet

MAX_TOKEN_NAME: Final = 60
SECRET_BYTES: Final = 32
SECRET_SHOWN: Final = 4  # characters of the secret that stay readable, to tell tokens apart
USE_NOTED_EVERY: Final = timedelta(hours=1)

# The token contains the owner's id, so that the lookup runs in that owner's scope and never in the system's.
_TOKEN = re.compile(r"keel_([1-9][0-9]{0,17})_[A-Za-z0-9_-]{43}")


def token_text(owner: int, secret: str) -> str:
    """Return the token as a client sends it."""
    return f"keel_{owner}_{secret}"


def token_owner(token: str) -> int | None:
    """Return the owner id in a token, if valid."""
    match = _TOKEN.fullmatch(token)
    return int(match[1]) if match else None


def token_digest(token: str) -> str:
    """Return the sha256 (hex) that stands for a token."""
    # A fast hash is enough, since 256 random bits cannot be guessed; and the index may compare it byte by byte, since
    # the time that takes tells of a digest, from which no token can be made.
    return sha256(token.encode()).hexdigest()


class TokenScope(models.TextChoices):
    READ = "read", "Read"
    WRITE = "write", "Read and write"


class TokenArea(models.TextChoices):
    """What an operation of the API is about; each viewset names its own (`ApiView.areas`)."""

    FACTS = "facts", "Facts: what Keel knows of you"
    CHATS = "chats", "Chats: they answer from all the rest, too"
    RECORD = "record", "Record: trades, fills, imports, rules, events"
    AGENTS = "agents", "Agents: skills, deployments, backtests"


ALL_AREAS: Final = " ".join(TokenArea.values)
_CHOICES: Final = [
    " ".join(chosen) for count in range(1, len(TokenArea) + 1) for chosen in combinations(TokenArea.values, count)
]


class ApiTokenQuerySet(OwnedQuerySet["ApiToken"]):
    def live(self, now: datetime) -> Self:
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), revoked_at__isnull=True)


class ApiToken(OwnedModel):
    """A personal API token; only its digest is stored."""

    frozen_columns = frozenset({"digest", "prefix", "scope", "areas", "created_at"})

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(max_length=MAX_TOKEN_NAME)
    digest = models.CharField(max_length=64)
    prefix = models.CharField(max_length=32)  # how the token begins
    scope = models.CharField(max_length=5, choices=TokenScope)
    areas = models.CharField(max_length=40, default=ALL_AREAS)  # of TokenArea, in its order, with spaces between
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)  # up to an hour old, so that reading seldom writes
    expires_at = models.DateTimeField(null=True, blank=True)  # None: never
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedManager.from_queryset(ApiTokenQuerySet)()  # type: ignore[misc]  # a manager with verbs of its own

    class Meta(OwnedModel.Meta):
        db_table = "api_tokens"
        verbose_name = "API token"
        indexes = (models.Index(fields=("user", "-created_at"), name="api_tokens_by_time"),)
        constraints = (
            models.UniqueConstraint(fields=("user", "digest"), name="api_token_digest_once"),
            models.CheckConstraint(condition=Q(scope__in=TokenScope.values), name="api_token_scope_known"),
            models.CheckConstraint(condition=Q(areas__in=_CHOICES), name="api_token_areas_known"),
            models.CheckConstraint(condition=~Q(name=""), name="api_token_has_a_name"),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
                name="api_token_expires_after_it_began",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def may_write(self) -> bool:
        return self.scope == TokenScope.WRITE

    def opens(self, areas: Collection[str]) -> bool:
        """Tell whether the token has all of these areas."""
        return set(areas) <= set(self.areas.split())

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def is_use_due(self, now: datetime) -> bool:
        return self.last_used_at is None or self.last_used_at <= now - USE_NOTED_EVERY
