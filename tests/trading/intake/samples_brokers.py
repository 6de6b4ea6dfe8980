"""Exports of brokers, platforms and journals, and whole trades of venues, with invented numbers."""

from tests.trading.intake.samples import Sample, _lines

BOUGHT, SOLD = "2025-03-14T10:00:00", "2025-03-14T12:30:00"
DAYS = ("2025-03-14T00:00:00", "2025-03-17T00:00:00")


def buy_and_sell(
    symbol: str, *fees: str, of: tuple[str, str, str] = ("10", "200", "210"), at: tuple[str, str] = (BOUGHT, SOLD)
) -> tuple[tuple[str, str, str, str, str, str], ...]:
    """Return a purchase and a sale of one account: fees, then quantity and both prices."""
    quantity, entry, left = of
    first, last = (*fees, "0 ", "0 ")[:2] if len(fees) != 1 else (fees[0], fees[0])
    return (("account", symbol, at[0], quantity, entry, first), ("account", symbol, at[1], f"-{quantity}", left, last))


def of_market(market: str, fills: tuple[tuple[str, str, str, str, str, str], ...]) -> tuple:
    return tuple((market, *fill[1:]) for fill in fills)


BTC = ("0.5", "90000", "91000")
ES = ("50", "6000", "6010")

BROKERS = {
    "bybit futures of before": Sample(
        "bybit_contracts",
        _lines(
            "Contracts,Order No.,Direction,Order Type,Filled Qty,Filled Price,Order Price,Filled Type,"
            "Trading Fee Rate,"
            "Fees Paid,Trasaction ID,Transaction Time(UTC+2),Final Balance",
            "BTCUSDT,o2,Close Long,Market,0.5,91000,0,Trade,0.0004,18.2,t2,2025-03-14 14:30:00,1",
            "BTCUSDT,o1,Open Long,Market,0.5,90000,0,Trade,0.0004,18,t1,2025-03-14 12:00:00,1",
        ),
        of_market("futures", buy_and_sell("BTC", "18 USDT", "18.2 USDT", of=BTC)),
    ),
    "okx positions": Sample(
        "okx_positions",
        _lines(
            "Position Create Time,Position Update Time,Instrument Name,Direction,Max Position Quantity,"
            "Total Close Quantity,Average Open Price,Average Close Price,Margin Currency,Pnl,Pnl Ratio,"
            "Fee,Funding Fee,"
            "Liquidation Clearance Fee,Type,Contract Face Value,Contract Multiplier",
            "2025-03-14 10:00:00,2025-03-14 12:30:00,BTC-USDT-SWAP,Long,50,50,90000,91000,USDT,500,0.1,-3.5,-0.5,0,"
            "Close position,0.01,1",
        ),
        of_market("futures", buy_and_sell("BTC", "2 USDT", of=BTC)),
    ),
    "kucoin orders": Sample(
        "kucoin_orders",
        _lines(
            "UID,Account Type,Order ID,Order Time(UTC+02:00),Symbol,Side,Order Type,Avg. Filled Price,Filled Amount,"
            "Filled Volume,Filled Volume (USDT),Filled Time(UTC+02:00),Fee,Fee Currency,Tax,Status",
            "1,main,o1,2025-03-14 11:59:00,BTC-USDT,BUY,LIMIT,90000,0.5,45000,45000,2025-03-14 12:00:00,18,USDT,,deal",
            "1,main,o2,2025-03-14 11:59:00,BTC-USDT,SELL,LIMIT,0,0,0,0,2025-03-14 12:10:00,0,USDT,,cancelled",
            "1,main,o3,2025-03-14 14:29:00,BTC-USDT,SELL,LIMIT,91000,0.5,45500,45500,"
            "2025-03-14 14:30:00,18.2,USDT,,deal",
        ),
        of_market("spot", buy_and_sell("BTC", "18 USDT", "18.2 USDT", of=BTC)),
        left_out=1,
    ),
    "kucoin trades": Sample(
        "kucoin_trades",
        _lines(
            "tradeCreatedAt,orderId,symbol,side,price,size,funds,fee,liquidity,feeCurrency,orderType",
            "2025-03-14 10:00:00,o1,BTC-USDT,buy,90000,0.5,45000,18,taker,USDT,market",
            "2025-03-14 12:30:00,o2,BTC-USDT,sell,91000,0.5,45500,18.2,taker,USDT,market",
        ),
        of_market("spot", buy_and_sell("BTC", "18 USDT", "18.2 USDT", of=BTC)),
    ),
    "mexc spot": Sample(
        "mexc_spot",
        _lines(
            "UID,Pairs,Time,Side,Filled Price,Executed Amount,Total,Fee,Role",
            "1,BTC_USDT,2025-03-14 12:30:00,Sell,91000,0.5,45500,18.2USDT,Taker",
            "1,BTC_USDT,2025-03-14 10:00:00,Buy,90000,0.5,45000,18USDT,Taker",
        ),
        of_market("spot", buy_and_sell("BTC", "18 USDT", "18.2 USDT", of=BTC)),
    ),
    "mexc futures": Sample(
        "mexc_futures",
        _lines(
            "Time(UTC+00:00),Futures Trading Pair,Direction,Filled Qty (Cont.),Filled Qty (Crypto),Order Price,"
            "Average Filled Price,Closing PNL,Trading Fee,Fee-payment Crypto,Status",
            "2025-03-14 12:30:00,BTCUSDT,sell long,5000,0.5,0,91000,500,18.2,USDT,FINISHED",
            "2025-03-14 11:00:00,BTCUSDT,sell long,0,0,95000,0,0,0,USDT,CANCELLED",
            "2025-03-14 10:00:00,BTCUSDT,buy long,5000,0.5,0,90000,0,18,USDT,FINISHED",
        ),
        of_market("futures", buy_and_sell("BTC", "18 USDT", "18.2 USDT", of=BTC)),
        left_out=1,
    ),
    "bitfinex": Sample(
        "bitfinex",
        _lines(
            "#,PAIR,AMOUNT,PRICE,FEE,FEE PERC,FEE CURRENCY,DATE,ORDER ID",
            "8,BTC/USD,-0.5,91000,-18.2,0.04%,USD,2025-03-14 12:30:00,11",
            "7,BTC/USD,0.5,90000,-18,0.04%,USD,2025-03-14 10:00:00,10",
        ),
        of_market("spot", buy_and_sell("BTC", "18 USD", "18.2 USD", of=BTC)),
    ),
    "bitstamp": Sample(
        "bitstamp",
        _lines(
            "ID,Account,Type,Subtype,Datetime,Amount,Amount currency,Value,Value currency,Rate,Rate currency,Fee,"
            "Fee currency,Order ID",
            "1,Main,Deposit,,2025-03-13T10:00:00Z,50000,USD,,,,,,,",
            "2,Main,Market,Buy,2025-03-14T10:00:00Z,0.5,BTC,45000,USD,90000,USD,18,USD,10",
            "3,Main,Market,Sell,2025-03-14T12:30:00Z,0.5,BTC,45500,USD,91000,USD,18.2,USD,11",
        ),
        of_market("spot", buy_and_sell("BTC", "18 USD", "18.2 USD", of=BTC)),
        left_out=1,
    ),
    "tradezella": Sample(
        "tradezella",
        _lines(
            "Open Date,Close Date,Symbol,Side,Volume,Entry Price,Exit Price,Net P&L,Commissions",
            "2025-03-14 10:00:00,2025-03-14 12:30:00,AAPL,LONG,10,200,210,96.00,4.00",
        ),
        buy_and_sell("AAPL", "2 USD"),
    ),
    "tradervue": Sample(
        "tradervue",
        _lines(
            "Open Datetime,Close Datetime,Symbol,Side,Volume,Exec Count,Entry Price,Exit Price,"
            "Gross P&L,Gross P&L (%),"
            "Shared,Notes,Tags",
            "2025-03-14 10:00:00,2025-03-14 12:30:00,AAPL,L,10,2,200,210,100.00,5,false,,",
        ),
        buy_and_sell("AAPL"),
    ),
    "tradervue executions": Sample(
        "tradervue_executions",
        _lines(
            "Date,Time,Symbol,Quantity,Price,Side,Commission,TransFee,ECNFee",
            "2025-03-14,10:00:00,AAPL,10,200,Buy,1.00,0.10,0.25",
            "2025-03-14,12:30:00,AAPL,10,210,Sell,1.00,0.10,",
        ),
        buy_and_sell("AAPL", "1.35 USD", "1.1 USD"),
    ),
    "tradingview": Sample(
        "tradingview",
        _lines(
            "Symbol,Side,Type,Quantity,Limit price,Stop price,Fill price,Status,Commission,Placing time,Closing time,"
            "Order ID",
            "NASDAQ:AAPL,Sell,Market,10,,,210,Filled,1,2025-03-14 12:29:00,2025-03-14 12:30:00,12",
            "NASDAQ:AAPL,Sell,Limit,10,250,,0,Cancelled,,2025-03-14 10:01:00,2025-03-14 11:00:00,11",
            "NASDAQ:AAPL,Buy,Market,10,,,200,Filled,1,2025-03-14 09:59:00,2025-03-14 10:00:00,10",
        ),
        buy_and_sell("AAPL", "1 USD"),
        left_out=1,
    ),
    "ibkr activity statement": Sample(
        "ibkr_activity",
        _lines(
            "Statement,Header,Field Name,Field Value",
            "Statement,Data,Title,Activity Statement",
            *[f"Change in NAV,Data,Line {place},0" for place in range(20)],
            "Trades,Header,DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,C. Price,"
            "Proceeds,Comm/Fee,Basis,Realized P/L,MTM P/L,Code",
            'Trades,Data,Order,Stocks,USD,AAPL,"2025-03-14, 10:00:00",10,200,201,-2000,-1,2001,0,10,O',
            'Trades,Data,Order,Stocks,USD,AAPL,"2025-03-14, 12:30:00",-10,210,210,2100,-1,-2001,98,0,C',
            "Trades,SubTotal,,Stocks,USD,AAPL,,0,,,100,-2,0,98,10,",
            "Deposits & Withdrawals,Header,Currency,Settle Date,Description,Amount",
        ),
        buy_and_sell("AAPL", "1 USD"),
        left_out=1,
    ),
    "ibkr flex, shares and a future": Sample(
        "ibkr_flex",
        _lines(
            "ClientAccountID,CurrencyPrimary,AssetClass,Symbol,DateTime,TradeDate,Buy/Sell,Quantity,TradePrice,"
            "IBCommission,IBCommissionCurrency,Multiplier,FifoPnlRealized,Put/Call",
            "U1,USD,STK,AAPL,20250314;100000,20250314,BUY,10,200,-1,USD,1,0,",
            "U1,USD,STK,AAPL,20250314;123000,20250314,SELL,-10,210,-1,USD,1,98,",
            "U1,USD,FUT,MESM5,20250314;130000,20250314,BUY,1,6000,-1.24,USD,5,0,",
        ),
        (*buy_and_sell("AAPL", "1 USD"), ("account", "MESM5", "2025-03-14T13:00:00", "5", "6000", "1.24 USD")),
    ),
    "ninjatrader trades, with points of their own": Sample(
        "ninjatrader_trades",
        _lines(
            "Trade number,Instrument,Account,Strategy,Market pos.,Qty,Entry price,Exit price,Entry time,Exit time,"
            "Entry name,Exit name,Profit,Cum. net profit,Commission,Clearing Fee,Exchange Fee,IP Fee,"
            "NFA Fee,MAE,MFE,",
            "1,ES 03-25,SIM,A,Long,1,6000,6010,3/14/2025 10:00:00 AM,3/14/2025 12:30:00 PM,Entry,Exit,"
            "$500.00,$500.00,"
            "$2.00,$0.50,$1.00,$0.00,$0.50,$0.00,$0.00,",
        ),
        buy_and_sell("ES-03-25", "2 USD", of=ES),
    ),
    "tradovate performance": Sample(
        "tradovate_performance",
        _lines(
            "symbol,_tickSize,buyFillId,sellFillId,qty,buyPrice,sellPrice,pnl,boughtTimestamp,soldTimestamp,duration",
            "ESH5,0.25,1,2,1,6000.00,6010.00,$500.00,03/14/2025 10:00:00,03/14/2025 12:30:00,2h",
            "NQH5,0.25,4,3,1,21010.00,21000.00,$(200.00),03/14/2025 14:00:00,03/14/2025 13:00:00,1h",
        ),
        (
            *buy_and_sell("ESH5", of=ES),
            ("account", "NQH5", "2025-03-14T13:00:00", "-20", "21000", "0 "),
            ("account", "NQH5", "2025-03-14T14:00:00", "20", "21010", "0 "),
        ),
    ),
    "tradovate positions": Sample(
        "tradovate_positions",
        _lines(
            "Position ID,Timestamp,Contract,Product,Pair ID,Buy Fill ID,Sell Fill ID,Paired Qty,"
            "Buy Price,Sell Price,P/L,"
            "Currency,Bought Timestamp,Sold Timestamp",
            "1,03/14/2025 17:00:00,ESH5,ES,1,2,3,1,6000.00,6010.00,500.00,USD,03/14/2025 10:00:00,03/14/2025 12:30:00",
        ),
        buy_and_sell("ESH5", of=ES),
    ),
    "topstepx trades": Sample(
        "topstepx_trades",
        _lines(
            "Id,ContractName,EnteredAt,ExitedAt,EntryPrice,ExitPrice,Fees,PnL,Size,Type,TradeDay,Commissions",
            "1,ESH5,03/14/2025 12:00:00 +02:00,03/14/2025 14:30:00 +02:00,6000,6010,3.00,500,1,Long,2025-03-14,1.00",
        ),
        buy_and_sell("ESH5", "2 USD", of=ES),
    ),
    "metatrader positions": Sample(
        "metatrader_positions",
        _lines(
            "Trade History Report,,,,,,,,,,,,",
            "Positions,,,,,,,,,,,,",
            "Time,Position,Symbol,Type,Volume,Price,S / L,T / P,Time,Price,Commission,Swap,Profit",
            "2025.03.14 10:00:00,1,EURUSD,buy,1,1.0900,,,2025.03.14 12:30:00,1.0950,-3.50,-0.50,500.00",
            "Orders,,,,,,,,,,,,",
            "Open Time,Order,Symbol,Type,Volume,Price,S / L,T / P,Time,State,,Comment,",
            "2025.03.14 10:00:00,1,EURUSD,buy,1 / 1,market,,,2025.03.14 10:00:00,filled,,,",
        ),
        buy_and_sell("EURUSD", "2 USD", of=("100000", "1.09", "1.095")),
    ),
    "ctrader": Sample(
        "ctrader",
        _lines(
            "ID,Symbol,Opening Direction,Opening Time (UTC+2),Closing Time (UTC+2),Entry price,Closing Price,"
            "Closing Quantity,Commission,Swap,Net USD,Balance USD",
            "1,EURUSD,Buy,14/03/2025 12:00:00.000,14/03/2025 14:30:00.000,1.0900,1.0950,1.00 Lots,-3.5,-0.5,496.00,1",
        ),
        buy_and_sell("EURUSD", "2 USD", of=("100000", "1.09", "1.095")),
    ),
    "xtb": Sample(
        "xtb",
        _lines(
            "Position,Symbol,Type,Volume,Open time,Open price,Close time,Close price,SL,TP,Commission,Swap,Rollover,"
            "Gross P/L,Comment",
            "1,AAPL.US,BUY,10,14/03/2025 10:00:00,200,14/03/2025 12:30:00,210,0,0,-3,-0.5,-0.5,100.0,",
        ),
        buy_and_sell("AAPL.US", "2 USD"),
    ),
    "webull": Sample(
        "webull",
        _lines(
            "Name,Symbol,Side,Status,Filled,Total Qty,Price,Avg Price,Time-in-Force,Placed Time,Filled Time",
            "Apple,AAPL,Sell,Filled,10,10,@205.00,210,DAY,03/14/2025 08:00:00 EDT,03/14/2025 08:30:00 EDT",
            "Apple,AAPL,Sell,Cancelled,0,10,@250.00,,DAY,03/14/2025 07:00:00 EDT,",
            "Apple,AAPL,Buy,Filled,10,10,@201.00,200,DAY,03/14/2025 05:59:00 EDT,03/14/2025 06:00:00 EDT",
        ),
        buy_and_sell("AAPL"),
        left_out=1,
    ),
    "thinkorswim": Sample(
        "thinkorswim",
        _lines(
            "Account Statement for 1 since 3/1/25 through 3/31/25",
            *["DATE,TIME,TYPE,REF #,DESCRIPTION,Misc Fees,Commissions & Fees,AMOUNT,BALANCE"] * 20,
            "Account Trade History",
            ",Exec Time,Spread,Side,Qty,Pos Effect,Symbol,Exp,Strike,Type,Price,Net Price,Order Type",
            ",3/14/25 12:30:00,STOCK,SELL,-10,TO CLOSE,AAPL,,,STOCK,210.00,210.00,LMT",
            ",3/14/25 10:00:00,STOCK,BUY,+10,TO OPEN,AAPL,,,STOCK,200.00,200.00,LMT",
            "Equities",
            "Symbol,Description,Qty,Trade Price",
        ),
        buy_and_sell("AAPL"),
    ),
    "robinhood": Sample(
        "robinhood",
        _lines(
            "Activity Date,Process Date,Settle Date,Instrument,Description,Trans Code,Quantity,Price,Amount",
            "3/17/2025,3/17/2025,3/18/2025,AAPL,Apple,Sell,10,$210.00,$2100.00",
            "3/14/2025,3/14/2025,3/17/2025,AAPL,Apple,Buy,10,$200.00,($2000.00)",
            "3/3/2025,3/3/2025,3/4/2025,,ACH Deposit,ACH,,,$5000.00",
        ),
        buy_and_sell("AAPL", at=DAYS),
        left_out=1,
    ),
    "schwab, in a day": Sample(
        "schwab",
        _lines(
            "Date,Action,Symbol,Description,Quantity,Price,Fees & Comm,Amount",
            "03/14/2025,Sell,AAPL,APPLE INC,10,$210.00,$0.05,$2099.95",
            "03/14/2025,Buy,AAPL,APPLE INC,10,$200.00,,-$2000.00",
            "03/03/2025,Qualified Dividend,KO,COCA COLA,,,,$12.00",
        ),
        buy_and_sell("AAPL", "0 ", "0.05 USD", at=(DAYS[0], DAYS[0])),
        left_out=1,
    ),
    "schwab gains": Sample(
        "schwab_gains",
        _lines(
            "Symbol,Name,Closed Date,Opened Date,Quantity,Proceeds Per Share,Cost Per Share,"
            "Gain/Loss ($),Gain/Loss (%)",
            "AAPL,APPLE,03/17/2025,03/14/2025,10,$210.00,$200.00,$100.00,5.00%",
        ),
        buy_and_sell("AAPL", at=DAYS),
    ),
    "tastytrade": Sample(
        "tastytrade",
        _lines(
            "Date,Type,Sub Type,Action,Symbol,Instrument Type,Description,Value,Quantity,Average Price,"
            "Commissions,Fees,"
            "Multiplier,Call or Put,Order #,Currency",
            "2025-03-14T12:30:00+0000,Trade,Sell to Close,SELL_TO_CLOSE,AAPL,Equity,Sold,2100,10,210,"
            "-1.00,-0.10,1,,2,USD",
            "2025-03-14T10:00:00+0000,Trade,Buy to Open,BUY_TO_OPEN,AAPL,Equity,Bought,-2000,10,-200,"
            "-1.00,-0.08,1,,1,USD",
            "2025-03-01T00:00:00+0000,Money Movement,Deposit,,,,Deposit,5000,,,,,,,,USD",
        ),
        buy_and_sell("AAPL", "1.08 USD", "1.1 USD"),
        left_out=1,
    ),
    "lightspeed": Sample(
        "lightspeed",
        _lines(
            "Trade Number,Trade Date,Execution Time,Symbol,Side,Qty,Price,Commission Amount,FeeSEC,NET Amount",
            "1,03/14/2025,10:00,AAPL,B,10,200.00,1.00,0.00,1999.00",
            "2,03/14/2025,12:30,AAPL,S,10,210.00,1.00,0.01,2098.99",
        ),
        buy_and_sell("AAPL", "1 USD", "1.01 USD"),
    ),
    "tradestation": Sample(
        "tradestation",
        _lines(
            "Account,T/D,S/D,Currency,Type,Side,Symbol,Qty,Price,Exec Time,Comm,SEC,TAF,NSCC,Gross Proceeds",
            "1,3/14/25,3/17/25,USD,2,B,AAPL,10,200,10:00:00,1,0,0,0.03,-2000",
            "1,3/14/25,3/17/25,USD,2,S,AAPL,10,210,12:30:00,1,0.01,0.01,0.03,2100",
        ),
        buy_and_sell("AAPL", "1.03 USD", "1.05 USD"),
    ),
    "trading 212": Sample(
        "trading212",
        _lines(
            "Action,Time,ISIN,Ticker,Name,No. of shares,Price / share,Currency (Price / share),Result,"
            "Currency (Result),"
            "Total,Currency (Total),ID,Currency conversion fee,Currency (Currency conversion fee)",
            "Deposit,2025-03-01 09:00:00,,,,,,,,,1000.00,EUR,D1,,",
            "Market buy,2025-03-14 10:00:00,US0378331005,AAPL,Apple,10,200,USD,,EUR,1834.86,EUR,E1,,",
            "Limit sell,2025-03-14 12:30:00,US0378331005,AAPL,Apple,10,210,USD,90,EUR,1926.61,EUR,E2,,",
        ),
        buy_and_sell("AAPL"),
        left_out=1,
    ),
}
