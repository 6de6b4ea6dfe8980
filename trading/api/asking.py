"""Questions to the record over REST."""

from typing import Any

from django.utils import timezone
from rest_framework.response import Response

from config.lib.rest.operations import read
from config.lib.rest.views import ApiView
from config.lib.web import find_time_zone
from trading.api.serializers.asking import PlanCheckSerializer, PlanQuery, QuestionQuery, RecordAnswerSerializer
from trading.asking.answers import describe_answer, describe_check
from trading.asking.check import check_plan
from trading.asking.planner import answer_question
from trading.asking.query import parse_query
from trading.asking.sizing import parse_plan


class AskView(ApiView):
    @read("query_trades", "trades", RecordAnswerSerializer, QuestionQuery)
    def get(self, **words: Any) -> Response:
        """Return a figure of the closed trades that fit, by group."""
        zone = find_time_zone(self.user.time_zone)
        return Response(describe_answer(answer_question(parse_query(words, zone=zone, now=timezone.now()))))


class CheckView(ApiView):
    @read("check_trade", "trades", PlanCheckSerializer, PlanQuery)
    def get(self, **words: Any) -> Response:
        """Size a planned trade and check it; commit nothing."""
        zone = find_time_zone(self.user.time_zone)
        return Response(describe_check(check_plan(parse_plan(words), zone=zone, now=timezone.now())))
