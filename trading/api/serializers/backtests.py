"""Backtests."""

from typing import Any

from rest_framework import serializers

from config.lib.rest.views import InputSerializer, PageQuery
from trading.api.serializers.fields import AmountField, RowSerializer, usd_field
from trading.models import BacktestRun, WorkStatus


class BacktestQuery(PageQuery):
    skill_id = serializers.UUIDField(default=None)
    status = serializers.ChoiceField(WorkStatus.choices, default="")


class BacktestInput(InputSerializer):
    """What to play the newest version of a skill over."""

    skill_id = serializers.UUIDField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    starting_equity_usd = usd_field(required=False, min_value=1)
    fee_bps = AmountField(8, 3, required=False, min_value=-100, max_value=1_000, help_text="Of notional.")
    slippage_bps = AmountField(8, 3, required=False, min_value=0, max_value=1_000)
    volume_pct = AmountField(
        6,
        3,
        required=False,
        min_value=0,
        max_value=100,
        help_text="Of a bar's volume that fills may take; 0: no limit.",
    )
    reflects = serializers.BooleanField(required=False, help_text="Lessons are drawn on the way.")
    by_rules = serializers.BooleanField(required=False, help_text="The rule-based model decides.")


class BacktestSerializer(RowSerializer):
    """A backtest. Its trades are those of its deployment."""

    skill = serializers.UUIDField(source="deployment.skill_id", read_only=True)
    skill_version = serializers.IntegerField(source="deployment.version.version", read_only=True)
    starting_equity_usd = AmountField(source="deployment.starting_equity_usd", read_only=True)
    summary: Any = serializers.DictField(read_only=True, help_text="What it came to, once it is done.")

    class Meta:
        model = BacktestRun
        fields = (
            *("id", "deployment", "skill", "skill_version", "status", "starts_at", "ends_at"),
            *("starting_equity_usd", "fee_bps", "slippage_bps", "volume_pct", "reflects", "by_rules", "is_simulated"),
            *("ticks_done", "ticks_total", "summary", "error", "created_at", "finished_at"),
        )
