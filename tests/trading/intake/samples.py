"""Exports as the venues document them, with invented numbers: each buys and sells the same coin."""

import gzip
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    key: str  # the format that recognises it
    content: bytes
    fills: tuple[tuple[str, str, str, str, str, str], ...]  # market, symbol, instant, quantity, price, fee with coin
    funding: tuple[tuple[str, str, str], ...] = ()  # symbol, instant, amount
    left_out: int = 0
    zone: str = "UTC"  # the user's


def _lines(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


BTC = (
    ("futures", "BTC", "2025-03-01T10:00:00", "0.5", "90000", "18 USDT"),
    ("futures", "BTC", "2025-03-01T12:30:00", "-0.5", "91000", "18.2 USDT"),
)
SPOT_BTC = tuple(("spot", *fill[1:]) for fill in BTC)

SAMPLES = {
    "binance spot": Sample(
        "binance_spot",
        _lines(
            '"Date(UTC)","Pair","Side","Price","Executed","Amount","Fee"',
            '"2025-03-01 12:30:00","BTCUSDT","SELL","91,000.00","0.5BTC","45,500.00USDT","18.2USDT"',
            '"2025-03-01 10:00:00","BTCUSDT","BUY","90,000.00","0.5BTC","45,000.00USDT","18USDT"',
        ),
        SPOT_BTC,
    ),
    "binance spot, year of two digits, fee in BNB and in the coin": Sample(
        "binance_spot",
        _lines(
            "Time,Pair,Side,Price,Executed,Amount,Fee",
            "25-03-01 10:00:00,1000PEPEUSDT,BUY,0.01,10001000PEPE,10USDT,11000PEPE",
            "25-03-01 12:30:00,1000PEPEUSDT,SELL,0.02,9991000PEPE,19.98USDT,0.0001BNB",
        ),
        (
            ("spot", "1000PEPE", "2025-03-01T10:00:00", "999", "0.01", "1 1000PEPE"),
            ("spot", "1000PEPE", "2025-03-01T12:30:00", "-999", "0.02", "0.0001 BNB"),
        ),
    ),
    "binance spot, before 2021": Sample(
        "binance_spot_old",
        _lines(
            "Date(UTC),Market,Type,Price,Amount,Total,Fee,Fee Coin",
            "2025-03-01 10:00:00,BTCUSDT,BUY,90000,0.5,45000,18,USDT",
            "2025-03-01 12:30:00,BTCUSDT,SELL,91000,0.5,45500,18.2,USDT",
        ),
        SPOT_BTC,
    ),
    "binance spot, with coins": Sample(
        "binance_spot_coins",
        _lines(
            "Date(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Fee Coin,Quote Asset",
            "2025-03-01 10:00:00,BTCUSDT,BUY,90000,0.5,45000,18,USDT,USDT",
            "2025-03-01 12:30:00,BTCUSDT,SELL,91000,0.5,45500,18.2,USDT,USDT",
        ),
        SPOT_BTC,
    ),
    "binance futures": Sample(
        "binance_futures",
        _lines(
            "Date(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit",
            "2025-03-01 10:00:00,BTCUSDT,BUY,90000,0.5,45000,-18USDT,0",
            "2025-03-01 12:30:00,BTCUSDT,SELL,91000,0.5,45500,-18.2USDT,500",
        ),
        BTC,
    ),
    "binance futures, with a user id": Sample(
        "binance_futures",
        _lines(
            "Uid,Time(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Fee Coin,Realized Profit,Quote Asset,Trade ID",
            "1,2025-03-01 10:00:00,BTCUSDT,BUY,90000,0.5,45000,18,USDT,0,USDT,71",
            "1,2025-03-01 12:30:00,BTCUSDT,SELL,91000,0.5,45500,18.2,USDT,500,USDT,72",
        ),
        BTC,
    ),
    "binance spot, API": Sample(
        "binance_spot_api",
        _lines(
            '[{"symbol":"BTCUSDT","id":28457,"orderId":100234,"price":"90000","qty":"0.50000000",'
            '"quoteQty":"45000","commission":"18","commissionAsset":"USDT","time":1740823200000,'
            '"isBuyer":true,"isMaker":false,"isBestMatch":true},{"symbol":"BTCUSDT","id":28458,'
            '"orderId":100234,"price":"91000","qty":"0.50000000","quoteQty":"45000","commission":"18.2",'
            '"commissionAsset":"USDT","time":1740832200000,"isBuyer":false,"isMaker":false,'
            '"isBestMatch":true}]'
        ),
        SPOT_BTC,
    ),
    "binance futures, API": Sample(
        "binance_futures_api",
        _lines(
            '[{"buyer":true,"commission":"18","commissionAsset":"USDT","id":698759,"maker":false,'
            '"orderId":25851813,"price":"90000","qty":"0.5","quoteQty":"45000","realizedPnl":"0",'
            '"side":"BUY","positionSide":"BOTH","symbol":"BTCUSDT","time":1740823200000},{"buyer":false,'
            '"commission":"18.2","commissionAsset":"USDT","id":698760,"maker":false,"orderId":25851813,'
            '"price":"91000","qty":"0.5","quoteQty":"45000","realizedPnl":"500","side":"SELL",'
            '"positionSide":"BOTH","symbol":"BTCUSDT","time":1740832200000}]'
        ),
        BTC,
    ),
    "binance futures, funding of the API": Sample(
        "binance_funding_api",
        _lines(
            '[{"symbol":"BTCUSDT","incomeType":"FUNDING_FEE","income":"-1.5","asset":"USDT",'
            '"time":1740823200000,"info":"","tranId":9689322392,"tradeId":""},{"symbol":"BTCUSDT",'
            '"incomeType":"COMMISSION","income":"-1.5","asset":"USDT","time":1740823200000,"info":"",'
            '"tranId":9689322393,"tradeId":""}]'
        ),
        (),
        (("BTC", "2025-03-01T10:00:00", "-1.5"),),
        left_out=1,
    ),
    "bybit spot": Sample(
        "bybit_spot",
        _lines(
            "UID: 1,Company Name: ,Country:",
            "Uid,Spot Pairs,Order Type,Direction,Filled Value,Filled Price,Filled Quantity,Fees,Transaction ID,"
            "Order No.,Timestamp (UTC+0)",
            "1,BTCUSDT,LIMIT,BUY,45000.00000,90000.000000000000000000,0.50000000000000000000,0.00050000000000000000,"
            "2290000000522832993,1836393090823494400,2025-03-01 10:00:00",
            "1,BTCUSDT,MARKET,SELL,45454.5,91000,0.4995,18.2,2200000000570297153,1849440883,2025-03-01 12:30:00",
        ),
        (
            ("spot", "BTC", "2025-03-01T10:00:00", "0.4995", "90000", "0.0005 BTC"),
            ("spot", "BTC", "2025-03-01T12:30:00", "-0.4995", "91000", "18.2 USDT"),
        ),
    ),
    "bybit spot, with the coin of the fee": Sample(
        "bybit_spot",
        _lines(
            "Spot Pairs,Order Type,Direction,feeCoin,ExecFeeV2,Filled Value,Filled Price,Filled Quantity,Fees,"
            "Transaction ID,Order No.,Timestamp (UTC)",
            "BTCUSDT,MARKET,BUY,USDT,18,45000,90000,0.5,--,3010000000039612078, 04058112,10:00 2025-03-01",
            "BTCUSDT,MARKET,SELL,USDT,18.2,45500,91000,0.5,--,3010000000039612079, 04058113,12:30 2025-03-01",
        ),
        SPOT_BTC,
    ),
    "bybit derivatives": Sample(
        "bybit_futures",
        _lines(
            "Market,Filled Type,Filled Quantity,Filled Price,Order Price,Fee Rate,Trading Fee,feeCoin,ExecFeeV2,"
            "Direction,Order Type,Trasaction ID,Order No.,Transaction Time(UTC+0)",
            "BTCUSDT,Trade,0.5,90000,90000,0.0004,18,USDT,18,Long,Market, a1, o1,10:00 2025-03-01",
            "BTCUSDT,Funding,0.5,90500,0,0.0001,4.525,USDT,4.525,Long,--, f1, g1,11:00 2025-03-01",
            "BTCUSDT,Trade,0.5,91000,91000,0.0004,18.2,USDT,18.2,Short,Limit, a2, o2,12:30 2025-03-01",
        ),
        BTC,
        (("BTC", "2025-03-01T11:00:00", "-4.525"),),
    ),
    "bybit, API": Sample(
        "bybit_api",
        _lines(
            '{"retCode":0,"retMsg":"OK","result":{"nextPageCursor":"","category":"linear",'
            '"list":[{"symbol":"BTCUSDT","orderId":"1549452573428424448","side":"Sell","execFee":"18.2",'
            '"feeCurrency":"","execId":"e3","execPrice":"91000","execQty":"0.5","execType":"Trade",'
            '"execTime":"1740832200000","isMaker":false,"execPnl":"500"},{"symbol":"BTCUSDT","orderId":"1549452573428",'
            '"side":"Sell","execFee":"4.525","feeCurrency":"","execId":"e2","execPrice":"90500",'
            '"execQty":"0.5","execType":"Funding","execTime":"1740826800000","isMaker":false},'
            '{"symbol":"BTCUSDT","orderId":"1549452573428424448","side":"Buy","execFee":"18",'
            '"feeCurrency":"","execId":"e1","execPrice":"90000","execQty":"0.5","execType":"Trade",'
            '"execTime":"1740823200000","isMaker":false}]},"retExtInfo":{},"time":1672283754510}'
        ),
        BTC,
        (("BTC", "2025-03-01T11:00:00", "-4.525"),),
    ),
    "okx": Sample(
        "okx",
        _lines(
            "\ufeffUID:1,\ufeffAccount Type:Trading,\ufeffTime Zone:UTC+8",
            "\ufeffid,Order id,Time,Trade Type,Symbol,Action,Amount,Trading Unit,Filled Price,PnL,Fee,Fee Unit,"
            "Position Change,Position Balance,Balance Change,Balance,Balance Unit",
            "1,900,2025-03-01 18:00:00,Spot,BTC-USDT,Buy,0.5,BTC,90000,0,-0.0005,BTC,0,0,0.4995,0.4995,BTC",
            "2,900,2025-03-01 18:00:00,Spot,BTC-USDT,Sell,45000,USDT,90000,0,0,USDT,0,0,-45000,5000,USDT",
            "3,901,2025-03-01 20:30:00,Spot,BTC-USDT,Sell,0.4995,BTC,91000,0,0,BTC,0,0,-0.4995,0,BTC",
            "4,901,2025-03-01 20:30:00,Spot,BTC-USDT,Buy,45454.5,USDT,91000,0,-18.2,USDT,0,0,45436.3,50436.3,USDT",
            "5,902,2025-03-01 20:31:00,Transfer,,Transfer in,0,cont,0,0,0,USDT,0,0,1500,1500,USDT",
            "6,903,2025-03-01 21:00:00,Swap,BTC-USDT-SWAP,Open long,50,cont,90000,0,-18,USDT,50,50,-18,1482,USDT",
            "7,904,2025-03-01 22:00:00,Swap,BTC-USDT-SWAP,Funding fee,0,cont,0,0,0,USDT,0,0,-1.25,1480.75,USDT",
            "8,905,2025-03-01 23:00:00,Swap,BTC-USDT-SWAP,Close long,50,cont,91000,500,-18.2,USDT,-50,0,481.8,196,USDT",
        ),
        (
            ("spot", "BTC", "2025-03-01T10:00:00", "0.4995", "90000", "0.0005 BTC"),
            ("spot", "BTC", "2025-03-01T12:30:00", "-0.4995", "91000", "18.2 USDT"),
            ("futures", "BTC", "2025-03-01T13:00:00", "0.5", "90000", "18 USDT"),
            ("futures", "BTC", "2025-03-01T15:00:00", "-0.5", "91000", "18.2 USDT"),
        ),
        (("BTC", "2025-03-01T14:00:00", "-1.25"),),
        left_out=1,
    ),
    "okx, API": Sample(
        "okx_api",
        _lines(
            '{"code":"0","msg":"","data":[{"side":"sell","fillSz":"50","fillPx":"91000","fee":"-18.2",'
            '"feeCcy":"USDT","ordId":"317321390244397056","instType":"SWAP","instId":"BTC-USDT-SWAP","fillPnl":"500",'
            '"posSide":"net","billId":"2","execType":"T","tradeId":"107601752","ts":"1740832200000",'
            '"fillTime":"1740832200000"},{"side":"buy","fillSz":"50","fillPx":"90000","fee":"-18",'
            '"feeCcy":"USDT","ordId":"317321390244397056","instType":"SWAP","instId":"BTC-USDT-SWAP",'
            '"posSide":"net","billId":"1","execType":"T","tradeId":"107601752","ts":"1740823200000",'
            '"fillTime":"1740823200000"}]}'
        ),
        BTC,
    ),
    "kraken": Sample(
        "kraken",
        _lines(
            '"txid","ordertxid","pair","time","type","ordertype","price","cost","fee","vol","margin","misc","ledgers"',
            '"TK65D4-7XYAA-3K6Z9A","OX6R2D-YYZA2-81729A","XXBTZUSD","2025-03-01 10:00:00.0000","buy","limit","90000.0",'
            '"45000.0","18.0","0.50000000","0.00000","","L12345,L12346"',
            '"TKB791-4PLM2-99881A","OX9812-ZZKL1-12093B","XBT/USD","2025-03-01 12:30:00.0000","sell","market","91000",'
            '"45500.0","18.2","0.50000000","0.00000","","L12347"',
        ),
        tuple((*fill[:5], fill[5].replace("USDT", "USD")) for fill in SPOT_BTC),
    ),
    "kraken, API": Sample(
        "kraken",
        _lines(
            '{"error":[],"result":{"count":2,"trades":{"THVRQM-33VKH-1":{"ordertxid":"OQCLML-BW3P3-BUCMWZ",'
            '"pair":"XXBTZUSD","time":1740823200.0,"type":"buy","ordertype":"limit","price":"90000",'
            '"cost":"45000","fee":"18","vol":"0.50000000","margin":"0.00000","misc":""},'
            '"THVRQM-33VKH-2":{"ordertxid":"OQCLML-BW3P3-BUCMWZ","pair":"XXBTZUSD","time":1740832200.0001,'
            '"type":"sell","ordertype":"limit","price":"91000","cost":"45000","fee":"18.2",'
            '"vol":"0.50000000","margin":"0.00000","misc":""}}}}'
        ),
        (
            ("spot", "BTC", "2025-03-01T10:00:00", "0.5", "90000", "18 USD"),
            ("spot", "BTC", "2025-03-01T12:30:00.000100", "-0.5", "91000", "18.2 USD"),
        ),
    ),
    "coinbase": Sample(
        "coinbase",
        _lines(
            "",
            "Transactions",
            "User,A Trader,6d2b7d1c-0000-0000-0000-000000000000",
            "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
            "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes",
            "b2,2025-03-01 12:30:00 UTC,Advanced Trade Sell,BTC,-0.5,USD,$91000.00,-$45500.00,-$45481.80,$18.20,Sold",
            "d1,2025-03-01 11:00:00 UTC,Deposit,USD,100,USD,$1.00,$100.00,$100.00,$0.00,",
            'b1,2025-03-01 10:00:00 UTC,Buy,BTC,0.5,USD,"$90,000.00","$45,000.00","$45,018.00",$18.00,"Bought, 0.5"',
        ),
        tuple((*fill[:5], fill[5].replace("USDT", "USD")) for fill in SPOT_BTC),
        left_out=1,
    ),
    "coinbase, fills": Sample(
        "coinbase_fills",
        _lines(
            "portfolio,trade id,product,side,created at,size,size unit,price,fee,total,price/fee/total unit",
            "default,1,BTC-USD,BUY,2025-03-01T10:00:00.000Z,0.50000000,BTC,90000,18,-45018,USD",
            "default,2,BTC-USD,SELL,2025-03-01T12:30:00.000Z,0.50000000,BTC,91000,18.2,45481.8,USD",
        ),
        tuple((*fill[:5], fill[5].replace("USDT", "USD")) for fill in SPOT_BTC),
    ),
    "coinbase, API": Sample(
        "coinbase_api",
        _lines(
            '{"fills":[{"entry_id":"b","trade_id":"1","order_id":"813a53c5-3e39-47bb-863d-2faf685d22d8",'
            '"trade_time":"2025-03-01T12:30:00.091377090Z","trade_type":"FILL","price":"91000","size":"0.5",'
            '"commission":"18.2","product_id":"BTC-USDT",'
            '"sequence_timestamp":"2025-03-01T12:30:00.091377090Z","size_in_quote":false,"side":"SELL"},'
            '{"entry_id":"a","trade_id":"1","order_id":"813a53c5-3e39-47bb-863d-2faf685d22d8",'
            '"trade_time":"2025-03-01T10:00:00Z","trade_type":"FILL","price":"90000","size":"45000",'
            '"commission":"18","product_id":"BTC-USDT","sequence_timestamp":"2025-03-01T10:00:00Z",'
            '"size_in_quote":true,"side":"BUY"}],"cursor":"789100"}'
        ),
        (
            ("spot", "BTC", "2025-03-01T10:00:00", "0.5", "90000", "18 USDT"),
            ("spot", "BTC", "2025-03-01T12:30:00.091377", "-0.5", "91000", "18.2 USDT"),
        ),
    ),
    "bitget spot": Sample(
        "bitget_spot",
        _lines(
            "Date,Trading pair,Direction,Price,Amount,Total,Fee,Fee coin",
            "2025-03-01 11:00:00,BTCUSDT_SPBL,Buy,90000,0.5,45000,-0.0005,BTC",
            "2025-03-01 13:30:00,BTCUSDT_SPBL,Sell,91000,0.4995,45454.5,-18.2,USDT",
        ),
        (
            ("spot", "BTC", "2025-03-01T10:00:00", "0.4995", "90000", "0.0005 BTC"),
            ("spot", "BTC", "2025-03-01T12:30:00", "-0.4995", "91000", "18.2 USDT"),
        ),
        zone="Europe/Berlin",
    ),
    "bitget futures": Sample(
        "bitget_futures",
        _lines(
            "Date,Futures,Direction,Average Price,Executed,Realized P/L,Fee",
            "2025-03-01 12:30:00,BTCUSDT_UMCBL,Close long,91000,0.5,500,-18.2USDT",
            "2025-03-01 10:00:00,BTCUSDT_UMCBL,Open long,90000,0.5,0,-18USDT",
        ),
        BTC,
    ),
    "bitget spot, API": Sample(
        "bitget_spot_api",
        _lines(
            '{"code":"00000","data":[{"userId":"1","symbol":"BTCUSDT","orderId":"12345678910","tradeId":"2",'
            '"orderType":"market","side":"sell","priceAvg":"91000","size":"0.5","amount":"45000",'
            '"feeDetail":{"deduction":"no","feeCoin":"USDT","totalDeductionFee":"","totalFee":"-18.2"},'
            '"tradeScope":"taker","cTime":"1740832200000","uTime":"1740832200000"},{"userId":"1",'
            '"symbol":"BTCUSDT","orderId":"12345678910","tradeId":"1","orderType":"market","side":"buy",'
            '"priceAvg":"90000","size":"0.5","amount":"45000","feeDetail":{"deduction":"no","feeCoin":"USDT",'
            '"totalDeductionFee":"","totalFee":"-18"},"tradeScope":"taker","cTime":"1740823200000",'
            '"uTime":"1740823200000"}]}'
        ),
        SPOT_BTC,
    ),
    "bitget futures, API, hedge mode": Sample(
        "bitget_futures_api",
        _lines(
            '{"code":"00000","data":{"fillList":[{"tradeId":"2","symbol":"BTCUSDT",'
            '"orderId":"1111468664264753162","price":"91000","baseVolume":"0.5",'
            '"feeDetail":[{"deduction":"no","feeCoin":"USDT","totalFee":"-18.2"}],"side":"buy",'
            '"quoteVolume":"45000","profit":"500","tradeSide":"close","posMode":"hedge_mode",'
            '"tradeScope":"taker","cTime":"1740832200000"},{"tradeId":"1","symbol":"BTCUSDT",'
            '"orderId":"1111468664264753162","price":"90000","baseVolume":"0.5",'
            '"feeDetail":[{"deduction":"no","feeCoin":"USDT","totalFee":"-18"}],"side":"buy",'
            '"quoteVolume":"45000","profit":"0","tradeSide":"open","posMode":"hedge_mode",'
            '"tradeScope":"taker","cTime":"1740823200000"}],"endId":"1"}}'
        ),
        BTC,
    ),
    "hyperliquid, in the clock of the browser": Sample(
        "hyperliquid",
        _lines(
            "time,coin,dir,px,sz,ntl,fee,closedPnl",
            "3/1/2025 - 11:00:00,BTC,Open Long,90000,0.5,45000,18,-18",
            "3/1/2025 - 13:30:00,BTC,Long > Short,91000,1,91000,36.4,463.6",
            "3/14/2025 - 01:00:00,BTC,Close Short,90000,0.5,45000,18,482",
        ),
        (
            ("futures", "BTC", "2025-03-01T10:00:00", "0.5", "90000", "18 USD"),
            ("futures", "BTC", "2025-03-01T12:30:00", "-1", "91000", "36.4 USD"),
            ("futures", "BTC", "2025-03-14T00:00:00", "0.5", "90000", "18 USD"),
        ),
        zone="Europe/Berlin",
    ),
    "hyperliquid, API": Sample(
        "hyperliquid_api",
        _lines(
            '[{"closedPnl":"500.0","coin":"BTC","crossed":true,"dir":"Close Long","hash":"0x00","oid":90542681,'
            '"px":"91000.0","side":"A","startPosition":"0.5","sz":"0.5","time":1740832200000,"fee":"18.2",'
            '"feeToken":"USDC","tid":118906512037720},{"closedPnl":"0.0","coin":"BTC","crossed":true,'
            '"dir":"Open Long","hash":"0x00","oid":90542681,"px":"90000.0","side":"B","startPosition":"0.0",'
            '"sz":"0.5","time":1740823200000,"fee":"18","feeToken":"USDC","tid":118906512037719}]'
        ),
        tuple((*fill[:5], fill[5].replace("USDT", "USDC")) for fill in BTC),
    ),
    "hyperliquid, funding": Sample(
        "hyperliquid_funding",
        _lines("time,coin,sz,side,payment,rate", "20/03/2025 02:00:00,BTC,1.05,Short,1.293073,0.0000250038"),
        (),
        (("BTC", "2025-03-20T02:00:00", "1.293073"),),
    ),
    "hyperliquid, funding of the API": Sample(
        "hyperliquid_funding_api",
        _lines(
            '[{"time":1740823200000,"hash":"0x00","delta":{"type":"funding","coin":"BTC","usdc":"-3.625312",'
            '"szi":"4.91","fundingRate":"0.00004"}}]'
        ),
        (),
        (("BTC", "2025-03-01T10:00:00", "-3.625312"),),
    ),
    "keel": Sample(
        "keel",
        _lines(
            "fill_id,time,symbol,side,quantity,price,fee_usd,liquidation",
            "1,2025-03-01T10:00:00Z,BTC,buy,0.5,90000,18,",
            "2,2025-03-01T12:30:00Z,BTC,sell,0.5,91000,18.2,no",
        ),
        tuple((*fill[:5], fill[5].replace("USDT", "USD")) for fill in BTC),
    ),
    "by mapping: semicolons, decimal commas, local dates": Sample(
        "",
        "Datum;Uhrzeit;Pair;Seite;Menge;Preis;Gebühr\r\n"
        "01.03.2025;11:00:00;BTC/USDT;Buy;0,5;90.000,00;18,00\r\n"
        "13.03.2025;13:30:00;BTC/USDT;Sell;0,5;91.000,00;18,20\r\n".encode("cp1252"),
        (
            ("futures", "BTC", "2025-03-01T10:00:00", "0.5", "90000", "18 USDT"),
            ("futures", "BTC", "2025-03-13T12:30:00", "-0.5", "91000", "18.2 USDT"),
        ),
        zone="Europe/Berlin",
    ),
    "by mapping: header in capitals, no id, tabs, packed": Sample(
        "",
        gzip.compress(
            _lines(
                "TIME\tSYMBOL\tSIDE\tQUANTITY\tPRICE\tFEE\tFEE COIN",
                "2025-03-01 10:00\tBTCUSDT\tbuy\t0.5\t90,000.00\t18\tUSDT",
                "2025-03-01 12:30\tBTCUSDT\tsell\t0.5\t91,000.00\t18.2\tUSDT",
            )
        ),
        BTC,
    ),
    "by mapping: signed quantities, hours of two halves": Sample(
        "",
        _lines(
            "Executed at,Ticker,Qty,Avg price,Commission",
            '"Mar 1, 2025 10:00:00 AM",BTC-USD,0.5,90000,18',
            '"Mar 1, 2025 12:30:00 PM",BTC-USD,-0.5,91000,18.2',
        ),
        tuple((*fill[:5], fill[5].replace("USDT", "USD")) for fill in BTC),
    ),
}
