"""Lists of users' skills, deployments, records and ways in, with acts of staff."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin

from config.lib.admin import Act, register_rows
from config.lib.owned import OwnedModel
from trading import models
from trading.record.backtests import cancel_backtest, retry_backtest
from trading.record.deployments import request_command
from trading.reviews.reflection import cancel_reflection, retry_reflection


def _register(
    model: type[OwnedModel],
    list_display: Sequence[str],
    *,
    search: Sequence[str] = (),
    heavy: Sequence[str] = (),
    is_long: bool = False,
    **options: Any,
) -> None:
    """Register a list; rows of a deployment are found by its id and joined without its account.

    A long list grows with each tick. It is neither counted nor drilled down by date: no index over all users begins
    with the instant.
    """
    if "deployment" in list_display:
        search, heavy = (*search, "=deployment__id"), (*heavy, "deployment__account")
    if is_long:
        options = {"show_full_result_count": False, "ordering": ("-id",), **options}
    register_rows(model, list_display=list_display, search_fields=search, heavy=heavy, **options)


def _command(row: models.Deployment, kind: str, **by: Any) -> None:
    request_command(deployment_id=row.pk, kind=kind, **by)


@admin.display(description="context")
def _read_context(decision: models.DecisionSnapshot) -> str:
    try:
        return decision.context
    except ValueError as error:  # a page of staff shows a damaged row, too
        return f"It cannot be read: {error}."


_register(
    models.SystemPrompt, ("sha256", "deployment", "user"), search=("sha256__exact",), heavy=("text",), is_long=True
)
_register(
    models.Skill,
    ("name", "user", "trading_style", "latest_version", "created_at", "updated_at", "archived_at"),
    list_filter=("trading_style", ("archived_at", admin.EmptyFieldListFilter)),
    search=("name",),
    newest="updated_at",
)
_register(
    models.SkillVersion,
    ("__str__", "skill", "user", "created_at"),
    search=("skill__name",),
    heavy=("payload",),
    newest="created_at",
)
_register(
    models.SkillDraft,
    ("id", "base_skill", "base_version", "user", "status", "created_at", "updated_at"),
    list_filter=("status", ("base_skill", admin.EmptyFieldListFilter)),
    search=("base_skill__name",),
    heavy=("payload",),
    newest="updated_at",
)
_register(
    models.Deployment,
    (
        *("__str__", "skill", "version", "user", "broker_kind", "status"),
        *("halt_code", "halted_until", "last_tick", "last_tick_at", "lease_until", "created_at"),
    ),
    list_filter=("broker_kind", "status", "halt_code", ("lease", admin.EmptyFieldListFilter)),
    search=("=id", "skill__name"),
    heavy=("account", "version__payload"),
    newest="created_at",
    acts=(
        Act("pause", "Pause", partial(_command, kind="pause"), proves=True),
        Act("stop", "Stop", partial(_command, kind="stop"), proves=True),
    ),
)
_register(
    models.DeploymentCommand,
    ("kind", "deployment", "user", "status", "outcome", "created_at", "finished_at"),
    list_filter=("kind", "status"),
    search=("outcome",),
    newest="created_at",
)
_register(
    models.BacktestRun,
    ("__str__", "user", "status", "ticks_done", "ticks_total", "error", "created_at", "finished_at"),
    list_filter=("status", "is_simulated", "reflects"),
    search=("error", "=deployment__id"),
    heavy=("summary",),
    newest="created_at",
    acts=(
        Act("retry", "Retry", lambda run, now: retry_backtest(run_id=run.pk, now=now)),
        Act("cancel", "Cancel", lambda run, now: cancel_backtest(run_id=run.pk, now=now)),
    ),
)
_register(
    models.DecisionSnapshot,
    (
        *("tick", "deployment", "user", "verdict", "verdict_code", "model"),
        *("input_tokens", "output_tokens", "cost_usd", "tick_at"),
    ),
    list_filter=("verdict", "verdict_code"),
    search=("verdict_text",),
    heavy=("packed", "account", "steps", "proposal"),
    readonly_fields=("system_prompt", _read_context),
    is_long=True,
    ordering=("-tick_at", "id"),
)
_register(
    models.Order,
    (
        *("__str__", "size_usd", "deployment", "user", "origin", "state"),
        *("verdict_code", "reason", "error", "proposed_at"),
    ),
    list_filter=("state", "origin", "side", "verdict_code"),
    search=("symbol__exact", "reason", "venue_order_id__exact"),
    is_long=True,
    ordering=("-proposed_at", "id"),
)
_register(models.EquityPoint, ("at", "equity_usd", "tick", "deployment", "user"), is_long=True)
_register(
    models.Fill,
    ("at", "symbol", "quantity", "price", "fee_usd", "is_liquidation", "fill_id", "deployment", "user"),
    list_filter=("is_liquidation",),
    search=("fill_id__exact", "symbol__exact"),
    is_long=True,
)
_register(
    models.ImportBatch,
    (*("created_at", "source", "name", "new_fills", "new_funding", "openings"), *("deployment", "user", "undone_at")),
    list_filter=("source", ("undone_at", admin.EmptyFieldListFilter)),
    search=("name",),
    heavy=("conflicts", "repeats", "details"),
    newest="created_at",
)
_register(
    models.FundingPayment, ("at", "symbol", "amount_usd", "deployment", "user"), search=("symbol__exact",), is_long=True
)
# Positions by hand, and snapshots that fills did not explain.
_register(
    models.PositionCheck,
    ("at", "symbol", "quantity", "price", "is_opening", "deployment", "user"),
    list_filter=("is_opening",),
    search=("symbol__exact",),
    is_long=True,
)
_register(
    models.Trade,
    (
        *("symbol", "side", "status", "quantity", "entry_tick_at", "exit_tick_at", "exit_kind"),
        *("realized_pnl_usd", "reconciled", "entry_reason", "deployment", "user"),
    ),
    list_filter=("status", "side", "exit_kind", "reconciled", "entry_regime_tag"),
    search=("symbol__exact", "entry_reason", "exit_reason"),
    heavy=("state",),
    is_long=True,
    ordering=("-entry_tick_at", "id"),
)
_register(
    models.ReflectionNote,
    (
        *("__str__", "skill", "deployment", "user", "status", "generated_at", "trades_considered"),
        *("model_used", "input_tokens", "output_tokens", "cost_usd"),
    ),
    list_filter=("status", ("deployment", admin.EmptyFieldListFilter), "model_used"),
    search=("lessons_text", "skill__name"),
    heavy=("lessons_text", "findings"),
    newest="generated_at",
)
_register(
    models.ReflectionRun,
    ("started_at", "deployment", "user", "status", "error", "finished_at", "lease_until"),
    list_filter=("status",),
    search=("error",),
    newest="started_at",
    acts=(
        Act("retry", "Retry", lambda run, now: retry_reflection(run_id=run.pk, now=now)),
        Act("cancel", "Cancel", lambda run, now: cancel_reflection(run_id=run.pk, now=now)),
    ),
)
_register(
    models.TradingRule,
    ("words", "user", "state", "valid_from", "valid_until", "decided_at"),
    list_filter=("state",),
    search=("words",),
    newest="valid_from",
)
# Where users' own trades come from; no key is shown, not even encrypted.
_register(
    models.VenueAccount,
    ("venue", "address", "key_hint", "user", "created_at", "due_at", "read_until", "error"),
    list_filter=("venue",),
    search=("address",),
    heavy=("sealed_key",),
    exclude=("sealed_key",),
    ordering=("-created_at", "id"),
)
_register(
    models.TradeFile,
    ("name", "user", "created_at"),
    search=("name",),
    heavy=("content", "mapping"),
    exclude=("content",),
    ordering=("-created_at", "id"),
)
