"""Backtests over REST."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from rest_framework import serializers

from config.lib.rest.operations import act, read, read_page, write
from config.lib.rest.views import ApiViewSet, InputSerializer, PageQuery, narrow
from trading.api.fields import AmountField, ExactRowSerializer, usd_field
from trading.models import BacktestRun, Deployment, WorkStatus
from trading.record.backtests import cancel_backtest, get_backtest, start_backtest


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


class BacktestSerializer(ExactRowSerializer):
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


class BacktestViewSet(ApiViewSet):
    areas = frozenset(("agents",))
    lookup_url_kwarg = "run_id"

    @read_page("list_backtests", BacktestSerializer, BacktestQuery)
    def list(self, status: str, skill_id: UUID | None) -> QuerySet[BacktestRun]:
        """List backtests, the newest first."""
        of_skill = Deployment.objects.filter(skill=skill_id).values("pk") if skill_id else None
        deployments: Any = Prefetch("deployment", Deployment.objects.select_related("version"))
        rows = BacktestRun.objects.prefetch_related(deployments)
        return narrow(rows, status=status, deployment__in=of_skill)

    @write("start_backtest", BacktestSerializer, BacktestInput, status=HTTPStatus.CREATED)
    def create(self, **fields: Any) -> BacktestRun:
        """Queue a backtest of a skill's newest version."""
        return start_backtest(**fields, now=timezone.now())

    @read("get_backtest", BacktestSerializer)
    def retrieve(self, run_id: UUID) -> BacktestRun:
        """Return a backtest's progress and, once done, its result."""
        return get_backtest(run_id)

    cancel = act(
        "cancel_backtest", cancel_backtest, BacktestSerializer, "Cancel a waiting or running backtest; keep its record."
    )
