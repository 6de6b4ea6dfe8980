"""Deployments: list, record, decisions, prompt and commands."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from config.lib.edge.second_factor import read_proof
from config.lib.owned import owned, owned_tx
from config.lib.web import AuthedRequest, or_404, owned_act, owned_page
from trading.agent.context import preview_prompt, restore_context
from trading.agent.cost import context_parts, cost_of, stored_parts, system_parts, tools_part
from trading.ledger.services import get_deployment
from trading.models import UNFINISHED, BrokerKind, CommandKind, Deployment, DeploymentCommand, Order
from trading.record import decisions, deployment_queries, trade_queries
from trading.record.actions import describe_command
from trading.record.deployments import CommandRefused, list_possible_commands, request_command
from trading.record.exports import DECISION_WRITERS
from trading.record.notes import find_active_note, get_note, keep_note_for_skill, list_notes
from trading.runs.risk import RiskCode
from trading.skills.queries import get_version
from trading.skills.schemas import SYMBOL, parse_payload
from trading.web import deployments as page
from trading.web.columns import build_rows
from trading.web.filters import DecisionFilterForm
from trading.web.views.exports import export_rows

TRADE_COLUMNS: Final = ("size", "entry", "exit", "held", "by")
REFUSALS: Final[dict[str, str]] = {
    RiskCode.HALTED: "it is halted",
    RiskCode.SYMBOL: "a symbol it may not trade, or without a price",
    RiskCode.POSITION_CAP: "the position would be too large",
    RiskCode.TOTAL_EXPOSURE: "all positions together would be too large",
    RiskCode.LEVERAGE: "too much leverage",
    RiskCode.DAILY_LOSS_HALT: "it lost its limit for a day",
    RiskCode.MAX_ORDERS: "it gave its orders of the day",
    RiskCode.MIN_SIZE: "the order is too small",
    RiskCode.STOP_SIDE: "a stop on the wrong side of the price",
}
COMMANDS: Final[dict[str, tuple[str, str]]] = {  # the button that asks for it, and the one that does it
    CommandKind.PAUSE: ("Pause", "Pause it"),
    CommandKind.RESUME: ("Resume", "Resume it"),
    CommandKind.STOP: ("Stop", "Stop it for good"),
    CommandKind.FLATTEN: ("Close all positions", "Close them all"),
    CommandKind.REDEPLOY: ("Move to the newest version", "Move it"),
}


@owned_page
def show_deployments(request: AuthedRequest) -> HttpResponse:
    """List the deployments with their positions and refusals."""
    now = timezone.now()
    listed = deployment_queries.list_deployments(now)
    marked = deployment_queries.mark_positions([(one.deployment, one.positions) for one in listed], now)
    context = {
        "deployments": [
            {
                "listed": one,
                "positions": marked.positions[one.deployment.pk],
                "is_halted": one.deployment.is_halted_at(now),
                "is_behind": one.deployment.version.version < one.deployment.skill.latest_version,
            }
            for one in listed
        ],
        "refusals": REFUSALS,
        "simulated": marked.simulated,
    }
    return TemplateResponse(request, "trading/deployments.html", context)


@owned_page
def show_deployment(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Show a deployment and its record."""
    now = timezone.now()
    shown = get_deployment(deployment_id)
    held, newest = page.list_newest(shown)
    live = _describe_live(shown, page.read_live(shown, held, now), now)
    record, notes = trade_queries.read_account(shown), list_notes(shown.pk)
    chosen = list_decisions(shown.pk, request.GET, home=reverse("trading:deployment", args=[shown.pk]))
    traded = shown.version.payload["context"]["symbols"]
    context = {
        **live,
        **chosen,
        "numbers": record.numbers,
        "equity_usd": record.curve[-1].equity_usd if record.curve else shown.starting_equity_usd,
        "equity": page.draw_account(shown, record, is_simulated=bool(live["simulated"])),
        "symbols": list(dict.fromkeys([*(trade.symbol for trade in held), *traded, *(one.symbol for one in newest)])),
        "trades": build_rows(newest, TRADE_COLUMNS),
        "trades_total": record.numbers.trades + len(held),
        "notes": notes,
        "note": next((note for note in notes if note.status == "active"), None) or find_active_note(shown),
        "lessons": page.draw_lessons(shown, notes, record.closed),
        "verdicts": page.draw_verdicts(shown, chosen["newest"]),
    }
    return TemplateResponse(request, "trading/deployment.html", context)


@owned_page
def show_live(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Return the live part of a deployment's page; 204 while it is as the page has it."""
    now = timezone.now()
    shown = get_deployment(deployment_id)
    live = page.read_live(shown, trade_queries.list_open(shown.pk), now)
    if live["digest"] == request.GET.get("seen"):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return TemplateResponse(request, "trading/_deployment_live.html", _describe_live(shown, live, now))


@owned_page
def show_prices(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Return the chart of a symbol's prices, for a deployment's page."""
    shown = get_deployment(deployment_id)
    asked = request.GET.get("symbol", "").upper()
    chart = page.draw_prices(shown, asked if SYMBOL.fullmatch(asked) else "", timezone.now())
    return TemplateResponse(request, "charts/_chart.html", {"chart": chart})


def _describe_live(shown: Deployment, live: dict[str, object], now: datetime) -> dict[str, object]:
    is_live = shown.broker_kind == BrokerKind.LIVE
    return {
        **live,
        "deployment": shown,
        "is_halted": shown.is_halted_at(now),
        "halt_reason": REFUSALS.get(shown.halt_code, shown.halt_code),
        "is_behind": shown.version.version < shown.skill.latest_version,
        "is_live": is_live,
        "has_waiting": any(one.status in UNFINISHED for one in cast("list[DeploymentCommand]", live["commands"])),
        "possible": [
            (kind, *COMMANDS[kind], describe_command(kind, is_live=is_live)) for kind in list_possible_commands(shown)
        ],
    }


@owned_act
def send_command(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Tell the runner what to do with a deployment."""
    shown = get_deployment(deployment_id)
    kind = request.POST.get("kind")
    if kind not in COMMANDS:
        messages.error(request, "There is no such command.")
        return redirect("trading:deployment", shown.pk)
    proof = read_proof(request, page=reverse("trading:deployment", args=[shown.pk]))
    try:
        with owned_tx(request.user):
            asked = request_command(deployment_id=shown.pk, kind=kind, proof=proof, now=timezone.now())
    except CommandRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{asked.get_kind_display()}: asked for. The runner does it at its next round.")
    return redirect("trading:deployment", shown.pk)


@owned_act
def keep_note(request: AuthedRequest, deployment_id: UUID, note_id: UUID) -> HttpResponse:
    """Keep a deployment's lessons for all deployments of its skill."""
    note = get_note(deployment_id, note_id)
    with owned_tx(request.user):
        keep_note_for_skill(note_id=note.pk, now=timezone.now())
    messages.success(request, "Kept for the skill. Deployments of it without lessons of their own start with them.")
    return redirect("trading:skill", note.skill_id)


@owned_page
def show_decision(request: AuthedRequest, deployment_id: UUID, tick: int) -> HttpResponse:
    """Show one decision as stored: prompt, steps and verdict."""
    shown = get_deployment(deployment_id, or_backtest=True)
    found = restore_context(decisions.get_decision(deployment_id, tick))
    before, after = decisions.find_neighbouring_ticks(found)
    traded = get_version(shown.skill_id, found.skill_version).payload["context"]["symbols"]
    context = {
        "deployment": shown,
        "run": deployment_queries.find_backtest_of(shown),
        "decision": found,
        "simulated": trade_queries.find_simulated_symbols(dict.fromkeys(traded, found.tick_at)),
        "refusal": REFUSALS.get(found.verdict_code, ""),
        "orders": Order.objects.filter(snapshot=found).order_by("proposed_at", "id"),
        "system": stored_parts(found.system_prompt, has_lessons=found.note_id is not None),
        "context": context_parts(found.context),
        "before": before,
        "after": after,
    }
    return TemplateResponse(request, "trading/decision.html", context)


def list_decisions(deployment_id: UUID, query: QueryDict, *, home: str) -> dict[str, Any]:
    """Return the context of `trading/_decisions.html` on the page `home`."""
    filters = DecisionFilterForm(query, auto_id="decisions-%s", home=home)
    page, newest = decisions.get_decision_page(deployment_id, filters.number, verdict=filters.known.get("verdict", ""))
    return {"decisions": page, "newest": newest, "filters": filters}


@require_safe
def export_decisions(request: AuthedRequest, deployment_id: UUID) -> HttpResponseBase:
    """Export the filtered decisions, newest first; backtests' too."""
    with or_404(), owned(request.user):
        shown = get_deployment(deployment_id, or_backtest=True)
    verdict = DecisionFilterForm(request.GET).known.get("verdict", "")
    return export_rows(
        request,
        "decisions",
        lambda: decisions.select_decisions(shown.pk, verdict),
        by=("-tick", "id"),
        writers=DECISION_WRITERS,
    )


@owned_page
def show_prompt(request: AuthedRequest, deployment_id: UUID) -> HttpResponse:
    """Show the agent's current prompt by part, with its cost."""
    now = timezone.now()
    shown = get_deployment(deployment_id)
    payload = parse_payload(shown.version.payload)
    prompt = preview_prompt(shown, at=now)
    system, seen = system_parts(prompt), context_parts(prompt.context)
    context = {
        "deployment": shown,
        "at": now,
        "simulated": prompt.simulated,
        "system": system,
        "context": seen,
        "tools": [tools_part(payload)],
        "servers": [server.name for server in payload.tools.mcp_servers],
        "cost": cost_of(prompt, [*system, *seen], payload),
    }
    return TemplateResponse(request, "trading/agent_prompt.html", context)
