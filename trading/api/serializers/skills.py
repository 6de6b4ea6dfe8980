"""Skills, versions and drafts."""

from typing import Any

from rest_framework import serializers

from config.lib.rest.views import InputSerializer, PageQuery
from trading.api.serializers.fields import AmountField, PayloadField, RowSerializer, ValueSerializer, usd_field
from trading.models import Skill, SkillDraft, SkillVersion
from trading.record.performance import Performance
from trading.skills.schemas import list_problems
from trading.skills.templates import TEMPLATES

MAX_VERSION = 2**31 - 1


class SkillQuery(PageQuery):
    archived = serializers.BooleanField(default=False, help_text="Those that were archived, instead of the others.")


class SkillSerializer(RowSerializer):
    """A skill, without what it says."""

    class Meta:
        model = Skill
        fields = ("id", "name", "trading_style", "latest_version", "created_at", "updated_at", "archived_at")


class WholeSkillSerializer(SkillSerializer):
    """A skill with what its newest version says."""

    payload = PayloadField(read_only=True)


class VersionSerializer(RowSerializer):
    """A version of a skill, without what it says."""

    class Meta:
        model = SkillVersion
        fields = ("id", "skill", "version", "created_at")


class WholeVersionSerializer(VersionSerializer):
    """A version of a skill. It never changes."""

    payload = PayloadField(read_only=True)


class DeployInput(InputSerializer):
    """How to set a skill to run on paper."""

    starting_equity_usd = usd_field(required=False, min_value=1)


class DrawdownSerializer(ValueSerializer):
    """The deepest fall of an account from a peak."""

    usd = AmountField()
    fraction = serializers.FloatField(help_text="0..1 of the peak; above 1 if the account went below zero.")


class PerformanceSerializer(ValueSerializer):
    """Performance of closed trades; null: too few to say."""

    trades = serializers.IntegerField()
    wins = serializers.IntegerField()
    net_usd = AmountField()
    gross_usd = AmountField()
    fees_usd = AmountField()
    funding_usd = AmountField(allow_null=True, help_text="Received above zero; null: not known.")
    win_rate_fraction = serializers.FloatField(allow_null=True)
    win_rate_interval_fraction = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Where it lies with about 90 %: from, to."
    )
    profit_factor = serializers.FloatField(allow_null=True, help_text="Won over lost; null without losses.")
    profit_factor_interval = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text="Where it lies with about 90 %: from, to; to null is not bounded.",
    )
    expectancy_usd = AmountField(allow_null=True, help_text="The mean net of a trade.")
    expectancy_interval_usd = serializers.ListField(
        child=AmountField(), allow_null=True, help_text="Where that mean lies with about 90 %: from, to."
    )
    mean_holding_minutes = serializers.SerializerMethodField()
    sharpe = serializers.FloatField(allow_null=True, help_text="Of daily equity, yearly; null below 20 days.")
    sharpe_days = serializers.IntegerField(allow_null=True, help_text="How many daily returns it is computed from.")
    sharpe_interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Where it lies with about 90 %: from, to."
    )
    equity_days = serializers.IntegerField(help_text="Of the curve of the drawdown.")
    max_drawdown = DrawdownSerializer(allow_null=True)
    is_too_few = serializers.BooleanField(help_text="Fewer than five trades say nothing.")

    def get_mean_holding_minutes(self, numbers: Performance) -> float | None:
        """Return how long a trade lasted."""
        return None if numbers.mean_held is None else numbers.mean_held.total_seconds() / 60


class KindPerformanceSerializer(ValueSerializer):
    """What a skill's trades of one kind of deployment come to."""

    broker_kind = serializers.CharField()
    performance = PerformanceSerializer()


class SkillPerformanceSerializer(ValueSerializer):
    """What a skill's trades come to, by the kind of deployment; never backtests and real trades in one number."""

    kinds = KindPerformanceSerializer(many=True)


class DraftSerializer(RowSerializer):
    """A skill being written, without what it says so far."""

    name = serializers.CharField(source="__str__", read_only=True)

    class Meta:
        model = SkillDraft
        fields = ("id", "name", "base_skill", "base_version", "status", "created_at", "updated_at")


class ProblemSerializer(ValueSerializer):
    """What still keeps a draft from being saved."""

    field = serializers.CharField(allow_blank=True, help_text="Such as `context.symbols[0]`; empty: the whole.")
    problem = serializers.CharField()


class WholeDraftSerializer(DraftSerializer):
    """A skill being written: anything may still be missing."""

    payload = serializers.DictField(read_only=True, help_text="As a skill's, as far as it goes.")
    problems = ProblemSerializer(many=True, read_only=True)

    def to_representation(self, instance: SkillDraft) -> dict[str, Any]:
        problems = [{"field": error.field, "problem": error.problem} for error in list_problems(instance.payload)]
        return {**DraftSerializer(instance).data, "payload": instance.payload, "problems": problems}


class DraftInput(InputSerializer):
    """What to write a draft of."""

    skill_id = serializers.UUIDField(default=None, allow_null=True, help_text="Null: of a new skill.")


class SaveInput(InputSerializer):
    """How to save a draft."""

    over_newer = serializers.BooleanField(
        default=False, help_text="Also if the skill got another version since the draft was begun."
    )


class TemplateInput(InputSerializer):
    """Which of the skills that Keel ships to fill a draft from."""

    template = serializers.ChoiceField(list(TEMPLATES))
