"""A file is right, refused or asked: what a table may hold that nobody said."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.owners import as_owner
from tests.trading.intake.test_every_path import bring_file
from trading.intake.files import ImportRefused, check_reading
from trading.intake.guessing import propose_mapping
from trading.intake.reading import FileReading, read_fills
from trading.intake.tables import read_table
from trading.models import Deployment, Fill

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = "2025-03-01 10:00:00,2025-03-01 12:00:00"
FILL = "2025-03-01 {}:00:00,BTCUSDT,{},1,90000"


def read(*lines: str, columns: dict | None = None, **answers) -> FileReading:
    table = read_table("\n".join(lines).encode())
    mapping = propose_mapping(table, zone="UTC")
    return read_fills(table, replace(mapping, columns={**mapping.columns, **(columns or {})}, **answers), now=NOW)


def say(reading: FileReading) -> list[str]:
    return [f"{fill.symbol} {fill.quantity.normalize():f} {fill.price.normalize():f}" for fill in reading.fills]


def list_messages(reading: FileReading) -> list[str]:
    return [problem.message for problem in reading.problems]


TRADES = "Opened,Closed,Symbol,Side,Qty,Entry Price,Exit Price,Fees,P&L"


@pytest.mark.parametrize(
    ("row", "fills"),
    [
        ("AAPL,Long,10,200,210,2,98", ["AAPL 10 200", "AAPL -10 210"]),  # after the fees
        ("AAPL,Short,10,210,200,2,100", ["AAPL -10 210", "AAPL 10 200"]),  # before them
        ("ESZ5,Long,1,6000,6010.25,4,512.50", ["ESZ5 50 6000", "ESZ5 -50 6010.25"]),  # a point is worth 50
        ("XAUUSD,Short,0.1,2650,2655,0.70,(50.00)", ["XAUUSD -10 2650", "XAUUSD 10 2655"]),  # a lot of 100
    ],
)
def test_a_whole_trade_is_two_fills_that_its_profit_proves(row, fills):
    reading = read(TRADES, f"{TIMES},{row}")

    assert list_messages(reading) == []
    assert say(reading) == fills
    assert sum(fill.fee for fill in reading.fills) == Decimal(row.split(",")[5])
    entry, left = reading.fills
    assert (entry.at.hour, left.at.hour, left.is_reducing) == (10, 12, True)
    assert left.pnl_usd == -sum(fill.quantity * fill.price for fill in reading.fills)


@pytest.mark.parametrize("pnl", ["110", "-98", "9.8"])
def test_a_whole_trade_that_its_profit_does_not_prove_is_a_problem_of_its_row(pnl):
    good = f"{TIMES},AAPL,Long,10,200,210,2,98"

    reading = read(TRADES, good, good.replace("AAPL", "MSFT"), f"{TIMES},KO,Long,10,200,210,2,{pnl}")

    assert [problem.row for problem in reading.problems] == [4]
    assert "its profit is" in reading.problems[0].message
    assert len(reading.fills) == 4


def test_a_side_that_closes_is_the_opposite_of_the_position():
    header = "Contracts,Closing Direction,Qty,Entry Price,Exit Price,Closed P&L,Exit Type,Open Time,Trade Time(UTC)"
    reading = read(
        header,
        "BTCUSDT,Sell,1,90000,91000,963.8,Trade,2025-03-01 10:00:00,2025-03-01 12:00:00",
        "ETHUSDT,Buy,1,2000,1900,98,Trade,2025-03-01 10:00:00,2025-03-01 12:00:00",
        columns={"time": ("opentime",), "exit_time": ("tradetime",)},
    )

    assert sorted(say(reading)) == ["BTC -1 91000", "BTC 1 90000", "ETH -1 2000", "ETH 1 1900"]
    assert {fill.fee.normalize() for fill in reading.fills} == {Decimal("18.1"), Decimal(1)}
    assert any("Fees are not in the file" in notice for notice in reading.notices)


def test_trades_that_overlap_state_no_profit_of_their_exits():
    first, second = f"{TIMES},AAPL,Long,10,200,210,2,98", f"{TIMES},AAPL,Long,5,202,210,1,39".replace("10:", "11:", 1)

    assert {fill.pnl_usd for fill in read(TRADES, first, second).fills} == {None}


def test_one_time_of_a_trade_is_asked_for_and_the_entry_comes_first():
    lines = ("Date,Symbol,Side,Qty,Entry Price,Exit Price,P&L", "2025-03-14,AAPL,Long,10,200,210,100")

    assert "time of the exit" in list_messages(read(*lines))[0]
    answered = read(*lines, columns={"exit_time": ("date",)})
    assert say(answered) == ["AAPL 10 200", "AAPL -10 210"]
    assert any("how long trades were held is not known" in notice for notice in answered.notices)


def test_a_future_without_the_value_of_a_point_is_refused_in_words():
    lines = ("Time,Symbol,Side,Qty,Price", "2025-03-14 10:00,MES JUN25,Buy,2,6000")

    assert "give the value of a point, such as MES=50" in list_messages(read(*lines))[0]
    assert say(read(*lines, contract_sizes="MES=5")) == ["MES-JUN25 10 6000"]
    with_column = read(lines[0] + ",Point value", lines[1] + ",5")
    assert say(with_column) == ["MES-JUN25 10 6000"]


@pytest.mark.parametrize("symbol", ["SPY250321C00570000", "AAPL 17JAN25 150 C"])
def test_an_option_is_refused_in_words(symbol):
    reading = read("Time,Symbol,Side,Qty,Price", f"2025-03-14 10:00,{symbol},Buy,2,1.25")

    assert "is an option" in list_messages(reading)[0]


def test_an_option_among_shares_is_told_by_its_kind():
    rows = ("2025-03-14 10:00,AAPL,Buy,1,2.50,OPT", "2025-03-14 11:00,AAPL,Buy,1,185,STK")
    reading = read("Time,Symbol,Side,Qty,Price,Asset Class", *rows)

    assert [problem.row for problem in reading.problems] == [2]
    assert say(reading) == ["AAPL 1 185"]


def test_fees_add_up_and_a_rate_is_no_fee():
    reading = read(
        "Time,Symbol,Side,Qty,Price,Trading Fee Rate,Fees Paid,Exchange Fee,Fee tier",
        "2025-03-14 10:00,BTCUSDT,Buy,1,90000,0.0004,36,1.5,3",
    )

    assert [fill.fee for fill in reading.fills] == [Decimal("37.5")]


STATUS = "Time,Symbol,Side,Filled Qty,Price,Status"


def test_a_status_counts_leaves_out_or_asks():
    reading = read(
        STATUS,
        "2025-03-14 10:00,BTCUSDT,Buy,1,90000,Filled",
        "2025-03-14 11:00,BTCUSDT,Buy,0,90000,Cancelled",
        "2025-03-14 11:30,BTCUSDT,Buy,0.5,90000,Canceled",  # it had filled in part
        "2025-03-14 12:00,BTCUSDT,Buy,1,90000,Perhaps",
    )

    assert [fill.quantity for fill in reading.fills] == [1, Decimal("0.5")]
    assert reading.left_out == {"cancelled": 1}
    assert [problem.row for problem in reading.problems] == [5]


def test_a_cancelled_order_of_which_the_quantity_is_the_order_is_left_out():
    reading = read(STATUS.replace("Filled Qty", "Qty"), "2025-03-14 11:30,BTCUSDT,Buy,5,90000,Cancelled")

    assert (reading.fills, reading.left_out) == ([], {"cancelled": 1})
    with pytest.raises(ImportRefused, match="Its rows were left out: 1 cancelled"):
        check_reading(reading, leaves_out=False)


@pytest.mark.parametrize(
    ("title", "cell"),
    [("Exit price", "91000"), ("P&L", "5"), ("Order State", "done"), ("Account currency", "EUR"), ("Lot value", "10")],
)
def test_a_column_that_looks_important_stops_until_it_is_left_out(title, cell):
    lines = (f"Time,Symbol,Side,Qty,Price,Note,{title}", f"2025-03-14 10:00,BTCUSDT,Buy,1,90000,ok,{cell}")
    reading = read(*lines)

    if title == "Order State":  # it is read, and what it says counts
        assert reading.problems == []
        return
    assert list_messages(reading) == [
        f"The column “{title}” is not read. Choose what it is, or tick that it is left out."
    ]
    assert reading.unread == ["Note", title]
    name = title.casefold().replace(" ", "")
    assert say(read(*lines, columns={"ignored": (name,)})) == ["BTC 1 90000"]


def test_a_column_that_says_nothing_does_not_stop():
    rows = (f"2025-03-14 1{hour}:00,BTCUSDT,Buy,1,90000,0,USD" for hour in range(2))

    assert read("Time,Symbol,Side,Qty,Price,Profit,Currency of account", *rows).problems == []


@pytest.mark.parametrize("price", ["€90", "R$ 90", "90 SEK", "£90"])
def test_a_price_in_other_money_is_refused_by_row(price):
    reading = read("Time,Symbol,Side,Qty,Price", f"2025-03-14 10:00,AAPL,Buy,1,{price}", FILL.format(11, "Buy"))

    assert [problem.row for problem in reading.problems] == [2]
    assert "not in dollars" in reading.problems[0].message


def test_dollars_in_brackets_and_behind_the_number_are_dollars():
    header = TRADES.replace("Fees,", "")
    reading = read(header, f"{TIMES},AAPL,Long,10,$210.00,200.00 $,$(100.00)")

    assert say(reading) == ["AAPL 10 210", "AAPL -10 200"]


def test_without_a_side_no_row_is_taken_for_a_purchase():
    rows = ("2025-03-14 10:00,BTCUSDT,1,90000", "2025-03-14 11:00,BTCUSDT,1,91000")

    assert "Choose the column of the side" in list_messages(read("Time,Symbol,Qty,Price", *rows))[0]
    assert len(read("Time,Symbol,Qty,Price", rows[0], rows[1].replace(",1,", ",-1,")).fills) == 2


@pytest.mark.parametrize(
    ("pair", "coin"), [("XBTUSD", "BTC"), ("DOTUSD", "DOT"), ("BTCTUSD", "BTC"), ("ARBUSD", "ARB")]
)
def test_a_coin_before_dollars_keeps_its_last_letter(pair, coin):
    row = f"T1,O1,{pair},2025-03-14 10:00:00,buy,limit,100,100,0.1,1,0,,L1"
    reading = read("txid,ordertxid,pair,time,type,ordertype,price,cost,fee,vol,margin,misc,ledgers", row)

    assert say(reading) == [f"{coin} 1 100"]


def test_a_day_with_a_year_of_two_digits_behind_slashes_is_asked_about():
    lines = ("Date,Symbol,Side,Qty,Price", "06/01/25,F,Bought,100,12")

    assert "can be read in two ways" in list_messages(read(*lines))[0]
    assert read(*lines, dates="mdy").fills[0].at == datetime(2025, 6, 1, tzinfo=UTC)


LEGS = (
    "id,Order id,Time,Trade Type,Symbol,Action,Amount,Trading Unit,Filled Price,Fee,Fee Unit,Balance Change,"
    "Balance Unit",
    "1,7,2025-03-14 10:00:00,Spot,ETH-USDT,Buy,0.5,ETH,3000,-0.0005,ETH,0.4995,ETH",
    "2,7,2025-03-14 10:00:00,Spot,ETH-USDT,Sell,1500,ETH,3000,0,USDT,-1500,USDT",
)


def test_the_legs_of_a_spot_trade_are_told_by_the_coin_that_moved():
    assert say(read(*LEGS)) == ["ETH 0.4995 3000"]


@pytest.mark.parametrize("lines", [LEGS[:2], (LEGS[0], LEGS[2]), (*LEGS[:2], LEGS[2].replace("1500,ETH", "1400,ETH"))])
def test_a_leg_without_the_other_is_a_problem_of_its_row(lines):
    reading = read(*lines)

    assert reading.fills == []
    assert {problem.row for problem in reading.problems} == set(range(2, len(lines) + 1))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("txid,refid,time,type,subtype,aclass,asset,amount,fee,balance", "Export “Trades”"),
        ("User_ID,UTC_Time,Account,Operation,Coin,Change,Remark", "Trade History"),
        ("Date(UTC),Coin,Network,Amount,Address,TXID,Status", "deposits or withdrawals"),
    ],
)
def test_another_download_is_told_which_one_to_bring(header, words):
    reading = read(header, ",".join(["1"] * len(header.split(","))))

    assert words in list_messages(reading)[0]
    assert len(reading.problems) == 1


@pytest.mark.parametrize(
    ("title", "cell", "hour"),
    [
        ("Filled Time(UTC+02:00)", "2025-03-14 12:00:00", 10),
        ("Update Time (EDT)", "2025-03-14 12:00:00", 16),
        ("Filled Time", "03/14/2025 12:00:00 EST", 17),
        ("Filled Time", '"2025/03/14 12:00:00,GMT-04"', 16),
        ("Filled Time", "20.03.2025 12:00:00 UTC+02", 10),
        ("DateTime", "20250314;120000", 12),
    ],
)
def test_a_title_or_a_cell_names_the_clock(title, cell, hour):
    reading = read(f"{title},Symbol,Side,Qty,Price", f"{cell},BTCUSDT,Buy,1,90000")

    assert [fill.at.hour for fill in reading.fills] == [hour]


@pytest.mark.django_db
def test_fills_that_another_account_has_are_not_counted_twice_unasked(trader):
    rows = [FILL.format(10, "buy"), FILL.format(11, "sell")]
    bring_file(trader, "\n".join(("time,symbol,side,quantity,price", *rows)).encode(), NOW)
    bitget = [f"1,BTCUSDT,{side},2025-03-01 {hour}:00:00,90000,1,0,0" for hour, side in ((10, "Buy"), (11, "Sell"))]
    other = "\n".join(("Uid,Futures,Direction,Date,Price,Amount,Fee,Realized P/L", *bitget))

    with pytest.raises(ImportRefused, match=r"2 of these 2 fills are in the account “Imported futures” already"):
        bring_file(trader, other.encode(), NOW)

    assert as_owner(trader, lambda: Fill.objects.count()) == 2
    bring_file(trader, other.encode(), NOW, counts_twice=True)
    assert as_owner(trader, lambda: sorted(Deployment.objects.values_list("label", flat=True))) == [
        "Bitget futures",
        "Imported futures",
    ]
