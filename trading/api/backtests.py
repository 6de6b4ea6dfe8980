"""Backtests over REST."""

from http import HTTPStatus
from uuid import UUID

from django.db.models import Prefetch
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, answer_page
from trading.api.schema import describe_list
from trading.api.serializers.backtests import BacktestInput, BacktestQuery, BacktestSerializer
from trading.models import BacktestRun, Deployment
from trading.record.backtests import cancel_backtest, get_backtest, start_backtest


class BacktestsView(ApiView):
    @describe_list("list_backtests", "backtests", BacktestSerializer, BacktestQuery)
    def get(self, request: ApiRequest) -> Response:
        """List backtests, the newest first."""
        query = self.query(BacktestQuery)
        rows = BacktestRun.objects.all()
        rows = rows.prefetch_related(Prefetch("deployment", Deployment.objects.select_related("version")))
        if status := query.pop("status"):
            rows = rows.filter(status=status)
        if skill_id := query.pop("skill_id"):
            rows = rows.filter(deployment__in=Deployment.objects.filter(skill=skill_id).values("pk"))
        return answer_page(get_page(rows, by=("-created_at", "id"), **query), BacktestSerializer)

    @extend_schema(
        operation_id="start_backtest", tags=["backtests"], request=BacktestInput, responses={201: BacktestSerializer}
    )
    def post(self, request: ApiRequest) -> Response:
        """Queue a backtest of a skill's newest version."""
        fields = self.body(BacktestInput)
        with owned_tx(request.user):
            run = start_backtest(**fields, now=timezone.now())
        return Response(BacktestSerializer(run).data, status=HTTPStatus.CREATED)


class BacktestView(ApiView):
    @extend_schema(operation_id="get_backtest", tags=["backtests"], responses=BacktestSerializer)
    def get(self, request: ApiRequest, run_id: UUID) -> Response:
        """Return a backtest's progress and, once done, its result."""
        return Response(BacktestSerializer(get_backtest(run_id)).data)


class CancelBacktestView(ApiView):
    @extend_schema(operation_id="cancel_backtest", tags=["backtests"], request=None, responses=BacktestSerializer)
    def post(self, request: ApiRequest, run_id: UUID) -> Response:
        """Cancel a waiting or running backtest; keep its record."""
        with owned_tx(request.user):
            run = cancel_backtest(run_id=run_id, now=timezone.now())
        return Response(BacktestSerializer(run).data)
