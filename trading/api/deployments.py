"""Deployments over REST: record, lessons, commands and prompt."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.response import Response

from config.lib.edge.second_factor import require_second_factor
from config.lib.llm.tokens import count_tokens
from config.lib.rest.operations import NEW_OR_KNOWN, read, read_pages, write
from config.lib.rest.views import ApiView
from trading.agent import context
from trading.agent.cost import cost_of
from trading.agent.decide import define_tools
from trading.agent.prompts import lessons_text
from trading.api.serializers import deployments as shapes
from trading.api.serializers.fields import AmountField
from trading.api.serializers.trades import TradeSerializer
from trading.market.queries import find_marks
from trading.market.tape import choose_tape
from trading.models import BrokerKind, DecisionSnapshot, Deployment, DeploymentCommand, EquityPoint, ReflectionNote
from trading.record.decisions import get_decision
from trading.record.deployment_queries import get_deployment
from trading.record.deployments import deploy_skill, request_command
from trading.record.notes import find_active_note
from trading.record.trade_queries import get_latest_equity, list_open
from trading.skills.schemas import parse_payload

Rows = TypeVar("Rows", bound=QuerySet[Any])


def _narrow(rows: Rows, **filters: object) -> Rows:
    """Return the rows that fit; a filter without a value fits all."""
    return rows.filter(**{name: value for name, value in filters.items() if value not in (None, "")})


class DeploymentsView(ApiView):
    @read_pages("list_deployments", "deployments", shapes.DeploymentSerializer, shapes.DeploymentQuery)
    def get(self, skill_id: UUID | None, **query: Any) -> QuerySet[Deployment]:
        """List deployments, the newest first."""
        rows = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).select_related("version")
        return _narrow(rows, skill=skill_id, **query)

    @write(
        "add_deployment", "deployments", shapes.DeploymentSerializer, shapes.DeploymentInput, status=HTTPStatus.CREATED
    )
    def post(self, **fields: Any) -> Deployment:
        """Create a deployment that another program runs and pushes."""
        return deploy_skill(**fields, now=timezone.now())


class DeploymentView(ApiView):
    @read("get_deployment", "deployments", shapes.WholeDeploymentSerializer)
    def get(self, deployment_id: UUID) -> Response:
        """Return a deployment with its account after the last tick."""
        deployment = get_deployment(deployment_id)
        equity = get_latest_equity(deployment)
        account = {
            "equity_usd": None if equity is None else AmountField().to_representation(equity),
            "positions": TradeSerializer(list_open(deployment_id), many=True).data,
        }
        return Response({**shapes.DeploymentSerializer(deployment).data, **account})


class NotesView(ApiView):
    @read_pages("list_notes", "deployments", shapes.NoteSerializer, by=("-generated_at", "id"))
    def get(self, deployment_id: UUID) -> QuerySet[ReflectionNote]:
        """List what was learned, the newest first; at most one is active."""
        return ReflectionNote.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))


class DecisionsView(ApiView):
    @read_pages("list_decisions", "deployments", shapes.DecisionSerializer, shapes.DecisionQuery, by=("-tick", "id"))
    def get(self, deployment_id: UUID, verdict: str) -> QuerySet[DecisionSnapshot]:
        """List decisions, the newest first."""
        rows = DecisionSnapshot.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        return _narrow(rows.defer("system_prompt", "context", "steps"), verdict=verdict)


class DecisionView(ApiView):
    @read("get_decision", "deployments", shapes.WholeDecisionSerializer)
    def get(self, deployment_id: UUID, tick: int) -> DecisionSnapshot:
        """Return all that the agent saw and did at a tick."""
        return get_decision(deployment_id, tick)


class EquityView(ApiView):
    @read_pages("list_equity", "deployments", shapes.EquitySerializer, shapes.EquityQuery, by=("-at", "-id"))
    def get(self, deployment_id: UUID, since: datetime | None, until: datetime | None) -> QuerySet[EquityPoint]:
        """List what the account was worth after each tick, the newest first."""
        rows = EquityPoint.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        return _narrow(rows, at__gte=since, at__lte=until)


class CommandsView(ApiView):
    @read_pages("list_commands", "deployments", shapes.CommandSerializer)
    def get(self, deployment_id: UUID) -> QuerySet[DeploymentCommand]:
        """List commands with their outcomes, newest first."""
        return DeploymentCommand.objects.filter(deployment=get_deployment(deployment_id))

    @write("add_command", "deployments", shapes.CommandSerializer, shapes.CommandInput, status=NEW_OR_KNOWN)
    def post(self, deployment_id: UUID, kind: str) -> Any:
        """Queue a deployment's command; 200 if it is waiting already."""
        now = timezone.now()
        require_second_factor(self.request, now=now)
        command = request_command(deployment_id=deployment_id, kind=kind, now=now)
        return command, command.created_at == now


def _gather_memory(deployment: Deployment, at: datetime) -> context.ContextInputs:
    """Return only the record's inputs; agents elsewhere read the market themselves."""
    payload = parse_payload(deployment.version.payload)
    record, equity = context.read_record(deployment.pk, payload), get_latest_equity(deployment)
    found = find_marks({trade.symbol for trade in record.open_trades}, at, choose_tape(deployment))
    marks = {symbol: mark.price for symbol, mark in found.items()}
    return context.ContextInputs(
        at=at, payload=payload, portfolio=context.Portfolio(equity, equity), marks=marks, record=record
    )


class MemoryView(ApiView):
    @read("get_agent_memory", "deployments", shapes.MemorySerializer)
    def get(self, deployment_id: UUID) -> Any:
        """Return the memory as text for another program's agent."""
        deployment, at = get_deployment(deployment_id), timezone.now()
        note = find_active_note(deployment)
        lessons = "" if note is None else lessons_text(note)
        sections = context.memory_sections(_gather_memory(deployment, at))
        trades = "\n\n".join("\n".join(section) for section in sections)
        text = "\n\n".join(part for part in (lessons, trades) if part)
        shown = {"at": at, "lessons": lessons, "trades": trades, "text": text, "note_id": note.pk if note else None}
        return {**shown, "tokens": count_tokens(text)}


class PromptView(ApiView):
    @read("get_agent_prompt", "deployments", shapes.PromptSerializer)
    def get(self, deployment_id: UUID) -> Any:
        """Return what the agent would be sent if it ticked now."""
        at, deployment = timezone.now(), get_deployment(deployment_id)
        payload, prompt = parse_payload(deployment.version.payload), context.preview_prompt(deployment, at=at)
        cost = cost_of(prompt, [], payload)
        return {
            "at": at,
            "segments": [{"name": name, "text": text} for name, text in prompt.segments],
            "system": prompt.system,
            "context": prompt.context,
            "tools": define_tools(payload),
            "note_id": prompt.note_id,
            **{name: getattr(cost, name) for name in ("tokens", "tokens_per_day", "model")},
            **{name: getattr(cost, name) for name in ("usd_per_day", "cached_usd_per_day")},
        }
