"""A trader at their desk, for whom cards are drawn and who clicks on them."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from chat.cards import confirm_card, draw_card
from chat.models import ActionCard
from config.lib.proofs import OPERATOR
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE
from tests.factories.record import BarFactory, DeploymentFactory, SkillVersionFactory, TradeFactory
from trading.models import BacktestRun, Deployment, DeploymentCommand, Skill, SkillVersion
from trading.record.actions import Action

SECOND = timedelta(seconds=1)
TYPES = ("deploy", "redeploy", "stop", "pause", "resume", "flatten", "start_backtest")


def new_version(skill: Skill, **changes) -> SkillVersion:
    """Save the next version of a skill."""
    last = SkillVersion.objects.get(skill=skill, version=skill.latest_version)
    skill.latest_version += 1
    skill.save(update_fields=["latest_version"])
    return SkillVersionFactory(skill=skill, version=skill.latest_version, payload={**last.payload, **changes})


class Desk:
    """A trader with a skill, something deployed, a position and some bars; what a card of each type is drawn for."""

    def __init__(self) -> None:
        self.conversation = ConversationFactory()
        self.running = DeploymentFactory(version__skill__name="Dips")
        self.skill = self.running.skill
        self.paused = DeploymentFactory(version=self.running.version, status="paused")
        self.trade = TradeFactory(deployment=self.running, still_open=True, symbol="BTC")
        for hours in range(1, 49):
            for symbol, close in (("BTC", 110), ("ETH", 50)):
                at = JUNE - timedelta(hours=hours)
                BarFactory(symbol=symbol, opened_at=at, close=Decimal(close), high=Decimal(120), low=Decimal(40))

    def action(self, kind: str) -> Action:
        if kind == "redeploy" and self.skill.latest_version == 1:
            risk = {**self.running.version.payload["risk"], "max_leverage": 5.0}
            new_version(self.skill, risk=risk)
        if kind in ("deploy", "start_backtest"):
            return Action(kind, skill_id=self.skill.pk)
        return Action(kind, deployment_id=(self.paused if kind == "resume" else self.running).pk)

    def draw(self, kind: str, now: datetime = JUNE, **values) -> ActionCard:
        action = replace(self.action(kind), **values)
        return draw_card(conversation_id=self.conversation.pk, action=action, now=now)


def confirm(card: ActionCard, now: datetime = JUNE + SECOND) -> ActionCard:
    return confirm_card(card_id=card.pk, digest=card.digest, proof=OPERATOR, now=now)


def status_of(card: ActionCard) -> str:
    return ActionCard.objects.values_list("status", flat=True).get(pk=card.pk)


def queued() -> tuple[int, int, int]:
    """Return how many commands, deployments and backtests there are."""
    return DeploymentCommand.objects.count(), Deployment.objects.count(), BacktestRun.objects.count()
