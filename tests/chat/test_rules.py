"""Facts read as rules, followed through their changes."""

from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from chat.endings.erasure import erase_fact
from chat.rules import follow_facts
from config.lib.words.rules import Leverage, dump_rule
from memory.facts.services import archive_fact, delete_fact, forget_fact, remember_fact, restore_fact, supersede_fact
from memory.facts.undo import undo_event
from tests.factories.memory import JUNE, MAY
from tests.factories.record import TradeFactory
from trading.models import RuleState, TradingRule
from trading.rules.services import decide_rule, judge_period, list_valid_rules

DAY = timedelta(days=1)


@pytest.fixture
def fact(as_trader):
    """A fact that was confirmed as a rule, at most 5x leverage."""
    fact = remember_fact(content="Max leverage is 5x", now=MAY).fact
    follow_facts(now=MAY)
    decide_rule(rule_id=TradingRule.objects.get().pk, state=RuleState.CONFIRMED, now=MAY)
    return fact


def rules():
    """Return the limit of each rule with its state and validity."""
    rows = TradingRule.objects.order_by("valid_from", "created_at", "id")
    return [(row.payload["limit"], row.state, row.valid_from, row.valid_until) for row in rows]


def test_follow_facts_reads_rules_alone(as_trader):
    for text in ("Max leverage is 5x", "Wants short answers", "I usually trade at most 2x", "Max 5x on weekends"):
        remember_fact(content=text, now=MAY)
    unread = follow_facts(now=MAY)
    assert [row.payload for row in TradingRule.objects.all()] == [dump_rule(Leverage(limit=Decimal(5)))]
    assert {one.words for one in unread} == {"I usually trade at most 2x", "Max 5x on weekends"}
    assert all(one.reason for one in unread)


@pytest.mark.parametrize(
    ("change", "followed"),
    [
        (partial(supersede_fact, content="Max leverage is 3x"), [("3", "waiting", JUNE, None)]),
        # Other words with the same reading keep the answer
        (partial(supersede_fact, content="Never above 5x leverage"), [("5", "confirmed", JUNE, None)]),
        (archive_fact, []),
        (lambda fact_id, now: forget_fact(id_or_substring="leverage", now=now), []),
    ],
    ids=["changed", "reworded", "archived", "forgotten"],
)
def test_follow_facts_ends_the_rule_of_a_changed_or_ended_fact(fact, change, followed):
    change(fact_id=fact.pk, now=JUNE)
    follow_facts(now=JUNE)
    assert rules() == [("5", "confirmed", MAY, JUNE), *followed]


def test_follow_facts_after_a_restore_continues_the_rule(fact):
    archive_fact(fact_id=fact.pk, now=JUNE)
    restore_fact(fact_id=fact.pk, now=JUNE + DAY)
    follow_facts(now=JUNE + DAY)
    assert [(limit, state) for limit, state, *_ in rules()] == [("5", "confirmed")] * 2


def test_follow_facts_after_an_undone_change_has_no_gap(fact):
    written = supersede_fact(fact_id=fact.pk, content="Max leverage is 3x", now=JUNE)
    follow_facts(now=JUNE)
    undo_event(event_id=written.event.pk, now=JUNE + DAY)
    follow_facts(now=JUNE + DAY)
    (first, second) = rules()
    assert (first[:2], second[:2], first[3]) == (("5", "confirmed"), ("5", "confirmed"), second[2])


@pytest.mark.parametrize("follow", [lambda pk: follow_facts(now=JUNE), lambda pk: erase_fact(fact_id=pk)])
def test_rule_goes_with_its_deleted_or_erased_fact(fact, follow):
    delete_fact(fact_id=fact.pk, now=JUNE)
    follow(fact.pk)
    assert rules() == []


def test_follow_facts_takes_the_dates_of_the_words_as_validity(as_trader):
    remember_fact(content="Max leverage is 5x until 20 May 2026", now=MAY)
    follow_facts(now=MAY)
    ((limit, _, valid_from, valid_until),) = rules()
    assert (limit, valid_from) == ("5", MAY)
    assert valid_until is not None


def test_judge_period_uses_the_rule_of_the_time(fact):
    supersede_fact(fact_id=fact.pk, content="Max leverage is 3x", now=JUNE)
    follow_facts(now=JUNE)
    decide_rule(rule_id=TradingRule.objects.get(valid_from=JUNE).pk, state=RuleState.CONFIRMED, now=JUNE)
    for at in (MAY, JUNE):
        TradeFactory(entry_leverage=Decimal(4), entry_tick_at=at)
    judged = judge_period(list_valid_rules(), since=MAY, until=JUNE + DAY)
    assert [one.verdict for _, one in judged] == ["broken", "kept"]  # the newest first
