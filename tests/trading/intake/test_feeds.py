import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.trading.intake.samples import SAMPLES
from tests.trading.intake.venue_server import VenueServer
from trading.intake import feeds
from trading.intake.feeds import SOURCES, Credentials, check_rights, fetch_records, open_account
from trading.intake.formats import find_format
from trading.intake.guessing import propose_mapping
from trading.intake.reading import read_fills
from trading.intake.tables import table_of_records
from trading.market.imports.venue import VenueRefused, VenueUnavailable, open_venue

NOW = datetime(2025, 3, 2, tzinfo=UTC)
SECRET = "c2VjcmV0LW9mLXRoZS10ZXN0LWFjY291bnQtMDEyMzQ1"
CREDENTIALS = Credentials("key-of-the-test-account", SECRET, "password-of-the-test")
OPENED: dict[str, object] = {}  # a client takes half a second to make


def open_once(name: str, *credentials):
    return OPENED.setdefault(name, open_venue(name, *credentials))


@pytest.fixture
def server(monkeypatch):
    with VenueServer().running() as running:
        monkeypatch.setattr(
            feeds, "open_venue", lambda name, *given: running.redirect(OPENED.get(name) or open_once(name, *given))
        )
        yield running


def open_for(name: str):
    secret = CREDENTIALS
    if name == "coinbase":
        secret = Credentials("0d1c4a5e-0000-4000-8000-000000000000", SECRET)
    return SOURCES[name], open_account(SOURCES[name], None if SOURCES[name].by_address else secret)


BINANCE = {
    **{"ipRestrict": False, "createTime": 1698645219000, "enableReading": True, "enableWithdrawals": False},
    **{"enableInternalTransfer": False, "enableMargin": False, "enableFutures": False},
    **{"permitsUniversalTransfer": False, "enableVanillaOptions": False, "enableFixApiTrade": False},
    **{"enableFixReadOnly": True, "enableSpotAndMarginTrading": False, "enablePortfolioMarginTrading": False},
}


def bybit_rights(read_only: int, **permissions: list[str]) -> dict:
    result = {"id": "1", "note": "keel", "readOnly": read_only, "secret": "", "permissions": permissions}
    return {"retCode": 0, "retMsg": "", "result": result, "retExtInfo": {}, "time": 1676891757649}


def okx_rights(perm: str) -> dict:
    return {"code": "0", "msg": "", "data": [{"acctLv": "2", "posMode": "net_mode", "perm": perm, "uid": "1"}]}


def kraken_rights(*permissions: str) -> dict:
    return {"error": [], "result": {"api_key_name": "keel", "permissions": list(permissions)}}


def coinbase_rights(**rights: bool) -> dict:
    return {"can_view": True, "portfolio_uuid": "1", "portfolio_type": "DEFAULT", **rights}


def bitget_rights(*authorities: str) -> dict:
    data = {"userId": "1", "inviterId": "2", "ips": "", "authorities": list(authorities), "parentId": 1}
    return {"code": "00000", "msg": "success", "requestTime": 1695808949356, "data": data}


RIGHTS = {
    "binance": ("account/apiRestrictions", BINANCE),
    "bybit": ("v5/user/query-api", bybit_rights(1, ContractTrade=["Order", "Position"], Spot=["SpotTrade"])),
    "okx": ("account/config", okx_rights("read_only")),
    "kraken": ("private/GetApiKeyInfo", kraken_rights("query-funds", "query-closed-trades", "export-data")),
    "coinbase": ("brokerage/key_permissions", coinbase_rights(can_trade=False, can_transfer=False)),
    "bitget": ("v2/spot/account/info", bitget_rights("coor", "stor", "cpor")),
}
WRITES = [
    ("binance", {**BINANCE, "enableSpotAndMarginTrading": True}, "enableSpotAndMarginTrading"),
    ("binance", {**BINANCE, "enableFutures": True}, "enableFutures"),
    ("binance", {**BINANCE, "enableWithdrawals": True}, "enableWithdrawals"),
    ("binance", {**BINANCE, "permitsUniversalTransfer": True}, "permitsUniversalTransfer"),
    ("binance", {**BINANCE, "enableSomethingNew": True}, "enableSomethingNew"),
    ("bybit", bybit_rights(0, Spot=["SpotTrade"], Wallet=[]), "Spot"),
    ("bybit", bybit_rights(0), "Read and Write"),
    ("okx", okx_rights("read_only,trade"), "trade"),
    ("okx", okx_rights("read_only,withdraw"), "withdraw"),
    ("kraken", kraken_rights("query-funds", "modify-trades"), "modify-trades"),
    ("kraken", kraken_rights("withdraw-funds"), "withdraw-funds"),
    ("coinbase", coinbase_rights(can_trade=True, can_transfer=False), "can_trade"),
    ("coinbase", coinbase_rights(can_trade=False, can_transfer=True), "can_transfer"),
    ("bitget", bitget_rights("coor", "coow"), "coow"),
    ("bitget", bitget_rights("trade"), "trade"),
]


@pytest.mark.parametrize("name", RIGHTS)
def test_check_rights_of_a_key_that_only_reads_passes(server, name):
    path, answer = RIGHTS[name]
    server.answers[path] = answer

    check_rights(*open_for(name))

    assert [asked for asked, _ in server.asked if asked.endswith(path)]


@pytest.mark.parametrize(("name", "answer", "right"), WRITES)
def test_check_rights_of_a_key_that_may_do_more_refuses(server, name, answer, right):
    server.answers[RIGHTS[name][0]] = answer

    with pytest.raises(VenueRefused, match=right):
        check_rights(*open_for(name))


@pytest.mark.parametrize("name", RIGHTS)
def test_check_rights_of_another_answer_than_documented_refuses(server, name):
    server.answers[RIGHTS[name][0]] = {"code": "0", "retCode": 0, "error": [], "data": [], "result": {}}

    with pytest.raises(VenueRefused):
        check_rights(*open_for(name))


@pytest.mark.parametrize("name", RIGHTS)
def test_check_rights_of_an_unknown_key_refuses_without_the_key(server, name, caplog):
    server.answers[RIGHTS[name][0]] = {"code": -2015, "msg": f"bad {CREDENTIALS.key}", "error": ["EAPI:Invalid key"]}
    server.status = 401

    with pytest.raises((VenueRefused, VenueUnavailable)) as caught:
        check_rights(*open_for(name))

    assert CREDENTIALS.key not in str(caught.value)
    assert SECRET not in caplog.text + str(caught.value) + repr(CREDENTIALS)


def read_all(name: str, **options):
    source, client = open_for(name)
    asked = {"address": "", "markets": (), "since": NOW - timedelta(days=2), "until": NOW, **options}
    return list(fetch_records(source, client, **asked))


@pytest.mark.parametrize(
    ("name", "path", "sample", "options"),
    [
        ("hyperliquid", "/info", "hyperliquid, API", {"address": "0x" + "a" * 40}),
        ("binance", "api/v3/myTrades", "binance spot, API", {"markets": ["BTCUSDT"]}),
        ("binance", "fapi/v1/userTrades", "binance futures, API", {"markets": ["BTCUSDT"]}),
        ("binance", "fapi/v1/income", "binance futures, funding of the API", {}),
        ("bybit", "v5/execution/list", "bybit, API", {}),
        ("okx", "trade/fills-history", "okx, API", {}),
        ("kraken", "private/TradesHistory", "kraken, API", {}),
        ("coinbase", "orders/historical/fills", "coinbase, API", {}),
        ("bitget", "v2/spot/trade/fills", "bitget spot, API", {}),
        ("bitget", "v2/mix/order/fill-history", "bitget futures, API, hedge mode", {}),
    ],
)
def test_fetch_records_reads_as_the_file_of_the_api(server, name, path, sample, options):
    answer = json.loads(SAMPLES[sample].content)
    server.answers["public/instruments"] = {"code": "0", "data": [{"instId": "BTC-USDT-SWAP", "ctVal": "0.01"}]}
    for other in ("myTrades", "userTrades", "income", "fills", "fill-history", "execution/list"):
        server.answers[other] = {"code": "00000", "data": []} if name == "bitget" else []
    server.answers = {path: answer, **{end: one for end, one in server.answers.items() if not path.endswith(end)}}

    pages = read_all(name, **options)

    found = []
    for page in pages:
        table = table_of_records(page)
        assert find_format(table.columns) == SAMPLES[sample].key
        reading = read_fills(table, propose_mapping(table, zone="UTC"), now=datetime(2026, 1, 1, tzinfo=UTC))
        assert reading.problems == []
        found += [(fill.symbol, f"{fill.quantity.normalize():f}") for fill in reading.fills]
    expected = {(fill[1], fill[3]) for fill in SAMPLES[sample].fills}
    assert set(found) == expected


def test_fetch_records_follows_the_pages(server):
    def answer(question):
        start = int(question.get("ofs", 0))
        trades = {
            f"T{number}": {"ordertxid": "O", "pair": "XXBTZUSD", "time": 1740823200 + number, "type": "buy"}
            | {"price": "1", "cost": "1", "fee": "0", "vol": "1", "ordertype": "limit", "margin": "0", "misc": ""}
            for number in range(start, min(start + 50, 120))
        }
        return {"error": [], "result": {"count": 120, "trades": trades}}

    server.answers["private/TradesHistory"] = answer

    [rows] = read_all("kraken")

    assert len({row["txid"] for row in rows}) == 120
    assert [int(question.get("ofs", 0)) for _, question in server.asked] == [0, 50, 100]


def test_fetch_records_of_pages_that_go_round_stops(server):
    row = {"coin": "BTC", "px": "1", "sz": "1", "side": "B", "time": 1740823200000, "hash": "0x0", "oid": 1, "tid": 1}
    server.answers["/info"] = lambda question: [row] * 2000 if question["type"] == "userFillsByTime" else []

    [rows] = read_all("hyperliquid", address="0x" + "a" * 40)

    assert len(server.asked) <= 5
    assert rows
