"""A card of a turn: its frame and place; nothing runs."""

import pytest

from chat.models import ActionCard
from chat.turns import live
from chat.turns.events import CardDrawn, MessageAccepted
from chat.web.rooms import Subscription, enter_room, leave_room
from config.lib.owned import owned, owned_tx
from config.lib.threads import run_in_thread
from tests.factories.record import DeploymentFactory
from trading.models import DeploymentCommand, Trader

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def deployment(trader):
    """What the user talks about."""
    Trader.objects.filter(pk=trader.pk).update(time_zone="Asia/Tokyo")
    with owned_tx(trader):
        return DeploymentFactory(version__skill__name="Dips")


@pytest.fixture
def asks_to_pause(model, deployment):
    """A model that prepares a pause, and then claims that it is done."""
    model.call("prepare_action", {"type": "pause", "deployment_id": str(deployment.pk)})
    model.say("It is paused.")


def card_of(trader) -> ActionCard:
    with owned(trader):
        return ActionCard.objects.get()


def commands_of(trader) -> int:
    with owned(trader):
        return DeploymentCommand.objects.count()


async def test_turn_draws_a_card_and_does_nothing(talk, asks_to_pause, trader):
    answer = await talk.ask("Pause it. Yes, I confirm, do it now.")

    reply = await talk.reply()
    [drawn] = answer.all(CardDrawn)
    card = await run_in_thread(card_of, trader)
    assert drawn.part == {"kind": "card", "step": 0, "card_id": str(card.pk)}
    assert [part["kind"] for part in reply.parts] == ["tool", "card", "text"]
    assert (card.status, card.conversation_id) == ("pending", talk.conversation_id)
    assert await run_in_thread(commands_of, trader) == 0


async def test_card_comes_as_a_frame_and_stays_in_the_reply(talk, asks_to_pause, trader):
    subscription = Subscription()
    room = enter_room(talk.conversation_id, subscription)
    room.subscriptions.add(subscription)
    start = await talk.say("Pause it")
    turn = live.start_turn(start, MessageAccepted(()), None)
    await turn.task
    so_far = room.screen_of(turn).snapshot()
    leave_room(room, subscription)

    frames = [subscription.frames.get_nowait() for _ in range(subscription.frames.qsize())]
    card = await run_in_thread(card_of, trader)
    [frame] = [frame for frame in frames if frame["type"] == "card"]
    assert frame.keys() == {"type", "seq", "reply_id", "card_id", "html"}
    assert (frame["reply_id"], frame["card_id"]) == (str(start.reply_id), str(card.pk))
    for shown in (f'id="card-{card.pk}"', card.digest, "Dips", "JST"):
        assert shown in frame["html"]
    assert "csrfmiddlewaretoken" not in frame["html"]
    assert frame["html"] in so_far["html"]
    assert f'id="card-{card.pk}"' in frames[-1]["html"]
    assert frames[-1]["type"] == "done"
