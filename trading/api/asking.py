"""Questions to the record over REST."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.rest.views import ApiRequest, ApiView
from config.lib.web import find_time_zone
from trading.api.serializers.asking import PlanCheckSerializer, PlanQuery, QuestionQuery, RecordAnswerSerializer
from trading.asking.answers import describe_answer, describe_check
from trading.asking.check import check_plan
from trading.asking.planner import answer_question
from trading.asking.query import parse_query
from trading.asking.sizing import parse_plan


class AskView(ApiView):
    @extend_schema(
        operation_id="query_trades", tags=["trades"], parameters=[QuestionQuery], responses=RecordAnswerSerializer
    )
    def get(self, request: ApiRequest) -> Response:
        """Return a figure of the closed trades that fit, by group."""
        words, zone = self.query(QuestionQuery), find_time_zone(request.user.time_zone)
        return Response(describe_answer(answer_question(parse_query(words, zone=zone, now=timezone.now()))))


class CheckView(ApiView):
    @extend_schema(operation_id="check_trade", tags=["trades"], parameters=[PlanQuery], responses=PlanCheckSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Size a planned trade and check it; commit nothing."""
        plan, zone = parse_plan(self.query(PlanQuery)), find_time_zone(request.user.time_zone)
        return Response(describe_check(check_plan(plan, zone=zone, now=timezone.now())))
