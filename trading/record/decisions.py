"""Decisions of a deployment and their orders."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from config.lib.errors import NotFound
from config.lib.paging import NumberedPage, locate_page
from trading.ledger.services import get_deployment
from trading.models import DecisionSnapshot

DECISIONS_PER_PAGE: Final = 15
NEWEST: Final = 88


class DecisionNotFound(NotFound):
    """There is no such decision."""


@dataclass(frozen=True, slots=True)
class DecisionPage(NumberedPage[DecisionSnapshot]):
    """One page of decisions without long texts."""

    newest: list[DecisionSnapshot]  # of any verdict, at most NEWEST


def get_decision(deployment_id: UUID, tick: int) -> DecisionSnapshot:
    """Return a decision, also of a backtest. Raises DeploymentNotFound, DecisionNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    return DecisionSnapshot.objects.filter(deployment=deployment, tick=tick).first_or(
        DecisionNotFound("There is no such decision.")
    )


def get_decision_page(deployment_id: UUID, number: int = 1, *, verdict: str = "") -> DecisionPage:
    """Return one page of decisions, newest first, at most the last."""
    rows = select_decisions(deployment_id, verdict)
    total = rows.count()
    place = locate_page(number, total=total, size=DECISIONS_PER_PAGE)
    newest = list(select_decisions(deployment_id).order_by("-tick")[:NEWEST])
    is_among = not verdict and place.rows.stop <= NEWEST
    shown = newest[place.rows] if is_among else list(rows.order_by("-tick")[place.rows])
    return DecisionPage(shown, total, place.number, place.pages, newest)


def select_decisions(deployment_id: UUID, verdict: str = "") -> "QuerySet[DecisionSnapshot]":
    """Return decisions without their long texts, unordered."""
    rows = DecisionSnapshot.objects.filter(deployment=deployment_id).defer("system_prompt", "context", "steps")
    return rows.filter(verdict=verdict) if verdict else rows


def find_neighbouring_ticks(decision: DecisionSnapshot) -> tuple[int | None, int | None]:
    """Return the ticks before and after a decision, if any."""
    ticks = DecisionSnapshot.objects.filter(deployment=decision.deployment_id).values_list("tick", flat=True)
    before = ticks.filter(tick__lt=decision.tick).order_by("-tick").first()
    return before, ticks.filter(tick__gt=decision.tick).order_by("tick").first()
