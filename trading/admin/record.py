"""Lists of users' skills, deployments and records, with acts of staff."""

from datetime import datetime
from typing import ClassVar

from django.contrib import admin

from config.lib.admin import Act, PrivateAdmin, register_rows
from trading import models
from trading.record.backtests import cancel_backtest, retry_backtest
from trading.record.deployments import request_command
from trading.reviews.reflection import cancel_reflection, retry_reflection


class DeploymentRowAdmin(PrivateAdmin):
    heavy: ClassVar[tuple[str, ...]] = ("deployment__account",)


class TickRowAdmin(DeploymentRowAdmin):
    """Rows that each tick adds.

    They are too many to count, or to drill down by date: no index over all users begins with the instant.
    """

    show_full_result_count = False


def _command(row: models.Deployment, kind: str, now: datetime) -> None:
    request_command(deployment_id=row.pk, kind=kind, is_staff=True, now=now)


register_rows(
    models.Skill,
    newest="updated_at",
    list_display=("name", "user", "trading_style", "latest_version", "created_at", "updated_at", "archived_at"),
    list_filter=("trading_style", ("archived_at", admin.EmptyFieldListFilter)),
    search_fields=("name",),
)
register_rows(
    models.SkillVersion,
    newest="created_at",
    list_display=("__str__", "skill", "user", "created_at"),
    search_fields=("skill__name",),
    heavy=("payload",),
)
register_rows(
    models.SkillDraft,
    newest="updated_at",
    list_display=("id", "base_skill", "base_version", "user", "status", "created_at", "updated_at"),
    list_filter=("status", ("base_skill", admin.EmptyFieldListFilter)),
    search_fields=("base_skill__name",),
    heavy=("payload",),
)
register_rows(
    models.Deployment,
    newest="created_at",
    list_display=(
        *("__str__", "skill", "version", "user", "broker_kind", "status"),
        *("halt_code", "halted_until", "last_tick", "last_tick_at", "lease_until", "created_at"),
    ),
    list_filter=("broker_kind", "status", "halt_code", ("lease", admin.EmptyFieldListFilter)),
    search_fields=("=id", "skill__name"),
    heavy=("account", "version__payload"),
    acts=(
        Act("pause", "Pause", lambda row, now: _command(row, "pause", now)),
        Act("stop", "Stop", lambda row, now: _command(row, "stop", now)),
    ),
)
register_rows(
    models.DeploymentCommand,
    DeploymentRowAdmin,
    newest="created_at",
    list_display=("kind", "deployment", "user", "status", "outcome", "created_at", "finished_at"),
    list_filter=("kind", "status"),
    search_fields=("outcome", "=deployment__id"),
)
register_rows(
    models.BacktestRun,
    newest="created_at",
    list_display=("__str__", "user", "status", "ticks_done", "ticks_total", "error", "created_at", "finished_at"),
    list_filter=("status", "is_simulated", "reflects"),
    search_fields=("error", "=deployment__id"),
    heavy=("summary",),
    acts=(
        Act("retry", "Retry", lambda run, now: retry_backtest(run_id=run.pk, now=now)),
        Act("cancel", "Cancel", lambda run, now: cancel_backtest(run_id=run.pk, now=now)),
    ),
)
register_rows(
    models.DecisionSnapshot,
    TickRowAdmin,
    list_display=(
        *("tick", "deployment", "user", "verdict", "verdict_code", "model"),
        *("input_tokens", "output_tokens", "cost_usd", "tick_at"),
    ),
    list_filter=("verdict", "verdict_code"),
    search_fields=("verdict_text", "=deployment__id"),
    ordering=("-tick_at", "id"),
    heavy=("system_prompt", "context", "steps", "proposal", "deployment__account"),
)
register_rows(
    models.Order,
    TickRowAdmin,
    list_display=(
        *("__str__", "size_usd", "deployment", "user", "origin", "state"),
        *("verdict_code", "reason", "error", "proposed_at"),
    ),
    list_filter=("state", "origin", "side", "verdict_code"),
    search_fields=("symbol__exact", "reason", "venue_order_id__exact", "=deployment__id"),
    ordering=("-proposed_at", "id"),
)
register_rows(
    models.EquityPoint,
    TickRowAdmin,
    list_display=("at", "equity_usd", "tick", "deployment", "user"),
    search_fields=("=deployment__id",),
    ordering=("-id",),
)
register_rows(
    models.Fill,
    TickRowAdmin,
    list_display=("at", "symbol", "quantity", "price", "fee_usd", "is_liquidation", "fill_id", "deployment", "user"),
    list_filter=("is_liquidation",),
    search_fields=("fill_id__exact", "symbol__exact", "=deployment__id"),
    ordering=("-id",),
)
register_rows(
    models.ImportBatch,
    DeploymentRowAdmin,
    newest="created_at",
    list_display=(
        "created_at",
        "source",
        "name",
        "new_fills",
        "new_funding",
        "openings",
        "deployment",
        "user",
        "undone_at",
    ),
    list_filter=("source", ("undone_at", admin.EmptyFieldListFilter)),
    search_fields=("name", "=deployment__id"),
    heavy=("conflicts", "repeats", "details", "deployment__account"),
)
register_rows(
    models.FundingPayment,
    TickRowAdmin,
    list_display=("at", "symbol", "amount_usd", "deployment", "user"),
    search_fields=("symbol__exact", "=deployment__id"),
    ordering=("-id",),
)
# Positions by hand, and snapshots that fills did not explain.
register_rows(
    models.PositionCheck,
    TickRowAdmin,
    list_display=("at", "symbol", "quantity", "price", "is_opening", "deployment", "user"),
    list_filter=("is_opening",),
    search_fields=("symbol__exact", "=deployment__id"),
    ordering=("-id",),
)
register_rows(
    models.Trade,
    TickRowAdmin,
    list_display=(
        *("symbol", "side", "status", "quantity", "entry_tick_at", "exit_tick_at", "exit_kind"),
        *("realized_pnl_usd", "reconciled", "entry_reason", "deployment", "user"),
    ),
    list_filter=("status", "side", "exit_kind", "reconciled", "entry_regime_tag"),
    search_fields=("symbol__exact", "entry_reason", "exit_reason", "=deployment__id"),
    ordering=("-entry_tick_at", "id"),
    heavy=("state", "deployment__account"),
)
register_rows(
    models.ReflectionNote,
    DeploymentRowAdmin,
    newest="generated_at",
    list_display=(
        *("__str__", "skill", "deployment", "user", "status", "generated_at", "trades_considered"),
        *("model_used", "input_tokens", "output_tokens", "cost_usd"),
    ),
    list_filter=("status", ("deployment", admin.EmptyFieldListFilter), "model_used"),
    search_fields=("lessons_text", "skill__name", "=deployment__id"),
    heavy=("lessons_text", "findings", "deployment__account"),
)
register_rows(
    models.ReflectionRun,
    DeploymentRowAdmin,
    newest="started_at",
    list_display=("started_at", "deployment", "user", "status", "error", "finished_at", "lease_until"),
    list_filter=("status",),
    search_fields=("error", "=deployment__id"),
    acts=(
        Act("retry", "Retry", lambda run, now: retry_reflection(run_id=run.pk, now=now)),
        Act("cancel", "Cancel", lambda run, now: cancel_reflection(run_id=run.pk, now=now)),
    ),
)
register_rows(
    models.TradingRule,
    newest="valid_from",
    list_display=("words", "user", "state", "valid_from", "valid_until", "decided_at"),
    list_filter=("state",),
    search_fields=("words",),
)
