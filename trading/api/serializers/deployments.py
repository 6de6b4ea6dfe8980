"""Deployments, decisions, lessons and commands."""

from rest_framework import serializers

from config.lib.rest.views import InputSerializer, PageQuery
from trading import models
from trading.api.serializers.fields import AmountField, RowSerializer, ValueSerializer, usd_field
from trading.api.serializers.trades import TradeSerializer


class DeploymentQuery(PageQuery):
    skill_id = serializers.UUIDField(default=None)
    broker_kind = serializers.ChoiceField([models.BrokerKind.PAPER, models.BrokerKind.LIVE], default="")
    status = serializers.ChoiceField(models.DeploymentStatus.choices, default="")


class DeploymentInput(InputSerializer):
    """A deployment that another program runs and pushes."""

    skill_id = serializers.UUIDField()
    broker_kind = serializers.ChoiceField([models.BrokerKind.LIVE], default=models.BrokerKind.LIVE)
    starting_equity_usd = usd_field(required=False, min_value=1)


class DeploymentSerializer(RowSerializer):
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


class NoteSerializer(RowSerializer):
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


class DecisionSerializer(RowSerializer):
    """What one tick decided, without its texts."""

    proposal = serializers.JSONField(read_only=True, help_text="The order that the agent proposed, or null.")

    class Meta:
        model = models.DecisionSnapshot
        fields: tuple[str, ...] = (
            *("id", "deployment", "tick", "tick_at", "skill_version", "proposal", "verdict", "verdict_code"),
            *("verdict_text", "note_id", "model", "input_tokens", "output_tokens", "cost_usd"),
        )


class WholeDecisionSerializer(DecisionSerializer):
    """What one tick decided, with all that the agent saw and did."""

    steps = serializers.JSONField(read_only=True, help_text="Calls of tools and their results.")

    class Meta(DecisionSerializer.Meta):
        fields = (*DecisionSerializer.Meta.fields, "system_prompt", "context", "steps")


class EquityQuery(PageQuery):
    since = serializers.DateTimeField(default=None)
    until = serializers.DateTimeField(default=None)


class EquitySerializer(RowSerializer):
    """The equity after a tick, open positions at their mark."""

    class Meta:
        model = models.EquityPoint
        fields = ("tick", "at", "equity_usd")


class CommandInput(InputSerializer):
    """What to tell a deployment."""

    kind = serializers.ChoiceField(models.CommandKind.choices)


class CommandSerializer(RowSerializer):
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
