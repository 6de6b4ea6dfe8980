"""Pages that ask the record."""

from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone

from config.lib.errors import DomainError
from config.lib.web import AuthedRequest, find_time_zone, owned_page
from trading.asking.answers import (
    build_link,
    describe_figure,
    describe_groups,
    describe_scope,
    describe_total,
    format_value,
)
from trading.asking.check import check_plan
from trading.asking.in_words import find_question
from trading.asking.planner import answer_question
from trading.asking.query import MEASURES, QUESTION, parse_query
from trading.asking.sizing import PLAN, parse_plan
from trading.models import Skill
from trading.record.trade_queries import find_trades
from trading.web.columns import build_rows
from trading.web.questions import PlanForm, QuestionForm

MAX_WORDS = 200
NOT_READ = "The record cannot answer “{}”. Use other words, such as “Which weekday is my worst?”, or choose above."


@owned_page
def ask_record(request: AuthedRequest) -> HttpResponse:
    """Answer the question that the address asks; one in words leads to the address of its reading."""
    asked = request.GET.get("q", "")[:MAX_WORDS].strip()
    words = {name: request.GET[name][:MAX_WORDS] for name in QUESTION if request.GET.get(name)}
    is_in_words = bool(asked) and not words
    if is_in_words and (found := find_question(asked)):
        return HttpResponseRedirect(build_link({**found, "q": asked}))
    skills = [(str(pk), name) for pk, name in Skill.objects.order_by("name", "id").values_list("pk", "name")]
    context: dict[str, object] = {"form": QuestionForm(words, skills), "is_asked": bool(words), "asked": asked}
    if is_in_words:
        return TemplateResponse(request, "trading/ask.html", {**context, "refusal": NOT_READ.format(asked)})
    zone = find_time_zone(request.user.time_zone)
    try:
        answer = answer_question(parse_query(words, zone=zone, now=timezone.now()))
    except DomainError as error:
        return TemplateResponse(request, "trading/ask.html", {**context, "refusal": str(error)})
    ends = [("Highest", answer.best), ("Lowest", answer.worst)]
    context |= {
        "answer": answer,
        "scope": describe_scope(answer.query),
        "total": describe_total(answer),
        "groups": describe_groups(answer),
        "ranked": [(one.trade, format_value(answer.query.measure, one.value)) for one in answer.trades],
        "ends": [(name, one.trade, format_value(answer.query.measure, one.value)) for name, one in ends if one],
        "rows": build_rows(sorted(find_trades(answer.trade_ids), key=lambda one: answer.trade_ids.index(one.pk))),
    }
    return TemplateResponse(request, "trading/ask.html", context)


@owned_page
def check_trade(request: AuthedRequest) -> HttpResponse:
    """Size and check the planned trade that the address gives."""
    words = {name: request.GET[name][:MAX_WORDS] for name in PLAN if request.GET.get(name)}
    context: dict[str, object] = {"form": PlanForm(words), "is_asked": bool(words)}
    if words:
        zone = find_time_zone(request.user.time_zone)
        try:
            check = check_plan(parse_plan(words), zone=zone, now=timezone.now())
        except DomainError as error:
            return TemplateResponse(request, "trading/check.html", {**context, "refusal": str(error)})
        figures = {"expectancy": check.expectancy, "win_rate": check.win_rate}
        similar = [describe_figure(name, MEASURES[name].label, one, 0) for name, one in figures.items()]
        context |= {"check": check, "similar": similar, "link": build_link(check.similar.words)}
    return TemplateResponse(request, "trading/check.html", context)
