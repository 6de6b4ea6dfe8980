"""Exports that lack something: the size of a contract, or the time of an entry; with the answer."""

from tests.trading.intake.samples import Sample, _lines
from tests.trading.intake.samples_brokers import BOUGHT, BTC, ES, buy_and_sell, of_market

# Files that need an answer first: the size of a contract, or one time for entry and exit.
ANSWERED = {
    "bybit closed P&L of before": (
        Sample(
            "bybit_closed",
            _lines(
                "Contracts,Closing Direction,Qty,Entry Price,Exit Price,Closed P&L,Exit Type,Trade Time(UTC+0)",
                "BTCUSDT,Sell,0.5,90000,91000,463.80,Trade,2025-03-14 10:00:00",
            ),
            of_market("futures", buy_and_sell("BTC", "18.1 ", of=BTC, at=(BOUGHT, BOUGHT))),
        ),
        {"columns": {"exit_time": ("tradetime",)}},
    ),
    "bybit closed P&L": (
        Sample(
            "bybit_positions",
            _lines(
                "Market,Order Quantity,Entry Price,Exit Price,Opening Fee,Closing Fee,Funding Fee,"
                "Trade Type,Realized P&L,"
                "Trade time",
                "BTCUSDT,0.5,90000,91000,18,18,0.2,Trade,463.80,10:00 2025-03-14",
            ),
            of_market("futures", buy_and_sell("BTC", "18.1 USDT", of=BTC, at=(BOUGHT, BOUGHT))),
        ),
        {"columns": {"exit_time": ("tradetime",)}},
    ),
    "ninjatrader executions": (
        Sample(
            "ninjatrader_executions",
            _lines(
                "Instrument;Action;Quantity;Price;Time;ID;E/X;Position;Order ID;Name;Commission;Rate;",
                "ES JUN25;Buy;1;6000,00;14/03/2025 10:00:00;e1;Entry;1 L;o1;Entry;2,00 $;1;",
                "ES JUN25;Sell;1;6010,00;14/03/2025 12:30:00;e2;Exit;0;o2;Exit;2,00 $;1;",
            ),
            buy_and_sell("ES-JUN25", "2 USD", of=ES),
        ),
        {"contract_sizes": "ES=50"},
    ),
    "tradovate orders": (
        Sample(
            "tradovate_orders",
            _lines(
                "orderId,Account,B/S,Contract,Product,avgPrice,filledQty,Fill Time,Status",
                "1,A,Buy,ESM5,ES,6000,1,03/14/2025 10:00:00,Filled",
                "2,A,Sell,ESM5,ES,6010,0,03/14/2025 11:00:00,Canceled",
                "3,A,Sell,ESM5,ES,6010,1,03/14/2025 12:30:00,Filled",
            ),
            buy_and_sell("ESM5", of=ES),
            left_out=1,
        ),
        {"contract_sizes": "ES=50"},
    ),
    "topstepx orders": (
        Sample(
            "topstepx_orders",
            _lines(
                "Id,AccountName,ContractName,Status,Type,Size,Side,CreatedAt,FilledAt,ExecutePrice,PlatformOrderId",
                "1,T,ESM5,Filled,Market,1,Bid,03/14/2025 10:00:00,03/14/2025 10:00:00 +00:00,6000,P1",
                "2,T,ESM5,Rejected,Stop,1,Ask,03/14/2025 10:00:00,,,P2",
                "3,T,ESM5,Filled,Market,1,Ask,03/14/2025 12:30:00,03/14/2025 12:30:00 +00:00,6010,P3",
            ),
            buy_and_sell("ESM5", of=ES),
            left_out=1,
        ),
        {"contract_sizes": "ES=50"},
    ),
    "metatrader deals": (
        Sample(
            "metatrader_deals",
            _lines(
                "Time,Deal,Symbol,Type,Direction,Volume,Price,Order,Commission,Fee,Swap,Profit,Balance,Comment",
                "2025.03.13 09:00:00,0,,balance,,,,,0,0,0,10000,10000,",
                "2025.03.14 10:00:00,1,EURUSD,buy,in,1,1.0900,11,-2,0,0,0,9998,",
                "2025.03.14 12:30:00,2,EURUSD,sell,out,1,1.0950,12,-1,0,-1,500,10496,",
            ),
            buy_and_sell("EURUSD", "2 USD", of=("100000", "1.09", "1.095")),
            left_out=1,
        ),
        {"contract_sizes": "EURUSD=100000"},
    ),
}
