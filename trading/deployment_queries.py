"""What the pages of skills and deployments show beyond the lists of `queries`; the owner is in scope."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Final, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet, Subquery

from config.lib.errors import DomainError
from config.lib.paging import Page, page_of, place_of
from trading.market import Mark
from trading.models import (
    Bar,
    BrokerKind,
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    DraftStatus,
    Order,
    ReflectionNote,
    Skill,
    SkillDraft,
    Trade,
)
from trading.queries import get_deployment
from trading.schemas import INTERVALS

DECISIONS_PER_PAGE: Final = 15
MAX_NOTES: Final = 20
MAX_COMMANDS: Final = 10
_EXPORTED_AT_ONCE: Final = 500

M = TypeVar("M", bound=Model)


class DecisionNotFound(DomainError):
    """The deployment has no decision of that tick."""

    http_status = HTTPStatus.NOT_FOUND


class LessonsNotFound(DomainError):
    """The deployment has no such lessons."""

    http_status = HTTPStatus.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Position:
    """An open trade with what it is worth now."""

    trade: Trade
    mark: Mark | None
    stop_price: Decimal | None = None

    @property
    def unrealised_usd(self) -> Decimal | None:
        """What closing it at the mark would win, before costs; None without a price."""
        return None if self.mark is None else (self.mark.price - self.trade.entry_price) * self.trade.quantity


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """One page of decisions, without their long texts; `number` is from 1."""

    decisions: list[DecisionSnapshot]
    total: int
    number: int
    pages: int


class Newest(list[M]):
    """The first rows of a list; `is_cut` tells whether there are more."""

    def __init__(self, rows: "QuerySet[M]", limit: int) -> None:
        found = list(rows[: limit + 1])
        super().__init__(found[:limit])
        self.is_cut = len(found) > limit


# --- Skills ---


def list_archived_skills() -> list[Skill]:
    """Return the skills that are off the list, last archived first."""
    return list(Skill.objects.filter(archived_at__isnull=False).order_by("-archived_at", "id"))


def find_open_draft(skill_id: UUID | None) -> SkillDraft | None:
    """Return the draft being edited of a skill, or of a new one (None)."""
    rows = SkillDraft.objects.filter(status=DraftStatus.EDITING)
    rows = rows.filter(base_skill__isnull=True) if skill_id is None else rows.filter(base_skill=skill_id)
    draft: SkillDraft | None = rows.first()
    return draft


def find_draft_of_chat(conversation_id: UUID) -> SkillDraft | None:
    """Return the draft being edited that a chat wrote last; None if it wrote none."""
    rows = SkillDraft.objects.filter(conversation_id=conversation_id, status=DraftStatus.EDITING)
    draft: SkillDraft | None = rows.order_by("-updated_at", "id").first()
    return draft


def list_skill_deployments(skill_id: UUID) -> list[Deployment]:
    """Return the deployments of a skill but those of backtests, newest first."""
    rows = Deployment.objects.filter(skill=skill_id).exclude(broker_kind=BrokerKind.BACKTEST)
    return list(rows.select_related("version").order_by("-created_at", "id"))


def list_skill_notes(skill_id: UUID) -> Newest[ReflectionNote]:
    """Return the lessons kept for a skill, the active ones first, then the newest."""
    rows = ReflectionNote.objects.filter(skill=skill_id, deployment__isnull=True)
    return Newest(rows.order_by("status", "-generated_at", "id"), MAX_NOTES)


# --- Deployments ---


def list_notes(deployment_id: UUID) -> Newest[ReflectionNote]:
    """Return the lessons of a deployment, the active ones first, then the newest."""
    rows = ReflectionNote.objects.filter(deployment=deployment_id)
    return Newest(rows.order_by("status", "-generated_at", "id"), MAX_NOTES)


def get_note(deployment_id: UUID, note_id: UUID) -> ReflectionNote:
    """Return lessons of a deployment. Raises DeploymentNotFound, LessonsNotFound."""
    deployment = get_deployment(deployment_id)
    note: ReflectionNote | None = ReflectionNote.objects.filter(pk=note_id, deployment=deployment).first()
    if note is None:
        raise LessonsNotFound("There are no such lessons.")
    return note


def list_commands(deployment_id: UUID) -> Newest[DeploymentCommand]:
    """Return the last commands of a deployment, newest first."""
    rows = DeploymentCommand.objects.filter(deployment=deployment_id)
    return Newest(rows.order_by("-created_at", "id"), MAX_COMMANDS)


def page_of_decisions(deployment_id: UUID, number: int = 1, *, verdict: str = "") -> DecisionPage:
    """Return one page of decisions, newest first, by default of any verdict; beyond the last page is the last."""
    rows = _decisions(deployment_id, verdict)
    total = rows.count()
    place = place_of(number, total=total, size=DECISIONS_PER_PAGE)
    return DecisionPage(list(rows.order_by("-tick")[place.rows]), total, place.number, place.pages)


def decisions_after(deployment_id: UUID, cursor: str = "", *, verdict: str = "") -> Page[DecisionSnapshot]:
    """Return the next decisions without their texts, newest first, some hundred at once. Raises CursorRefused."""
    return page_of(_decisions(deployment_id, verdict), by=("-tick", "id"), cursor=cursor, limit=_EXPORTED_AT_ONCE)


def _decisions(deployment_id: UUID, verdict: str) -> "QuerySet[DecisionSnapshot]":
    rows = DecisionSnapshot.objects.filter(deployment=deployment_id).defer("system_prompt", "context", "steps")
    decisions: QuerySet[DecisionSnapshot] = rows.filter(verdict=verdict) if verdict else rows
    return decisions


def get_decision(deployment_id: UUID, tick: int) -> DecisionSnapshot:
    """Return a decision with all its texts, of a backtest too. Raises DeploymentNotFound, DecisionNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    decision: DecisionSnapshot | None = DecisionSnapshot.objects.filter(deployment=deployment, tick=tick).first()
    if decision is None:
        raise DecisionNotFound("There was no such tick.")
    return decision


def neighbouring_ticks(decision: DecisionSnapshot) -> tuple[int | None, int | None]:
    """Return the ticks of the decisions before and after one; None: there is none."""
    ticks = DecisionSnapshot.objects.filter(deployment=decision.deployment_id).values_list("tick", flat=True)
    before = ticks.filter(tick__lt=decision.tick).order_by("-tick").first()
    return before, ticks.filter(tick__gt=decision.tick).order_by("tick").first()


def list_orders(decision: DecisionSnapshot) -> list[Order]:
    """Return what became of the orders of a decision."""
    return list(Order.objects.filter(snapshot=decision).order_by("proposed_at", "id"))


def positions_of(deployment: Deployment, trades: Iterable[Trade], marks: Mapping[str, Mark]) -> list[Position]:
    """Return the open trades of a deployment with their marks, and the stops that its account keeps."""
    holdings = deployment.account.get("holdings", {})  # as `brokers.paper` states it
    stops = {symbol: holding["stop_price"] for symbol, holding in holdings.items()}
    return [
        Position(trade, marks.get(trade.symbol), Decimal(stop) if (stop := stops.get(trade.symbol)) else None)
        for trade in trades
    ]


@dataclass(frozen=True, slots=True)
class Marked:
    """What deployments hold at the last prices known."""

    positions: dict[UUID, list[Position]]  # by deployment
    simulated: list[str]  # the symbols they trade or hold whose prices are made by a model


def mark_positions(held: Iterable[tuple[Deployment, Sequence[Trade]]], now: datetime) -> Marked:
    """Return the open trades of deployments, given with theirs, at the last prices; in one query."""
    given = list(held)
    traded = {symbol for deployment, _ in given for symbol in deployment.version.payload["context"]["symbols"]}
    marks = last_marks({*traded, *(trade.symbol for _, trades in given for trade in trades)}, now)
    return Marked(
        {deployment.pk: positions_of(deployment, trades, marks) for deployment, trades in given},
        sorted(symbol for symbol, mark in marks.items() if mark.bar.is_simulated),
    )


def last_marks(symbols: Collection[str], now: datetime) -> dict[str, Mark]:
    """Return the last price known of each symbol, from bars of any length, in one query; none: not there."""
    newest = [
        Subquery(
            Bar.objects.filter(symbol=symbol, interval=interval, opened_at__lte=now - length)
            .order_by("-opened_at")
            .values("pk")[:1]
        )
        for symbol in sorted(set(symbols))
        for interval, length in INTERVALS.items()
    ]
    marks: dict[str, Mark] = {}
    for bar in Bar.objects.filter(pk__in=newest) if newest else ():
        closed_at = bar.opened_at + INTERVALS[bar.interval]
        known = marks.get(bar.symbol)
        if known is None or closed_at > known.at:
            marks[bar.symbol] = Mark(closed_at, bar.close, bar)
    return marks
