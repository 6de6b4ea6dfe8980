"""Files that cannot be imported as they are: content, row of the message (0: the file), words of the message."""

import gzip
import json

HEADER = "time,symbol,side,quantity,price,fee"
GOOD = "2025-03-01 10:00:00,BTCUSDT,buy,0.5,90000,18"
NEXT = "2025-03-01 11:00:00,BTCUSDT,sell,0.5,91000,18"


def _rows(*lines: str, header: str = HEADER) -> bytes:
    return "\n".join((header, *lines)).encode()


def _fill(**changes: object) -> bytes:
    fill = {
        "coin": "BTC",
        "px": "90000",
        "sz": "0.5",
        "side": "B",
        "time": 1740823200000,
        "hash": "0x0",
        "oid": 1,
        "tid": 7,
    }
    return json.dumps([{**fill, "tid": 6}, {**fill, **changes}]).encode()


BAD_FILES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 0, "empty"),
    "white space": (b" \n\t\n", 0, "empty"),
    "a header alone": (_rows(), 0, "no rows"),
    "rows without a header": (f"{GOOD}\n{NEXT}\n".encode(), 0, "header"),
    "a spreadsheet": (b"PK\x03\x04\x14\x00\x06\x00", 0, "CSV"),
    "an old spreadsheet": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0, "Excel"),
    "a PDF": (b"%PDF-1.7 ...", 0, "PDF"),
    "a web page": (b"<!DOCTYPE html><html>Sign in</html>", 0, "web page"),
    "binary": (b"\x00\x01\x02" * 400, 0, "not text"),
    "half of a packed file": (gzip.compress(_rows(GOOD) * 50)[:60], 0, "too early"),
    "a damaged packed file": (b"\x1f\x8b" + b"\xff" * 40, 0, "damaged"),
    "half of a JSON": (_fill()[:-20], 0, "JSON"),
    "JSON without fills": (b'{"code":"50011","msg":"Rate limit reached","data":[]}', 0, "no list of fills"),
    "a JSON of numbers": (b"[1, 2, 3]", 0, "no list of fills"),
    "nested far too deep": (b"[" * 100_000, 0, "JSON"),
    "prose": (b"Dear support,\nplease send me my trades.\n", 0, "header"),
    "an open quotation mark": (_rows(GOOD, '"2025-03-01 11:00:00,BTCUSDT,sell,0.5,91000,18', NEXT), 3, "quotation"),
    "too many cells": (_rows(GOOD, NEXT + ",1,2"), 3, "8 cells"),
    "too few cells": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT"), 3, "empty"),
    "a line of totals": (_rows(GOOD, NEXT, "Total,,,,,36"), 4, "empty"),
    "no price": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,,18"), 3, "price is empty"),
    "no quantity": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,,91000,18"), 3, "quantity is empty"),
    "no symbol": (_rows(GOOD, "2025-03-01 11:00:00,,sell,0.5,91000,18"), 3, "symbol is empty"),
    "no time": (_rows(GOOD, ",BTCUSDT,sell,0.5,91000,18"), 3, "time is empty"),
    "a quantity in words": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,half,91000,18"), 3, "'half' is not a number"),
    "a price in words": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,market,18"), 3, "'market' is not a number"),
    "a price of zero": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,0,18"), 3, "above zero"),
    "a price below zero": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,-1,18"), 3, "above zero"),
    "a quantity of zero": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0,91000,18"), 3, "zero"),
    "a quantity below the precision": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,1e-13,91000,18"), 3, "finer"),
    "a quantity beyond all bounds": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,1e18,91000,18"), 3, "'1e18' is"),
    "not a number": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,NaN,91000,18"), 3, "quantity"),
    "infinity": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,Infinity,18"), 3, "not a number"),
    "a purchase below zero": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,buy,-0.5,91000,18"), 3, "buys a quantity below"),
    "a quantity in another coin": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5ETH,91000,18"), 3, "in ETH, not"),
    "a side that is none": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,hold,0.5,91000,18"), 3, "'hold'"),
    "no side": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,,0.5,91000,18"), 3, "side"),
    "a fee in words": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,91000,free"), 3, "fee 'free'"),
    "a time of the future": (_rows(GOOD, "2035-03-01 11:00:00,BTCUSDT,sell,0.5,91000,18"), 3, "future"),
    "a time before any coin": (_rows(GOOD, "1999-03-01 11:00:00,BTCUSDT,sell,0.5,91000,18"), 3, "before"),
    "a day that does not exist": (_rows(GOOD, "2025-02-30 11:00:00,BTCUSDT,sell,0.5,91000,18"), 3, "not a date"),
    "an hour that does not exist": (_rows(GOOD, "2025-03-01 25:00:00,BTCUSDT,sell,0.5,91000,18"), 3, "not a date"),
    "a time in words": (_rows(GOOD, "yesterday,BTCUSDT,sell,0.5,91000,18"), 3, "'yesterday'"),
    "a count that is no instant": (_rows(GOOD, "12345678901234,BTCUSDT,sell,0.5,91000,18"), 3, "not a date"),
    "days and months that cannot be told apart": (
        _rows("03/04/2025 10:00,BTCUSDT,buy,0.5,90000,18", "05/06/2025 10:00,BTCUSDT,sell,0.5,91000,18"), 0, "two ways",
    ),
    "days first and months first": (
        _rows("13/04/2025 10:00,BTCUSDT,buy,0.5,90000,18", "05/16/2025 10:00,BTCUSDT,sell,0.5,91000,18"), 0, "two ways",
    ),
    "groups of two digits": (_rows(GOOD, '2025-03-01 11:00:00,BTCUSDT,sell,0.5,"91,00.5",18'), 3, "'91,00.5'"),
    "two decimal signs": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5.1,91000,18"), 3, "'0.5.1'"),
    "a price in euros": (_rows(GOOD, "2025-03-01 11:00:00,BTC-EUR,sell,0.5,91000,18"), 3, "EUR"),
    "a price in bitcoin": (_rows(GOOD, "2025-03-01 11:00:00,ETH/BTC,sell,0.5,0.03,18"), 3, "BTC"),
    "an inverse contract": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSD_PERP,sell,0.5,91000,18"), 3, "inverse"),
    "a symbol of 40 letters": (_rows(GOOD, f"2025-03-01 11:00:00,{'A' * 40},sell,0.5,91000,18"), 3, "symbol"),
    "a formula as symbol": (_rows(GOOD, "2025-03-01 11:00:00,=cmd|calc,sell,0.5,91000,18"), 3, "symbol"),
    "one id, other numbers": (
        _rows(GOOD + ",a", NEXT + ",a", header=HEADER + ",trade id"), 3, "id of row 2",
    ),
    "contracts of an unknown size": (
        json.dumps(
            {"code": "0", "data": [{"side": "buy", "fillSz": "5", "fillPx": "2", "fee": "-1", "feeCcy": "USDT"}
             | {"instType": "SWAP", "instId": "XRP-USDT-SWAP", "billId": "1", "ts": "1740823200000"}]}
        ).encode(), 1, "contracts of XRP-USDT-SWAP",
    ),
    "a fill without price in JSON": (_fill(px=None), 2, "price is empty"),
    "a fill of the wrong side in JSON": (_fill(side="Z"), 2, "'Z'"),
    "a fill of another type in JSON": (_fill(sz={"amount": 1}), 2, "quantity is empty"),
    "a column without a price": (_rows("2025-03-01,BTCUSDT,buy,0.5", header="date,symbol,side,quantity"), 0, "price"),
    "a column without a time": (_rows("BTCUSDT,buy,0.5,90000", header="symbol,side,quantity,price"), 0, "time"),
    "a statement of balances": (
        _rows("2025-03-01,USDT,100,5", header="date,currency,balance,change"), 0, "Choose the column",
    ),
    "a cell of 200,000 letters": (_rows(GOOD, "x" * 200_000), 3, "too long"),
    "a first line of 200,000 letters": (_rows(GOOD, header="x" * 200_000), 0, "header"),
    "two columns of quantities": (
        _rows("2025-03-01,BTCUSDT,buy,0.5,0.6,90000", header="date,symbol,side,quantity,Quantity,price"), 0,
        "column of the quantity",
    ),
    "a value beyond all bounds": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,1e9,1e9,18"), 3, "times the price"),
    "a side of nothing": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,-,0.5,91000,18"), 3, "side is empty"),
    "a fee in hexadecimal digits": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,91000,0x10"), 3, "'0x10'"),
    "a fee in percent": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,0.5,91000,0.1%"), 3, "'0.1%'"),
    "a quantity in lots": (_rows(GOOD, "2025-03-01 11:00:00,BTCUSDT,sell,5 lots,91000,18"), 3, "in lots"),
    "a day of a spreadsheet": (_rows(GOOD, "45717.4583,BTCUSDT,sell,0.5,91000,18"), 3, "not a date"),
    "points and commas in turn": (
        _rows('2025-03-01 10:00:00,BTCUSDT,buy,0.5,"90,000.5",1', '2025-03-01 11:00:00,BTCUSDT,sell,0.5,"91.000,5",1'),
        3, "'91.000,5'",
    ),
    "a header in the middle": (_rows(GOOD, HEADER), 3, "'quantity' is not a number"),
    "lines of JSON, the second cut off": (b'{"time":1740823200000,"symbol":"BTC"}\n{"time":\n', 0, "line 2"),
    "text of four bytes a letter": (_rows(GOOD).decode().encode("utf-32"), 0, "not text"),
    "a packed spreadsheet": (gzip.compress(b"PK\x03\x04\x14\x00\x06\x00"), 0, "spreadsheet"),
    "a small file that unpacks to 200 MB": (gzip.compress(b"0" * 200 * 2**20, 1), 0, "larger than 20 MB"),
    "a time that the clock jumped over": (
        _rows(GOOD, "2025-03-30 02:30:00,BTCUSDT,sell,0.5,91000,18"), 3, "jumped over",
    ),
}  # fmt: skip
