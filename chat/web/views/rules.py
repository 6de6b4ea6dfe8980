"""The page of rules, and how Keel reads a fact as one."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from chat.rules import follow_facts, read_fact
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, get_safe_next, owned_act, owned_page
from config.lib.words.compile import Refusal
from config.lib.words.rules import parse_rule
from memory.models import UserFact
from trading.models import RuleState, TradingRule
from trading.rules.services import decide_rule, get_rule, list_rule_records, list_rules

FEW_UNREAD = 20  # shown at first: a long memory has hundreds
_ANSWERS = {
    RuleState.CONFIRMED: "Your trades are judged by: {}.",
    RuleState.DISMISSED: "Not used as a rule: {}.",
    RuleState.WAITING: "Waits for your answer again: {}.",
}


@owned_page
def show_rules(request: AuthedRequest) -> HttpResponse:
    """Show the rules read from facts; how the trades kept each comes in by itself."""
    with owned_tx(request.user):
        unread = follow_facts(now=timezone.now())
    readings = [(row, parse_rule(row.payload).describe()) for row in list_rules()]
    context = {
        **{state.value: [one for one in readings if one[0].state == state] for state in RuleState},
        "unread": unread if "unread" in request.GET else unread[:FEW_UNREAD],
        "unread_count": len(unread),
    }
    return TemplateResponse(request, "chat/rules.html", context)


@owned_page
def show_record(request: AuthedRequest, rule_id: UUID) -> HttpResponse:
    """Show how the trades kept a rule, as a part of the page of rules."""
    records = list_rule_records([get_rule(rule_id)])
    return TemplateResponse(request, "chat/_rule_record.html", {"record": records[0] if records else None})


@owned_act
def decide(request: AuthedRequest, rule_id: UUID) -> HttpResponse:
    """Use a reading as a rule, or not."""
    state = RuleState(given) if (given := request.POST.get("state")) in RuleState.values else RuleState.WAITING
    with owned_tx(request.user):
        row = decide_rule(rule_id=rule_id, state=state, now=timezone.now())
    messages.success(request, _ANSWERS[state].format(parse_rule(row.payload).describe()))
    return redirect(get_safe_next(request, reverse("chat:rules")))


@owned_page
def read(request: AuthedRequest, fact_id: UUID) -> HttpResponse:
    """Show how Keel reads a fact as a rule, as a part of its page."""
    lineages = list(UserFact.objects.filter(pk=fact_id).values_list("lineage", flat=True))
    with owned_tx(request.user):
        follow_facts(now=timezone.now(), lineages=lineages)
    row = TradingRule.objects.filter(fact_id=fact_id).first()
    found = None if row else read_fact(fact_id)
    context = {
        "row": row,
        "reading": parse_rule(row.payload).describe() if row else "",
        "reason": found.reason if isinstance(found, Refusal) and found.is_near else "",
        "here": reverse("memory:fact", args=[fact_id]),
    }
    return TemplateResponse(request, "chat/_fact_rule.html", context)
