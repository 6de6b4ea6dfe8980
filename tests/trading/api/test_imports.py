import pytest

from config.lib.owned import owned
from tests.trading.intake.bad_files import BAD_FILES
from tests.trading.intake.samples import SAMPLES
from trading.models import Fill, ImportBatch

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(trader, client):
    client.force_login(trader)
    return client


def send(client, path: str, **body):
    return client.post(f"/api/{path}", body, content_type="application/json")


def test_import_trades_over_rest_says_what_it_did(client, trader):
    content = SAMPLES["okx"].content.decode()

    found = send(client, "trades/import/", content=content, dry_run=True)
    with owned(trader):
        assert not Fill.objects.exists()
    done = send(client, "trades/import/", content=content, name="okx.csv")
    again = send(client, "trades/import/", content=content, name="okx.csv")

    assert (found.status_code, done.status_code) == (200, 201)
    assert (found.json()["recognised"], found.json()["is_imported"]) == ("OKX: trading history", False)
    accounts = {one["account"]: one for one in done.json()["accounts"]}
    assert {name: one["new_fills"] for name, one in accounts.items()} == {"OKX spot": 2, "OKX futures": 2}
    assert [one["new_fills"] for one in again.json()["accounts"]] == [0, 0]
    with owned(trader):
        assert ImportBatch.objects.filter(pk__in=[one["batch"] for one in accounts.values()]).count() == 2


@pytest.mark.parametrize("name", ["a price of zero", "a statement of balances", "a PDF"])
def test_import_trades_over_rest_refuses_a_bad_file_whole(client, trader, name):
    content, row, words = BAD_FILES[name]

    response = send(client, "trades/import/", content=content.decode())

    assert response.status_code == 422
    assert words in response.json()["detail"]
    assert f"Row {row}" in response.json()["detail"] or not row
    with owned(trader):
        assert not Fill.objects.exists()


def test_import_trades_over_rest_takes_a_mapping(client):
    content = "when;what;way;much;at\n01/03/2025 10:00;BTC;buy;0,5;90.000,5\n"
    columns = {"time": "when", "symbol": "what", "side": "way", "quantity": "much", "price": "at"}

    response = send(client, "trades/import/", content=content, columns=columns, dates="dmy", zone="Europe/Berlin")

    assert response.status_code == 201
    assert response.json()["begins_at"] == "2025-03-01T09:00:00Z"
