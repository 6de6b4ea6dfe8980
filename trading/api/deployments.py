"""Deployments over REST: record, lessons, commands and prompt."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.llm.tokens import count_tokens
from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, PageQuery, answer_page
from trading.agent.context import (
    ContextInputs,
    Portfolio,
    lessons_of_note,
    memory_sections,
    preview_prompt,
    read_record,
)
from trading.agent.cost import cost_of
from trading.agent.decide import define_tools
from trading.agent.prompts import lessons_text
from trading.api.schema import describe_list
from trading.api.serializers import deployments as shapes
from trading.api.serializers.fields import AmountField
from trading.api.serializers.trades import TradeSerializer
from trading.market.queries import find_marks
from trading.models import BrokerKind, DecisionSnapshot, Deployment, DeploymentCommand, EquityPoint, ReflectionNote
from trading.record.decisions import get_decision
from trading.record.deployment_queries import get_deployment
from trading.record.deployments import deploy_skill, request_command
from trading.record.notes import find_active_note, get_note, keep_note_for_skill
from trading.record.trade_queries import get_latest_equity, list_open
from trading.skills.schemas import parse_payload

_NEWEST: Final = ("-created_at", "id")

Rows = TypeVar("Rows", bound=QuerySet[Any])


def _narrow(rows: Rows, **filters: object) -> Rows:
    """Return the rows that fit; a filter without a value fits all."""
    return rows.filter(**{name: value for name, value in filters.items() if value not in (None, "")})


class DeploymentsView(ApiView):
    @describe_list("list_deployments", "deployments", shapes.DeploymentSerializer, shapes.DeploymentQuery)
    def get(self, request: ApiRequest) -> Response:
        """List deployments, the newest first."""
        query = self.query(shapes.DeploymentQuery)
        rows = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).select_related("version")
        rows = _narrow(rows, skill=query["skill_id"], broker_kind=query["broker_kind"], status=query["status"])
        return answer_page(
            get_page(rows, by=_NEWEST, cursor=query["cursor"], limit=query["limit"]), shapes.DeploymentSerializer
        )

    @extend_schema(
        operation_id="add_deployment",
        tags=["deployments"],
        request=shapes.DeploymentInput,
        responses={201: shapes.DeploymentSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Create a deployment that another program runs and pushes."""
        fields = self.body(shapes.DeploymentInput)
        with owned_tx(request.user):
            deployment = deploy_skill(**fields, now=timezone.now())
        return Response(shapes.DeploymentSerializer(deployment).data, status=HTTPStatus.CREATED)


class DeploymentView(ApiView):
    @extend_schema(operation_id="get_deployment", tags=["deployments"], responses=shapes.WholeDeploymentSerializer)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """Return a deployment with its account after the last tick."""
        deployment = get_deployment(deployment_id)
        equity = get_latest_equity(deployment)
        account = {
            "equity_usd": None if equity is None else AmountField().to_representation(equity),
            "positions": TradeSerializer(list_open(deployment_id), many=True).data,
        }
        return Response({**shapes.DeploymentSerializer(deployment).data, **account})


class NotesView(ApiView):
    @describe_list("list_notes", "deployments", shapes.NoteSerializer)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """List what was learned, the newest first; at most one is active."""
        rows = ReflectionNote.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        return answer_page(get_page(rows, by=("-generated_at", "id"), **self.query(PageQuery)), shapes.NoteSerializer)


class KeepNoteView(ApiView):
    @extend_schema(operation_id="keep_note", tags=["deployments"], request=None, responses={201: shapes.NoteSerializer})
    def post(self, request: ApiRequest, deployment_id: UUID, note_id: UUID) -> Response:
        """Copy a deployment's lessons to its skill; they supersede earlier ones."""
        with owned_tx(request.user):
            note = get_note(deployment_id, note_id)
            kept = keep_note_for_skill(note_id=note.pk, now=timezone.now())
        return Response(shapes.NoteSerializer(kept).data, status=HTTPStatus.CREATED)


class DecisionsView(ApiView):
    @describe_list("list_decisions", "deployments", shapes.DecisionSerializer, shapes.DecisionQuery)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """List decisions, the newest first."""
        query = self.query(shapes.DecisionQuery)
        rows = DecisionSnapshot.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        rows = _narrow(rows.defer("system_prompt", "context", "steps"), verdict=query.pop("verdict"))
        return answer_page(get_page(rows, by=("-tick", "id"), **query), shapes.DecisionSerializer)


class DecisionView(ApiView):
    @extend_schema(operation_id="get_decision", tags=["deployments"], responses=shapes.WholeDecisionSerializer)
    def get(self, request: ApiRequest, deployment_id: UUID, tick: int) -> Response:
        """Return all that the agent saw and did at a tick."""
        return Response(shapes.WholeDecisionSerializer(get_decision(deployment_id, tick)).data)


class EquityView(ApiView):
    @describe_list("list_equity", "deployments", shapes.EquitySerializer, shapes.EquityQuery)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """List what the account was worth after each tick, the newest first."""
        query = self.query(shapes.EquityQuery)
        rows = EquityPoint.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        rows = _narrow(rows, at__gte=query.pop("since"), at__lte=query.pop("until"))
        return answer_page(get_page(rows, by=("-at", "-id"), **query), shapes.EquitySerializer)


class CommandsView(ApiView):
    @describe_list("list_commands", "deployments", shapes.CommandSerializer)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """List commands with their outcomes, newest first."""
        rows = DeploymentCommand.objects.filter(deployment=get_deployment(deployment_id))
        return answer_page(get_page(rows, by=_NEWEST, **self.query(PageQuery)), shapes.CommandSerializer)

    @extend_schema(
        operation_id="add_command",
        tags=["deployments"],
        request=shapes.CommandInput,
        responses={200: shapes.CommandSerializer, 201: shapes.CommandSerializer},
    )
    def post(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """Queue a deployment's command; 200 if it is waiting already."""
        fields, now = self.body(shapes.CommandInput), timezone.now()
        with owned_tx(request.user):
            command = request_command(deployment_id=deployment_id, **fields, now=now)
        status = HTTPStatus.CREATED if command.created_at == now else HTTPStatus.OK
        return Response(shapes.CommandSerializer(command).data, status=status)


def _gather_memory(deployment: Deployment, at: datetime) -> ContextInputs:
    """Return only the record's inputs; agents elsewhere read the market themselves."""
    payload = parse_payload(deployment.version.payload)
    record, equity = read_record(deployment.pk, payload), get_latest_equity(deployment)
    found = find_marks({trade.symbol for trade in record.open_trades}, at)
    marks = {symbol: mark.price for symbol, mark in found.items()}
    return ContextInputs(at=at, payload=payload, portfolio=Portfolio(equity, equity), marks=marks, record=record)


class MemoryView(ApiView):
    @extend_schema(operation_id="get_agent_memory", tags=["deployments"], responses=shapes.MemorySerializer)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """Return the memory as text for another program's agent."""
        deployment, at = get_deployment(deployment_id), timezone.now()
        note = find_active_note(deployment)
        lessons = "" if note is None else lessons_text(lessons_of_note(note))
        trades = "\n\n".join("\n".join(section) for section in memory_sections(_gather_memory(deployment, at)))
        text = "\n\n".join(part for part in (lessons, trades) if part)
        shown = {"at": at, "lessons": lessons, "trades": trades, "text": text, "note_id": note.pk if note else None}
        return Response(shapes.MemorySerializer({**shown, "tokens": count_tokens(text)}).data)


class PromptView(ApiView):
    @extend_schema(operation_id="get_agent_prompt", tags=["deployments"], responses=shapes.PromptSerializer)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """Return what the agent would be sent if it ticked now."""
        at = timezone.now()
        deployment = get_deployment(deployment_id)
        payload, prompt = parse_payload(deployment.version.payload), preview_prompt(deployment, at=at)
        cost = cost_of(prompt, [], payload)
        shown = {
            "at": at,
            "segments": [{"name": name, "text": text} for name, text in prompt.segments],
            "system": prompt.system,
            "context": prompt.context,
            "tools": define_tools(payload),
            "tokens": cost.tokens,
            "tokens_per_day": cost.tokens_per_day,
            "model": cost.model,
            "usd_per_day": cost.usd_per_day,
            "cached_usd_per_day": cost.cached_usd_per_day,
            "note_id": prompt.note_id,
        }
        return Response(shapes.PromptSerializer(shown).data)
