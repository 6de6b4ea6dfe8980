"""Files that begin inside a position, from the upload to the trades."""

import re
from dataclasses import dataclass
from html import unescape

import pytest

from tests.trading.web.test_views_imports import fields_of, trader, upload
from trading.models import PositionCheck, Trade

__all__ = ["trader"]

pytestmark = pytest.mark.django_db
HEADERS = {
    "binance": "Date(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit",
    "kraken": "txid,ordertxid,pair,time,type,ordertype,price,cost,fee,vol,margin",
    "hyperliquid": "time,coin,dir,px,sz,ntl,fee,closedPnl",
    "bitget": "Date,Futures,Direction,Average Price,Executed,Realized P/L,Fee",
    "bybit": "Symbol,Side,execPrice,execQty,execFee,execTime,execId,execPnl,execType,category",
}


@dataclass(frozen=True)
class Case:
    """A file, what its page says, and the trades: without the tick, and with it (side, state, gross)."""

    venue: str
    fills: tuple[str, ...]
    says: tuple[str, ...]
    alone: tuple[str, ...]
    accepted: tuple[str, ...] = ()


CASES = {
    "a short of before is bought back, then a long and a short": Case(
        "binance",
        (
            "2025-03-01 10:00:00,BTCUSDT,BUY,1.50,30,45,0,30",
            "2025-03-01 10:01:00,BTCUSDT,BUY,2.00,20,40,0,0",
            "2025-03-01 10:02:00,BTCUSDT,SELL,3.00,20,60,0,20",
            "2025-03-01 10:03:00,BTCUSDT,SELL,2.50,10,25,0,0",
            "2025-03-01 10:04:00,BTCUSDT,BUY,2.00,10,20,0,5",
        ),
        (
            "BTC: Your venue says +$55.00, Keel finds +$25.00. Before the first fill you held about 30 short at 2.5.",
            "Begin with this position",
        ),
        ("short gap 0", "long exact 20", "short exact 5"),
        ("short estimated 30", "long exact 20", "short exact 5"),
    ),
    "coins that were deposited are sold, on spot": Case(
        "kraken",
        (
            "a,o,XXBTZUSD,2025-03-01 10:00:00,sell,limit,100,1000,0,10,0.0",
            "b,o,XXBTZUSD,2025-03-01 10:01:00,buy,limit,100,1000,0.3,10,0.0",
            "c,o,XXBTZUSD,2025-03-01 10:02:00,sell,limit,101,1010,0.3,10,0.0",
        ),
        (),
        ("long gap 0", "long unconfirmed 10"),
    ),
    "a long of before is reduced in two steps": Case(
        "bitget",
        (
            "2025-03-01 10:00:00,SOLUSDT_UMCBL,Close long,110,2,20,0",
            "2025-03-01 10:05:00,SOLUSDT_UMCBL,Close long,90,1,-10,0",
            "2025-03-01 10:06:00,SOLUSDT_UMCBL,Open short,90,4,0,0",
        ),
        ("SOL: Your venue says +$10.00, Keel finds $0.00. Before the first fill you held about 3 long at 100.",),
        ("long gap 0", "long gap 0", "short unconfirmed 0"),
        ("long estimated 10", "short exact 0"),
    ),
    "a short of before, with profits less fees": Case(
        "hyperliquid",
        (
            "2025-03-01 10:00:00,ETH,Close Short,2000,1,2000,0.9,99.1",
            "2025-03-01 10:05:00,ETH,Open Long,2000,2,4000,1.8,-1.8",
            "2025-03-01 10:06:00,ETH,Close Long,1990,2,3980,1.791,-21.791",
        ),
        ("ETH: Your venue says +$80.00, Keel finds -$20.00. Before the first fill you held about 1 short at 2,100.",),
        ("short gap 0", "long exact -20"),
        ("short estimated 100", "long exact -20"),
    ),
    "a long of before that is turned over by one fill": Case(
        "bybit",
        (
            "BTCUSDT,Sell,110,10,0,1740823200000,e1,30,Trade,linear",
            "BTCUSDT,Buy,100,7,0,1740823260000,e2,70,Trade,linear",
        ),
        ("BTC: Your venue says +$100.00, Keel finds $0.00. Something was held before the first fill.",),
        ("long gap 0", "short gap 0"),
    ),
    "more sold than is held, on spot": Case(
        "kraken",
        (
            "a,o,XXBTZUSD,2025-03-01 10:00:00,buy,limit,100,999,0,9.99,0.0",
            "b,o,XXBTZUSD,2025-03-01 10:01:00,sell,limit,101,1010,0,10,0.0",
        ),
        ("nothing says what you held before the first fill of BTC",),
        ("long gap 9.99",),
    ),
    "a sale of borrowed coins": Case(
        "kraken",
        (
            "a,o,XXBTZUSD,2025-03-01 10:00:00,sell,limit,100,1000,0,10,200.0",
            "b,o,XXBTZUSD,2025-03-01 10:01:00,buy,limit,99,990,0,10,0.0",
        ),
        ("I held nothing of it before",),
        ("short unconfirmed 10",),
        ("short exact 10",),
    ),
    "a history from zero": Case(
        "binance",
        (
            "2025-03-01 10:00:00,BTCUSDT,BUY,100,2,200,0,0",
            "2025-03-01 10:01:00,BTCUSDT,SELL,103,2,206,0,6",
            "2025-03-01 10:02:00,BTCUSDT,SELL,103,1,103,0,0",
        ),
        ("BTC: +$6.00, agrees with your venue.",),
        ("long exact 6", "short exact 0"),
    ),
}


def read_text(response) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))).replace(" .", ".")


def list_trades() -> list[str]:
    rows = Trade.objects.order_by("entry_at", "exit_at")
    return [f"{row.side} {row.reconciled} {row.gross_pnl_usd.normalize():f}" for row in rows]


def bring(client, case: Case, *, begins: bool) -> str:
    """Upload and import a file, with each tick of its page or without; return what the page said."""
    place = upload(client, "\n".join([HEADERS[case.venue], *case.fills]).encode())["Location"]
    page = client.get(place)
    ticks = re.findall(r'name="begins"\s+value="([^"]+)"', page.content.decode())
    client.post(place, fields_of(page) | {"act": "import"} | ({"begins": ticks} if begins else {}))
    return read_text(page)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_file_says_how_it_begins_and_nothing_unproven_is_exact(client, case):
    said = bring(client, case, begins=False)

    assert [text for text in case.says if text not in said] == []
    assert list_trades() == list(case.alone)


@pytest.mark.parametrize("case", [one for one in CASES.values() if one.accepted])
def test_tick_begins_with_the_position_that_the_profits_tell(client, case):
    bring(client, case, begins=True)

    assert list_trades() == list(case.accepted)


def test_start_that_is_in_doubt_is_confirmed_with_one_click(client):
    bring(client, CASES["a short of before is bought back, then a long and a short"], begins=False)
    page = client.get("/trades/import/")
    assert "Binance futures: Before the first fill you held about 30 short at 2.5." in read_text(page)
    names = ("account", "symbol", "at", "quantity", "price")
    shown = page.content.decode()
    form = {name: re.search(rf'type="hidden" name="{name}" value="([^"]+)"', shown)[1] for name in names}

    client.post("/trades/import/openings/", form)

    assert (PositionCheck.objects.get().quantity, list_trades()[0]) == (-30, "short estimated 30")
    assert "Begin with this position" not in read_text(client.get("/trades/import/"))


def test_spot_history_from_its_first_day_is_exact_once_its_owner_says_that_nothing_was_held(client):
    fills = (
        "a,o,XXBTZUSD,2025-03-01 10:00:00,buy,limit,100,1000,0,10,0.0",
        "b,o,XXBTZUSD,2025-03-01 10:01:00,sell,limit,101,1010,0,10,0.0",
    )

    said = bring(client, Case("kraken", fills, (), ()), begins=True)

    assert "nothing says what you held before the first fill of BTC" in said
    assert list_trades() == ["long exact 10"]
