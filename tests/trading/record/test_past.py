"""The prompt of a past instant shows nothing that became known later."""

from decimal import Decimal

from tests.factories.memory import HOUR, JUNE
from tests.factories.record import DeploymentFactory, EquityPointFactory, ReflectionNoteFactory
from trading.agent.context import preview_prompt
from trading.ledger.executions import Execution
from trading.ledger.positions import Tick
from trading.ledger.rows import Intent
from trading.ledger.services import record_tick
from trading.models import Deployment, OrderOrigin

D = Decimal


def tick(deployment: Deployment, number: int, *fills: tuple[str, int, int], equity: int) -> None:
    now = JUNE + number * HOUR
    made = [Execution(name, "BTC", now - HOUR / 2, D(quantity), D(price)) for name, quantity, price in fills]
    intents = {name: Intent(OrderOrigin.AGENT, f"because of {name}") for name, _, _ in fills}
    told = {"deployment_id": deployment.pk, "number": number, "tick": Tick(now, made), "skill_version": 1, "now": now}
    record_tick(**told, intents=intents, equity_usd=D(equity))


def test_preview_prompt_of_the_past_has_no_later_trade_equity_or_lesson(as_trader):
    deployment = DeploymentFactory(created_at=JUNE)
    tick(deployment, 1, ("first", 2, 100), equity=10_007)
    tick(deployment, 2, ("exit", -2, 110), equity=10_020)
    tick(deployment, 3, ("later", 1, 120), equity=10_381)
    ReflectionNoteFactory(deployment=deployment, lessons_text="- Learned later", generated_at=JUNE + 3 * HOUR)
    deployment.refresh_from_db()

    then = preview_prompt(deployment, at=JUNE + 1.5 * HOUR)
    now = preview_prompt(deployment, at=JUNE + 4 * HOUR)

    assert "10,007" in then.context
    assert '"because of first"' in then.context
    assert "BTC long $200 @ 100" in then.context
    for later in ("10,381", "10,020", "because of later", "settled"):
        assert later not in then.context
        assert later in now.context or later == "10,020"
    assert "Learned later" not in then.system
    assert "Learned later" in now.system


def test_preview_prompt_turns_an_open_trade_back_to_what_was_held(as_trader):
    deployment = DeploymentFactory(created_at=JUNE)
    tick(deployment, 1, ("first", 2, 100), equity=10_000)
    tick(deployment, 2, ("add", 8, 200), equity=10_000)
    EquityPointFactory(deployment=deployment, tick=9, at=JUNE + 9 * HOUR, equity_usd=D(9))
    deployment.refresh_from_db()

    then, now = (preview_prompt(deployment, at=JUNE + hours * HOUR).context for hours in (1.5, 3))

    assert "BTC long $200 @ 100" in then
    assert "BTC long $1,800 @ 180" in now
