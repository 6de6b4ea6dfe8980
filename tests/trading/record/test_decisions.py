from datetime import timedelta

import pytest

from config.lib.owned import owned, owned_tx
from tests.factories.memory import MAY
from tests.factories.record import DecisionSnapshotFactory, DeploymentFactory
from trading.models import DecisionSnapshot, SystemPrompt
from trading.record.decisions import (
    KEY_EVERY,
    digest_prompt,
    drop_contexts,
    find_kept_prompt,
    get_decision,
    keep_prompt,
)

BARS = [f"- {number:05d} {number * number % 7919} {number % 13}" for number in range(900)]


def context_of(tick):
    return "\n".join([*BARS[tick : tick + 600], f"Now: {tick}"])


@pytest.fixture
def deployment(trader):
    with owned_tx(trader):
        return DeploymentFactory()


def keep(deployment, ticks, system="You trade."):
    """Store a decision a tick, each by what is found in the database, as live ticks do."""
    last = DecisionSnapshot.objects.filter(deployment=deployment).order_by("-tick").first()
    for tick in ticks:
        decision = DecisionSnapshotFactory.build(deployment=deployment, tick=tick, tick_at=MAY + timedelta(hours=tick))
        keep_prompt(decision, system, context_of(tick), find_kept_prompt(last))
        decision.save()
        last = DecisionSnapshot.objects.get(pk=decision.pk)


def test_contexts_are_differences_to_a_key_and_come_back(trader, deployment, django_assert_num_queries):
    with owned_tx(trader):
        keep(deployment, range(1, 2 * KEY_EVERY + 3))
        decisions = list(DecisionSnapshot.objects.order_by("tick"))

        assert [one.tick for one in decisions if one.packed_with_id is None] == [1, 1 + KEY_EVERY, 1 + 2 * KEY_EVERY]
        assert [one.context for one in decisions] == [context_of(one.tick) for one in decisions]
        assert all(one.prompt_sha256 == digest_prompt("You trade.", one.context) for one in decisions)
        assert len(decisions[1].packed) < len(decisions[0].packed) / 10
    with owned(trader), django_assert_num_queries(2):
        found = get_decision(deployment.pk, KEY_EVERY)
        assert (found.system_prompt, found.context) == ("You trade.", context_of(KEY_EVERY))


def test_a_system_prompt_is_kept_once(trader, deployment):
    with owned_tx(trader):
        keep(deployment, [1, 2])
        keep(deployment, [3], "You trade less.")
        keep(deployment, [4])

        assert SystemPrompt.objects.count() == 2
        prompts = [one.system_prompt for one in DecisionSnapshot.objects.order_by("tick")]
    assert prompts == ["You trade.", "You trade.", "You trade less.", "You trade."]


def test_what_is_not_kept_is_empty_and_the_next_decision_is_a_key(trader, deployment):
    with owned_tx(trader):
        keep(deployment, [1])
        DecisionSnapshot.objects.update(packed=None)
        keep(deployment, [2])

        dropped, key = DecisionSnapshot.objects.order_by("tick")
        assert (dropped.context, key.packed_with_id, key.context) == ("", None, context_of(2))


@pytest.mark.parametrize(
    ("before", "but", "kept"),
    [
        (KEY_EVERY + 1, (), [KEY_EVERY + 1, KEY_EVERY + 2]),
        (KEY_EVERY, (), [1, KEY_EVERY, KEY_EVERY + 1, KEY_EVERY + 2]),
        (KEY_EVERY + 2, (3,), [1, 3, KEY_EVERY + 1, KEY_EVERY + 2]),
        (1, (), list(range(1, KEY_EVERY + 3))),
    ],
    ids=["all of a key", "a key that is needed", "one that somebody needs", "none is old"],
)
def test_old_contexts_are_dropped_and_what_stays_can_be_read(trader, deployment, before, but, kept):
    with owned_tx(trader):
        keep(deployment, range(1, KEY_EVERY + 3))
        needed = set(DecisionSnapshot.objects.filter(tick__in=but).values_list("pk", flat=True))

        dropped = drop_contexts(MAY + timedelta(hours=before), but=needed)

        decisions = DecisionSnapshot.objects.order_by("tick")
        assert {one.tick: one.context for one in decisions if one.context} == {tick: context_of(tick) for tick in kept}
        assert dropped == KEY_EVERY + 2 - len(kept)
        assert all(one.prompt_sha256 for one in decisions)
