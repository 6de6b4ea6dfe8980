"""Both axes: true at an instant, known at another."""

from datetime import timedelta

import pytest

from memory.claims.validity import Validity
from memory.facts.services import archive_fact, delete_fact, forget_fact, merge_facts, supersede_fact
from memory.facts.undo import undo_event
from memory.models import ArchivedReason, UserFact
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
APRIL = MAY - 30 * DAY
AUGUST = JULY + 31 * DAY


def true(valid_at, known_at) -> list[str]:
    return sorted(UserFact.objects.as_of(valid_at, known_at).values_list("content", flat=True))


@pytest.fixture
def corrected(as_trader):
    """A fact of May that was corrected in June."""
    fact = UserFactFactory(content="Retires at 50")
    return supersede_fact(fact_id=fact.pk, content="Retires at 55", now=JUNE)


@pytest.mark.parametrize(
    ("valid_at", "known_at", "contents"),
    [
        (APRIL, AUGUST, []),
        (MAY, AUGUST, ["Retires at 50"]),
        (JUNE - SECOND, AUGUST, ["Retires at 50"]),
        (JUNE, AUGUST, ["Retires at 55"]),
        (AUGUST, AUGUST, ["Retires at 55"]),
        (AUGUST, JUNE, ["Retires at 55"]),
        (AUGUST, JUNE - SECOND, ["Retires at 50"]),
        (MAY, MAY, ["Retires at 50"]),
        (MAY, MAY - SECOND, []),
    ],
)
def test_superseded_fact_was_true_until_its_successor_began(corrected, valid_at, known_at, contents):
    assert true(valid_at, known_at) == contents


@pytest.mark.parametrize(
    ("end", "was_true"),
    [
        (lambda fact: forget_fact(id_or_substring=str(fact.pk), reason=ArchivedReason.USER_CORRECTED, now=JUNE), False),
        (lambda fact: archive_fact(fact_id=fact.pk, now=JUNE), False),
        (lambda fact: delete_fact(fact_id=fact.pk, now=JUNE), False),
        (lambda fact: forget_fact(id_or_substring=str(fact.pk), now=JUNE), True),
        (lambda fact: merge_facts(fact_id=fact.pk, into_id=UserFactFactory(begins_later=True).pk, now=JUNE), True),
    ],
    ids=["user_corrected", "user_archived", "user_deleted", "agent_forget", "merged"],
)
def test_as_of_shows_what_ended_until_then_and_never_what_was_wrong(as_trader, end, was_true):
    end(UserFactFactory(content="Retires at 50"))

    shown = ["Retires at 50"] * was_true
    assert true(MAY, JULY) == true(JUNE - SECOND, JULY) == true(MAY, JUNE) == shown
    assert "Retires at 50" not in true(JUNE, JULY)
    assert true(MAY, JUNE - SECOND) == ["Retires at 50"]
    assert "Retires at 50" in true(JULY, JUNE - SECOND)


def test_as_of_shows_a_forgotten_fact_once_after_its_undo(as_trader):
    event = forget_fact(id_or_substring=str(UserFactFactory(content="Retires at 50").pk), now=JUNE).event
    undo_event(event_id=event.pk, now=JULY)

    for valid_at in (MAY, JUNE, JULY):
        assert true(valid_at, JULY) == ["Retires at 50"]


def test_as_of_shows_original_throughout_after_undone_correction(corrected):
    undo_event(event_id=corrected.event.pk, now=JULY)

    for valid_at in (MAY, JUNE - SECOND, JUNE, JULY, AUGUST):
        assert true(valid_at, JULY) == ["Retires at 50"]
    assert true(JUNE, JULY - SECOND) == ["Retires at 55"]


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_as_of_shows_an_ended_fact_once_after_an_undone_correction(as_trader, is_forgotten):
    fact = UserFactFactory(content="Retires at 50", valid_until=JUNE)
    edited = supersede_fact(fact_id=fact.pk, content="Retires at 55", now=JULY)
    undo_event(event_id=edited.event.pk, now=JULY + DAY)
    if is_forgotten:
        archive_fact(
            fact_id=UserFact.objects.believed().get().pk, reason=ArchivedReason.AGENT_FORGET, now=JULY + 2 * DAY
        )

    assert UserFact.objects.filter(content="Retires at 50").count() == 2
    assert true(MAY, AUGUST) == true(JUNE - SECOND, AUGUST) == ["Retires at 50"]
    assert true(JUNE, AUGUST) == true(JULY, AUGUST) == []


@pytest.mark.parametrize(
    ("valid_at", "is_true"),
    [(JUNE - SECOND, False), (JUNE, True), (JULY - SECOND, True), (JULY, False)],
    ids=["before", "beginning", "before the end", "end"],
)
def test_fact_is_true_from_its_beginning_until_its_end_which_is_exclusive(as_trader, valid_at, is_true):
    UserFactFactory(valid_from=JUNE, valid_until=JULY)

    assert UserFact.objects.as_of(valid_at, AUGUST).exists() is is_true


def test_a_fact_resumes_where_the_version_in_its_place_had_ended(corrected):
    until_july = Validity(None, JULY)
    bounded = supersede_fact(fact_id=corrected.fact.pk, content="Retires at 60", validity=until_july, now=JUNE + DAY)
    again = supersede_fact(fact_id=bounded.fact.pk, content="Retires at 65", now=JULY + DAY)

    for written in (again, bounded):
        undo_event(event_id=written.event.pk, now=JULY + 2 * DAY)

    assert true(JUNE, AUGUST) == ["Retires at 55"]
    assert true(JUNE + DAY, AUGUST) == true(JULY - SECOND, AUGUST) == ["Retires at 60"]
    assert true(JULY, AUGUST) == true(JULY + DAY, AUGUST) == ["Retires at 55"]


def test_as_of_shows_a_fact_throughout_after_an_undone_correction_put_it_off(as_trader):
    fact = UserFactFactory(content="Retires at 50")
    from_june = Validity(JUNE, None)
    put_off = supersede_fact(fact_id=fact.pk, content="Retires at 55", validity=from_june, now=MAY + DAY)

    undo_event(event_id=put_off.event.pk, now=JULY)

    assert true(MAY, AUGUST) == true(JUNE - SECOND, AUGUST) == true(JULY, AUGUST) == ["Retires at 50"]
