import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trading.ledger.executions import Execution, sort_fills
from trading.ledger.positions import Book, Funding, Tick
from trading.ledger.rows import dump_trip, load_trip
from trading.ledger.trips import ExitCause, PathBar, Trip
from trading.models import ReconcileState, TradeSide

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
D = Decimal


def fill(quantity, price, *, minute=0, fee="0", start=None, liquidation=False, name=None, symbol="BTC") -> Execution:
    return Execution(
        name or f"{symbol}{minute}:{quantity}@{price}",
        symbol,
        NOON + minute * MINUTE,
        D(quantity),
        D(price),
        D(fee),
        liquidation,
        None if start is None else D(start),
    )


def trips_of(*fills: Execution) -> list[Trip]:
    return Book().apply(Tick(NOON + timedelta(days=1), fills))


def numbers(trip: Trip) -> tuple:
    return (trip.side, trip.quantity, trip.entry_price, trip.exit_price, trip.gross_usd, trip.fees_usd)


# --- Fills ---


def test_long_round_trip_becomes_one_closed_trade():
    (trip,) = trips_of(fill("2", "100", fee="0.2"), fill("-2", "110", minute=9, fee="0.3"))

    assert numbers(trip) == (TradeSide.LONG, 0, 100, 110, 20, D("0.5"))
    assert (trip.realized_pnl_usd, trip.entry_size_usd, trip.peak_quantity) == (D("19.5"), 200, 2)
    assert (trip.entry_at, trip.exit_at, trip.exit_cause) == (NOON, NOON + 9 * MINUTE, ExitCause.FILL)
    assert (trip.reconciled, trip.is_open) == (ReconcileState.EXACT, False)


def test_adds_and_partial_exits_belong_to_one_trip():
    (trip,) = trips_of(
        fill("1", "100"),
        fill("3", "120", minute=1),
        fill("-2", "130", minute=2),
        fill("2", "110", minute=3),
        fill("-4", "124", minute=4),
    )

    # 4 cost 460, on average 115; 2 of them sold at 130; 2 more at 110 make the average 112.5.
    assert (trip.entry_price, trip.exit_price) == (D("112.5"), 126)
    assert trip.gross_usd == 2 * 15 + 4 * D("11.5")
    assert (trip.entry_size_usd, trip.peak_quantity) == (460, 4)


def test_open_trip_keeps_its_realised_pnl():
    (trip,) = trips_of(fill("4", "100"), fill("-1", "90", minute=1, fee="-0.1"))

    assert (trip.is_open, trip.quantity, trip.cost_usd, trip.gross_usd, trip.fees_usd) == (True, 3, 300, -10, D("-0.1"))


def test_flip_closes_one_trip_and_opens_the_next_with_its_share_of_the_fee():
    first, second = trips_of(fill("2", "100"), fill("-6", "90", minute=1, fee="0.6", name="flip"))

    assert numbers(first) == (TradeSide.LONG, 0, 100, 90, -20, D("0.2"))
    assert first.exit_cause is ExitCause.FLIP
    assert numbers(second) == (TradeSide.SHORT, -4, 90, None, 0, D("0.4"))
    assert second.first_fill_id == "flip"


def test_liquidation_says_so_even_where_the_fill_crosses_zero():
    (trip,) = trips_of(fill("1", "100"), fill("-1", "60", minute=1, liquidation=True))
    crossed, _ = trips_of(fill("1", "100"), fill("-2", "60", minute=1, liquidation=True))

    assert {trip.exit_cause, crossed.exit_cause} == {ExitCause.LIQUIDATION}


def test_symbols_do_not_mix():
    btc, eth = trips_of(fill("1", "100"), fill("-1", "10", symbol="ETH"))

    assert (btc.symbol, btc.quantity, eth.symbol, eth.quantity) == ("BTC", 1, "ETH", -1)


def test_fill_without_a_quantity_is_nothing():
    assert trips_of(fill("0", "100")) == []


# --- Funding ---


def test_funding_goes_to_the_trip_that_was_open_and_counts_once():
    book = Book()
    paid = Funding("BTC", NOON + 2 * MINUTE, D("-1.5"))
    early = Funding("BTC", NOON - MINUTE, D(-9))
    book.apply(Tick(NOON + 3 * MINUTE, [fill("1", "100")], [paid, early]))

    (trip,) = book.apply(
        Tick(NOON + 9 * MINUTE, [fill("-1", "100", minute=5)], [paid, Funding("BTC", NOON + 4 * MINUTE, D("0.5"))])
    )

    assert (trip.funding_usd, trip.realized_pnl_usd) == (-1, -1)


def test_funding_of_a_flat_symbol_is_ignored():
    assert Book().apply(Tick(NOON, funding=[Funding("BTC", NOON, D(5))])) == []


# --- Snapshots ---


def snapshot(
    minute: int, held: str | None, mark: str = "100", *fills: Execution, complete: bool = True, **more
) -> Tick:
    positions = {} if held is None else {"BTC": D(held)}
    return Tick(
        NOON + minute * MINUTE,
        fills,
        marks={"BTC": D(mark)} if mark else {},
        positions=positions,
        is_complete=complete,
        **more,
    )


def test_snapshot_that_fills_explain_changes_nothing():
    book = Book()
    book.apply(snapshot(1, "2", "150", fill("2", "100")))

    (trip,) = book.apply(snapshot(3, None, "150", fill("-2", "110", minute=2)))

    assert (trip.reconciled, trip.gross_usd) == (ReconcileState.EXACT, 20)
    assert book.apply(snapshot(4, None)) == []


def test_delta_without_a_fill_is_estimated_at_the_mark():
    book = Book()
    (opened,) = book.apply(snapshot(1, "-3", "100"))
    assert (opened.side, opened.entry_price, opened.reconciled) == (TradeSide.SHORT, 100, ReconcileState.ESTIMATED)

    (closed,) = book.apply(snapshot(2, None, "90"))

    assert (closed.gross_usd, closed.exit_cause) == (30, ExitCause.UNEXPLAINED)
    assert closed.reconciled is ReconcileState.ESTIMATED


def test_sign_that_turned_without_a_fill_is_a_flip():
    book = Book()
    book.apply(snapshot(1, "1", "100"))

    long, short = book.apply(snapshot(2, "-1", "120"))

    assert (long.gross_usd, long.exit_cause, short.side, short.quantity) == (20, ExitCause.FLIP, TradeSide.SHORT, -1)


def test_incomplete_snapshot_keeps_unnamed_positions():
    book = Book()
    book.apply(snapshot(1, "1"))

    assert book.apply(snapshot(2, None, complete=False)) == []
    assert book.held("BTC") == 1


def test_difference_without_a_mark_waits_for_one():
    book = Book()
    assert book.apply(snapshot(1, "1", "")) == []

    (trip,) = book.apply(snapshot(2, "1", "105"))

    assert trip.entry_price == 105


@pytest.mark.parametrize(("held", "left"), [("1.0000000001", 1), ("0.9999999999", 1), ("1.1", D("1.1")), (None, 0)])
def test_dust_is_left_alone_unless_it_is_all_there_is(held, left):
    book = Book()
    book.apply(snapshot(1, "1", "100", fill("1", "100")))

    book.apply(snapshot(2, held))

    assert book.held("BTC") == left


def test_dust_goes_when_the_account_is_flat():
    book = Book()
    book.apply(snapshot(1, "1", "100", fill("1", "100")))

    (trip,) = book.apply(snapshot(3, None, "100", fill("-0.9999999999", "100", minute=2)))

    assert not trip.is_open


def test_fill_ahead_of_the_snapshot_is_not_doubted():
    book = Book()
    (trip,) = book.apply(snapshot(1, None, "100", fill("1", "100", minute=2)))

    assert (trip.quantity, trip.reconciled) == (1, ReconcileState.EXACT)
    assert book.apply(snapshot(3, "1")) == []


# --- Holes in the history ---


def test_position_from_before_the_history_is_a_gap():
    (trip,) = trips_of(fill("-1", "90", start="4", name="first"))

    assert (trip.side, trip.quantity, trip.gross_usd, trip.reconciled) == (TradeSide.LONG, 3, 0, ReconcileState.GAP)
    assert trip.first_fill_id == "gap:first"


def test_hole_that_hides_an_exit_ends_the_trip_as_a_gap():
    first, second = trips_of(fill("2", "100", start="0"), fill("1", "90", start="0", minute=5))

    assert (first.is_open, first.reconciled, first.exit_cause) == (False, ReconcileState.GAP, ExitCause.UNEXPLAINED)
    assert (second.quantity, second.reconciled) == (1, ReconcileState.EXACT)


# --- Order ---


def test_fills_of_one_instant_follow_the_venues_chain():
    chain = [fill("2", "100", start="0", name="d"), fill("-5", "99", start="2", name="a")]
    chain += [fill("1", "98", start="-3", name="c"), fill("-4", "97", start="-2", name="b")]

    for seed in range(10):
        shuffled = Random(seed).sample(chain, 4)
        assert sort_fills(shuffled, D(0)) == chain


def test_chain_that_comes_by_the_same_position_twice_uses_every_fill():
    chain = [fill("5", "100", start="0", name="c"), fill("-5", "99", start="5", name="b")]
    chain += [fill("-3", "98", start="0", name="a")]

    assert sort_fills(chain[::-1], D(0)) == chain


def test_fills_without_a_chain_go_by_time_and_then_by_number():
    fills = [fill("1", "1", name="10"), fill("1", "1", name="9"), fill("1", "1", name="1", minute=1)]

    assert [one.fill_id for one in sort_fills(fills[::-1], D(0))] == ["9", "10", "1"]


# --- The path ---


def bar(start: int, low: str, high: str, close: str, minutes: int = 10) -> PathBar:
    return PathBar(NOON + start * MINUTE, NOON + (start + minutes) * MINUTE, D(high), D(low), D(close))


def path(bars: list[PathBar], *fills: Execution, uses_closes: bool = False) -> Trip:
    tick = Tick(NOON + timedelta(days=1), fills, bars={"BTC": bars})
    return Book(uses_closes=uses_closes).apply(tick)[0]


def test_bar_of_the_entry_counts_by_its_close_and_whole_bars_by_high_and_low():
    trip = path([bar(0, "50", "150", "103"), bar(10, "95", "108", "100")], fill("2", "100", minute=5))

    assert (trip.mfe_usd, trip.mae_usd) == (16, -10)


def test_bar_of_the_exit_counts_by_the_exit_alone():
    trip = path(
        [bar(0, "1", "999", "100"), bar(10, "1", "999", "500")], fill("1", "100", minute=5), fill("-1", "96", minute=12)
    )

    assert (trip.mfe_usd, trip.mae_usd, trip.gross_usd) == (0, -4, -4)


def test_excursion_includes_realised_pnl():
    trip = path(
        [bar(0, "1", "999", "100"), bar(10, "1", "999", "120"), bar(20, "80", "121", "90")],
        fill("4", "100", minute=5),
        fill("-2", "120", minute=15),
        fill("-2", "110", minute=35),
    )

    # 40 realised; the other two lose 40 at worst and win 42 at best; at the exit of the first half all four won 20.
    assert (trip.mfe_usd, trip.mae_usd, trip.gross_usd) == (82, 0, 60)


def test_bar_of_an_add_counts_by_its_close():
    trip = path(
        [bar(0, "90", "110", "100"), bar(10, "50", "500", "104")], fill("1", "100"), fill("1", "102", minute=12)
    )

    assert (trip.mfe_usd, trip.mae_usd) == (10, -10)


def test_path_may_follow_closes_alone():
    trip = path([bar(0, "50", "150", "103")], fill("2", "100"), uses_closes=True)

    assert (trip.mfe_usd, trip.mae_usd) == (6, 0)


def test_same_bar_again_is_not_looked_at():
    book = Book()
    bars = {"BTC": [bar(0, "90", "110", "100")]}
    book.apply(Tick(NOON + 10 * MINUTE, [fill("1", "100")], bars=bars))
    book.apply(Tick(NOON + 11 * MINUTE, [fill("9", "100", minute=11)]))

    book.apply(Tick(NOON + 12 * MINUTE, bars=bars))

    assert (book.open["BTC"].mfe_usd, book.open["BTC"].mae_usd) == (10, -10)


# --- Properties, against an oracle of its own making ---


@dataclass
class Lot:
    """A round trip as a textbook has it, in fractions."""

    first_fill_id: str
    side: TradeSide
    entry_at: datetime
    exit_at: datetime | None = None
    quantity: Fraction = Fraction(0)
    average: Fraction = Fraction(0)
    peak: Fraction = Fraction(0)
    gross: Fraction = Fraction(0)
    fees: Fraction = Fraction(0)
    funding: Fraction = Fraction(0)


def textbook(fills: Iterable[Execution | Funding]) -> list[Lot]:
    """Return the round trips of one symbol from all that happened to it, in its order."""
    lots: list[Lot] = []
    for one in fills:
        is_held = bool(lots) and lots[-1].quantity != 0
        if isinstance(one, Funding):
            if is_held:
                lots[-1].funding += Fraction(one.amount_usd)
            continue
        left, price, fee = Fraction(one.quantity), Fraction(one.price), Fraction(one.fee_usd) / Fraction(one.quantity)
        if is_held and (lots[-1].quantity > 0) != (left > 0):
            lot = lots[-1]
            part = left if abs(left) <= abs(lot.quantity) else -lot.quantity
            lot.gross += (price - lot.average) * -part
            lot.quantity += part
            lot.fees += fee * part
            lot.exit_at = None if lot.quantity else one.at
            left -= part
        if left:
            if not lots or not lots[-1].quantity:
                lots.append(Lot(one.fill_id, TradeSide.LONG if left > 0 else TradeSide.SHORT, one.at))
            lot = lots[-1]
            lot.average = (lot.average * lot.quantity + price * left) / (lot.quantity + left)
            lot.quantity += left
            lot.peak = max(lot.peak, abs(lot.quantity))
            lot.fees += fee * left
    return lots


def assert_is(trip: Trip, lot: Lot) -> None:
    """Compare a trip with the textbook's: what is counted and timed exactly, what is shared out to 1e-8."""
    assert (trip.first_fill_id, trip.side, trip.entry_at) == (lot.first_fill_id, lot.side, lot.entry_at)
    assert (trip.is_open, trip.exit_at) == (lot.exit_at is None, lot.exit_at)
    assert (Fraction(trip.quantity), Fraction(trip.peak_quantity)) == (lot.quantity, lot.peak)
    assert Fraction(trip.funding_usd) == lot.funding
    assert abs(Fraction(trip.gross_usd) - lot.gross) < Fraction(1, 10**8)
    assert abs(Fraction(trip.fees_usd) - lot.fees) < Fraction(1, 10**8)
    assert abs(Fraction(trip.entry_price) - lot.average) < Fraction(1, 10**8)
    assert trip.reconciled is ReconcileState.EXACT
    assert trip.mae_usd <= trip.gross_usd <= trip.mfe_usd or trip.is_open
    assert trip.mae_usd <= 0 <= trip.mfe_usd


prices = st.decimals("0.01", "100000", places=4)
quantities = st.decimals("-50", "50", places=5).filter(bool)
fees = st.decimals("-2", "9", places=6)


@st.composite
def histories(draw, size: int = 20) -> list[Execution]:
    rows = draw(st.lists(st.tuples(quantities, prices, fees, st.booleans()), min_size=1, max_size=size))
    held, fills = D(0), []
    for minute, (quantity, price, fee, goes_flat) in enumerate(rows):
        signed = -held if goes_flat and held else quantity
        fills.append(Execution(str(minute), "BTC", NOON + minute * MINUTE, signed, price, fee, False, held))
        held += signed
    return fills


@st.composite
def splits(draw) -> tuple[list[Execution], list[list[Execution]]]:
    """A history, and the same in ticks; some ticks are empty."""
    fills = draw(histories())
    cuts = sorted(draw(st.lists(st.integers(0, len(fills)), max_size=6)))
    return fills, [fills[a:b] for a, b in zip([0, *cuts], [*cuts, len(fills)], strict=True)]


def run(ticks: list[list[Execution]], book: Book | None = None, **more) -> dict[str, Trip]:
    """Apply the fills tick by tick; return each trip by its first fill, as it ended."""
    book = book or Book()
    trips = {}
    for fills in ticks:
        at = fills[-1].at if fills else NOON
        trips |= {trip.first_fill_id: trip for trip in book.apply(Tick(at, fills, **more))}
    return trips


def facts(trips: dict[str, Trip]) -> list[Trip]:
    """Return trips without what depends on the split: the instants of ticks."""
    return [replace(trip, entry_tick_at=NOON, exit_tick_at=trip.exit_tick_at and NOON) for trip in trips.values()]


@given(splits())
def test_trips_match_the_textbook_for_any_split_into_ticks(split):
    fills, ticks = split

    trips = run(ticks)

    lots = textbook(fills)
    assert len(trips) == len(lots)
    for trip, lot in zip(trips.values(), lots, strict=True):
        assert_is(trip, lot)


@given(splits())
def test_money_is_conserved_to_the_last_digit(split):
    fills, ticks = split

    trips = run(ticks).values()

    brought_in = -sum(Fraction(one.quantity) * Fraction(one.price) for one in fills)
    assert sum(Fraction(trip.gross_usd) - Fraction(trip.cost_usd) for trip in trips) == brought_in
    assert sum(Fraction(trip.fees_usd) for trip in trips) == sum(Fraction(one.fee_usd) for one in fills)


@given(splits())
def test_any_split_into_ticks_gives_the_same_trips(split):
    fills, ticks = split

    assert facts(run(ticks)) == facts(run([fills]))


@given(splits(), st.randoms(use_true_random=False))
def test_duplicates_and_disorder_within_a_tick_change_nothing(split, random):
    fills, ticks = split
    messy = [random.sample([*tick, *tick], 2 * len(tick)) for tick in ticks]

    book = Book()
    trips = {}
    for tick, mess in zip(ticks, messy, strict=True):
        at = tick[-1].at if tick else NOON
        trips |= {trip.first_fill_id: trip for trip in book.apply(Tick(at, mess))}

    assert facts(trips) == facts(run([fills]))
    assert book.apply(Tick(NOON, fills)) == []


@given(histories())
def test_snapshots_that_agree_change_nothing(fills):
    book, trips = Book(), {}
    for one in fills:
        held = one.start_quantity + one.quantity
        tick = Tick(one.at, [one], marks={"BTC": D(7)}, positions={"BTC": held} if held else {})
        trips |= {trip.first_fill_id: trip for trip in book.apply(tick)}

    assert facts(trips) == facts(run([fills]))


@given(histories())
def test_deltas_alone_find_the_same_gross_where_a_tick_holds_one_fill(fills):
    book, trips = Book(), {}
    for one in fills:
        held = one.start_quantity + one.quantity
        tick = Tick(one.at, marks={"BTC": one.price}, positions={"BTC": held} if held else {})
        trips |= {trip.first_fill_id: trip for trip in book.apply(tick)}

    assert [trip.gross_usd for trip in trips.values()] == [trip.gross_usd for trip in run([fills]).values()]
    assert {trip.reconciled for trip in trips.values()} == {ReconcileState.ESTIMATED}


@given(histories(), st.lists(st.tuples(prices, prices, prices), min_size=1, max_size=20))
def test_excursion_holds_the_gross_on_any_path(fills, moves):
    bars = [bar(3 * number, min(move), max(move), move[2], minutes=3) for number, move in enumerate(moves)]
    trips = Book().apply(Tick(NOON + timedelta(days=1), fills, bars={"BTC": bars}))

    for trip in trips:
        assert trip.mae_usd <= 0 <= trip.mfe_usd
        assert trip.mae_usd <= trip.gross_usd <= trip.mfe_usd or trip.is_open


# --- Years of trading, against the same oracle ---

UNCHAINED = "SOL"  # a venue that does not say what was held before a fill


def years(random: Random, count: int) -> list[Execution | Funding]:
    """Return that many fills of four symbols, with moves of all kinds, several in one instant, and funding."""
    symbols = ("BTC", "ETH", "DOGE", UNCHAINED)
    held = dict.fromkeys(symbols, D(0))
    at, passed = NOON, {symbol: {D(0)} for symbol in symbols}
    happened: list[Execution | Funding] = []
    for number in range(count):
        symbol = random.choice(symbols)
        moved, is_liquidation = _move(random, held[symbol])
        # Within an instant a position comes back only to flat: else the venue's chain has more than one order.
        if random.random() < 0.6 or held[symbol] + moved in passed[symbol] - {D(0)}:
            at += timedelta(milliseconds=random.choice((1, 700, 60_000, 3_600_000)))
            passed = {one: {quantity} for one, quantity in held.items()}
            happened += [
                Funding(one, at, D(random.randint(-90_000, 90_000)) / 10_000)
                for one in symbols
                if random.random() < 0.05
            ]
        start = None if symbol == UNCHAINED else held[symbol]
        price, fee = D(random.randint(1, 10**9)) / 10_000, D(random.randint(-2_000_000, 9_000_000)) / 10**6
        happened.append(Execution(str(number), symbol, at, moved, price, fee, is_liquidation, start))
        held[symbol] += moved
        passed[symbol].add(held[symbol])
    return happened


def _move(random: Random, held: Decimal) -> tuple[Decimal, bool]:
    """Return the quantity of the next fill, and whether it is a liquidation."""
    size = D(random.randint(1, 5_000_000)) / 100_000
    away = D(1 if held > 0 else -1)
    if not held:
        return size * random.choice((1, -1)), False
    match random.choice(("add", "partial", "partial", "close", "flip", "liquidate")):
        case "add":
            return away * size, False
        case "partial":
            part = (abs(held) * random.randint(1, 99) / 100).quantize(D("0.00001"))
            return -away * (part or abs(held)), False
        case "flip":
            return -held - away * size, False
        case kind:
            return -held, kind == "liquidate"


@pytest.mark.long
def test_twenty_thousand_fills_are_the_textbooks_through_restarts_duplicates_and_disorder():
    random = Random(20260601)
    happened = years(random, 20_000)
    book, ended, seen = Book(), {}, set()
    done, restarts = 0, 0
    while done < len(happened):
        until = done + random.choice((0, 1, 1, 2, 3, 5, 8, 13, 40))
        fresh = happened[done:until]
        said_before = random.sample(happened[:done][-200:], min(done, random.choice((0, 0, 3))))
        said = [*fresh, *random.sample(fresh, len(fresh) // 3), *said_before]
        random.shuffle(said)
        fills = [one for one in said if isinstance(one, Execution)]
        paid = [one for one in said if isinstance(one, Funding)]
        for trip in book.apply(Tick(happened[min(until, len(happened)) - 1].at, fills, paid)):
            ended[trip.symbol, trip.first_fill_id] = trip
        seen |= {(one.symbol, one.fill_id) for one in fills}
        done = until
        if random.random() < 0.05:
            states = json.loads(json.dumps([dump_trip(trip) for trip in book.open.values()]))
            book, restarts = Book(map(load_trip, states), seen=seen), restarts + 1

    fills = [one for one in happened if isinstance(one, Execution)]
    assert (len(fills), restarts > 50) == (20_000, True)
    found: dict[str, list[Trip]] = {symbol: [] for symbol in ("BTC", "ETH", "DOGE", UNCHAINED)}
    for trip in ended.values():
        found[trip.symbol].append(trip)
    for symbol, trips in found.items():
        lots = {lot.first_fill_id: lot for lot in textbook(one for one in happened if one.symbol == symbol)}
        assert {trip.first_fill_id for trip in trips} == lots.keys()
        for trip in trips:
            assert_is(trip, lots[trip.first_fill_id])
    assert {trip.exit_cause for trip in ended.values()} >= {ExitCause.FILL, ExitCause.FLIP, ExitCause.LIQUIDATION}
    assert sum(bool(trip.funding_usd) for trip in ended.values()) > 500
    brought_in = -sum(Fraction(one.quantity) * Fraction(one.price) for one in fills)
    assert sum(Fraction(trip.gross_usd) - Fraction(trip.cost_usd) for trip in ended.values()) == brought_in
    assert sum(Fraction(trip.fees_usd) for trip in ended.values()) == sum(Fraction(one.fee_usd) for one in fills)
