"""Concurrent clicks on one card: exactly one runs the action."""

from collections import Counter

import pytest

from chat.cards import CardDecided, CardOutdated, cancel_card, confirm_card, draw_card
from chat.models import ActionCard
from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from config.lib.proofs import OPERATOR
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE
from tests.factories.record import DeploymentFactory
from tests.threads import race
from trading.models import Deployment, DeploymentCommand
from trading.record.actions import Action

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

RACERS = 20


@pytest.fixture
def deployment(trader):
    """What the cards are about."""
    with owned_tx(trader):
        return DeploymentFactory()


def drawn(trader, deployment, kind, now=JUNE):
    """Draw a card in a chat of its own."""
    named = {"skill_id": deployment.skill_id} if kind == "deploy" else {"deployment_id": deployment.pk}
    with owned_tx(trader):
        return draw_card(conversation_id=ConversationFactory().pk, action=Action(kind, **named), now=now)


def confirming(trader, card):
    return lambda: _done(trader, lambda: confirm_card(card_id=card.pk, digest=card.digest, proof=OPERATOR, now=JUNE))


def cancelling(trader, card):
    return lambda: _done(trader, lambda: cancel_card(card_id=card.pk, now=JUNE))


def _done(trader, act):
    try:
        with owned_tx(trader):
            return act().status
    except DomainError as refusal:
        return type(refusal)


@pytest.mark.parametrize(("kind", "left"), [("pause", (1, 1)), ("deploy", (0, 2))])
def test_twenty_clicks_at_once_are_one_act(trader, deployment, kind, left):
    card = drawn(trader, deployment, kind)

    results = race(*[confirming(trader, card)] * RACERS)

    assert Counter(results) == {"confirmed": 1, CardDecided: RACERS - 1}
    with owned(trader):
        assert (DeploymentCommand.objects.count(), Deployment.objects.count()) == left


def test_twenty_cards_for_one_deploy_are_one_deployment(trader, deployment):
    cards = [drawn(trader, deployment, "deploy") for _ in range(RACERS)]

    results = race(*[confirming(trader, card) for card in cards])

    assert Counter(results) == {"confirmed": 1, CardOutdated: RACERS - 1}
    with owned(trader):
        assert Deployment.objects.count() == 2
        assert ActionCard.objects.filter(status="pending").count() == RACERS - 1


def test_confirm_and_cancel_at_once_are_one_decision(trader, deployment):
    card = drawn(trader, deployment, "stop")

    results = Counter(race(*[confirming(trader, card), cancelling(trader, card)] * (RACERS // 2)))

    [decided] = results.keys() - {CardDecided}
    assert results == {decided: 1, CardDecided: RACERS - 1}
    with owned(trader):
        assert ActionCard.objects.get().status == decided
        assert DeploymentCommand.objects.count() == (1 if decided == "confirmed" else 0)


def test_card_drawn_anew_and_a_click_on_the_older_are_one_after_the_other(trader, deployment):
    older = drawn(trader, deployment, "pause")
    action = Action("pause", deployment_id=deployment.pk)

    def draw_again():
        return _done(trader, lambda: draw_card(conversation_id=older.conversation_id, action=action, now=JUNE))

    clicked, _ = race(confirming(trader, older), draw_again)

    with owned(trader):
        assert ActionCard.objects.get(pk=older.pk).status == ("confirmed" if clicked == "confirmed" else "cancelled")
        assert DeploymentCommand.objects.count() == (1 if clicked == "confirmed" else 0)
