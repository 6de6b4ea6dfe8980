from typing import Any
from uuid import uuid4

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet
from trading.models.columns import amount_column, one_of_rule
from trading.models.deployments import DecisionSnapshot, Deployment, WorkStatus
from trading.models.skills import Skill

MAX_LESSONS = 2000  # characters (seed 002)


class TradeSide(models.TextChoices):
    LONG = "long", "Long"
    SHORT = "short", "Short"


class TradeStatus(models.TextChoices):
    OPEN = "open", "Open"
    CLOSED = "closed", "Closed"


class ExitKind(models.TextChoices):
    SIGNAL = "signal", "The agent"
    STOP = "stop", "Stop price"
    FLIP = "flip", "Turned to the other side"
    LIQUIDATION = "liquidation", "Liquidation"
    HALT = "halt", "Risk halt"
    COMMAND = "command", "Your command"
    EXTERNAL = "external", "Outside of Keel"


class ReconcileState(models.TextChoices):
    EXACT = "exact", "Complete"  # fills explain every change of the position
    ESTIMATED = "estimated", "Partly estimated"  # a change without a fill, priced at the mark of its tick
    GAP = "gap", "History missing"
    UNCONFIRMED = "unconfirmed", "Start not confirmed"  # no source says that it began without a position


class RegimeTag(models.TextChoices):
    TREND = "trend", "Trend"
    CHOP = "chop", "Chop"
    SHOCK = "shock", "Shock"
    UNKNOWN = "unknown", "Unknown"  # until there are enough bars


class NoteStatus(models.TextChoices):
    ACTIVE = "active", "Active"
    SUPERSEDED = "superseded", "Superseded"


class TradeQuerySet(OwnedQuerySet["Trade"]):
    def open(self) -> "TradeQuerySet":
        return self.filter(status="open")

    def closed(self) -> "TradeQuerySet":
        return self.filter(status="closed")

    def newest_first(self) -> "TradeQuerySet":
        return self.order_by("-entry_tick_at", "-entry_at", "id")


class Trade(OwnedModel):
    """One round trip, written by `trading.ledger` alone."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="trades", db_index=False)
    skill = models.ForeignKey(Skill, on_delete=models.RESTRICT, related_name="trades", db_index=False)
    skill_version = models.PositiveIntegerField()  # at the entry
    exit_skill_version = models.PositiveIntegerField(null=True, blank=True)
    symbol = models.CharField(max_length=32)
    side = models.CharField(max_length=5, choices=TradeSide)
    status = models.CharField(max_length=6, choices=TradeStatus)
    quantity = amount_column()  # held now, signed; 0 once closed
    peak_quantity = amount_column()  # the most it held, absolute
    # Entry
    entry_decided_at = models.DateTimeField(null=True, blank=True)  # the tick that decided; None: not known
    entry_at = models.DateTimeField()  # of the first fill
    entry_tick_at = models.DateTimeField()  # the tick that settled the fill; imported: the fill's
    entry_price = amount_column()  # average cost after the last add
    entry_size_usd = amount_column()  # the largest cost it held at once
    entry_leverage = amount_column(null=True, blank=True)
    entry_reason = models.CharField(max_length=280, blank=True)
    entry_snapshot = models.ForeignKey(
        DecisionSnapshot, on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )
    entry_regime_tag = models.CharField(max_length=7, choices=RegimeTag, default=RegimeTag.UNKNOWN)
    # Exit; the price also while partly out
    exit_decided_at = models.DateTimeField(null=True, blank=True)  # of a stop: the tick that set it
    exit_at = models.DateTimeField(null=True, blank=True)  # of the last fill
    exit_tick_at = models.DateTimeField(null=True, blank=True)
    exit_price = amount_column(null=True, blank=True)  # mean of the exits, by quantity
    exit_reason = models.CharField(max_length=280, blank=True)
    exit_snapshot = models.ForeignKey(
        DecisionSnapshot, on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )
    exit_kind = models.CharField(max_length=11, choices=ExitKind, blank=True)
    # Outcome, so far while it is open
    holding_minutes = amount_column(null=True, blank=True)
    realized_pnl_usd = amount_column()  # net: gross - fees + funding
    gross_pnl_usd = amount_column()
    fees_usd = amount_column()  # rebates are negative
    converted_fees: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # part of them, by coin
    unpriced_fees: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # by coin, not in the net
    funding_usd = amount_column()  # received above zero
    mfe_usd = amount_column()  # best gross on the way; never below zero
    mae_usd = amount_column()  # worst; never above zero
    path_minutes = models.PositiveIntegerField(null=True, blank=True)  # of its longest bar; None: no bars, not known
    reconciled = models.CharField(max_length=11, choices=ReconcileState)
    # Bookkeeping
    first_fill_id = models.CharField(max_length=140)
    state: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # exact, while it may still change
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = OwnedManager.from_queryset(TradeQuerySet)()  # type: ignore[misc]  # a manager with verbs of its own

    class Meta(OwnedModel.Meta):
        db_table = "trade_history"
        indexes = (
            models.Index(fields=("user", "deployment", "-entry_tick_at"), name="trades_by_deployment"),
            models.Index(fields=("user", "skill", "-entry_tick_at"), name="trades_by_skill"),
            models.Index(fields=("user", "-entry_tick_at"), name="trades_by_entry"),
            models.Index(fields=("user", "deployment", "symbol", "-entry_at"), name="trades_by_symbol"),
            models.Index(fields=("user", "deployment", "status", "reconciled"), name="trades_by_status"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("deployment", "symbol"), condition=Q(status="open"), name="trade_one_open_per_symbol"
            ),
            models.UniqueConstraint(fields=("deployment", "symbol", "first_fill_id"), name="trade_once_per_first_fill"),
            one_of_rule("side", TradeSide.values, "trade_side_known"),
            one_of_rule("status", TradeStatus.values, "trade_status_known"),
            one_of_rule("reconciled", ReconcileState.values, "trade_reconciled_known"),
            one_of_rule("entry_regime_tag", RegimeTag.values, "trade_regime_known"),
            models.CheckConstraint(
                condition=Q(status="open", exit_kind="", exit_tick_at__isnull=True, exit_at__isnull=True)
                | Q(
                    status="closed",
                    exit_kind__in=ExitKind.values,
                    exit_tick_at__isnull=False,
                    exit_at__isnull=False,
                    exit_price__isnull=False,
                    holding_minutes__isnull=False,
                ),
                name="trade_closed_has_its_exit",
            ),
            models.CheckConstraint(
                condition=Q(status="closed", quantity=0)
                | Q(status="open", side="long", quantity__gt=0)
                | Q(status="open", side="short", quantity__lt=0),
                name="trade_quantity_fits_its_side",
            ),
            models.CheckConstraint(condition=Q(mae_usd__lte=0, mfe_usd__gte=0), name="trade_excursion_around_zero"),
            models.CheckConstraint(
                condition=Q(status="open") | Q(mae_usd__lte=F("gross_pnl_usd"), mfe_usd__gte=F("gross_pnl_usd")),
                name="trade_gross_within_excursion",
            ),
            models.CheckConstraint(
                condition=Q(entry_price__gt=0, entry_size_usd__gte=0, peak_quantity__gt=0), name="trade_had_a_size"
            ),
        )

    def __str__(self) -> str:
        return f"{self.symbol} {self.side}, {self.status}"


class ReflectionNote(OwnedModel):
    """Lessons from a record; prompts carry the active note."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="notes", db_index=False)
    skill_version = models.PositiveIntegerField()
    deployment = models.ForeignKey(
        Deployment, on_delete=models.CASCADE, related_name="notes", null=True, blank=True, db_index=False
    )  # None: kept for the skill, by its author
    status = models.CharField(max_length=10, choices=NoteStatus, default=NoteStatus.ACTIVE)
    generated_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True, blank=True)
    window_start = models.DateTimeField()
    window_end = models.DateTimeField()
    trades_considered = models.PositiveIntegerField()
    trade_ids: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # of its record, newest first
    built_on = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )  # the lessons that it read
    kept_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )  # of a skill's: the deployment's lessons that it copies
    lessons_text = models.TextField(max_length=MAX_LESSONS)
    findings: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # what the linter says of it
    model_used = models.CharField(max_length=120)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cost_usd = amount_column(null=True, blank=True)

    class Meta(OwnedModel.Meta):
        db_table = "reflection_notes"
        indexes = (
            models.Index(fields=("user", "deployment", "-generated_at"), name="notes_by_deployment"),
            models.Index(fields=("user", "skill", "-generated_at"), name="notes_by_skill"),
        )
        constraints = (
            one_of_rule("status", NoteStatus.values, "note_status_known"),
            models.UniqueConstraint(
                fields=("deployment",), condition=Q(status="active"), name="note_one_active_per_deployment"
            ),
            models.UniqueConstraint(
                fields=("skill",),
                condition=Q(status="active", deployment__isnull=True),
                name="note_one_active_per_skill",
            ),
            models.CheckConstraint(
                condition=Q(LessThanOrEqual(Length("lessons_text"), MAX_LESSONS)), name="note_is_bounded"
            ),
            models.CheckConstraint(condition=Q(window_end__gte=F("window_start")), name="note_window_in_order"),
            models.CheckConstraint(
                condition=Q(status="active", superseded_at__isnull=True)
                | Q(status="superseded", superseded_at__isnull=False),
                name="note_superseded_has_its_time",
            ),
        )

    def __str__(self) -> str:
        return f"Lessons of {self.trades_considered} trades"


class ReflectionRun(OwnedModel):
    """A claimed reflection; a deployment has one at a time."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="reflections", db_index=False)
    status = models.CharField(max_length=9, choices=WorkStatus, default=WorkStatus.RUNNING)
    note = models.ForeignKey(ReflectionNote, models.SET_NULL, related_name="+", null=True, blank=True, db_index=False)
    error = models.CharField(max_length=280, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    lease = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta(OwnedModel.Meta):
        db_table = "reflection_runs"
        indexes = (models.Index(fields=("user", "deployment", "-started_at"), name="reflections_by_time"),)
        constraints = (
            one_of_rule("status", WorkStatus.values, "reflection_status_known"),
            models.UniqueConstraint(
                fields=("deployment",), condition=Q(status="running"), name="reflection_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(status="running", finished_at__isnull=True, lease__isnull=False, lease_until__isnull=False)
                | Q(status__in=["done", "failed", "cancelled"], finished_at__isnull=False),
                name="reflection_over_has_its_time",
            ),
        )

    def __str__(self) -> str:
        return f"Reflection, {self.get_status_display().lower()}"
