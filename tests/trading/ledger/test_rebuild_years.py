"""Years of fills through every door, against a computation in fractions that shares no code with the ledger."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from django.db.models import F

from tests.factories.memory import JUNE
from tests.factories.record import BarFactory, DeploymentFactory
from tests.trading.ledger.test_positions import Lot, textbook
from trading.ledger.arrivals import add_entries
from trading.ledger.entries import Entries
from trading.ledger.executions import Execution
from trading.ledger.positions import Funding
from trading.models import Bar, Trade

D = Decimal
SYMBOLS = ("BTC", "ETH", "DOGE", "SOL")
STEPS = (timedelta(milliseconds=1), timedelta(seconds=20), timedelta(minutes=7), timedelta(hours=2))
COUNT = 2_500
NEAR = Fraction(1, 10**8)
Told = tuple[Execution | Funding, Decimal, Decimal]  # with its fee without a price, and the size of a hole


@dataclass
class Teller:
    """Makes up one account's years, and keeps its trades as it goes."""

    random: Random
    held: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(SYMBOLS, D(0)))
    seen: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(SYMBOLS, D(0)))
    told: dict[str, list[Told]] = field(default_factory=lambda: defaultdict(list))
    fills: list[Execution] = field(default_factory=list)
    funding: list[Funding] = field(default_factory=list)
    at: object = JUNE

    def tell(self, count: int) -> None:
        """Add that many fills."""
        while len(self.fills) < count:
            self.at += self.random.choice(STEPS)
            symbol, roll = self.random.choice(SYMBOLS), self.random.random()
            if roll < 0.05:
                self._pay(symbol)
            elif roll < 0.08:
                self._trade_with_itself(symbol)
            elif roll < 0.09:
                self.held[symbol] += self._size()  # and no source ever reports that fill
            else:
                self._fill(symbol, self._move(self.held[symbol]))

    def _size(self) -> Decimal:
        return D(self.random.randint(1, 5_000_000)) / 100_000

    def _move(self, held: Decimal) -> Decimal:
        size, away = self._size(), D(1 if held > 0 else -1)
        if not held:
            return size * self.random.choice((1, -1))
        part = (abs(held) * self.random.randint(1, 99) / 100).quantize(D("0.00001")) or abs(held)
        return self.random.choice((away * size, -away * part, -held, -held, -held - away * size))

    def _price(self) -> Decimal:
        return D(self.random.randint(1, 10**9)) / 10_000

    def _fill(self, symbol: str, quantity: Decimal, price: Decimal | None = None, start: Decimal | None = None) -> None:
        price = price or self._price()
        held, amount, roll = self.held[symbol], D(self.random.randint(-20_000, 90_000)) / 10**4, self.random.random()
        fee = {"fee_usd": amount}
        if roll < 0.2:
            fee = {"fee_coin": "BNB", "fee_in_coin": amount}
        elif roll < 0.25:
            fee = {"fee_coin": "XYZ", "fee_in_coin": amount}
        start = held if start is None else start
        name = f"{self.random.getrandbits(64):x}"
        self.fills.append(Execution(name, symbol, self.at, quantity, price, start_quantity=start, **fee))
        self.held[symbol] = held + quantity
        if hole := held - self.seen[symbol]:
            self.told[symbol].append((Execution(f"gap:{name}", symbol, self.at, hole, price), D(0), abs(hole)))
        in_usd, unpriced = (D(0), amount) if 0.2 <= roll < 0.25 else (amount * (300 if roll < 0.2 else 1), D(0))
        self.told[symbol].append((Execution(name, symbol, self.at, quantity, price, in_usd), unpriced, D(0)))
        self.seen[symbol] = self.held[symbol]

    def _trade_with_itself(self, symbol: str) -> None:
        """Tell of both sides with one start, as the venue does; the side that adds comes first."""
        held, size, price = self.held[symbol], self._size(), self._price()
        if not held:
            return
        adds = size if held > 0 else -size
        self._fill(symbol, adds, price)
        self._fill(symbol, -adds, price, start=held)

    def _pay(self, symbol: str) -> None:
        amount = D(self.random.randint(-90_000, 90_000)) / 10_000
        self.funding.append(Funding(symbol, self.at, amount))
        self.told[symbol].append((self.funding[-1], D(0), D(0)))

    def list_lots(self, symbol: str) -> list[tuple[Lot, Fraction, bool]]:
        """Return the trades of a symbol, each with its fees without a price, and whether a hole is a part of it."""
        told = self.told[symbol]
        lots = textbook(one for one, _, _ in told)
        # A fee is shared out among trades as what has no price is, and as a hole.
        rests = textbook(replace(one, fee_usd=rest) for one, rest, _ in told if isinstance(one, Execution))
        holes = textbook(replace(one, fee_usd=hole) for one, _, hole in told if isinstance(one, Execution))
        return [(lot, rest.fees, bool(hole.fees)) for lot, rest, hole in zip(lots, rests, holes, strict=True)]


def give(deployment, teller: Teller, random: Random, now) -> int:
    """Bring all entries in shuffled batches, some of them twice; return the number of imports."""
    entries = [*teller.fills, *teller.funding]
    # Mostly in order; a tenth comes late, up to the very end.
    delays = [random.random() * (random.random() < 0.1) for _ in entries]
    ordered = sorted(range(len(entries)), key=lambda n: entries[n].at + delays[n] * (now - entries[n].at))
    batches = 0
    while ordered:
        size = random.choice((1, 5, 60, 400))
        batch = [entries[n] for n in ordered[:size]] + random.sample(entries, 3)
        ordered = ordered[size:]
        random.shuffle(batch)
        fills = [one for one in batch if isinstance(one, Execution)]
        paid = [one for one in batch if isinstance(one, Funding)]
        add_entries(deployment_id=deployment.pk, entries=Entries(fills, paid), source="api", now=now)
        batches += 1
    return batches


@pytest.mark.computing
def test_years_of_fills_give_the_textbooks_trades_whatever_comes_late(as_trader):
    random = Random(20260601)
    teller = Teller(random)
    teller.tell(COUNT)
    now = teller.at + timedelta(days=1)
    # One bar a day, at 300: what prices a fee in BNB.
    days = (teller.at - JUNE).days + 3
    one = BarFactory.build(symbol="BNB", interval="1d", open=300, high=300, low=300, close=300)
    names = [field.attname for field in Bar._meta.concrete_fields if field.attname not in ("id", "opened_at")]
    common = {name: getattr(one, name) for name in names}
    Bar.objects.bulk_create(Bar(**common, opened_at=JUNE + timedelta(days=n - 2)) for n in range(days))
    deployment = DeploymentFactory(broker_kind="live")

    batches = give(deployment, teller, random, now)

    assert batches > 5
    for symbol in SYMBOLS:
        lots = teller.list_lots(symbol)
        trades = list(Trade.objects.filter(symbol=symbol).order_by("entry_at", F("exit_at").asc(nulls_last=True)))
        assert len(trades) == len(lots) > 50
        for trade, (lot, rest, has_gap) in zip(trades, lots, strict=True):
            assert_is(trade, lot)
            assert trade.reconciled == ("gap" if has_gap else "exact")
            assert abs(Fraction(trade.unpriced_fees.get("XYZ", "0")) - rest) < NEAR


def assert_is(trade: Trade, lot: Lot) -> None:
    assert (trade.side, trade.entry_at, trade.exit_at) == (lot.side, lot.entry_at, lot.exit_at)
    for name, expected in {
        "gross_pnl_usd": lot.gross,
        "fees_usd": lot.fees,
        "funding_usd": lot.funding,
        "realized_pnl_usd": lot.gross - lot.fees + lot.funding,
        "entry_price": lot.average,
        "peak_quantity": lot.peak,
    }.items():
        # SQLite keeps fifteen digits.
        assert abs(Fraction(getattr(trade, name)) - expected) < NEAR * max(1, abs(expected) / 10**6), name
