from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from config.lib.owned import ScopeError
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    demote_fact,
    forget_fact,
    promote_fact,
    remember_fact,
    render_coach_block,
    restore_fact,
    supersede_fact,
)
from memory.facts.undo import UndoRefused, undo_event
from memory.facts.versions import FactNotFound, FactWrite
from memory.models import ArchivedReason, MemoryEvent, UserFact
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

Write = Callable[[UserFact, datetime], FactWrite]
DAY = timedelta(days=1)
BOOKKEEPING = {"id", "supersedes_id", "created_at", "valid_from"}  # what tells a row that came back from the one it was


def save(words: str, now: datetime = JUNE) -> FactWrite:
    return remember_fact(content=words, topic="risk", now=now)


def edit(fact: UserFact, now: datetime) -> FactWrite:
    return supersede_fact(fact_id=fact.pk, content="Corrected", topic="goal", now=now)


def move(fact: UserFact, now: datetime) -> FactWrite:
    return remember_fact(content=fact.content, topic="style", now=now)


def promote(fact: UserFact, now: datetime) -> FactWrite:
    return promote_fact(fact_id=fact.pk, now=now)


def demote(fact: UserFact, now: datetime) -> FactWrite:
    return demote_fact(fact_id=fact.pk, now=now)


def confirm(fact: UserFact, now: datetime) -> FactWrite:
    return confirm_fact(fact_id=fact.pk, now=now)


def forget(fact: UserFact, now: datetime) -> FactWrite:
    return forget_fact(id_or_substring=str(fact.pk), now=now)


def archive(fact: UserFact, now: datetime) -> FactWrite:
    return archive_fact(fact_id=fact.pk, now=now)


def restore(fact: UserFact, now: datetime) -> FactWrite:
    return restore_fact(fact_id=fact.pk, now=now)


def merge(fact: UserFact, now: datetime) -> FactWrite:
    save("What another fact says", now=MAY)
    return supersede_fact(fact_id=fact.pk, content="What another fact says", now=now)


def undo(written: FactWrite, now: datetime = JULY) -> MemoryEvent:
    return undo_event(event_id=written.event.pk, now=now)


def standing(lineage: UUID) -> list[dict]:
    rows = UserFact.objects.believed().filter(lineage=lineage).values()
    return [{name: value for name, value in row.items() if name not in BOOKKEEPING} for row in rows]


def closed_rows() -> dict[UUID, dict]:
    return {row["id"]: row for row in UserFact.objects.filter(archived_at__isnull=False).values()}


@pytest.mark.parametrize(
    ("write", "made"),
    [
        (edit, {}),
        (edit, {"learned": True}),
        (move, {}),
        (promote, {"inferred": True}),
        (promote, {"learned": True}),
        (demote, {}),
        (confirm, {}),
        (confirm, {"last_confirmed_at": None}),
        (forget, {}),
        (archive, {}),
        (archive, {"ended": True}),
        (merge, {}),
        (edit, {"ended": True}),
        (edit, {"begins_later": True}),
        (move, {"begins_later": True}),
        (restore, {"archived": True}),
    ],
    ids=lambda value: value.__name__ if callable(value) else ", ".join(value),
)
def test_undo_event_brings_back_what_was_there(as_trader, write, made):
    given = {"topic": "risk", "summary": "Short", "body": "Long", "last_confirmed_at": MAY, **made}
    fact = UserFactFactory(**given)
    before = standing(fact.lineage)
    written = write(fact, JUNE)
    closed = closed_rows()

    event = undo(written)

    assert standing(fact.lineage) == before
    assert event.undone_at == MemoryEvent.objects.get(pk=event.pk).undone_at == JULY
    assert {pk: closed_rows()[pk] for pk in closed} == closed


@pytest.mark.parametrize("made", [{"ended": True}, {"begins_later": True}, {}], ids=["ended", "begins later", "holds"])
@pytest.mark.parametrize("write", [edit, move, archive])
def test_undo_event_leaves_a_fact_in_its_own_time(as_trader, write, made):
    fact = UserFactFactory(topic="risk", **made)
    held = [UserFact.objects.current(moment).exists() for moment in (JUNE, JULY)]

    undo(write(fact, JUNE), now=JUNE + DAY)

    assert [UserFact.objects.current(moment).exists() for moment in (JUNE + DAY, JULY)] == held


def test_undo_event_of_a_save_takes_the_fact_out_of_use(as_trader):
    written = save("Max 5x leverage")

    undo(written)

    written.fact.refresh_from_db()
    assert (written.fact.archived_at, written.fact.archived_reason) == (JULY, ArchivedReason.UNDONE)
    assert UserFact.objects.count() == 1


def test_undo_event_of_a_change_puts_a_new_row_on_top(as_trader):
    first = save("Max 5x leverage").fact
    second = edit(first, JUNE + DAY)

    undo(second)

    back = UserFact.objects.believed().get()
    assert (back.content, back.supersedes, back.created_at) == ("Max 5x leverage", second.fact, JULY)
    assert back.valid_from == JUNE + DAY  # what held before the wrong row held until it began: no gap, no overlap


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (edit, demote),
        (edit, archive),
        (edit, forget),
        (promote, demote),
        (promote, edit),
        (move, edit),
        (confirm, edit),
        (confirm, forget),
        (forget, restore),
        (archive, restore),
        (merge, restore),
    ],
    ids=lambda write: write.__name__,
)
def test_undo_event_is_refused_while_a_later_write_stands_on_it(as_trader, first, second):
    fact = UserFactFactory(inferred=True)
    written = first(fact, JUNE)
    second(UserFact.objects.get(lineage=fact.lineage, superseded_by=None), JUNE)
    rows = list(UserFact.objects.order_by("pk").values())

    with pytest.raises(UndoRefused, match="changed since"):
        undo(written)

    assert list(UserFact.objects.order_by("pk").values()) == rows
    assert MemoryEvent.objects.get(pk=written.event.pk).undone_at is None


@pytest.mark.parametrize("between", [timedelta(0), DAY], ids=["in one turn", "over days"])
@pytest.mark.parametrize(
    "writes",
    [
        [edit],
        [forget],
        [confirm, edit],
        [edit, confirm],
        [edit, demote, forget, restore, move],
        [forget, restore, forget],
        [archive, restore, edit, archive, restore, confirm, demote],
        [promote, merge, restore, forget],
    ],
    ids=lambda writes: ", ".join(write.__name__ for write in writes),
)
def test_undo_event_goes_back_write_by_write_to_the_first(as_trader, writes, between):
    saved = save("Max 5x leverage")
    lineage = saved.fact.lineage
    done, states = [saved], [[]]
    for number, write in enumerate(writes, start=1):
        states.append(standing(lineage))
        last = UserFact.objects.get(lineage=lineage, superseded_by=None)
        done.append(write(last, JUNE + number * between))

    for written, state in zip(reversed(done), reversed(states), strict=True):
        undo(written)
        assert standing(lineage) == state


def test_undo_event_of_a_save_is_refused_while_another_fact_is_merged_into_it(as_trader):
    saved = save("Max 5x leverage")
    other = save("Max 4x leverage on BTC")
    merged = supersede_fact(fact_id=other.fact.pk, content="Max 5x leverage", now=JUNE)

    with pytest.raises(UndoRefused):
        undo(saved)
    undo(merged)
    undo(saved)

    assert [fact.content for fact in UserFact.objects.believed()] == ["Max 4x leverage on BTC"]


def test_undo_event_of_a_forget_leaves_the_same_words_said_again_alone(as_trader):
    forgotten = forget(save("Max 5x leverage").fact, JUNE)
    again = save("Max 5x leverage")

    event = undo(forgotten)

    assert list(UserFact.objects.believed()) == [again.fact]
    assert event.undone_at == JULY


def test_undo_event_of_a_change_leaves_its_old_words_said_again_alone(as_trader):
    saved = save("Max 5x leverage")
    changed = edit(saved.fact, JUNE)
    again = save("Max 5x leverage")

    undo(changed)

    assert list(UserFact.objects.believed()) == [again.fact]
    with pytest.raises(UndoRefused):
        undo(saved)
    assert list(UserFact.objects.believed()) == [again.fact]


def test_undo_event_takes_affirmations_back_from_the_last(as_trader):
    fact = UserFactFactory()
    first, second = confirm(fact, JUNE), confirm(fact, JUNE + DAY)

    with pytest.raises(UndoRefused, match="confirmed again"):
        undo(first)
    undo(second)
    undo(first)

    fact.refresh_from_db()
    assert fact.last_confirmed_at is None


def test_undo_event_keeps_that_the_block_was_rendered_since(as_trader):
    written = edit(UserFactFactory(), JUNE)
    render_coach_block(now=JUNE + DAY)

    undo(written)

    assert UserFact.objects.believed().get().last_referenced_at == JUNE + DAY


def test_undo_event_keeps_a_confirmation_of_the_same_words(as_trader):
    written = demote(UserFactFactory(), JUNE)
    confirm(written.fact, JUNE + DAY)

    undo(written)

    assert UserFact.objects.believed().get().last_confirmed_at == JUNE + DAY


def test_undo_event_forgets_what_was_affirmed_of_the_wrong_words(as_trader):
    written = edit(UserFactFactory(last_confirmed_at=MAY), JUNE)
    confirm(written.fact, JUNE + DAY)

    undo(written)

    assert UserFact.objects.believed().get().last_confirmed_at == MAY


def test_undo_event_answers_alike_for_a_strangers_event_and_for_none(strangers_event, as_trader):
    with pytest.raises(FactNotFound) as foreign:
        undo_event(event_id=strangers_event.pk, now=JULY)
    with pytest.raises(FactNotFound) as missing:
        undo_event(event_id=uuid4(), now=JULY)

    assert str(foreign.value) == str(missing.value)


def test_undo_event_needs_an_owner_in_scope(db):
    with pytest.raises(ScopeError):
        undo_event(event_id=uuid4(), now=JULY)
