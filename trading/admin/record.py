"""Lists of users' skills, deployments and records, with acts of staff."""

from typing import ClassVar

from django.contrib import admin

from config.lib.admin import Act, LookOnlyAdmin
from trading import models
from trading.record.backtests import cancel_backtest, retry_backtest
from trading.record.deployments import request_command
from trading.reviews.reflection import cancel_reflection, retry_reflection


class DeploymentRowAdmin(LookOnlyAdmin):
    list_select_related: ClassVar[tuple[str, ...] | bool] = ("user", "deployment")
    heavy: ClassVar[tuple[str, ...]] = ("deployment__account",)


class TickRowAdmin(DeploymentRowAdmin):
    """Rows that each tick adds.

    They are too many to count, or to drill down by date: no index over all users begins with the instant.
    """

    show_full_result_count = False


@admin.register(models.Skill)
class SkillAdmin(LookOnlyAdmin):
    list_display = ("name", "user", "trading_style", "latest_version", "created_at", "updated_at", "archived_at")
    list_filter = ("trading_style", ("archived_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "user__email")
    date_hierarchy = "updated_at"
    ordering = ("-updated_at", "id")


@admin.register(models.SkillVersion)
class SkillVersionAdmin(LookOnlyAdmin):
    list_display = ("__str__", "skill", "user", "created_at")
    list_select_related = ("user", "skill")
    search_fields = ("skill__name", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "id")
    heavy = ("payload",)


@admin.register(models.SkillDraft)
class SkillDraftAdmin(LookOnlyAdmin):
    """Skills being written, and what became of them."""

    list_display = ("id", "base_skill", "base_version", "user", "status", "created_at", "updated_at")
    list_filter = ("status", ("base_skill", admin.EmptyFieldListFilter))
    list_select_related = ("user", "base_skill")
    search_fields = ("base_skill__name", "user__email")
    date_hierarchy = "updated_at"
    ordering = ("-updated_at", "id")
    heavy = ("payload",)


@admin.register(models.Deployment)
class DeploymentAdmin(LookOnlyAdmin):
    """Versions of skills that run, those of backtests too."""

    list_display = (
        *("__str__", "skill", "version", "user", "broker_kind", "status"),
        *("halt_code", "halted_until", "last_tick", "last_tick_at", "lease_until", "created_at"),
    )
    list_filter = ("broker_kind", "status", "halt_code", ("lease", admin.EmptyFieldListFilter))
    list_select_related = ("user", "skill", "version")
    search_fields = ("=id", "skill__name", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "id")
    heavy = ("account", "version__payload")
    acts = (
        Act("pause", "Pause", lambda row, now: request_command(deployment_id=row.pk, kind="pause", now=now)),
        Act("stop", "Stop", lambda row, now: request_command(deployment_id=row.pk, kind="stop", now=now)),
    )


@admin.register(models.DeploymentCommand)
class DeploymentCommandAdmin(DeploymentRowAdmin):
    list_display = ("kind", "deployment", "user", "status", "outcome", "created_at", "finished_at", "lease_until")
    list_filter = ("kind", "status")
    search_fields = ("outcome", "=deployment__id", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "id")


@admin.register(models.BacktestRun)
class BacktestRunAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "status", "ticks_done", "ticks_total", "error", "created_at", "finished_at")
    list_filter = ("status", "is_simulated", "reflects")
    search_fields = ("error", "=deployment__id", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "id")
    heavy = ("summary",)
    acts = (
        Act("retry", "Retry", lambda run, now: retry_backtest(run_id=run.pk, now=now)),
        Act("cancel", "Cancel", lambda run, now: cancel_backtest(run_id=run.pk, now=now)),
    )


@admin.register(models.DecisionSnapshot)
class DecisionSnapshotAdmin(TickRowAdmin):
    """Decisions by tick; the detail page shows the texts."""

    list_display = (
        *("tick", "deployment", "user", "verdict", "verdict_code", "model"),
        *("input_tokens", "output_tokens", "cost_usd", "tick_at"),
    )
    list_filter = ("verdict", "verdict_code")
    search_fields = ("verdict_text", "=deployment__id", "user__email")
    ordering = ("-tick_at", "id")
    heavy = ("system_prompt", "context", "steps", "proposal", "deployment__account")


@admin.register(models.Order)
class OrderAdmin(TickRowAdmin):
    list_display = (
        *("__str__", "size_usd", "deployment", "user", "origin", "state"),
        *("verdict_code", "reason", "error", "proposed_at"),
    )
    list_filter = ("state", "origin", "side", "verdict_code")
    search_fields = ("symbol__exact", "reason", "venue_order_id__exact", "=deployment__id", "user__email")
    ordering = ("-proposed_at", "id")


@admin.register(models.EquityPoint)
class EquityPointAdmin(TickRowAdmin):
    list_display = ("at", "equity_usd", "tick", "deployment", "user")
    search_fields = ("=deployment__id", "user__email")
    ordering = ("-id",)


@admin.register(models.Fill)
class FillAdmin(TickRowAdmin):
    """Executions, as brokers reported them."""

    list_display = ("at", "symbol", "quantity", "price", "fee_usd", "is_liquidation", "fill_id", "deployment", "user")
    list_filter = ("is_liquidation",)
    search_fields = ("fill_id__exact", "symbol__exact", "=deployment__id", "user__email")
    ordering = ("-id",)


@admin.register(models.ImportBatch)
class ImportBatchAdmin(DeploymentRowAdmin):
    """Files, pushes and syncs that added entries."""

    list_display = (
        "created_at",
        "source",
        "name",
        "new_fills",
        "new_funding",
        "openings",
        "deployment",
        "user",
        "undone_at",
    )
    list_filter = ("source", ("undone_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "=deployment__id", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "id")
    heavy = ("conflicts", "repeats", "details", "deployment__account")


@admin.register(models.FundingPayment)
class FundingPaymentAdmin(TickRowAdmin):
    list_display = ("at", "symbol", "amount_usd", "deployment", "user")
    search_fields = ("symbol__exact", "=deployment__id", "user__email")
    ordering = ("-id",)


@admin.register(models.PositionCheck)
class PositionCheckAdmin(TickRowAdmin):
    """Positions by hand, and snapshots that fills did not explain."""

    list_display = ("at", "symbol", "quantity", "price", "is_opening", "deployment", "user")
    list_filter = ("is_opening",)
    search_fields = ("symbol__exact", "=deployment__id", "user__email")
    ordering = ("-id",)


@admin.register(models.Trade)
class TradeAdmin(TickRowAdmin):
    list_display = (
        *("symbol", "side", "status", "quantity", "entry_tick_at", "exit_tick_at", "exit_kind"),
        *("realized_pnl_usd", "reconciled", "entry_reason", "deployment", "user"),
    )
    list_filter = ("status", "side", "exit_kind", "reconciled", "entry_regime_tag")
    search_fields = ("symbol__exact", "entry_reason", "exit_reason", "=deployment__id", "user__email")
    ordering = ("-entry_tick_at", "id")
    heavy = ("state", "deployment__account")


@admin.register(models.ReflectionNote)
class ReflectionNoteAdmin(DeploymentRowAdmin):
    """Lessons; the detail page shows the text."""

    list_display = (
        *("__str__", "skill", "deployment", "user", "status", "generated_at", "trades_considered"),
        *("model_used", "input_tokens", "output_tokens", "cost_usd"),
    )
    list_filter = ("status", ("deployment", admin.EmptyFieldListFilter), "model_used")
    list_select_related = ("user", "skill", "deployment")
    search_fields = ("lessons_text", "skill__name", "=deployment__id", "user__email")
    date_hierarchy = "generated_at"
    ordering = ("-generated_at", "id")
    heavy = ("lessons_text", "findings", "deployment__account")


@admin.register(models.ReflectionRun)
class ReflectionRunAdmin(DeploymentRowAdmin):
    """Reflections that were claimed, and how they ended."""

    list_display = ("started_at", "deployment", "user", "status", "error", "finished_at", "lease_until")
    list_filter = ("status",)
    search_fields = ("error", "=deployment__id", "user__email")
    date_hierarchy = "started_at"
    ordering = ("-started_at", "id")
    acts = (
        Act("retry", "Retry", lambda run, now: retry_reflection(run_id=run.pk, now=now)),
        Act("cancel", "Cancel", lambda run, now: cancel_reflection(run_id=run.pk, now=now)),
    )


@admin.register(models.TradingRule)
class TradingRuleAdmin(LookOnlyAdmin):
    """Facts that read as rules, and what their owners said to the reading."""

    list_display = ("words", "user", "state", "valid_from", "valid_until", "decided_at")
    list_filter = ("state",)
    search_fields = ("words", "user__email")
    date_hierarchy = "valid_from"
    ordering = ("-valid_from", "id")
