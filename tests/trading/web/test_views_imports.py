import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.factories.trading import TraderFactory
from tests.trading.intake.bad_files import BAD_FILES
from tests.trading.intake.samples import SAMPLES
from trading.models import Deployment, EquityPoint, Fill, ImportBatch, PositionCheck, Skill, Trade, TradeFile
from trading.record.backtests import start_backtest
from trading.record.deployment_queries import read_curve
from trading.record.deployments import SkillIsRecord
from trading.record.trade_queries import get_latest_equity
from trading.rules.trips import TripTable

pytestmark = pytest.mark.django_db
IMPORTS = "/trades/import/"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def trader():
    return TraderFactory(time_zone="Europe/Berlin")


def upload(client, content: bytes, name: str = "trades.csv"):
    return client.post(IMPORTS, {"file": SimpleUploadedFile(name, content)})


def fields_of(response) -> dict[str, str | list[str]]:
    """Return the form of the file's page as a browser would send it."""
    values = {field.name: field.value() for field in response.context["form"]}
    return {name: list(one) if isinstance(one, tuple) else str(one or "") for name, one in values.items()}


def counts() -> tuple[int, int, int]:
    return Fill.objects.count(), Trade.objects.count(), ImportBatch.objects.count()


def import_sample(client, content: bytes, **changes):
    place = upload(client, content)["Location"]
    page = client.get(place)
    return client.post(place, fields_of(page) | {"act": "import"} | changes, follow=True)


def test_a_column_that_stops_is_left_out_by_a_tick(client):
    content = b"time,symbol,side,quantity,price,P&L\n2025-03-14 10:00,BTCUSDT,buy,1,90000,5\n"
    place = upload(client, content)["Location"]
    page = client.get(place)
    assert "The column “P&amp;L” is not read" in page.content.decode()

    answered = client.post(place, fields_of(page) | {"act": "read", "ignored": ["p&l"]}, follow=True)

    assert 'value="p&amp;l" checked' in answered.content.decode()
    client.post(place, fields_of(answered) | {"act": "import", "ignored": ["p&l"]})
    assert counts() == (1, 1, 1)


VENUES = {
    **{"Binance spot": "binance spot", "Binance futures": "binance futures", "Bybit futures": "bybit derivatives"},
    **{"Bybit spot": "bybit spot", "Kraken spot": "kraken", "Coinbase spot": "coinbase"},
    **{"Bitget futures": "bitget futures, API, hedge mode", "Hyperliquid futures": "hyperliquid, API"},
    "Imported futures": "by mapping: header in capitals, no id, tabs, packed",
}


@pytest.mark.parametrize(("label", "sample"), VENUES.items())
def test_import_of_a_file_by_a_new_user_shows_the_trade(client, label, sample):
    response = import_sample(client, SAMPLES[sample].content)

    assert response.status_code == 200
    assert label in response.content.decode()
    [ledger], [trade] = Deployment.objects.all(), Trade.objects.all()
    assert (ledger.label, ledger.skill.name, ledger.starting_equity_usd) == (label, "My trades", None)
    assert (trade.symbol, trade.status) == ("BTC", "closed")
    assert not TradeFile.objects.exists()
    assert str(trade.pk) in response.content.decode() or "BTC" in response.content.decode()


def test_import_of_a_mixed_file_keeps_spot_and_futures_apart(client):
    import_sample(client, SAMPLES["okx"].content)

    ledgers = {ledger.label: ledger for ledger in Deployment.objects.all()}
    assert set(ledgers) == {"OKX spot", "OKX futures"}
    assert {trade.deployment_id for trade in Trade.objects.all()} == {one.pk for one in ledgers.values()}
    assert Skill.objects.count() == 1


def test_import_under_a_name_goes_into_the_record_of_that_account(client):
    import_sample(client, SAMPLES["binance spot"].content)
    import_sample(client, SAMPLES["binance spot"].content, ledger="desk")
    assert Deployment.objects.count() == 1  # the same fills in another account are asked about

    import_sample(client, SAMPLES["binance spot"].content, ledger="desk", counts_twice="on")

    counted = {one.label: one.fills.count() for one in Deployment.objects.all()}
    assert counted == {"Binance spot": 2, "Binance desk spot": 2}


def test_opening_position_is_entered_corrected_and_removed(client):
    import_sample(client, SAMPLES["binance futures"].content)
    plain = Trade.objects.values_list("entry_price", "peak_quantity", "reconciled")
    before, ledger = list(plain), Deployment.objects.get()
    openings = reverse("trading:change_openings")
    given = {"account": str(ledger.pk), "symbol": "btc", "at": "2024-12-31 23:00", "quantity": "1", "price": "50000"}

    page = client.post(openings, given, follow=True).content.decode()
    assert "Saved. The trades were built again" in page
    assert "50,000" in page
    client.post(openings, given | {"price": "60000"})
    client.post(openings, given | {"price": "60000"})
    opening = PositionCheck.objects.get()
    assert (opening.price, opening.symbol, opening.at) == (60_000, "BTC", datetime(2024, 12, 31, 22, tzinfo=UTC))
    first = Trade.objects.order_by("entry_at").first()
    assert (first.entry_at, first.first_fill_id[:8]) == (opening.at, "opening:")

    removed = client.post(openings, {"remove": opening.pk}, follow=True)
    assert "Removed. The trades were built" in removed.content.decode()
    assert list(plain.all()) == before
    assert not PositionCheck.objects.exists()


def test_a_balance_gives_an_own_account_its_equity_and_no_curve(client):
    import_sample(client, SAMPLES["binance futures"].content)
    ledger, place = Deployment.objects.get(), reverse("trading:change_openings")
    given = {"act": "balance", "account": str(ledger.pk), "at": "2024-12-31 23:00", "equity_usd": "50000"}

    assert "50,000" in client.post(place, given, follow=True).content.decode()
    client.post(place, given | {"equity_usd": "40000"})

    table = TripTable(Trade.objects.all(), ())
    assert table.find_equity(ledger.pk, Trade.objects.get().entry_at) == 40_000
    assert (read_curve(ledger), get_latest_equity(ledger)) == ([], 40_000)
    for refused in ({"at": "2999-01-01"}, {"equity_usd": "0"}, {"account": "7"}):
        assert client.post(place, given | refused).status_code == 422
    [balance] = EquityPoint.objects.all()
    client.post(place, {"act": "balance", "remove": balance.pk})
    assert client.post(place, {"act": "balance", "remove": balance.pk}).status_code == 404
    assert not EquityPoint.objects.exists()


def test_opening_position_that_cannot_be_is_refused_with_the_reason(client):
    import_sample(client, SAMPLES["binance futures"].content)
    account, openings = str(Deployment.objects.get().pk), reverse("trading:change_openings")
    given = {"account": account, "symbol": "BTC", "at": "2024-12-31", "quantity": "1", "price": "5"}

    for changes, refusal in (
        ({"at": "2999-01-01 00:00"}, "lies in the future"),
        ({"symbol": "no symbol"}, "a symbol has letters"),
        ({"price": "0"}, "greater than or equal to"),
        ({"account": "11111111-1111-1111-1111-111111111111"}, "Select a valid choice"),
    ):
        response = client.post(openings, given | changes)
        assert response.status_code == 422
        assert refusal in response.content.decode()
    assert client.post(openings, {"remove": "7" * 30}).status_code == 404
    assert not PositionCheck.objects.exists()


def test_record_of_own_trades_offers_nothing_to_run(client):
    import_sample(client, SAMPLES["binance futures"].content)
    skill = Skill.objects.get()
    page = client.get(reverse("trading:skill", args=[skill.pk])).content.decode()

    response = client.post(reverse("trading:deploy", args=[skill.pk]), {"starting_equity_usd": "1000"}, follow=True)

    assert "on paper" not in page
    assert "There is nothing to run" in response.content.decode()
    assert str(skill.pk) not in client.get("/backtests/").content.decode()
    assert Deployment.objects.count() == 1
    days = {"starts_at": NOON, "ends_at": NOON + timedelta(days=1), "now": NOON + timedelta(days=2)}
    with pytest.raises(SkillIsRecord):
        start_backtest(skill_id=skill.pk, **days)


def test_undo_of_an_import_takes_its_trades_away(client):
    import_sample(client, SAMPLES["binance futures"].content)

    response = client.post(reverse("trading:undo_import", args=[ImportBatch.objects.get().pk]), follow=True)

    assert "Undone" in response.content.decode()
    assert counts()[:2] == (0, 0)


def test_page_of_a_file_shows_what_was_recognised(client):
    page = client.get(upload(client, SAMPLES["hyperliquid, in the clock of the browser"].content)["Location"])
    text = page.content.decode()

    assert "Recognised: Hyperliquid: trade history" in text
    assert page.context["form"]["zone"].value() == "Europe/Berlin"
    assert re.search(r"3 new fills", text)


def test_correction_of_the_mapping_reads_the_file_again(client):
    content = b"when;what;way;much;at\n01/03/2025 10:00;BTC;buy;0,5;90.000,5\n02/03/2025 10:00;BTC;sell;0,5;91.000,5\n"
    place = upload(client, content)["Location"]
    page = client.get(place)
    assert page.context["reading"].blocking

    changes = {"act": "read", "dates": "dmy", "column_time": "when", "column_symbol": "what", "column_side": "way"}
    fields = fields_of(page) | changes | {"column_quantity": "much", "column_price": "at"}
    again = client.post(place, fields, follow=True)

    reading = again.context["reading"]
    assert reading.problems == []
    assert [f"{fill.price:f}" for fill in reading.fills] == ["90000.500000000000", "91000.500000000000"]


# `test_bad_files.py` reads them all.
@pytest.mark.parametrize("name", list(BAD_FILES)[::6])
def test_import_of_a_bad_file_names_the_row_and_imports_nothing(client, name):
    content, row, words = BAD_FILES[name]

    response = upload(client, content)
    if response.status_code == 302:
        place = response["Location"]
        response = client.post(place, fields_of(client.get(place)) | {"act": "import"})

    assert response.status_code == 422
    text = response.content.decode().replace("&#x27;", "'")
    assert words in text
    assert f"ow {row}" in text or f"tem {row}" in text or not row
    assert counts() == (0, 0, 0)


def test_import_that_leaves_rows_out_takes_the_others(client):
    import_sample(client, BAD_FILES["a price in euros"][0], leaves_out="on")

    assert counts()[0] == 1


def test_drop_of_a_file_deletes_it(client):
    place = upload(client, SAMPLES["keel"].content)["Location"]

    client.post(place, {"act": "drop"})

    assert not TradeFile.objects.exists()
    assert client.get(place).status_code == 404


def test_refused_account_of_a_venue_comes_back_without_its_secrets(client):
    given = {"venue": "okx", "name": "main", "key": "canary-1", "secret": "canary-2", "password": "canary-3"}

    response = client.post(reverse("trading:start_reading"), given | {"name": "n" * 21})

    assert response.status_code == 422
    assert "canary" not in response.content.decode()
