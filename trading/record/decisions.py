"""Decisions of a deployment, and the prompts that they were made on.

A context differs little from the one before, so it is kept as the difference to a key's: that of the first of at most
KEY_EVERY ticks. Any context is read with one other row. The system prompt changes with version and lessons; it is kept
once. The digest of both stays when a setting drops old contexts (decision 58).
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet

from config.lib.errors import NotFound
from config.lib.work.retention import BATCH
from trading.ledger.services import get_deployment
from trading.models import DecisionSnapshot, SystemPrompt
from trading.models.packing import pack_text

DECISIONS_PER_PAGE: Final = 15
NEWEST: Final = 88
KEY_EVERY: Final = 24  # ticks; a row takes 2.0 kB so, with 12 1.9 and with 96 4.0
LONG_COLUMNS: Final = ("packed", "account", "steps")  # that lists do not read


@dataclass(frozen=True, slots=True)
class KeptPrompt:
    """What the next decision's prompt is kept with."""

    system: SystemPrompt
    key: DecisionSnapshot
    context: str  # of the key


class DecisionNotFound(NotFound):
    """There is no such decision."""


def get_decision(deployment_id: UUID, tick: int) -> DecisionSnapshot:
    """Return a decision, also of a backtest. Raises DeploymentNotFound, DecisionNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    rows = DecisionSnapshot.objects.select_related("system", "packed_with")
    return rows.filter(deployment=deployment, tick=tick).first_or(DecisionNotFound("There is no such decision."))


def get_decision_page(
    deployment_id: UUID, number: int, *, verdict: str
) -> tuple["Page[DecisionSnapshot]", list[DecisionSnapshot]]:
    """Return one page of decisions, newest first, and the newest of any verdict, all without their long texts."""
    page = Paginator(select_decisions(deployment_id, verdict).order_by("-tick"), DECISIONS_PER_PAGE).get_page(number)
    newest = list(select_decisions(deployment_id).order_by("-tick")[:NEWEST])
    if not verdict and page.end_index() <= NEWEST:
        page.object_list = newest[page.start_index() - 1 : page.end_index()]
    return page, newest


def select_decisions(deployment_id: UUID, verdict: str = "") -> "QuerySet[DecisionSnapshot]":
    """Return decisions without their long texts, unordered."""
    rows = DecisionSnapshot.objects.filter(deployment=deployment_id).defer(*LONG_COLUMNS)
    return rows.filter(verdict=verdict) if verdict else rows


def find_neighbouring_ticks(decision: DecisionSnapshot) -> tuple[int | None, int | None]:
    """Return the ticks before and after a decision, if any."""
    ticks = DecisionSnapshot.objects.filter(deployment=decision.deployment_id).values_list("tick", flat=True)
    before = ticks.filter(tick__lt=decision.tick).order_by("-tick").first()
    return before, ticks.filter(tick__gt=decision.tick).order_by("tick").first()


def keep_prompt(
    decision: DecisionSnapshot, system: str, context: str, before: KeptPrompt | None, *, with_context: bool = True
) -> KeptPrompt:
    """Give a decision that is about to be stored its prompt; return what the next one is kept with.

    Without its context it keeps the digest, by which `restore_context` of the agent knows what it writes again.
    """
    decision.prompt_sha256 = digest_prompt(system, context)
    if before is None or before.system.text != system:
        sha256 = hashlib.sha256(system.encode()).hexdigest()
        decision.system, _ = SystemPrompt.objects.get_or_create(
            deployment_id=decision.deployment_id, sha256=sha256, defaults={"text": system}
        )
    else:
        decision.system = before.system
    if not with_context:
        return KeptPrompt(decision.system, decision, "")
    if before is None or decision.tick >= before.key.tick + KEY_EVERY:
        decision.packed = pack_text(context)
        return KeptPrompt(decision.system, decision, context)
    decision.packed, decision.packed_with = pack_text(context, before.context), before.key
    return KeptPrompt(decision.system, before.key, before.context)


def find_kept_prompt(last: DecisionSnapshot | None) -> KeptPrompt | None:
    """Return what the decision after `last` is kept with; None: with nothing."""
    if last is None or last.system is None:
        return None
    key = DecisionSnapshot.objects.defer("steps").get(pk=last.packed_with_id or last.pk)
    return None if key.packed is None else KeptPrompt(last.system, key, key.context)


def digest_prompt(system: str, context: str) -> str:
    """Return the SHA-256 (hex) of a prompt."""
    return hashlib.sha256(f"{system}\n\n{context}".encode()).hexdigest()


def drop_contexts(before: datetime, *, but: Collection[UUID] = ()) -> int:
    """Drop the contexts of at most BATCH decisions before an instant; return how many.

    Those of the decisions `but` stay, and so does each key that a context needs which stays.
    """
    stay = DecisionSnapshot.objects.filter(Q(tick_at__gte=before) | Q(pk__in=but), packed__isnull=False)
    old = DecisionSnapshot.objects.filter(tick_at__lt=before, packed__isnull=False).exclude(pk__in=but)
    old = old.exclude(pk__in=stay.filter(packed_with__isnull=False).values("packed_with"))
    # Those that need a key go before it, so that a batch leaves nothing that cannot be read.
    batch = old.order_by(F("packed_with").asc(nulls_last=True)).values_list("pk", flat=True)[:BATCH]
    return DecisionSnapshot.objects.filter(pk__in=list(batch)).update(packed=None)
