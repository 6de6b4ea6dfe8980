from decimal import Decimal

import pytest
from django.urls import reverse

from chat.web.views.rules import FEW_UNREAD
from config.lib.owned import owned, owned_tx
from memory.facts.services import remember_fact
from tests.factories.memory import MAY
from tests.factories.record import TradeFactory
from trading.models import TradingRule

RULES = reverse("chat:rules")


@pytest.fixture
def fact(trader):
    with owned_tx(trader):
        return remember_fact(content="Max leverage is 5x", now=MAY).fact


def confirm(client, trader):
    client.get(RULES)
    with owned(trader):
        rule = TradingRule.objects.get()
    client.post(reverse("chat:decide_rule", args=[rule.pk]), {"state": "confirmed"})
    return rule


def test_show_rules_without_any_says_how_to_begin(ann):
    assert "No rules yet" in ann.get(RULES).content.decode()


def test_show_rules_offers_a_reading(ann, fact):
    shown = ann.get(RULES).content.decode()
    assert "To confirm" in shown
    assert "At most 5x leverage" in shown
    assert "Max leverage is 5x" in shown


def test_decide_puts_a_reading_to_use(ann, trader, fact):
    with owned_tx(trader):
        broken = TradeFactory(entry_leverage=Decimal(9))
        TradeFactory(entry_leverage=None)
    rule = confirm(ann, trader)
    assert "In use" in ann.get(RULES).content.decode()
    shown = " ".join(ann.get(reverse("chat:rule_record", args=[rule.pk])).content.decode().split())
    assert f'?rule={rule.pk}&amp;verdict=broken">1 broken</a>' in shown
    assert "its leverage is not known (1)" in shown

    trade = ann.get(reverse("trading:trade", args=[broken.pk])).content.decode()
    assert "it had 9x" in trade
    listed = ann.get(reverse("trading:trades"), {"rule": rule.pk, "verdict": "broken"}).content.decode()
    assert str(broken.pk) in listed
    answer = ann.get("/api/rules/").json()["rules"]
    assert [(one["kind"], one["broken_trades"]) for one in answer] == [("leverage", [str(broken.pk)])]


def test_decide_takes_a_rule_out_of_use(ann, trader, fact):
    rule = confirm(ann, trader)
    ann.post(reverse("chat:decide_rule", args=[rule.pk]), {"state": "dismissed"})
    assert "Not used as rules (1)" in ann.get(RULES).content.decode()
    assert not ann.get(reverse("chat:rule_record", args=[rule.pk])).content.strip()


def test_show_rules_of_many_unread_facts_shows_few_at_first(ann, trader):
    with owned_tx(trader):
        for number in range(FEW_UNREAD + 2):
            remember_fact(content=f"Never above {number}x on weekends", now=MAY)
    first, whole = (ann.get(address).content.decode() for address in (RULES, f"{RULES}?unread"))
    assert f"Show all {FEW_UNREAD + 2}" in first
    assert [text.count("x on weekends</a>") for text in (first, whole)] == [FEW_UNREAD, FEW_UNREAD + 2]


def test_decide_returns_to_the_fact(ann, trader, fact):
    ann.get(RULES)
    with owned(trader):
        rule = TradingRule.objects.get()
    here = reverse("memory:fact", args=[fact.pk])
    answer = ann.post(reverse("chat:decide_rule", args=[rule.pk]), {"state": "confirmed", "next": here})
    assert answer["Location"] == here


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Never above 3x", "At most 3x leverage"),
        ("Never above 3x on weekends", "Keel cannot check this"),
        ("Wants short answers", ""),
    ],
)
def test_read_shows_how_a_fact_reads(ann, trader, text, shown):
    with owned_tx(trader):
        fact = remember_fact(content=text, now=MAY).fact
    answer = ann.get(reverse("chat:fact_rule", args=[fact.pk])).content.decode()
    assert shown in answer
    assert bool(answer.strip()) == bool(shown)
