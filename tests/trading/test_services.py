from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from tests.factories.memory import JULY, JUNE, MAY
from tests.factories.record import (
    WHOLE,
    DeploymentFactory,
    ReflectionNoteFactory,
    SkillDraftFactory,
    SkillVersionFactory,
    TradeFactory,
)
from tests.owners import as_owner
from trading.account.services import TierUnknown, choose_tier
from trading.models import Deployment, ReflectionNote, Skill, SkillDraft, SkillVersion
from trading.record.backtests import BacktestRefused, start_backtest
from trading.record.deployment_queries import DeploymentNotFound, get_deployment
from trading.record.deployments import (
    CommandRefused,
    LeaseLost,
    carry_out,
    claim_command,
    claim_deployment,
    deploy_skill,
    finish_command,
    halt_deployment,
    lift_halt,
    release_deployment,
    request_command,
)
from trading.record.notes import NoteNotFound, find_active_note, keep_note_for_skill, write_note
from trading.skills.queries import DraftNotFound, SkillNotFound, experience_tier, find_draft_of_chat, list_open_drafts
from trading.skills.schemas import PayloadInvalid, parse_payload
from trading.skills.services import (
    DraftOutdated,
    SkillArchived,
    SkillInUse,
    SkillNameTaken,
    agent_models,
    allowed_models,
    apply_template_to_draft,
    archive_skill,
    discard_draft,
    list_save_problems,
    patch_draft,
    reflection_models,
    save_draft,
    start_draft,
)

SOON = JUNE + timedelta(minutes=1)
BASICS = {
    "name": "Dips",
    "tradingStyle": "swing",
    "strategy": {"thesis": "Dips are bought"},
    "context": {"symbols": ["BTC"]},
}


def saved(now=JUNE, **changes) -> SkillVersion:
    draft = start_draft(now=now)
    patch_draft(draft_id=draft.pk, patch={**BASICS, **changes}, now=now)
    return save_draft(draft_id=draft.pk, now=now)


def edited(version: SkillVersion, now=SOON, **changes) -> SkillDraft:
    draft = start_draft(skill_id=version.skill_id, now=now)
    return patch_draft(draft_id=draft.pk, patch=changes, now=now)


# --- Drafts ---


def test_draft_becomes_a_skill(as_trader):
    version = saved()

    skill = Skill.objects.get()
    assert (skill.name, skill.trading_style, skill.latest_version) == ("Dips", "swing", 1)
    assert version.payload["strategy"]["thesis"] == "Dips are bought"
    assert list_open_drafts() == []


def test_draft_of_a_new_skill_is_taken_up_again(as_trader):
    first = start_draft(now=JUNE)

    assert start_draft(now=SOON) == first
    assert SkillDraft.objects.get().created_at == JUNE


def test_draft_notes_the_chat_that_writes_it_last(as_trader):
    first, second = uuid4(), uuid4()

    start_draft(conversation_id=first, now=JUNE)
    start_draft(conversation_id=second, now=JUNE)
    start_draft(now=JUNE)

    assert (find_draft_of_chat(second), find_draft_of_chat(first)) == (SkillDraft.objects.get(), None)


def test_draft_of_an_archived_skill_is_not_begun(as_trader):
    version = saved()
    archive_skill(skill_id=version.skill_id, now=SOON)

    with pytest.raises(SkillArchived):
        start_draft(skill_id=version.skill_id, now=SOON)
    assert list_open_drafts() == []


def test_save_problems_name_what_is_missing_and_then_the_models(as_trader):
    missing = list_save_problems({"name": "Dips", "model": "other/model"})
    models = list_save_problems({**WHOLE, "model": "other/model"})

    assert ("trading_style", "is missing") in [(one.field, one.problem) for one in missing]
    assert [one.field for one in models] == ["model"]
    assert list_save_problems(WHOLE) == []


def test_tier_is_noted_of_the_owner_in_scope_alone(stranger, as_trader):
    assert experience_tier() is None

    choose_tier(tier="expert")

    stranger.refresh_from_db()
    assert (experience_tier(), stranger.experience_tier) == ("expert", None)


def test_tier_that_is_unknown_is_refused(as_trader):
    with pytest.raises(TierUnknown, match="no tier guru"):
        choose_tier(tier="guru")


def test_draft_of_a_skill_starts_from_its_newest_version(as_trader):
    version = saved()

    draft = edited(version, description="Better")

    assert (draft.base_skill_id, draft.base_version) == (version.skill_id, 1)
    assert draft.payload == {**version.payload, "description": "Better"}


def test_unfinished_draft_says_what_is_missing_and_stays(as_trader):
    draft = start_draft(now=JUNE)

    with pytest.raises(PayloadInvalid, match="name: is missing"):
        save_draft(draft_id=draft.pk, now=JUNE)

    assert list_open_drafts() == [draft]


def test_patch_that_is_wrong_changes_nothing(as_trader):
    draft = start_draft(now=JUNE)

    with pytest.raises(PayloadInvalid):
        patch_draft(draft_id=draft.pk, patch={"name": "x", "maxSteps": 0}, now=SOON)

    assert "name" not in SkillDraft.objects.get().payload


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"model": "other/model"}, "model"),
        ({"context": {"memory": {"reflection": {"model": "other/model"}}}}, "context.memory.reflection.model"),
    ],
    ids=["agent", "reflection"],
)
def test_skill_with_a_model_that_is_not_allowed_is_not_saved(as_trader, settings, patch, field):
    settings.ALLOWED_MODELS = ["site/model", "offline/keel"]
    draft = start_draft(now=JUNE)
    patch_draft(
        draft_id=draft.pk,
        patch={**BASICS, **patch, "context": {**BASICS["context"], **patch.get("context", {})}},
        now=JUNE,
    )

    with pytest.raises(
        PayloadInvalid, match="other/model is not allowed here; choose one of site/model, offline/keel"
    ) as caught:
        save_draft(draft_id=draft.pk, now=JUNE)
    assert [error.field for error in caught.value.errors] == [field]
    assert list_open_drafts() == [draft]
    assert not Skill.objects.exists()


def test_skill_with_allowed_models_is_saved(as_trader, settings):
    settings.ALLOWED_MODELS = ["site/model"]
    memory = {"reflection": {"model": "site/model"}}

    version = saved(model="site/model", context={"symbols": ["BTC"], "memory": memory})

    assert version.payload["model"] == "site/model"
    assert allowed_models() == ["site/model"]


@pytest.mark.parametrize(
    ("named", "tried"),
    [
        (None, ["site/own"]),
        ("site/other", ["site/other", "site/own"]),
        ("site/own", ["site/own"]),
        ("gone/model", ["site/own"]),
    ],
    ids=["none", "its own", "the site's", "no longer allowed"],
)
def test_models_of_a_skill_are_its_own_while_allowed_and_then_the_sites(settings, named, tried):
    settings.ALLOWED_MODELS = ["site/own", "site/other"]
    settings.TRADING_AGENT_MODEL = settings.REFLECTION_MODEL = "site/own"
    payload = parse_payload({**BASICS, "model": named})
    dial = {"reflection": {"model": named}}

    assert agent_models(payload) == tried
    assert reflection_models(payload) == ["site/own"]
    assert reflection_models(parse_payload({**BASICS, "context": {"symbols": ["BTC"], "memory": dial}})) == tried


def test_style_is_fixed_once_saved(as_trader):
    version = saved()

    with pytest.raises(PayloadInvalid, match="trading_style: is fixed as swing"):
        edited(version, trading_style="day")
    assert (
        apply_template_to_draft(draft_id=list_open_drafts()[0].pk, template="range_fade", now=SOON).payload[
            "trading_style"
        ]
        == "swing"
    )


def test_saved_again_is_the_next_version_and_the_old_one_stays(as_trader):
    first = saved()

    second = save_draft(draft_id=edited(first, name="Dips 2").pk, now=SOON)

    assert (second.version, Skill.objects.get().name, Skill.objects.get().latest_version) == (2, "Dips 2", 2)
    assert SkillVersion.objects.get(version=1).payload["name"] == "Dips"


def test_saved_without_a_change_makes_no_version(as_trader):
    first = saved()

    assert save_draft(draft_id=edited(first).pk, now=SOON) == first
    assert SkillVersion.objects.count() == 1


def test_draft_of_an_old_version_is_refused_unless_it_is_meant(as_trader):
    first = saved()
    draft = edited(first, description="Mine")
    SkillVersionFactory(skill=first.skill, version=2, payload=first.payload)
    Skill.objects.update(latest_version=2)

    with pytest.raises(DraftOutdated, match="at version 2 by now"):
        save_draft(draft_id=draft.pk, now=SOON)

    assert save_draft(draft_id=draft.pk, over_newer=True, now=SOON).version == 3


def test_name_of_another_skill_is_refused(as_trader):
    saved()

    with pytest.raises(SkillNameTaken):
        saved(name="dips")

    assert Skill.objects.count() == 1
    assert len(list_open_drafts()) == 1


def test_draft_that_was_given_up_is_gone(as_trader):
    draft = start_draft(now=JUNE)
    discard_draft(draft_id=draft.pk, now=SOON)

    with pytest.raises(DraftNotFound):
        patch_draft(draft_id=draft.pk, patch={}, now=SOON)
    assert start_draft(now=SOON) != draft


def test_rows_of_somebody_else_are_not_there(as_trader, stranger):
    draft = as_owner(stranger, SkillDraftFactory)
    theirs = as_owner(stranger, DeploymentFactory)

    for work in (
        lambda: patch_draft(draft_id=draft.pk, patch={}, now=JUNE),
        lambda: save_draft(draft_id=draft.pk, now=JUNE),
        lambda: discard_draft(draft_id=draft.pk, now=JUNE),
    ):
        with pytest.raises(DraftNotFound):
            work()
    for work in (
        lambda: start_draft(skill_id=theirs.skill_id, now=JUNE),
        lambda: deploy_skill(skill_id=theirs.skill_id, now=JUNE),
        lambda: archive_skill(skill_id=theirs.skill_id, now=JUNE),
    ):
        with pytest.raises(SkillNotFound):
            work()
    with pytest.raises(DeploymentNotFound):
        request_command(deployment_id=theirs.pk, kind="stop", now=JUNE)
    assert claim_deployment(deployment_id=theirs.pk, lease=uuid4(), until=SOON, now=JUNE) is False


# --- Deployments and commands ---


def test_deployment_runs_the_newest_version(as_trader):
    version = saved()

    deployment = deploy_skill(skill_id=version.skill_id, now=SOON)

    assert (deployment.version, deployment.broker_kind, deployment.status) == (version, "paper", "running")
    assert deployment.starting_equity_usd == Decimal(10_000)


def test_skill_that_runs_cannot_be_archived(as_trader):
    deployment = DeploymentFactory()

    with pytest.raises(SkillInUse):
        archive_skill(skill_id=deployment.skill_id, now=JUNE)
    Deployment.objects.update(status="stopped")

    assert archive_skill(skill_id=deployment.skill_id, now=JUNE).archived_at == JUNE
    assert archive_skill(skill_id=deployment.skill_id, now=JULY).archived_at == JUNE


@pytest.mark.parametrize(
    ("status", "kind", "is_allowed"),
    [
        ("running", "pause", True),
        ("paused", "pause", False),
        ("running", "resume", False),
        ("paused", "resume", True),
        ("stopped", "resume", False),
        ("paused", "stop", True),
        ("stopped", "stop", False),
        ("running", "flatten", False),
        ("running", "redeploy", False),
        ("stopped", "redeploy", False),
    ],
)
def test_command_fits_the_state(as_trader, status, kind, is_allowed):
    deployment = DeploymentFactory(status=status)

    if is_allowed:
        assert request_command(deployment_id=deployment.pk, kind=kind, now=JUNE).status == "pending"
    else:
        with pytest.raises(CommandRefused):
            request_command(deployment_id=deployment.pk, kind=kind, now=JUNE)


def test_flatten_needs_a_position_and_works_even_when_stopped(as_trader):
    deployment = DeploymentFactory(status="stopped")
    TradeFactory(deployment=deployment, still_open=True)

    assert request_command(deployment_id=deployment.pk, kind="flatten", now=JUNE).kind == "flatten"


def test_two_clicks_are_one_command(as_trader):
    deployment = DeploymentFactory()

    commands = [request_command(deployment_id=deployment.pk, kind="stop", now=JUNE) for _ in range(2)]

    assert commands[0] == commands[1]


def test_backtest_takes_no_commands(as_trader):
    deployment = DeploymentFactory(broker_kind="backtest")

    with pytest.raises(DeploymentNotFound):
        request_command(deployment_id=deployment.pk, kind="stop", now=JUNE)


def test_command_is_claimed_once_and_again_when_its_runner_went_away(as_trader):
    deployment = DeploymentFactory()
    command = request_command(deployment_id=deployment.pk, kind="pause", now=JUNE)
    first, second = uuid4(), uuid4()

    claimed = claim_command(deployment_id=deployment.pk, lease=first, until=SOON, now=JUNE)
    assert (claimed, claimed.lease) == (command, first)
    assert claim_command(deployment_id=deployment.pk, lease=second, until=SOON, now=JUNE) is None

    again = claim_command(deployment_id=deployment.pk, lease=second, until=JULY, now=SOON)
    assert again.lease == second
    with pytest.raises(LeaseLost):
        finish_command(command_id=command.pk, lease=first, outcome="Done", now=SOON)
    finish_command(command_id=command.pk, lease=second, outcome="Done", now=SOON)
    command.refresh_from_db()
    assert (command.status, command.outcome, command.finished_at) == ("done", "Done", SOON)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [("pause", "running", "paused"), ("resume", "paused", "running"), ("stop", "running", "stopped")],
)
def test_carrying_out_a_command_changes_the_row(as_trader, kind, before, after):
    deployment = DeploymentFactory(status=before)
    command = request_command(deployment_id=deployment.pk, kind=kind, now=JUNE)

    carry_out(command=command, now=SOON)

    assert get_deployment(deployment.pk).status == after


def test_redeploy_moves_to_the_newest_version_and_keeps_positions(as_trader):
    version = saved()
    deployment = deploy_skill(skill_id=version.skill_id, now=JUNE)
    trade = TradeFactory(deployment=deployment, still_open=True)
    newest = save_draft(draft_id=edited(version, description="Better").pk, now=SOON)

    carry_out(command=request_command(deployment_id=deployment.pk, kind="redeploy", now=SOON), now=SOON)

    trade.refresh_from_db()
    assert get_deployment(deployment.pk).version == newest
    assert trade.status == "open"


def test_one_runner_holds_a_deployment(as_trader):
    deployment = DeploymentFactory()
    mine, theirs = uuid4(), uuid4()

    assert claim_deployment(deployment_id=deployment.pk, lease=mine, until=SOON, now=JUNE)
    assert not claim_deployment(deployment_id=deployment.pk, lease=theirs, until=SOON, now=JUNE)
    release_deployment(deployment_id=deployment.pk, lease=theirs)
    assert not claim_deployment(deployment_id=deployment.pk, lease=theirs, until=SOON, now=JUNE)
    assert claim_deployment(deployment_id=deployment.pk, lease=theirs, until=JULY, now=SOON)
    release_deployment(deployment_id=deployment.pk, lease=theirs)
    assert Deployment.objects.get().lease is None


def test_halt_ends_by_the_clock_and_is_never_shortened(as_trader):
    deployment = DeploymentFactory()
    halt_deployment(deployment_id=deployment.pk, code="R6_DAILY_LOSS_HALT", until=JULY)
    halt_deployment(deployment_id=deployment.pk, code="R6_DAILY_LOSS_HALT", until=SOON)

    assert not lift_halt(deployment_id=deployment.pk, now=SOON)
    assert get_deployment(deployment.pk).halted_until == JULY
    assert lift_halt(deployment_id=deployment.pk, now=JULY)
    assert get_deployment(deployment.pk).halt_code == ""


# --- Backtests ---


def test_backtest_has_a_deployment_of_its_own_that_no_list_shows(as_trader):
    version = saved()

    run = start_backtest(skill_id=version.skill_id, starts_at=MAY, ends_at=JUNE, now=SOON)

    assert (run.status, run.deployment.broker_kind, run.deployment.version) == ("pending", "backtest", version)
    with pytest.raises(DeploymentNotFound):
        get_deployment(run.deployment_id)


@pytest.mark.parametrize(
    ("starts_at", "ends_at"),
    [(JUNE, MAY), (MAY, MAY), (MAY, JULY), (MAY - timedelta(days=1200), MAY)],
    ids=["backwards", "empty", "in the future", "too long"],
)
def test_backtest_of_an_impossible_range_is_refused(as_trader, starts_at, ends_at):
    version = saved()

    with pytest.raises(BacktestRefused):
        start_backtest(skill_id=version.skill_id, starts_at=starts_at, ends_at=ends_at, now=JUNE)
    assert not Deployment.objects.exists()


# --- Lessons ---


def test_new_lessons_supersede_the_old_ones(as_trader):
    old = ReflectionNoteFactory()
    other = ReflectionNoteFactory()
    new = ReflectionNoteFactory.build(
        deployment=old.deployment, skill=old.skill, user=old.user, lessons_text="- Wait for the close"
    )

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


def test_lessons_of_nobody_cannot_be_kept(as_trader, stranger):
    theirs = as_owner(stranger, ReflectionNoteFactory)

    for note_id in (theirs.pk, uuid4()):
        with pytest.raises(NoteNotFound):
            keep_note_for_skill(note_id=note_id, now=JUNE)


def test_a_second_active_note_never_gets_in(as_trader):
    note = ReflectionNoteFactory()

    with pytest.raises(IntegrityError), transaction.atomic():
        ReflectionNoteFactory(deployment=note.deployment)
