"""Skills: the list, a skill and its versions."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from config.lib.edge.second_factor import read_proof
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_act, owned_page
from trading.agent.cost import find_sample_cost
from trading.models import BrokerKind
from trading.record.deployments import SkillIsRecord, deploy_skill
from trading.record.notes import list_skill_notes
from trading.record.trade_queries import find_simulated_symbols, read_skill_accounts
from trading.skills import queries
from trading.skills.form import describe_changes, describe_payload
from trading.skills.patches import list_changes
from trading.skills.reading import read_draft
from trading.skills.services import SkillArchived, SkillInUse, archive_skill
from trading.skills.templates import TEMPLATES
from trading.web.filters import CompareForm
from trading.web.forms import DeployForm

REFUSED: Final = HTTPStatus.UNPROCESSABLE_ENTITY


@owned_page
def show_skills(request: AuthedRequest) -> HttpResponse:
    """List the skills and the drafts to resume."""
    listed, archived, drafts = queries.list_skills(), queries.list_archived_skills(), queries.list_open_drafts()
    names = {skill.pk: skill.name for skill in [*(one.skill for one in listed), *archived]}
    context = {
        "skills": listed,
        "archived": archived,
        "drafts": [(draft, names.get(draft.base_skill_id or UUID(int=0), "")) for draft in drafts],
        "has_new_draft": any(draft.base_skill_id is None for draft in drafts),
        "templates": TEMPLATES,
    }
    return TemplateResponse(request, "trading/skills.html", context)


@owned_page
def show_skill(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Show a skill: payload, versions, performance and deployments."""
    return _render_skill(request, skill_id, DeployForm())


@owned_page
def show_version(request: AuthedRequest, skill_id: UUID, version: int) -> HttpResponse:
    """Show one version of a skill."""
    shown, found = queries.get_skill(skill_id), queries.get_version(skill_id, version)
    context = {
        "skill": shown,
        "version": found,
        "groups": describe_payload(found.payload),
        "reading": read_draft(found.payload),
        **describe_cost(found.payload),
    }
    return TemplateResponse(request, "trading/version.html", context)


@owned_act
def deploy(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Set the newest version to run on paper."""
    form = DeployForm(request.POST)
    if not form.is_valid():
        return _render_skill(request, skill_id, form, status=REFUSED)
    proof = read_proof(request, page=reverse("trading:skill", args=[skill_id]))
    try:
        with owned_tx(request.user):
            equity = form.cleaned_data["starting_equity_usd"]
            deployment = deploy_skill(skill_id=skill_id, starting_equity_usd=equity, proof=proof, now=timezone.now())
    except (SkillArchived, SkillIsRecord) as error:
        messages.error(request, str(error))
        return redirect("trading:skill", skill_id)
    messages.success(request, "Deployed on paper. It decides by its schedule from now on.")
    return redirect("trading:deployment", deployment.pk)


@owned_act
def archive(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Take a skill off the list."""
    try:
        with owned_tx(request.user):
            archived = archive_skill(skill_id=skill_id, now=timezone.now())
    except SkillInUse as error:
        messages.error(request, str(error))
        return redirect("trading:skill", skill_id)
    messages.success(request, f"“{archived.name}” is archived. All it did is kept.")
    return redirect("trading:skills")


def _render_skill(
    request: AuthedRequest, skill_id: UUID, deploy_form: DeployForm, *, status: int = HTTPStatus.OK
) -> HttpResponse:
    shown, versions = queries.get_skill(skill_id), queries.list_versions(skill_id)
    newest, accounts = versions[0], read_skill_accounts(skill_id)
    deployments = [one for one in accounts.deployments if one.broker_kind != BrokerKind.BACKTEST]
    compare = CompareForm(request.GET)
    listed = accounts.performance.keys() - {BrokerKind.BACKTEST}  # the list of trades tells paper and live apart
    context = {
        "skill": shown,
        "version": newest,
        "groups": describe_payload(newest.payload),
        "reading": read_draft(newest.payload),
        "versions": versions,
        "compare": compare,
        "compared": _compare_pair(compare, {one.version: one.payload for one in versions}),
        "simulated": find_simulated_symbols(accounts.first_trades),
        "performance": [
            (BrokerKind(kind).label, one, shown if listed == {kind} else None)
            for kind, one in accounts.performance.items()
        ],
        "deployments": deployments,
        "notes": list_skill_notes(skill_id),
        "draft": queries.find_open_draft(skill_id),
        "deploy_form": deploy_form,
        "can_run": shown.archived_at is None and not any(one.label for one in deployments),
        **describe_cost(newest.payload),
    }
    return TemplateResponse(request, "trading/skill.html", context, status=status)


def _compare_pair(form: CompareForm, payloads: Mapping[int, Mapping[str, Any]]) -> dict[str, object] | None:
    pair = form.parse_pair()
    if pair is None:
        return None
    if not payloads.keys() >= set(pair):
        form.add_error("compare", "This skill has no such versions to compare.")
        return None
    old, new = pair
    return {"old": old, "new": new, "changes": describe_changes(list_changes(payloads[old], payloads[new]))}


def describe_cost(payload: Mapping[str, object]) -> dict[str, object]:
    """Return a payload's prompt cost for a template."""
    cost = find_sample_cost(payload)
    limit = settings.AGENT_DAILY_PROMPT_TOKENS_WARNING
    return {"cost": cost, "cost_limit": limit, "is_costly": cost is not None and cost.is_costly}
