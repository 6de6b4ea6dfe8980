"""A large account, written in bulk: years of trades, facts, chats and decisions of one user."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

from django.db.models import F

from chat.models import Bookmark, Conversation, DayNote, Message, Receipt
from config.lib.owned import owned_tx
from memory.models import MemoryEvent, MemoryProposal, Place, UserFact
from tests.factories.chat import BookmarkFactory, ConversationFactory, DayNoteFactory, MessageFactory, ReplyFactory
from tests.factories.memory import MemoryEventFactory, MemoryProposalFactory, PlaceFactory, UserFactFactory
from tests.factories.record import (
    BacktestRunFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    ImportBatchFactory,
    MarketEventFactory,
    OrderFactory,
    ReflectionNoteFactory,
    SavedFilterFactory,
    SkillDraftFactory,
    SkillFactory,
    SkillVersionFactory,
    TradeFactory,
    TradeFileFactory,
    TradeRemarkFactory,
    TradingRuleFactory,
    VenueAccountFactory,
)
from trading.models import (
    Bar,
    DecisionSnapshot,
    Deployment,
    EquityPoint,
    Fill,
    MarketEvent,
    Order,
    Trade,
    Trader,
    TradeRemark,
)
from trading.models.packing import pack_text

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
SYMBOLS = {"BTC": 60_000, "ETH": 3_000, "SOL": 150}  # with their prices
WORDS = (
    *("funding", "breakout", "range", "stop", "size", "spread", "drift", "session"),
    *("news", "open", "close", "lower", "higher", "wait", "early", "late"),
)
EXITS = ("signal", "stop", "flip", "command")
REGIMES = ("trend", "chop", "shock", "unknown")
RULES: dict[str, dict[str, Any]] = {  # by the facts that are read as them
    "Never above 3x leverage": {"kind": "leverage", "limit": "3", "is_strict": False},
    "Only BTC and ETH": {"kind": "symbols", "mode": "only", "symbols": ["BTC", "ETH"]},
    "No trades between 22:00 and 06:00": {"kind": "hours", "mode": "never", "start": 1_320, "end": 360, "zone": "UTC"},
    "At most 6 trades a day": {"kind": "trades_per_day", "limit": 6, "zone": "UTC"},
    "Never risk more than 1% per trade": {"kind": "risk_per_trade", "limit": "1", "unit": "pct", "is_strict": False},
}


@dataclass(frozen=True)
class Size:
    """How many rows a large account has."""

    trades: int = 10_000
    facts: int = 1_000
    messages: int = 1_000  # of one chat
    chats: int = 300
    bars: int = 16_000  # hours, of each symbol
    decisions: int = 2_000  # of the agent, beside one for each of its trades


def seed_large_account(user: Trader, now: datetime, size: Size = Size()) -> None:
    """Write the rows of a large account."""
    pick, now = Random(7), now.replace(microsecond=0)
    user.experience_tier = "intermediate"
    user.save(update_fields=["experience_tier"])
    if not Bar.objects.exists():  # of another account
        _write_market(pick, now, size)
    with owned_tx(user):
        _write_record(user, pick, now, size)
        _write_facts(user, pick, now, size)
        _write_rules(user, now - size.bars * HOUR + DAY)
        _write_chats(user, pick, now, size)


def _write(model: Any, rows: Iterable[Any]) -> list[Any]:
    made: list[Any] = model.objects.bulk_create(rows, batch_size=1_000)
    return made


def _say(pick: Random, count: int) -> str:
    return " ".join(pick.choices(WORDS, k=count))


# --- The market ---


def _write_market(pick: Random, now: datetime, size: Size) -> None:
    first = now.replace(minute=0, second=0) - size.bars * HOUR
    same = {"interval": "1h", "volume": Decimal(1_000), "source": "large account", "is_simulated": True}
    for symbol, price in SYMBOLS.items():
        prices = list(_walk(pick, price, size.bars + 1))
        Bar.objects.bulk_create(
            (
                Bar(
                    symbol=symbol,
                    opened_at=first + hour * HOUR,
                    open=opened,
                    close=closed,
                    high=max(opened, closed) * Decimal("1.002"),
                    low=min(opened, closed) * Decimal("0.998"),
                    **same,
                )
                for hour, (opened, closed) in enumerate(pairwise(prices))
            ),
            batch_size=2_000,
        )
    events = [MarketEventFactory.build(starts_at=now + number * 2 * DAY + HOUR) for number in range(-60, 20)]
    MarketEvent.objects.bulk_create(events)


def _walk(pick: Random, price: float, count: int) -> Iterator[Decimal]:
    usual = price
    for _ in range(count):
        price *= 1 + pick.gauss(0, 0.004) + (usual / price - 1) * 0.002
        yield Decimal(f"{price:.4f}")


# --- The record ---


def _write_record(user: Trader, pick: Random, now: datetime, size: Size) -> None:
    began = now - size.bars * HOUR + DAY
    skills = SkillFactory.create_batch(3, user=user, created_at=began, updated_at=now)
    versions = [SkillVersionFactory(user=user, skill=skill, created_at=began) for skill in skills]
    ticks = {"last_tick": 100_000, "last_tick_at": now - HOUR, "created_at": began}
    agent, second = (DeploymentFactory(user=user, version=version, **ticks) for version in versions[:2])
    own = DeploymentFactory(
        user=user,
        version=versions[2],
        broker_kind="live",
        label="Binance spot",
        starting_equity_usd=None,
        created_at=began,
    )
    counts = {agent: size.trades * 7 // 10, second: size.trades // 10}
    counts[own] = size.trades - sum(counts.values())
    for deployment, count in counts.items():
        _write_trades(deployment, count, pick, began, now)
    for deployment in (agent, second):
        _write_equity(deployment, pick, began, now)
    _write_decisions(agent, size.decisions, now)
    _write_notes(agent, began, now)
    for number, version in enumerate(versions[:2]):
        _write_backtest(user, version, pick, now - (number + 1) * DAY)
    ImportBatchFactory(user=user, deployment=own, created_at=now - DAY)
    TradeFileFactory(user=user, created_at=now)
    VenueAccountFactory(user=user, created_at=began, due_at=now + DAY)
    SkillDraftFactory(user=user, created_at=now, updated_at=now)
    for number in range(5):
        SavedFilterFactory(user=user, name=f"Filter {number}")
    trades = Trade.objects.filter(deployment=own).order_by("-entry_at")[:300]
    remarks = [
        TradeRemarkFactory.build(user_id=user.pk, trade_id=trade.pk, text=_say(pick, 20), updated_at=trade.entry_at)
        for trade in trades
    ]
    _write(TradeRemark, remarks)


def _write_trades(deployment: Deployment, count: int, pick: Random, began: datetime, now: datetime) -> None:
    """Write closed trades one after another in each symbol, and an open one at the end."""
    trades, decisions, orders, fills = [], [], [], []
    step = (now - began - DAY) / count
    is_agent = deployment.broker_kind != "live"
    for number in range(count):
        symbol = list(SYMBOLS)[number % len(SYMBOLS)]
        entry_at = (began + number * step).replace(microsecond=0)
        trade = _make_trade(deployment, symbol, entry_at, step * 2, pick)
        trades.append(trade)
        if is_agent:
            decision = _decide(deployment, number + 1, entry_at, "accepted")
            stop = trade.entry_price * (Decimal("0.98") if trade.side == "long" else Decimal("1.02"))
            trade.entry_snapshot_id = decision.pk
            decisions.append(decision)
            orders.append(_order(deployment, decision, trade, stop))
        fills += _fill(trade)
    for symbol in list(SYMBOLS)[: 2 if is_agent else 1]:
        trade = _make_trade(deployment, symbol, now - 5 * HOUR, None, pick)
        trades.append(trade)
        fills += _fill(trade)
    _write(DecisionSnapshot, decisions)
    _write(Order, orders)
    _write(Trade, trades)
    _write(Fill, fills)


def _make_trade(deployment: Deployment, symbol: str, at: datetime, held: timedelta | None, pick: Random) -> Trade:
    price = Decimal(SYMBOLS[symbol]) * Decimal(f"{pick.uniform(0.97, 1.03):.4f}")
    size, gross = Decimal(pick.randint(200, 4_000)), Decimal(f"{pick.gauss(1, 30):.2f}")
    side = pick.choice(("long", "short"))
    values: dict[str, Any] = {
        "user_id": deployment.user_id,
        "deployment": deployment,
        "symbol": symbol,
        "side": side,
        "peak_quantity": size / price,
        "entry_tick_at": at,
        "entry_at": at,
        "entry_price": price,
        "entry_size_usd": size,
        "entry_leverage": Decimal(pick.randint(1, 4)),
        "entry_reason": _say(pick, 8),
        "entry_regime_tag": pick.choice(REGIMES),
        "fees_usd": Decimal("0.8"),
        "created_at": at,
        "updated_at": at,
    }
    if held is None:
        quantity = size / price * (1 if side == "long" else -1)
        return TradeFactory.build(still_open=True, **values | {"quantity": quantity, "fees_usd": Decimal(0)})
    return TradeFactory.build(
        **values,
        exit_at=at + held,
        exit_tick_at=at + held,
        exit_price=price * (1 + gross / size),
        exit_reason=_say(pick, 6),
        exit_kind=pick.choice(EXITS),
        holding_minutes=Decimal(int(held.total_seconds() // 60)),
        gross_pnl_usd=gross,
        mfe_usd=max(gross, Decimal(0)) + pick.randint(0, 20),
        mae_usd=min(gross, Decimal(0)) - pick.randint(0, 20),
    )


def _decide(deployment: Deployment, tick: int, at: datetime, verdict: str) -> DecisionSnapshot:
    return DecisionSnapshotFactory.build(
        user_id=deployment.user_id,
        deployment=deployment,
        tick=tick,
        tick_at=at,
        verdict=verdict,
        verdict_code="R3_POSITION_CAP" if verdict == "refused" else "",
        packed=pack_text("Bars of the last two days\n" * 60),
        model="offline/keel",
    )


def _order(deployment: Deployment, decision: DecisionSnapshot, trade: Trade, stop: Decimal) -> Order:
    return OrderFactory.build(
        user_id=deployment.user_id,
        deployment=deployment,
        snapshot=decision,
        tick=decision.tick,
        symbol=trade.symbol,
        side=trade.side,
        size_usd=trade.entry_size_usd,
        stop_price=stop,
        proposed_at=trade.entry_at,
        updated_at=trade.entry_at,
    )


def _fill(trade: Trade) -> Iterator[Fill]:
    bought = trade.peak_quantity * (1 if trade.side == "long" else -1)
    ends = [(trade.entry_at, bought, trade.entry_price), (trade.exit_at, -bought, trade.exit_price)]
    for number, (at, quantity, price) in enumerate(ends):
        if at is not None:
            yield Fill(
                user_id=trade.user_id,
                deployment_id=trade.deployment_id,
                fill_id=trade.first_fill_id if number == 0 else f"{trade.first_fill_id}-exit",
                symbol=trade.symbol,
                at=at,
                quantity=quantity,
                price=price,
                settled_at=at,
            )


def _write_equity(deployment: Deployment, pick: Random, began: datetime, now: datetime, every: timedelta = 4 * HOUR):
    equity, points = 10_000.0, []
    for number in range((now - began) // every):
        equity += pick.gauss(0.5, 20)
        amount = Decimal(f"{max(equity, 1):.2f}")
        points.append(
            EquityPoint(
                user_id=deployment.user_id, deployment=deployment, tick=number + 1, at=began + number * every,
                equity_usd=amount,
            )
        )  # fmt: skip
    _write(EquityPoint, points)


def _write_decisions(agent: Deployment, count: int, now: datetime) -> None:
    verdicts = ("none", "none", "none", "refused", "none", "failed")
    last = agent.last_tick
    rows = (
        _decide(agent, last - number, now - (number + 1) * HOUR, verdicts[number % len(verdicts)])
        for number in range(count)
    )
    _write(DecisionSnapshot, rows)


def _write_notes(agent: Deployment, began: datetime, now: datetime) -> None:
    step = (now - began) / 13
    for number in range(12):
        at, is_last = began + (number + 1) * step, number == 11
        ReflectionNoteFactory(
            user=agent.user,
            deployment=agent,
            generated_at=at,
            window_start=at - step,
            window_end=at,
            status="active" if is_last else "superseded",
            superseded_at=None if is_last else at + step,
        )


def _write_backtest(user: Trader, version: Any, pick: Random, now: datetime) -> None:
    began = now - 60 * DAY
    deployment = DeploymentFactory(
        user=user, version=version, broker_kind="backtest", created_at=now, last_tick=1_440, last_tick_at=now
    )
    BacktestRunFactory(
        user=user, deployment=deployment, starts_at=began, ends_at=now, created_at=now, started_at=now,
        finished_at=now, status="done", ticks_done=1_440, ticks_total=1_440, is_simulated=True,
    )  # fmt: skip
    _write_trades(deployment, 300, pick, began, now)
    _write_equity(deployment, pick, began, now, HOUR)


# --- Memory and chats ---


def _write_facts(user: Trader, pick: Random, now: datetime, size: Size) -> None:
    topics = ("risk", "goal", "session", "style", "symbols", "")
    facts, events = [], []
    for number in range(size.facts):
        at = now - number * 6 * HOUR
        fact = UserFactFactory.build(
            user_id=user.pk,
            content=f"{_say(pick, pick.randint(4, 14)).capitalize()} {number}",
            topic=topics[number % len(topics)],
            valid_from=at,
            created_at=at,
            inferred=number % 9 == 0,
        )
        facts.append(fact)
        events.append(MemoryEventFactory.build(user_id=user.pk, after=fact, created_at=at))
    _write(UserFact, facts)
    _write(MemoryEvent, events)
    _write(MemoryProposal, [MemoryProposalFactory.build(user_id=user.pk, created_at=now) for _ in range(60)])
    _write(Place, [PlaceFactory.build(user_id=user.pk, added_at=now) for _ in range(60)])


def _write_rules(user: Trader, since: datetime) -> None:
    dates = {"valid_from": since, "created_at": since}
    for words, rule in RULES.items():
        fact = UserFactFactory(user=user, content=words, topic="risk", **dates)
        names = {"fact_id": fact.pk, "lineage": fact.lineage, "words": words}
        TradingRuleFactory(user=user, payload=rule, **names, **dates)


def _write_chats(user: Trader, pick: Random, now: datetime, size: Size) -> None:
    chats = [
        ConversationFactory.build(
            user_id=user.pk,
            title=_say(pick, 4).capitalize(),
            status="idle",
            created_at=now - number * DAY,
            last_message_at=now - number * DAY,
            trashed_at=now - DAY if number > size.chats - 40 else None,
        )
        for number in range(size.chats)
    ]
    _write(Conversation, chats)
    replies = _write_messages(user, chats[0], size.messages, pick, now)
    for chat in chats[1:60]:
        replies += _write_messages(user, chat, 4, pick, chat.created_at)
    Receipt.objects.create(user=user, reply=replies[0], tools_sha256="0" * 64, sha256="0" * 64)
    kept = [
        BookmarkFactory.build(user_id=user.pk, message=reply, created_at=now - number * 4 * HOUR)
        for number, reply in enumerate(replies[:100])
    ]
    _write(Bookmark, kept)
    _write(DayNote, [DayNoteFactory.build(user_id=user.pk, day=(now - number * DAY).date()) for number in range(60)])


def _write_messages(user: Trader, chat: Conversation, count: int, pick: Random, now: datetime) -> list[Message]:
    """Write questions and their replies in turn; return the replies."""
    same = {"user_id": user.pk, "conversation": chat}
    rows = []
    for number in range(0, count, 2):
        at = now - (count - number) * timedelta(minutes=2)
        rows.append(MessageFactory.build(content=_say(pick, 15), created_at=at, **same))
        rows.append(ReplyFactory.build(reply_to=None, content=_say(pick, 60), created_at=at, **same))
    made = _write(Message, rows)
    Message.objects.filter(conversation=chat, role="assistant").update(reply_to_id=F("id") - 1)
    return made[1::2]
