import gzip
from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import factory
from factory.django import DjangoModelFactory

from tests.factories.memory import MAY
from trading.models import (
    BacktestRun,
    Bar,
    BrokerKind,
    CommandKind,
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    EquityPoint,
    ExitKind,
    Fill,
    FundingPayment,
    FundingRate,
    ImportBatch,
    MarketEvent,
    NewsItem,
    Order,
    OrderState,
    PositionCheck,
    ReconcileState,
    ReflectionNote,
    ReflectionRun,
    SavedFilter,
    Skill,
    SkillDraft,
    SkillVersion,
    Trade,
    TradeFile,
    TradeRemark,
    TradeSide,
    TradeStatus,
    TradingRule,
    TradingStyle,
    VenueAccount,
    WorkStatus,
)
from trading.record.decisions import keep_prompt
from trading.skills.schemas import parse_payload

WHOLE = {
    "name": "Dips",
    "trading_style": "swing",
    "strategy": {"thesis": "Dips are bought", "avoid": ["No trade in a shock regime"]},
    "context": {"symbols": ["BTC", "ETH"]},
}


KEEL_COLUMNS = ("fill_id", "time", "symbol", "side", "quantity", "price")


class SkillFactory(DjangoModelFactory):
    """A skill that was saved in May, without the row of its version. Make it inside the owner's scope."""

    class Meta:
        model = Skill

    name = factory.Sequence(lambda number: f"Skill number {number}")
    trading_style = TradingStyle.SWING
    latest_version = 1
    created_at = MAY
    updated_at = MAY


class SkillVersionFactory(DjangoModelFactory):
    """The first version of a skill."""

    class Meta:
        model = SkillVersion

    skill = factory.SubFactory(SkillFactory)
    version = 1
    payload = factory.LazyAttribute(lambda row: parse_payload({**WHOLE, "name": row.skill.name}).stored())
    created_at = MAY


class SkillDraftFactory(DjangoModelFactory):
    """A draft of a new skill."""

    class Meta:
        model = SkillDraft

    payload = factory.LazyFunction(lambda: {"name": "Draft"})
    created_at = MAY
    updated_at = MAY


class DeploymentFactory(DjangoModelFactory):
    """A paper deployment with 10,000 USD, running since May."""

    class Meta:
        model = Deployment

    version = factory.SubFactory(SkillVersionFactory)
    skill = factory.SelfAttribute("version.skill")
    broker_kind = BrokerKind.PAPER
    starting_equity_usd = Decimal(10_000)
    created_at = MAY


class DeploymentCommandFactory(DjangoModelFactory):
    """A pause that waits for a runner."""

    class Meta:
        model = DeploymentCommand

    deployment = factory.SubFactory(DeploymentFactory)
    kind = CommandKind.PAUSE
    created_at = MAY


class BacktestRunFactory(DjangoModelFactory):
    """A backtest of April that waits for a runner."""

    class Meta:
        model = BacktestRun

    class Params:
        done = factory.Trait(status=WorkStatus.DONE, finished_at=MAY)

    deployment = factory.SubFactory(DeploymentFactory, broker_kind=BrokerKind.BACKTEST)
    starts_at = MAY - timedelta(days=30)
    ends_at = MAY
    created_at = MAY


class DecisionSnapshotFactory(DjangoModelFactory):
    """A tick in which the agent did nothing."""

    class Meta:
        model = DecisionSnapshot

    deployment = factory.SubFactory(DeploymentFactory)
    tick = factory.Sequence(lambda number: number + 1)
    tick_at = MAY
    skill_version = 1

    @classmethod
    def _create(cls, model_class, *, system_prompt="", context="", **values):
        decision = model_class(**values)
        keep_prompt(decision, system_prompt, context, None)
        decision.save()
        return decision


class OrderFactory(DjangoModelFactory):
    """An order to go long that was filled."""

    class Meta:
        model = Order

    deployment = factory.SubFactory(DeploymentFactory)
    tick = 1
    symbol = "BTC"
    side = "long"
    size_usd = Decimal(250)
    reason = "Breakout above the prior swing high"
    state = OrderState.FILLED
    proposed_at = MAY
    updated_at = MAY


class EquityPointFactory(DjangoModelFactory):
    """What the account was worth in May."""

    class Meta:
        model = EquityPoint

    deployment = factory.SubFactory(DeploymentFactory)
    tick = factory.Sequence(lambda number: number + 1)
    at = MAY
    equity_usd = Decimal(10_000)


class FillFactory(DjangoModelFactory):
    """One BTC bought at 100."""

    class Meta:
        model = Fill

    deployment = factory.SubFactory(DeploymentFactory)
    fill_id = factory.LazyFunction(lambda: uuid4().hex)
    symbol = "BTC"
    at = MAY
    quantity = Decimal(1)
    price = Decimal(100)


class ImportBatchFactory(DjangoModelFactory):
    """A file of one fill that was imported in May."""

    class Meta:
        model = ImportBatch

    deployment = factory.SubFactory(DeploymentFactory)
    source = "file"
    name = "fills.csv"
    created_at = MAY
    new_fills = 1


class VenueAccountFactory(DjangoModelFactory):
    """A public address that was added in May and not read yet."""

    class Meta:
        model = VenueAccount

    venue = "hyperliquid"
    address = factory.Sequence(lambda number: f"0x{number:040x}")
    created_at = MAY
    due_at = MAY


class TradeFileFactory(DjangoModelFactory):
    """A CSV of one fill that waits for its import."""

    class Meta:
        model = TradeFile

    name = "fills.csv"
    content = gzip.compress(b"fill_id,time,symbol,side,quantity,price\n1,2025-03-01T10:00:00Z,BTC,buy,1,90000\n")
    mapping = factory.LazyFunction(
        lambda: {"format": "keel", "columns": {name: [name.replace("_", "")] for name in KEEL_COLUMNS}}
    )
    created_at = MAY


class FundingPaymentFactory(DjangoModelFactory):
    """Half a dollar that a position in BTC paid."""

    class Meta:
        model = FundingPayment

    deployment = factory.SubFactory(DeploymentFactory)
    symbol = "BTC"
    at = MAY
    amount_usd = Decimal("-0.5")


class PositionCheckFactory(DjangoModelFactory):
    """One BTC that was held at 100."""

    class Meta:
        model = PositionCheck

    deployment = factory.SubFactory(DeploymentFactory)
    symbol = "BTC"
    at = MAY
    quantity = Decimal(1)
    price = Decimal(100)


class TradeFactory(DjangoModelFactory):
    """A closed long of 2 BTC from 100 to 110 that cost 1 USD in fees and took two hours."""

    class Meta:
        model = Trade

    class Params:
        still_open = factory.Trait(
            status=TradeStatus.OPEN,
            quantity=Decimal(2),
            exit_tick_at=None,
            exit_at=None,
            exit_price=None,
            exit_kind="",
            holding_minutes=None,
            realized_pnl_usd=Decimal(0),
            gross_pnl_usd=Decimal(0),
            fees_usd=Decimal(0),
        )

    deployment = factory.SubFactory(DeploymentFactory)
    skill = factory.SelfAttribute("deployment.skill")
    skill_version = 1
    symbol = "BTC"
    side = TradeSide.LONG
    status = TradeStatus.CLOSED
    quantity = Decimal(0)
    peak_quantity = Decimal(2)
    entry_tick_at = MAY
    entry_at = factory.SelfAttribute("entry_tick_at")
    entry_price = Decimal(100)
    entry_size_usd = Decimal(200)
    entry_reason = "Breakout above the prior swing high"
    exit_tick_at = factory.LazyAttribute(lambda trade: trade.entry_tick_at + timedelta(hours=2))
    exit_at = factory.SelfAttribute("exit_tick_at")
    exit_price = Decimal(110)
    exit_kind = ExitKind.SIGNAL
    holding_minutes = Decimal(120)
    realized_pnl_usd = factory.LazyAttribute(lambda trade: trade.gross_pnl_usd - trade.fees_usd)
    gross_pnl_usd = Decimal(20)
    fees_usd = Decimal(1)
    funding_usd = Decimal(0)
    mfe_usd = Decimal(30)
    mae_usd = Decimal(-8)
    path_minutes = 60
    reconciled = ReconcileState.EXACT
    first_fill_id = factory.LazyFunction(lambda: uuid4().hex)
    created_at = MAY
    updated_at = MAY


class ReflectionNoteFactory(DjangoModelFactory):
    """The active lessons of a deployment, of ten trades in April."""

    class Meta:
        model = ReflectionNote

    deployment = factory.SubFactory(DeploymentFactory)
    skill = factory.SelfAttribute("deployment.skill")
    skill_version = 1
    generated_at = MAY
    window_start = MAY - timedelta(days=30)
    window_end = MAY
    trades_considered = 10
    lessons_text = "- Longs after a flush paid; keep the stop where it was"
    model_used = "scripted/model"


class ReflectionRunFactory(DjangoModelFactory):
    """A reflection that found nothing to say."""

    class Meta:
        model = ReflectionRun

    deployment = factory.SubFactory(DeploymentFactory)
    status = "done"
    started_at = MAY
    finished_at = MAY


# --- What belongs to nobody ---


class BarFactory(DjangoModelFactory):
    """An hour of BTC."""

    class Meta:
        model = Bar

    symbol = "BTC"
    interval = "1h"
    opened_at = MAY
    open = Decimal(100)
    high = Decimal(105)
    low = Decimal(95)
    close = Decimal(101)
    volume = Decimal(1000)
    source = "test"


class FundingRateFactory(DjangoModelFactory):
    """One hundredth of a percent, paid by longs."""

    class Meta:
        model = FundingRate

    symbol = "BTC"
    at = MAY
    rate = Decimal("0.0001")
    source = "test"


class NewsItemFactory(DjangoModelFactory):
    """A headline about everything."""

    class Meta:
        model = NewsItem

    key = factory.LazyFunction(lambda: uuid4().hex)
    headline = factory.Sequence(lambda number: f"Headline number {number}")
    source = "test"
    published_at = MAY


class MarketEventFactory(DjangoModelFactory):
    """A Fed decision in May."""

    class Meta:
        model = MarketEvent

    key = factory.LazyFunction(lambda: uuid4().hex)
    kind = "fomc"
    title = "FOMC statement"
    starts_at = MAY
    importance = 0.9
    source = "test"


class TradingRuleFactory(DjangoModelFactory):
    """At most 5x leverage since May, confirmed."""

    class Meta:
        model = TradingRule

    fact_id = factory.LazyFunction(uuid4)
    lineage = factory.SelfAttribute("fact_id")
    words = "Never above 5x leverage"
    payload = factory.LazyFunction(lambda: {"kind": "leverage", "limit": "5", "is_strict": False})
    state = "confirmed"
    valid_from = MAY
    created_at = MAY
    decided_at = MAY


class TradeRemarkFactory(DjangoModelFactory):
    """A note with two tags."""

    class Meta:
        model = TradeRemark

    trade_id = factory.LazyFunction(uuid4)
    text = "Took it too early"
    tags = ",fomo,news,"
    updated_at = MAY


class SavedFilterFactory(DjangoModelFactory):
    """The losing longs."""

    class Meta:
        model = SavedFilter

    name = "Longs that a stop closed"
    query = "side=long&exit=stop"
    created_at = MAY
