"""A market, a skill and a scripted model, for whoever ticks."""

import asyncio
import json
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from config.lib.llm import door
from config.lib.llm.door import Completion, ToolCall, Usage
from config.lib.llm.requests import prepare_messages
from config.lib.owned import system
from config.lib.work.jobs import Key
from tests.factories.memory import JUNE
from tests.factories.record import WHOLE, DeploymentFactory
from tests.owners import as_owner
from trading.models import Bar, DecisionSnapshot, Deployment, EquityPoint, Order, Trade
from trading.runs import due
from trading.runs.paper import Costs
from trading.runs.runner import Ticker
from trading.skills.schemas import parse_payload

FREE = Costs(Decimal(0), Decimal(0))
STEP = timedelta(minutes=5)  # of a bar
TICK = timedelta(minutes=15)
HOLD = ("hold", {"reason": "nothing to do"})
RULES = {"entry": "Close beyond the 20-bar high or low.", "exit": "Back through the 10-bar mean. Stop at three ATR."}
Said = tuple[str, dict[str, Any]] | Exception


def at(tick: float) -> datetime:
    """Return the instant of a tick; the first bars begin at 0."""
    return JUNE + tick * TICK


def bar(opened_at: datetime, first: Any, high: Any, low: Any, last: Any, symbol: str = "BTC") -> Bar:
    return Bar(
        symbol=symbol,
        interval="5m",
        opened_at=opened_at,
        open=Decimal(str(first)),
        high=Decimal(str(high)),
        low=Decimal(str(low)),
        close=Decimal(str(last)),
        volume=Decimal(10_000),
        source="test",
    )


def store_prices(*prices: Any, symbol: str = "BTC", since: datetime = JUNE) -> None:
    """Store bars of five minutes that each begin at one of the prices and stay there."""
    Bar.objects.bulk_create(
        bar(since + number * STEP, price, price, price, price, symbol) for number, price in enumerate(prices)
    )


def store_walk(bars: int, *, seed: int = 1, symbol: str = "BTC", since: datetime = JUNE) -> None:
    """Store a random walk that is lively enough for breakouts."""
    random, price, rows = Random(seed), 1000.0, []
    for number in range(bars):
        first = price
        drift = 6 if (number // 60) % 2 else -6
        price = max(50.0, price + random.gauss(drift * 0.3, 6))
        high, low = max(first, price) + random.random() * 3, min(first, price) - random.random() * 3
        rows.append(bar(since + number * STEP, *(f"{value:.2f}" for value in (first, high, low, price)), symbol))
    Bar.objects.bulk_create(rows)


def make_deployment(**fields: Any) -> Deployment:
    """Make a deployment on paper of a breakout skill that ticks each 15 minutes on bars of 5."""
    patch = {
        "strategy": {"thesis": "Breakouts go on", "style": "breakout", **RULES, **fields.pop("rules", {})},
        "context": {"symbols": ["BTC"], "bars_interval": "5m", "bars_lookback": 30, **fields.pop("context", {})},
        "schedule": {"type": "interval", "value": "15m"},
        "risk": {"max_position_pct": 50, "max_total_exposure_pct": 50, **fields.pop("risk", {})},
        "tools": {"built_in": fields.pop("tools", ["propose_order"])},
    }
    payload = parse_payload({**WHOLE, **patch}).stored()
    return DeploymentFactory(**{"version__payload": payload, "created_at": JUNE, **fields})


def list_due(now: datetime) -> list[Key]:
    """Return the due deployments of all users."""
    with system("test"):
        return due.list_due(now)


def run_due(now: datetime) -> list[due.Ran]:
    """Run the due deployments, as the worker does."""
    return [due.run_deployment(key, now=now) for key in list_due(now)]


class Script:
    """A model that says what it was told to say, then holds; `seen` are the messages it got."""

    def __init__(self, *said: Said) -> None:
        self.said, self.seen = list(said), []

    def __call__(self, messages: Any, tools: Any) -> Completion:
        self.seen.append(prepare_messages("scripted/model", messages))
        said = self.said.pop(0) if self.said else HOLD
        if isinstance(said, Exception):
            raise said
        name, arguments = said
        call = ToolCall(f"call_{len(self.seen)}", name, json.dumps(arguments))
        return Completion("", (call,), "tool_calls", Usage(100, 10), "scripted/model")


def offline(messages: Any, tools: Any) -> Completion:
    """Decide as the rule-based model does."""
    return asyncio.run(door.complete(messages, models=["offline/keel"], tools=tools))


def numbers(trade: Trade) -> dict[str, Any]:
    """Return the columns of a trade, but for those that tell one deployment from another."""
    skipped = {"id", "user_id", "deployment_id", "skill_id", "first_fill_id", "entry_snapshot_id", "exit_snapshot_id"}
    return {
        field.attname: getattr(trade, field.attname)
        for field in Trade._meta.concrete_fields
        if field.attname not in skipped and field.attname != "state"
    }


def long(size: int = 1000, **more: Any) -> Said:
    return "propose_order", {"symbol": "BTC", "side": "long", "size_usd": size, "reason": "it rises"} | more


def close(reason: str = "it has risen", **more: Any) -> Said:
    return "close_position", {"symbol": "BTC", "reason": reason} | more


class Desk:
    """One deployment of a user, ticked by new tickers as if the process died after each tick."""

    def __init__(self, user: Any, **fields: Any) -> None:
        self.user = user
        self.deployment_id = as_owner(user, lambda: make_deployment(**fields).pk)
        self.costs = FREE

    def tick(self, number, *said, script=None):
        script = script or Script(*said)
        ticker = Ticker(self.deployment_id, user_id=self.user.pk, ask=script, costs=self.costs)
        return ticker.tick(at(number))

    def ask(self, work):
        return as_owner(self.user, work)

    @property
    def row(self):
        return self.ask(lambda: Deployment.objects.get(pk=self.deployment_id))

    @property
    def trades(self):
        return self.ask(lambda: list(Trade.objects.filter(deployment=self.deployment_id).order_by("entry_at")))

    @property
    def orders(self):
        return self.ask(lambda: list(Order.objects.filter(deployment=self.deployment_id).order_by("proposed_at")))

    def decision(self, tick):
        return self.ask(lambda: DecisionSnapshot.objects.get(deployment=self.deployment_id, tick=tick))

    def equity(self):
        return self.ask(lambda: list(EquityPoint.objects.order_by("tick").values_list("equity_usd", flat=True)))
