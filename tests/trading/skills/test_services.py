from uuid import uuid4

import pytest

from tests.factories.memory import JULY, JUNE
from tests.factories.record import WHOLE, DeploymentFactory, SkillVersionFactory
from tests.trading.drafting import BASICS, SOON, edit_skill, save_skill
from trading.models import Deployment, Skill, SkillDraft, SkillVersion
from trading.skills.queries import DraftNotFound, find_draft_of_chat, list_open_drafts
from trading.skills.schemas import PayloadInvalid, parse_payload
from trading.skills.services import (
    DraftOutdated,
    SkillArchived,
    SkillInUse,
    SkillNameTaken,
    apply_template_to_draft,
    archive_skill,
    discard_draft,
    list_agent_models,
    list_reflection_models,
    list_save_problems,
    patch_draft,
    save_draft,
    start_draft,
)


def test_draft_becomes_a_skill(as_trader):
    version = save_skill()

    skill = Skill.objects.get()
    assert (skill.name, skill.trading_style, skill.latest_version) == ("Dips", "swing", 1)
    assert version.payload["strategy"]["thesis"] == "Dips are bought"
    assert list_open_drafts() == []


def test_draft_of_a_new_skill_is_taken_up_again_unless_it_was_given_up(as_trader):
    first = start_draft(now=JUNE)

    assert start_draft(now=SOON) == first
    assert SkillDraft.objects.get().created_at == JUNE
    discard_draft(draft_id=first.pk, now=SOON)
    with pytest.raises(DraftNotFound):
        patch_draft(draft_id=first.pk, patch={}, now=SOON)
    assert start_draft(now=SOON) != first


def test_draft_notes_the_chat_that_writes_it_last(as_trader):
    first, second = uuid4(), uuid4()

    start_draft(conversation_id=first, now=JUNE)
    start_draft(conversation_id=second, now=JUNE)
    start_draft(now=JUNE)

    assert (find_draft_of_chat(second), find_draft_of_chat(first)) == (SkillDraft.objects.get(), None)


def test_draft_of_an_archived_skill_is_not_begun(as_trader):
    version = save_skill()
    archive_skill(skill_id=version.skill_id, now=SOON)

    with pytest.raises(SkillArchived):
        start_draft(skill_id=version.skill_id, now=SOON)
    assert list_open_drafts() == []


def test_save_problems_name_what_is_missing_and_saving_keeps_the_draft(as_trader):
    missing = list_save_problems({"name": "Dips", "model": "other/model"})
    models = list_save_problems({**WHOLE, "model": "other/model"})

    assert ("trading_style", "is missing") in [(one.field, one.problem) for one in missing]
    assert [one.field for one in models] == ["model"]
    assert list_save_problems(WHOLE) == []

    draft = start_draft(now=JUNE)

    with pytest.raises(PayloadInvalid, match="name: is missing"):
        save_draft(draft_id=draft.pk, now=JUNE)

    assert list_open_drafts() == [draft]


@pytest.mark.parametrize("is_reflections", [False, True])
def test_skill_with_a_model_that_is_not_allowed_is_not_saved(as_trader, settings, is_reflections):
    settings.ALLOWED_MODELS = ["site/model", "offline/keel"]
    named = {"model": "other/model"}
    context = {**BASICS["context"], "memory": {"reflection": named}}
    patch, field = ({"context": context}, "context.memory.reflection.model") if is_reflections else (named, "model")
    draft = start_draft(now=JUNE)
    patch_draft(draft_id=draft.pk, patch={**BASICS, **patch}, now=JUNE)

    words = "other/model is not allowed here; choose one of site/model, offline/keel"
    with pytest.raises(PayloadInvalid, match=words) as caught:
        save_draft(draft_id=draft.pk, now=JUNE)
    assert [error.field for error in caught.value.errors] == [field]
    assert list_open_drafts() == [draft]
    assert not Skill.objects.exists()

    settings.ALLOWED_MODELS = ["other/model"]
    assert save_draft(draft_id=draft.pk, now=JUNE).version == 1


def test_models_of_a_skill_are_its_own_while_allowed_and_then_the_sites(settings):
    settings.ALLOWED_MODELS = ["site/own", "site/other"]
    settings.TRADING_AGENT_MODEL = settings.REFLECTION_MODEL = "site/own"
    for named, tried in (
        (None, ["site/own"]),
        ("site/other", ["site/other", "site/own"]),
        ("site/own", ["site/own"]),
        ("gone/model", ["site/own"]),
    ):
        payload = parse_payload({**BASICS, "model": named})
        context = {"symbols": ["BTC"], "memory": {"reflection": {"model": named}}}
        assert list_agent_models(payload) == tried
        assert list_reflection_models(payload) == ["site/own"]
        assert list_reflection_models(parse_payload({**BASICS, "context": context})) == tried


def test_style_is_fixed_once_saved(as_trader):
    version = save_skill()

    with pytest.raises(PayloadInvalid, match="trading_style: is fixed as swing"):
        edit_skill(version, trading_style="day")
    [draft] = list_open_drafts()
    filled = apply_template_to_draft(draft_id=draft.pk, template="range_fade", now=SOON)
    assert filled.payload["trading_style"] == "swing"


def test_saving_again_adds_a_version_of_what_changed_and_keeps_the_old(as_trader):
    first = save_skill()
    assert save_draft(draft_id=edit_skill(first).pk, now=SOON) == first
    assert SkillVersion.objects.count() == 1

    draft = edit_skill(first, name="Dips 2")
    assert (draft.base_skill_id, draft.base_version) == (first.skill_id, 1)
    assert draft.payload == {**first.payload, "name": "Dips 2"}
    second = save_draft(draft_id=draft.pk, now=SOON)

    assert (second.version, Skill.objects.get().name, Skill.objects.get().latest_version) == (2, "Dips 2", 2)
    assert SkillVersion.objects.get(version=1).payload["name"] == "Dips"


def test_draft_of_an_old_version_is_refused_unless_it_is_meant(as_trader):
    first = save_skill()
    draft = edit_skill(first, description="Mine")
    SkillVersionFactory(skill=first.skill, version=2, payload=first.payload)
    Skill.objects.update(latest_version=2)

    with pytest.raises(DraftOutdated, match="at version 2 by now"):
        save_draft(draft_id=draft.pk, now=SOON)

    assert save_draft(draft_id=draft.pk, over_newer=True, now=SOON).version == 3


def test_name_of_another_skill_is_refused(as_trader):
    save_skill()

    with pytest.raises(SkillNameTaken):
        save_skill(name="dips")

    assert Skill.objects.count() == 1
    assert len(list_open_drafts()) == 1


def test_skill_that_runs_cannot_be_archived(as_trader):
    deployment = DeploymentFactory()

    with pytest.raises(SkillInUse):
        archive_skill(skill_id=deployment.skill_id, now=JUNE)
    Deployment.objects.update(status="stopped")

    assert archive_skill(skill_id=deployment.skill_id, now=JUNE).archived_at == JUNE
    assert archive_skill(skill_id=deployment.skill_id, now=JULY).archived_at == JUNE
