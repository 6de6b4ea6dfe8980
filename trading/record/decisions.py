"""Decisions of a deployment and their orders."""

from typing import Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from config.lib.errors import NotFound
from trading.ledger.services import get_deployment
from trading.models import DecisionSnapshot

DECISIONS_PER_PAGE: Final = 15
NEWEST: Final = 88


class DecisionNotFound(NotFound):
    """There is no such decision."""


def get_decision(deployment_id: UUID, tick: int) -> DecisionSnapshot:
    """Return a decision, also of a backtest. Raises DeploymentNotFound, DecisionNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    return DecisionSnapshot.objects.filter(deployment=deployment, tick=tick).first_or(
        DecisionNotFound("There is no such decision.")
    )


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
    rows = DecisionSnapshot.objects.filter(deployment=deployment_id).defer("system_prompt", "context", "steps")
    return rows.filter(verdict=verdict) if verdict else rows


def find_neighbouring_ticks(decision: DecisionSnapshot) -> tuple[int | None, int | None]:
    """Return the ticks before and after a decision, if any."""
    ticks = DecisionSnapshot.objects.filter(deployment=decision.deployment_id).values_list("tick", flat=True)
    before = ticks.filter(tick__lt=decision.tick).order_by("-tick").first()
    return before, ticks.filter(tick__gt=decision.tick).order_by("tick").first()
