"""Decay reports; it writes nothing to facts."""

from datetime import timedelta

import pytest

from memory.facts.queries import iter_block_facts
from memory.facts.services import confirm_fact
from memory.learning.consolidation import report_faded_facts
from memory.models import MemorySwitches, UserFact
from memory.recall.blocks import build_coach_block
from tests.factories.memory import MAY, UserFactFactory

PERIOD = timedelta(days=30)
SECOND = timedelta(seconds=1)


@pytest.fixture
def learned(as_trader) -> UserFact:
    """A fact that an extraction was sure of by 0.9 in May: it fades when the third period is over."""
    return UserFactFactory(content="Prefers gold", learned=True)


def names(faded):
    return [fact.content for fact in faded]


def test_what_is_reported_has_left_the_prompt(learned):
    def block(now):
        return build_coach_block(iter_block_facts(now), now=now).fact_ids

    assert block(MAY + 3 * PERIOD - SECOND) == (learned.pk,)
    assert block(MAY + 3 * PERIOD) == ()


def test_running_it_twice_reports_nothing_more(learned):
    now, before = MAY + 3 * PERIOD, list(UserFact.objects.values())

    assert report_faded_facts(now=now - SECOND) == []
    assert names(report_faded_facts(now=now)) == ["Prefers gold"]
    assert report_faded_facts(now=now) == []
    assert report_faded_facts(now=now + PERIOD) == []
    assert list(UserFact.objects.values()) == before


def test_a_report_of_an_earlier_time_does_not_set_the_clock_back(learned):
    report_faded_facts(now=MAY + 3 * PERIOD)
    report_faded_facts(now=MAY)

    assert MemorySwitches.objects.get().decay_reported_at == MAY + 3 * PERIOD


def test_a_fact_confirmed_and_faded_again_is_reported_again(learned):
    report_faded_facts(now=MAY + 3 * PERIOD)
    confirm_fact(fact_id=learned.pk, now=MAY + 4 * PERIOD)

    assert report_faded_facts(now=MAY + 7 * PERIOD - SECOND) == []
    assert names(report_faded_facts(now=MAY + 7 * PERIOD)) == ["Prefers gold"]


def test_only_current_learned_facts_fade(as_trader):
    UserFactFactory(content="Said outright")
    UserFactFactory(content="Never was in a prompt", learned=True, score=0.6)
    UserFactFactory(content="Archived", learned=True, archived=True)
    UserFactFactory(content="Over", learned=True, ended=True)

    assert report_faded_facts(now=MAY + 10 * PERIOD) == []
