"""The rule-based coach through real turns and tools."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from chat.conversations.services import start_conversation
from chat.models import ActionCard
from tests.chat.talk import Talk
from tests.factories.record import BarFactory, DeploymentFactory, TradeFactory
from tests.owners import do_as
from trading.models import DeploymentCommand, ExperienceTier, SkillDraft, Trader
from trading.skills.schemas import list_problems

pytestmark = pytest.mark.django_db(transaction=True)

AUTHORING = {"mode": "authoring"}
PITCH = (
    "Fade BTC perp funding above 40% annualised on 1h bars, exit when funding is back under 10% or after 48 hours, 2x"
    " leverage, 5% per position, daily loss halt 3%, no trades within 2h before FOMC or CPI, never add to a loser."
    " Crowded longs pay to stay and unwind when price stalls."
)


@pytest.fixture(autouse=True)
def _offline(settings):
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.CHAT_FALLBACK_MODELS = []
    settings.CRITIQUE_MODELS = ["offline/keel"]


async def begin(user, opening=None, tier=None) -> Talk:
    def make():
        if tier:
            Trader.objects.filter(pk=user.pk).update(experience_tier=tier)
        return start_conversation(assistant="coach", opening=opening, now=timezone.now()).pk

    return Talk(user.pk, await do_as(user, make))


async def deployment_of(user):
    """Make a deployment that holds 2 BTC, bought at 100 for a reason."""

    def make():
        made = DeploymentFactory(version__skill__name="Dips")
        TradeFactory(deployment=made, still_open=True, entry_reason="Funding flipped negative")
        BarFactory(opened_at=timezone.now() - timedelta(hours=2), close=Decimal("103.5"))
        return made

    return await do_as(user, make)


async def draft_of(user) -> SkillDraft:
    return await do_as(user, lambda: SkillDraft.objects.get())


async def test_stop_it_draws_a_card_and_does_nothing(trader):
    deployment = await deployment_of(trader)
    talk = await begin(trader, {"mode": "coach", "deployment_id": str(deployment.pk)})

    answer = await talk.ask("stop it")
    yes = await talk.ask("yes")

    card = await do_as(trader, lambda: ActionCard.objects.get())
    assert (card.type, card.status) == ("stop", "pending")
    assert "I prepared a card" in answer.text
    assert "only your click on Confirm does it" in yes.text
    assert not await do_as(trader, lambda: DeploymentCommand.objects.exists())


async def test_a_novice_gets_a_draft_that_can_be_saved(trader):
    talk = await begin(trader, AUTHORING, ExperienceTier.NOVICE)

    asked = await talk.ask("Help me build a strategy")
    told = await talk.ask("BTC, because funding gets crazy at tops")

    assert "What do you want to trade" in asked.text
    assert "In a few words" in told.text
    draft = await draft_of(trader)
    assert list_problems(draft.payload) == []
    assert draft.payload["context"]["symbols"] == ["BTC"]
    assert draft.payload["risk"]["max_leverage"] == 1


async def test_an_intermediate_is_asked_until_the_draft_can_be_saved(trader):
    talk = await begin(trader, AUTHORING, ExperienceTier.INTERMEDIATE)

    asked = await talk.ask("Help me build a BTC funding-flip mean-reversion strategy")
    await talk.ask("Short when funding is above 40% annualised. Exit when it is back under 10%. No trades around FOMC.")
    await talk.ask("5% per position, a few days on 1h bars")
    done = await talk.ask("2x and 3%")

    assert "**Entry**" in asked.text
    assert "More questions follow." in asked.text
    assert "review it" in done.text
    draft = await draft_of(trader)
    assert list_problems(draft.payload) == []
    assert draft.payload["strategy"]["avoid"] == ["No trades around FOMC"]
    assert draft.payload["risk"]["max_position_pct"] == 5
    assert draft.payload["risk"]["max_leverage"] == 2

    await talk.ask("add ETH")

    draft = await draft_of(trader)
    assert draft.payload["context"]["symbols"] == ["BTC", "ETH"]


async def test_an_experts_pitch_becomes_a_draft_and_a_critique(trader):
    talk = await begin(trader, AUTHORING, ExperienceTier.EXPERT)

    answer = await talk.ask(PITCH)

    assert answer.tools[-1] == "critique_draft"
    assert "Where I push back:" in answer.text
    draft = await draft_of(trader)
    assert list_problems(draft.payload) == []
    assert draft.payload["strategy"]["exit"].startswith("Exit when funding is back under 10%")
    assert (draft.payload["risk"]["max_leverage"], draft.payload["risk"]["daily_loss_halt_pct"]) == (2, 3)
