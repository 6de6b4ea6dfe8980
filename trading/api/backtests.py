"""Backtests over REST."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.utils import timezone

from config.lib.rest.operations import make_act_view, read, read_pages, write
from config.lib.rest.views import ApiView
from trading.api.serializers.backtests import BacktestInput, BacktestQuery, BacktestSerializer
from trading.models import BacktestRun, Deployment
from trading.record.backtests import cancel_backtest, get_backtest, start_backtest


class BacktestsView(ApiView):
    @read_pages("list_backtests", "backtests", BacktestSerializer, BacktestQuery)
    def get(self, status: str, skill_id: UUID | None) -> QuerySet[BacktestRun]:
        """List backtests, the newest first."""
        rows = BacktestRun.objects.all()
        rows = rows.prefetch_related(Prefetch("deployment", Deployment.objects.select_related("version")))
        if status:
            rows = rows.filter(status=status)
        if skill_id:
            rows = rows.filter(deployment__in=Deployment.objects.filter(skill=skill_id).values("pk"))
        return rows

    @write("start_backtest", "backtests", BacktestSerializer, BacktestInput, status=HTTPStatus.CREATED)
    def post(self, **fields: Any) -> BacktestRun:
        """Queue a backtest of a skill's newest version."""
        return start_backtest(**fields, now=timezone.now())


class BacktestView(ApiView):
    @read("get_backtest", "backtests", BacktestSerializer)
    def get(self, run_id: UUID) -> BacktestRun:
        """Return a backtest's progress and, once done, its result."""
        return get_backtest(run_id)


CancelBacktestView = make_act_view(
    "cancel_backtest",
    "backtests",
    cancel_backtest,
    BacktestSerializer,
    "Cancel a waiting or running backtest; keep its record.",
)
