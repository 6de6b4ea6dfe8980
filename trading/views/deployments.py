"""Deployments: the list, one with its record, what its agent sees and decided, and what it is told to do."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_view
from trading.context import preview
from trading.deployment_queries import (
    get_decision,
    get_note,
    last_marks,
    list_commands,
    list_notes,
    list_orders,
    neighbouring_ticks,
    page_of_decisions,
    positions_of,
)
from trading.forms import CommandForm, PageOfForm
from trading.models import CommandKind, Deployment
from trading.page_queries import page_of_ledger
from trading.prompt_cost import context_parts, cost_of, stored_parts, system_parts
from trading.queries import (
    TradeFilter,
    deployment_performance,
    find_active_note,
    find_backtest_of,
    get_deployment,
    latest_equity,
    list_deployments,
    list_open,
)
from trading.risk import RiskCode
from trading.schemas import parse_payload
from trading.services import CommandRefused, keep_note_for_skill, list_possible_commands, request_command
from trading.views.skills import or_404

TRADES_SHOWN: Final = 10
REFUSALS: Final[dict[str, str]] = {
    RiskCode.HALTED: "it is halted",
    RiskCode.SYMBOL: "a symbol it may not trade, or without a price",
    RiskCode.POSITION_CAP: "the position would be too large",
    RiskCode.TOTAL_EXPOSURE: "all positions together would be too large",
    RiskCode.LEVERAGE: "too much leverage",
    RiskCode.DAILY_LOSS_HALT: "it lost its limit for a day",
    RiskCode.MAX_ORDERS: "it gave its orders of the day",
    RiskCode.MIN_SIZE: "the order is too small",
}
# What a command does, the button that asks for it, and the button that does it.
COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    CommandKind.PAUSE: (
        "Pause",
        "Pause it",
        "The agent decides nothing more until you resume it. Positions stay open.",
    ),
    CommandKind.RESUME: ("Resume", "Resume it", "The agent decides again, from the next tick on."),
    CommandKind.STOP: (
        "Stop",
        "Stop it for good",
        "The agent never decides again. Positions stay open; close them first if you want out.",
    ),
    CommandKind.FLATTEN: (
        "Close all positions",
        "Close them all",
        "Every open position is closed at the market’s price. The agent goes on unless you pause it.",
    ),
    CommandKind.REDEPLOY: (
        "Move to the newest version",
        "Move it",
        "From the next tick on the agent follows the skill’s newest version. Positions, trades and lessons stay.",
    ),
}


@require_safe
@never_cache
@owned_view
def deployments(request: AuthedRequest) -> HttpResponse:
    """List the deployments, with what they hold and what they were refused."""
    now = timezone.now()
    listed = list_deployments(now)
    symbols = {trade.symbol for one in listed for trade in one.positions}
    traded = {symbol for one in listed for symbol in one.deployment.version.payload["context"]["symbols"]}
    marks = last_marks({*symbols, *traded}, now)
    context = {
        "deployments": [
            {
                "listed": one,
                "positions": positions_of(one.deployment, one.positions, marks),
                "is_halted": one.deployment.is_halted_at(now),
                "is_behind": one.deployment.version.version < one.deployment.skill.latest_version,
            }
            for one in listed
        ],
        "refusals": REFUSALS,
        "simulated": sorted(symbol for symbol, mark in marks.items() if mark.bar.is_simulated),
    }
    return TemplateResponse(request, "trading/deployments.html", context)


@require_safe
@never_cache
@owned_view
def deployment(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Show a deployment and its record."""
    now = timezone.now()
    with or_404():
        shown = get_deployment(deployment_id)
    asked = PageOfForm(request.GET)
    trades = page_of_ledger(TradeFilter(deployment_id=shown.pk))
    open_trades = list_open(shown.pk)
    traded = shown.version.payload["context"]["symbols"]
    marks = last_marks({*traded, *(trade.symbol for trade in open_trades)}, now)
    decisions = page_of_decisions(shown.pk, asked.known.get("page", 1))
    here = reverse("trading:deployment", args=[shown.pk])
    context = {
        "deployment": shown,
        "is_halted": shown.is_halted_at(now),
        "halt_reason": REFUSALS.get(shown.halt_code, shown.halt_code),
        "is_behind": shown.version.version < shown.skill.latest_version,
        "positions": positions_of(shown, open_trades, marks),
        "simulated": sorted(symbol for symbol, mark in marks.items() if mark.bar.is_simulated),
        "numbers": deployment_performance(shown),
        "equity_usd": latest_equity(shown),
        "trades": trades.trades[:TRADES_SHOWN],
        "trades_total": trades.page.total,
        "notes": list_notes(shown.pk),
        "note": find_active_note(shown),
        "decisions": decisions,
        "links": {
            "previous": f"{here}?page={decisions.number - 1}#decisions" if decisions.number > 1 else "",
            "next": f"{here}?page={decisions.number + 1}#decisions" if decisions.number < decisions.pages else "",
        },
        "asked": asked,
        "commands": list_commands(shown.pk),
        "possible": [(kind, *COMMANDS[kind]) for kind in list_possible_commands(shown)],
    }
    return TemplateResponse(request, "trading/deployment.html", context)


@require_POST
@owned_view
def command(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Tell the runner what to do with a deployment."""
    with or_404():
        shown = get_deployment(deployment_id)
    form = CommandForm(request.POST)
    if not form.is_valid():
        messages.error(request, "There is no such command.")
        return redirect("trading:deployment", shown.pk)
    try:
        with or_404(), owned_tx(request.user):
            asked = request_command(deployment_id=shown.pk, kind=form.cleaned_data["kind"], now=timezone.now())
    except CommandRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{asked.get_kind_display()}: asked for. The runner does it at its next round.")
    return redirect("trading:deployment", shown.pk)


@require_POST
@owned_view
def keep_note(request: AuthedRequest, deployment_id: UUID, note_id: UUID) -> HttpResponse:
    """Keep a deployment's lessons for all deployments of its skill."""
    with or_404():
        note = get_note(deployment_id, note_id)
        with owned_tx(request.user):
            keep_note_for_skill(note_id=note.pk, now=timezone.now())
    messages.success(request, "Kept for the skill. Deployments of it without lessons of their own start with them.")
    return redirect("trading:skill", note.skill_id)


@require_safe
@never_cache
@owned_view
def decision(request: AuthedRequest, deployment_id: UUID, tick: int) -> HttpResponse:
    """Show one decision: what was sent, what came back and what was said to it, as stored."""
    with or_404():
        shown, found = get_deployment(deployment_id, or_backtest=True), get_decision(deployment_id, tick)
    before, after = neighbouring_ticks(found)
    context = {
        "deployment": shown,
        "run": find_backtest_of(shown),
        "decision": found,
        "refusal": REFUSALS.get(found.verdict_code, ""),
        "orders": list_orders(found),
        "system": stored_parts(found.system_prompt, has_lessons=found.note_id is not None),
        "context": context_parts(found.context),
        "before": before,
        "after": after,
    }
    return TemplateResponse(request, "trading/decision.html", context)


@require_safe
@never_cache
@owned_view
def agent_prompt(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Show what the agent would see if it ticked now, part by part, with what each costs."""
    now = timezone.now()
    with or_404():
        shown = get_deployment(deployment_id)
    return TemplateResponse(
        request, "trading/agent_prompt.html", {"deployment": shown, "at": now, **_prompt(shown, now)}
    )


def _prompt(shown: Deployment, now: datetime) -> dict[str, Any]:
    payload = parse_payload(shown.version.payload)
    prompt = preview(shown, at=now)
    system, context = system_parts(prompt), context_parts(prompt.context)
    return {
        "system": system,
        "context": context,
        "cost": cost_of(prompt, [*system, *context], payload.schedule),
        "schedule": payload.schedule,
    }
