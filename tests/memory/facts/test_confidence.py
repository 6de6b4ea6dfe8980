import pytest

from memory.facts.services import confirm_fact, demote_fact, promote_fact
from memory.models import Confidence, EventKind, UserFact
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

ASSERTED, INFERRED = Confidence.ASSERTED, Confidence.INFERRED


@pytest.mark.parametrize(
    ("act", "was", "becomes", "kind"),
    [(promote_fact, INFERRED, ASSERTED, EventKind.PROMOTE), (demote_fact, ASSERTED, INFERRED, EventKind.DEMOTE)],
)
def test_confidence_change_writes_one_new_row(as_trader, act, was, becomes, kind):
    old = UserFactFactory(confidence=was)

    written = act(fact_id=old.pk, now=JUNE)
    again = act(fact_id=written.fact.pk, now=JULY)

    assert (written.fact.supersedes, written.fact.confidence) == (old, becomes)
    assert (written.event.kind, written.event.before, written.event.after) == (kind, old, written.fact)
    assert (again.fact, again.event) == (written.fact, None)


def test_confirm_fact_resets_the_clock_and_nothing_else(as_trader):
    fact = UserFactFactory(learned=True, last_confirmed_at=MAY)
    before = UserFact.objects.filter(pk=fact.pk).values().get()

    written = confirm_fact(fact_id=fact.pk, now=JUNE)

    after = UserFact.objects.filter(pk=fact.pk).values().get()
    assert after == before | {"last_confirmed_at": JUNE}
    assert (written.event.kind, written.event.before, written.event.after) == (EventKind.CONFIRM, fact, fact)
    assert written.event.previous_confirmed_at == MAY


@pytest.mark.parametrize("now", [MAY, JUNE], ids=["earlier", "the same"])
def test_confirm_fact_never_sets_the_clock_back(as_trader, now):
    fact = UserFactFactory(last_confirmed_at=JUNE)

    written = confirm_fact(fact_id=fact.pk, now=now)

    fact.refresh_from_db()
    assert (written.event, fact.last_confirmed_at) == (None, JUNE)
