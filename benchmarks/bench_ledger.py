"""Measure the ledger: deltas per second, as ratios within one run.

The references are one save per delta, and the core in memory. What a backtest adds to the core is mostly its rows, so
the ratio of the bare inserts is shown, too: no ledger on these tables can exceed it. One more fill is imported into a
short and a long history of its symbol.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from random import Random
from statistics import median
from typing import Any

import django

FOLDER = tempfile.mkdtemp(prefix="keel-bench-")
os.environ |= {
    "READ_DOT_ENV": "false",
    "SECRET_KEY": "only-for-benchmarks-" + "x" * 30,
    "DJANGO_SETTINGS_MODULE": "config.settings",
}
os.environ.setdefault("DATABASE_URL", f"sqlite:///{FOLDER}/bench.sqlite3")
django.setup()

from django.core.management import call_command  # noqa: E402 - after the settings
from django.db import connection  # noqa: E402
from django.urls import reverse  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402

from config.lib.owned import owned_tx  # noqa: E402
from tests.factories.record import DeploymentFactory, TradeFactory  # noqa: E402
from trading.ledger.arrivals import add_entries  # noqa: E402
from trading.ledger.entries import Entries  # noqa: E402
from trading.ledger.executions import Execution  # noqa: E402
from trading.ledger.positions import Book, Tick  # noqa: E402
from trading.ledger.services import Ledger, lock_deployment, record_tick  # noqa: E402
from trading.models import Deployment, EntrySource, Trade, Trader  # noqa: E402
from trading.models import Fill as FillRow  # noqa: E402

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=60)
SYMBOLS, TICKS, ROUNDS, MORE = 200, 20, 5, 20
written: list[float] = []  # seconds of each statement of many rows


def story(seed: int) -> list[Tick]:
    random, held, ticks = Random(seed), {}, []
    for number in range(1, TICKS + 1):
        at, fills = START + timedelta(minutes=number), []
        for place in range(SYMBOLS):
            symbol, quantity = f"S{place}", Decimal(random.randint(-50, 50) or 1) / 10
            price = Decimal(random.randint(9000, 11000)) / 100
            fills.append(Execution(f"{number}-{place}", symbol, at, quantity, price, Decimal("0.01")))
            held[symbol] = held.get(symbol, Decimal(0)) + quantity
        marks = {fill.symbol: fill.price for fill in fills}
        ticks.append(Tick(at, fills, marks=marks, positions={name: held[name] for name in held if held[name]}))
    return ticks


def time_statement(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    started = time.perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        if sql.startswith("INSERT"):
            written.append(time.perf_counter() - started)


def core(ticks: list[Tick], _: Deployment) -> None:
    book = Book()
    for tick in ticks:
        book.apply(tick)


def live(ticks: list[Tick], deployment: Deployment) -> None:
    for number, tick in enumerate(ticks, start=1):
        record_tick(deployment_id=deployment.pk, number=number, tick=tick, skill_version=1, now=START)


def backtest(ticks: list[Tick], deployment: Deployment) -> None:
    ledger = Ledger.load(lock_deployment(deployment.pk), ticks[0])
    for number, tick in enumerate(ticks, start=1):
        ledger.apply(number, tick, skill_version=1)
    ledger.flush(START)


def naive(ticks: list[Tick], deployment: Deployment) -> None:
    for fill in [fill for tick in ticks[:2] for fill in tick.fills]:
        if FillRow.objects.filter(deployment=deployment, symbol=fill.symbol, fill_id=fill.fill_id).exists():
            continue
        row = {name: getattr(fill, name) for name in ("fill_id", "symbol", "at", "quantity", "price", "fee_usd")}
        FillRow.objects.create(deployment=deployment, **row)
        trade = Trade.objects.filter(deployment=deployment, symbol=fill.symbol, status="open").first()
        if trade is None:
            TradeFactory(deployment=deployment, symbol=fill.symbol, still_open=True, first_fill_id=fill.fill_id)
        else:
            trade.fees_usd += fill.fee_usd
            trade.save()


def rate(work: Callable[[list[Tick], Deployment], None], deltas: int, seed: int) -> float:
    ticks, user = story(seed), Trader.objects.get()
    with owned_tx(user):
        deployment = DeploymentFactory()
    written.clear()
    started = time.perf_counter()
    with owned_tx(user), connection.execute_wrapper(time_statement):
        work(ticks, deployment)
    return deltas / (time.perf_counter() - started)


def import_fills(deployment: Deployment, fills: list[Execution]) -> None:
    with owned_tx(deployment.user_id):
        add_entries(deployment_id=deployment.pk, entries=Entries(fills), source=EntrySource.API, now=LATER)


def push_fills(deployment: Deployment, fills: list[Execution]) -> None:
    client, names = APIClient(), ("fill_id", "symbol", "at", "quantity", "price")
    client.force_authenticate(deployment.user)
    body = {"fills": [{name: str(getattr(fill, name)) for name in names} for fill in fills]}
    address = reverse("api:trading:pushes-push-fills", args=[deployment.pk])
    answer = client.post(address, body, format="json", secure=True, headers={"host": "localhost"})
    assert answer.status_code == HTTPStatus.OK, answer.content


def import_late(deployment: Deployment, fills: list[Execution]) -> None:
    """Import a fill and its reverse near the start of the history."""
    [fill] = fills
    at, late = START + (fill.at - START) % timedelta(hours=2), timedelta(seconds=20)
    back = replace(fill, fill_id=f"{fill.fill_id}b", at=at + 2 * late, quantity=-fill.quantity)
    import_fills(deployment, [replace(fill, at=at + late), back])


def time_one_more(history: int, add: Callable[[Deployment, list[Execution]], None]) -> float:
    """Return the median seconds of adding one fill to a symbol's history."""
    user, seconds = Trader.objects.get(), []
    with owned_tx(user):
        deployment = DeploymentFactory(broker_kind="live")
    for number in range(-1, MORE):
        places = range(history) if number < 0 else [history + number]
        fills = [
            Execution(str(place), "S", START + timedelta(minutes=place), Decimal(1 - 2 * (place % 2)), Decimal(100))
            for place in places
        ]
        started = time.perf_counter()
        (import_fills if number < 0 else add)(deployment, fills)
        seconds.append(time.perf_counter() - started)
        if number < 0:
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")  # as autovacuum does within a minute; without, PostgreSQL picks any index
    return median(seconds[1:])


def main() -> None:
    call_command("migrate", verbosity=0)
    Trader.objects.create_user("bench@example.com")
    whole = {"core": core, "live": live, "backtest": backtest}
    rates: dict[str, list[float]] = {name: [] for name in [*whole, "rows", "naive"]}
    for seed in range(ROUNDS):
        for name, work in whole.items():
            rates[name].append(rate(work, SYMBOLS * TICKS, seed))
        rates["rows"].append(1 / (1 / rates["core"][-1] + sum(written) / SYMBOLS / TICKS))
        rates["naive"].append(rate(naive, SYMBOLS * 2, seed))
    found = {name: median(values) for name, values in rates.items()}
    print("deltas/s:", ", ".join(f"{name} {value:,.0f}" for name, value in found.items()))
    print(f"live over a save per delta: {found['live'] / found['naive']:.1f} x (goal 20; on PostgreSQL 15)")
    print(f"backtest over the core: {found['backtest'] / found['core']:.2f} x (goal 0.5)")
    print(f"core and the database's own time alone, over the core: {found['rows'] / found['core']:.2f} x")
    for name, add in (("imported", import_fills), ("imported late", import_late), ("pushed over REST", push_fills)):
        short, long = time_one_more(1_000, add), time_one_more(30_000, add)
        print(f"one more fill {name}, after 30,000 over one after 1,000: {long / short:.2f} x (goal 1)")


if __name__ == "__main__":
    main()
