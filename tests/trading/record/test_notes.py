from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from tests.factories.memory import JUNE
from tests.factories.record import DeploymentFactory, ReflectionNoteFactory
from tests.owners import as_owner
from tests.trading.drafting import SOON
from trading.models import ReflectionNote
from trading.record.notes import NoteNotFound, find_active_note, keep_note_for_skill, list_active_notes, write_note


def test_new_lessons_supersede_the_old_ones_and_a_second_active_note_never_gets_in(as_trader):
    old, other = ReflectionNoteFactory(), ReflectionNoteFactory()
    row = {"deployment": old.deployment, "skill": old.skill, "user": old.user}
    with pytest.raises(IntegrityError), transaction.atomic():
        ReflectionNoteFactory(**row)
    new = ReflectionNoteFactory.build(lessons_text="- Wait for the close", **row)

    write_note(note=new, now=JUNE)

    old.refresh_from_db()
    other.refresh_from_db()
    assert (old.status, old.superseded_at, other.status) == ("superseded", JUNE, "active")
    assert find_active_note(old.deployment) == new


def test_lessons_kept_for_the_skill_reach_deployments_that_have_none(as_trader):
    note = ReflectionNoteFactory()
    fresh = DeploymentFactory(version=note.deployment.version)
    assert find_active_note(fresh) is None

    kept = keep_note_for_skill(note_id=note.pk, now=JUNE)
    again = keep_note_for_skill(note_id=note.pk, now=SOON)

    assert find_active_note(fresh) == again
    assert find_active_note(note.deployment) == note
    assert ReflectionNote.objects.get(pk=kept.pk).status == "superseded"
    assert (again.lessons_text, again.trades_considered) == (note.lessons_text, note.trades_considered)
    assert (again.kept_from, again.trade_ids) == (note, note.trade_ids)


def test_keep_note_refuses_an_unknown_note(as_trader, stranger):
    theirs = as_owner(stranger, ReflectionNoteFactory)

    for note_id in (theirs.pk, uuid4()):
        with pytest.raises(NoteNotFound):
            keep_note_for_skill(note_id=note_id, now=JUNE)


def test_active_notes_of_many_are_those_that_each_prompt_carries(as_trader, django_assert_num_queries):
    with_own = DeploymentFactory()
    with_skills = DeploymentFactory(version=with_own.version)
    without = DeploymentFactory()
    ReflectionNoteFactory(deployment=with_own, generated_at=JUNE)
    ReflectionNoteFactory(deployment=None, skill=with_own.skill)
    deployments = [with_own, with_skills, without]

    with django_assert_num_queries(1):
        notes = list_active_notes(deployments)

    assert notes == [find_active_note(with_own), find_active_note(with_skills)]
    assert find_active_note(without) is None
    assert list_active_notes([with_own]) == notes[:1]
    assert list_active_notes([]) == []
