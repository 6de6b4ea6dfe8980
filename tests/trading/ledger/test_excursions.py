from decimal import Decimal
from io import StringIO
from random import Random

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests.factories.record import DeploymentFactory
from tests.owners import as_owner
from tests.trading.browsing import assert_shows, browser_of_trader
from tests.trading.ledger.test_rebuild import NOW, at, bring, execution, rows
from trading.ledger.arrivals import measure_paths
from trading.models import Bar, Trade

__all__ = ["browser_of_trader"]

D = Decimal


def store_path(seed: int, minutes: range) -> None:
    random, price, made = Random(seed), 100.0, []
    for minute in range(minutes.stop):
        first, price = price, max(50.0, price + random.gauss(0, 2))
        high, low = max(first, price) + random.random(), min(first, price) - random.random()
        values = {
            name: D(f"{value:.2f}")
            for name, value in zip(("open", "high", "low", "close"), (first, high, low, price), strict=True)
        }
        made.append(Bar(symbol="BTC", interval="1m", opened_at=at(minute), volume=1, source="test", **values))
    Bar.objects.bulk_create(made[minutes.start :])


def measure() -> int:
    return measure_paths(Trade.objects.all(), now=NOW)


def live():
    return DeploymentFactory(broker_kind="live")


@pytest.mark.parametrize("seed", range(6))
def test_measuring_after_the_bars_came_gives_what_bars_before_the_fills_give(as_trader, seed):
    random, fills, held = Random(seed), [], 0
    for minute in sorted(random.sample(range(60), 16)):
        quantity = -held or random.choice((-3, -2, -1, 1, 2, 3))
        if random.random() < 0.3:
            quantity += random.choice((-1, 1))
        held += quantity
        if quantity:
            fills.append(execution(quantity, random.randint(90, 110), minute + random.random()))
    late, early = live(), live()
    bring(late, fills)
    store_path(seed, range(60 if seed % 2 else 35))
    bring(early, fills)
    assert {row["path_minutes"] for row in rows(late)} == {None}

    measured = measure()

    assert rows(late) == rows(early)
    assert measured == sum(row["path_minutes"] is not None for row in rows(early)) > 0
    assert measure() == 0
    assert rows(late) == rows(early)


def test_open_trade_has_no_path_until_bars_of_all_its_time_are_measured(as_trader):
    deployment = live()
    bring(deployment, [execution(2, 100, 1)])
    store_path(3, range(20, 60))
    bring(deployment, [execution(-1, 100, 40)])
    bring(deployment, [execution(-1, 100, 58)])
    assert [measure(), Trade.objects.get().path_minutes] == [0, None]

    store_path(3, range(20))

    assert [measure(), Trade.objects.get().path_minutes] == [1, 1]


@pytest.mark.django_db
def test_import_bars_measures_the_trades_of_every_user_once(trader, stranger, tmp_path):
    for user in (trader, stranger):
        as_owner(user, lambda: bring(live(), [execution(1, 100, 0), execution(-1, 101, 3)]))
    file = tmp_path / "bars.csv"
    lines = [f"{at(minute).isoformat()},100,{104 - minute},{96 + minute},100,5" for minute in range(4)]
    file.write_text("\n".join(["timestamp,open,high,low,close,volume", *lines]))

    def import_bars() -> str:
        call_command("import_bars", str(file), "--symbol", "BTC", "--interval", "1m", stdout=(out := StringIO()))
        return out.getvalue()

    assert "; best and worst of 2 trades follow them now" in import_bars()
    for user in (trader, stranger):
        trade = as_owner(user, Trade.objects.get)
        assert (trade.mfe_usd, trade.mae_usd, trade.path_minutes) == (4, -4, 1)
    assert "best and worst" not in import_bars()


def test_button_on_the_trade_page_measures_what_bars_tell(client):
    bring(live(), [execution(1, 100, 0), execution(-1, 101, 3)])
    trade = Trade.objects.get()
    measure_it = reverse("trading:measure_trade", args=[trade.pk])
    page = reverse("trading:trade", args=[trade.pk])
    assert measure_it in client.get(page).content.decode()

    assert_shows(client.post(measure_it, follow=True), "Still not known")
    store_path(1, range(4))
    assert_shows(client.post(measure_it, follow=True), "Measured: best and worst follow")
    assert measure_it not in client.get(page).content.decode()
