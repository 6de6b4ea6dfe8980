"""Deployments over REST: record, lessons, commands and prompt."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers

from config.lib.edge.second_factor import read_proof
from config.lib.llm.tokens import count_tokens
from config.lib.rest.operations import NEW_OR_KNOWN, action, read, read_page, write
from config.lib.rest.views import ApiViewSet, InputSerializer, PageQuery, narrow
from trading import models
from trading.agent import context
from trading.agent.cost import cost_of
from trading.agent.decide import define_tools
from trading.agent.prompts import lessons_text
from trading.api.fields import AmountField, ExactRowSerializer, ValueSerializer, usd_field
from trading.api.trades import TradeListQuery, TradeSerializer, filter_trades
from trading.ledger.services import get_deployment
from trading.market.queries import find_marks
from trading.market.tape import choose_tape
from trading.models import BrokerKind, DecisionSnapshot, Deployment, DeploymentCommand, EquityPoint, ReflectionNote
from trading.record.decisions import LONG_COLUMNS, get_decision
from trading.record.deployments import deploy_skill, request_command
from trading.record.exports import COST_FIELDS, TICK_FIELDS, VERDICT_FIELDS
from trading.record.notes import find_active_note
from trading.record.trade_queries import get_latest_equity, list_open
from trading.skills.schemas import parse_payload


class DeploymentQuery(PageQuery):
    skill_id = serializers.UUIDField(default=None)
    broker_kind = serializers.ChoiceField([models.BrokerKind.PAPER, models.BrokerKind.LIVE], default="")
    status = serializers.ChoiceField(models.DeploymentStatus.choices, default="")


class DeploymentInput(InputSerializer):
    """A deployment that another program runs and pushes."""

    skill_id = serializers.UUIDField()
    broker_kind = serializers.ChoiceField([models.BrokerKind.LIVE], default=models.BrokerKind.LIVE)
    starting_equity_usd = usd_field(required=False, min_value=1)


class DeploymentSerializer(ExactRowSerializer):
    """A deployed skill version; Keel runs paper, others run `live`."""

    version = serializers.IntegerField(source="version.version", read_only=True)

    class Meta:
        model = models.Deployment
        fields = (
            *("id", "skill", "version", "broker_kind", "status", "starting_equity_usd", "halt_code", "halted_until"),
            *("last_tick", "last_tick_at", "created_at", "stopped_at"),
        )


class WholeDeploymentSerializer(DeploymentSerializer):
    """A deployment with its account after the last tick."""

    equity_usd = AmountField(read_only=True)
    positions = TradeSerializer(many=True, read_only=True, help_text="The open trades.")


class NoteSerializer(ExactRowSerializer):
    """Lessons of a deployment or skill; prompts include the active ones."""

    findings = serializers.JSONField(read_only=True, help_text="What the linter says of them.")
    trade_ids = serializers.ListField(
        child=serializers.UUIDField(), read_only=True, help_text="The trades they were drawn from, newest first."
    )

    class Meta:
        model = models.ReflectionNote
        fields = (
            *("id", "deployment", "skill", "skill_version", "status", "generated_at", "superseded_at"),
            *("window_start", "window_end", "trades_considered", "trade_ids", "built_on", "kept_from"),
            *("lessons_text", "findings"),
            *("model_used", "input_tokens", "output_tokens", "cost_usd"),
        )


class DecisionQuery(PageQuery):
    verdict = serializers.ChoiceField(models.Verdict.choices, default="")


class DecisionSerializer(ExactRowSerializer):
    """What one tick decided, without its texts."""

    proposal = serializers.JSONField(read_only=True, help_text="The order that the agent proposed, or null.")

    class Meta:
        model = models.DecisionSnapshot
        fields: tuple[str, ...] = (
            *("id", "deployment", *TICK_FIELDS, "proposal", *VERDICT_FIELDS, "note_id", *COST_FIELDS),
        )


class WholeDecisionSerializer(DecisionSerializer):
    """What one tick decided, with all that the agent saw and did."""

    steps = serializers.JSONField(read_only=True, help_text="Calls of tools and their results.")

    class Meta(DecisionSerializer.Meta):
        fields = (*DecisionSerializer.Meta.fields, "prompt_sha256", "system_prompt", "context", "steps")


class EquityQuery(PageQuery):
    since = serializers.DateTimeField(default=None)
    until = serializers.DateTimeField(default=None)


class EquitySerializer(ExactRowSerializer):
    """The equity after a tick, open positions at their mark."""

    class Meta:
        model = models.EquityPoint
        fields = ("tick", "at", "equity_usd")


class CommandInput(InputSerializer):
    """What to tell a deployment."""

    kind = serializers.ChoiceField(models.CommandKind.choices)


class CommandSerializer(ExactRowSerializer):
    """A command for a deployment, with its outcome."""

    class Meta:
        model = models.DeploymentCommand
        fields = ("id", "deployment", "kind", "status", "outcome", "is_by_staff", "created_at", "finished_at")


class MemorySerializer(ValueSerializer):
    """An agent's memory as text: lessons (system), trades (context)."""

    at = serializers.DateTimeField()
    lessons = serializers.CharField(allow_blank=True, help_text="Empty: there are none yet.")
    trades = serializers.CharField(allow_blank=True, help_text="The sections that the skill's memory dial asks for.")
    text = serializers.CharField(allow_blank=True, help_text="Both.")
    tokens = serializers.IntegerField(help_text="Of `text`.")
    note_id = serializers.UUIDField(allow_null=True)


class SegmentSerializer(ValueSerializer):
    """A part of the system prompt."""

    name = serializers.CharField()
    text = serializers.CharField()


class PromptSerializer(ValueSerializer):
    """What the agent would be sent if it ticked now."""

    at = serializers.DateTimeField()
    segments = SegmentSerializer(many=True)
    system = serializers.CharField()
    context = serializers.CharField()  # type: ignore[assignment]
    tools = serializers.JSONField(help_text="The definitions of the tools that are sent with each call.")
    tokens = serializers.IntegerField(help_text="Of `system`, `context` and `tools` together.")
    tokens_per_day = serializers.IntegerField(help_text="What all ticks of a day send, before any answer.")
    model = serializers.CharField(help_text="That is asked first.")
    usd_per_day = AmountField(
        allow_null=True, help_text="What `tokens_per_day` cost at the model's list price; null: it is not known."
    )
    cached_usd_per_day = AmountField(
        allow_null=True, help_text="The same if the provider keeps the prompt until the next tick."
    )
    note_id = serializers.UUIDField(allow_null=True, help_text="Of the lessons in it.")


_COSTS: Final = ("tokens", "tokens_per_day", "model", "usd_per_day", "cached_usd_per_day")


class DeploymentViewSet(ApiViewSet):
    areas = frozenset(("agents",))
    lookup_url_kwarg = "deployment_id"

    @read_page("list_deployments", DeploymentSerializer, DeploymentQuery)
    def list(self, skill_id: UUID | None, **query: Any) -> QuerySet[Deployment]:
        """List deployments, the newest first."""
        rows = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).select_related("version")
        return narrow(rows, skill=skill_id, **query)

    @write("add_deployment", DeploymentSerializer, DeploymentInput, status=HTTPStatus.CREATED)
    def create(self, **fields: Any) -> Deployment:
        """Create a deployment that another program runs and pushes."""
        return deploy_skill(**fields, proof=read_proof(self.request), now=timezone.now())

    @read("get_deployment", WholeDeploymentSerializer)
    def retrieve(self, deployment_id: UUID) -> Any:
        """Return a deployment with its account after the last tick."""
        deployment: Any = get_deployment(deployment_id)
        deployment.equity_usd, deployment.positions = get_latest_equity(deployment), list_open(deployment_id)
        return deployment

    @read_page("list_deployment_trades", TradeSerializer, TradeListQuery)
    @action(detail=True)
    def trades(self, deployment_id: UUID, **query: Any) -> models.TradeQuerySet:
        """List a deployment's or backtest's trades, newest first."""
        deployment = get_deployment(deployment_id, or_backtest=True)
        return filter_trades(**query, deployment_id=deployment.pk, with_backtests=True)

    @read_page("list_notes", NoteSerializer)
    @action(detail=True)
    def notes(self, deployment_id: UUID) -> QuerySet[ReflectionNote]:
        """List what was learned, the newest first; at most one is active."""
        deployment = get_deployment(deployment_id, or_backtest=True)
        return ReflectionNote.objects.filter(deployment=deployment).order_by("-generated_at", "id")

    @read_page("list_decisions", DecisionSerializer, DecisionQuery)
    @action(detail=True)
    def decisions(self, deployment_id: UUID, verdict: str) -> QuerySet[DecisionSnapshot]:
        """List decisions, the newest first."""
        rows = DecisionSnapshot.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        return narrow(rows.defer(*LONG_COLUMNS), verdict=verdict).order_by("-tick", "id")

    @read("get_decision", WholeDecisionSerializer)
    @action(detail=True, url_path="decisions/<int:tick>")
    def decision(self, deployment_id: UUID, tick: int) -> DecisionSnapshot:
        """Return all that the agent saw and did at a tick."""
        return context.restore_context(get_decision(deployment_id, tick))

    @read_page("list_equity", EquitySerializer, EquityQuery)
    @action(detail=True)
    def equity(self, deployment_id: UUID, since: datetime | None, until: datetime | None) -> QuerySet[EquityPoint]:
        """List what the account was worth after each tick, the newest first."""
        rows = EquityPoint.objects.filter(deployment=get_deployment(deployment_id, or_backtest=True))
        return narrow(rows, at__gte=since, at__lte=until).order_by("-at", "-id")

    @read_page("list_commands", CommandSerializer)
    @action(detail=True)
    def commands(self, deployment_id: UUID) -> QuerySet[DeploymentCommand]:
        """List commands with their outcomes, newest first."""
        return DeploymentCommand.objects.filter(deployment=get_deployment(deployment_id))

    @commands.mapping.post  # type: ignore[untyped-decorator]
    @write("add_command", CommandSerializer, CommandInput, status=NEW_OR_KNOWN)
    def add_command(self, deployment_id: UUID, kind: str) -> Any:
        """Queue a deployment's command; 200 if it is waiting already."""
        now, proof = timezone.now(), read_proof(self.request)
        command = request_command(deployment_id=deployment_id, kind=kind, proof=proof, now=now)
        return command, command.created_at == now

    @read("get_agent_memory", MemorySerializer)
    @action(detail=True)
    def memory(self, deployment_id: UUID) -> Any:
        """Return the memory as text for another program's agent."""
        deployment, at = get_deployment(deployment_id), timezone.now()
        note = find_active_note(deployment)
        lessons = "" if note is None else lessons_text(note)
        sections = context.memory_sections(_gather_memory(deployment, at))
        trades = "\n\n".join("\n".join(section) for section in sections)
        text = "\n\n".join(part for part in (lessons, trades) if part)
        shown = {"at": at, "lessons": lessons, "trades": trades, "text": text, "note_id": note.pk if note else None}
        return {**shown, "tokens": count_tokens(text)}

    @read("get_agent_prompt", PromptSerializer)
    @action(detail=True)
    def prompt(self, deployment_id: UUID) -> Any:
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
            **{name: getattr(cost, name) for name in _COSTS},
        }


def _gather_memory(deployment: Deployment, at: datetime) -> context.ContextInputs:
    """Return only the record's inputs; agents elsewhere read the market themselves."""
    payload = parse_payload(deployment.version.payload)
    record, equity = context.read_record(deployment.pk, payload), get_latest_equity(deployment)
    found = find_marks({trade.symbol for trade in record.open_trades}, at, choose_tape(deployment))
    marks = {symbol: mark.price for symbol, mark in found.items()}
    return context.ContextInputs(
        at=at, payload=payload, portfolio=context.Portfolio(equity, equity), marks=marks, record=record
    )
