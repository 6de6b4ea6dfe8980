import pytest

from tests.tables import each_case
from tests.trading.intake.bad_files import BAD_FILES
from tests.trading.intake.samples import SAMPLES
from trading.models import Fill, ImportBatch

pytestmark = pytest.mark.django_db


def send(api, status: int, **body):
    return api("post", "trades/import/", body, status=status)


def test_import_trades_over_rest_says_what_it_did(api):
    content = SAMPLES["okx"].content.decode()

    found = send(api, 200, content=content, dry_run=True)
    assert not Fill.objects.exists()
    done = send(api, 201, content=content, name="okx.csv")
    again = send(api, 201, content=content, name="okx.csv")

    assert (found["recognised"], found["is_imported"]) == ("OKX: trading history", False)
    accounts = {one["account"]: one for one in done["accounts"]}
    assert {name: one["new_fills"] for name, one in accounts.items()} == {"OKX spot": 2, "OKX futures": 2}
    assert [one["new_fills"] for one in again["accounts"]] == [0, 0]
    assert ImportBatch.objects.filter(pk__in=[one["batch"] for one in accounts.values()]).count() == 2


@each_case("name", ["a price of zero", "a statement of balances", "a PDF"])
def test_import_trades_over_rest_refuses_a_bad_file_whole(api, name):
    content, row, words = BAD_FILES[name]

    refused = send(api, 422, content=content.decode())["detail"]

    assert words in refused
    assert f"Row {row}" in refused or not row
    assert not Fill.objects.exists()


def test_import_trades_over_rest_takes_a_mapping(api):
    content = "when;what;way;much;at\n01/03/2025 10:00;BTC;buy;0,5;90.000,5\n"
    columns = {"time": "when", "symbol": "what", "side": "way", "quantity": "much", "price": "at"}

    done = send(api, 201, content=content, columns=columns, dates="dmy", zone="Europe/Berlin")

    assert done["begins_at"] == "2025-03-01T09:00:00Z"
