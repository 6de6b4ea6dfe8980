"""The exports that Keel recognises, one row each, and the mapping of any other table. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from pydantic import TypeAdapter

from trading.intake.tables import FileTable, normal_name, parse_offset
from trading.intake.values import guess_date_order, guess_decimal, is_empty, parse_number

SPOT: Final = "spot"
FUTURES: Final = "futures"
FILL: Final = "fill"
FUNDING: Final = "funding"
LIQUIDATION: Final = "liquidation"
# What a mapping may name, with the label of the page.
FIELDS: Final = {
    "time": "Date and time",
    "clock": "Time of day, if it is a column of its own",
    "symbol": "Symbol",
    "side": "Side",
    "quantity": "Quantity",
    "price": "Price",
    "total": "Total, if there is no price",
    "quote": "Currency of the price",
    "fee": "Fee",
    "fee_coin": "Coin of the fee",
    "fill_id": "Id of the fill",
    "order": "Id of the order",
    "kind": "Kind of row",
    "market": "Spot or futures",
    "close": "Opens or closes",
    "mode": "Position mode",
    "unit": "Unit of the quantity",
    "contract": "Size of a contract",
    "amount": "Funding, received above zero",
    "start": "Position before",
    "liquidation": "Liquidation",
    "liquidated": "Liquidated account",
    "pnl": "Realised profit",
}
MAIN_FIELDS: Final = tuple(FIELDS)[:11]  # those of any table
REQUIRED: Final = ("time", "symbol", "quantity", "price")
Columns = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Format:
    venue: str
    label: str
    marks: frozenset[str]  # the columns by which it is recognised
    columns: Columns  # by field; the first that has a value counts
    market: str = ""  # empty: the row says it
    kinds: Mapping[str, str] = field(default_factory=dict)  # what each kind of row is; others are left out
    zone: str = "UTC"  # empty: the clock of whoever exported it
    fee_sign: int = 1  # -1: what is paid is written below zero; 0: as most of the file's fees
    is_fee_in_received: bool = False  # without a coin: in what the fill brought, else in the quote
    is_pnl_net: bool = False  # of the fee of its fill; else the venue states it before fees
    is_usd_inverse: bool = False
    in_contracts: bool = False
    has_legs: bool = False  # each spot fill is two rows, one a coin
    names_coins: bool = False  # the symbol is the coin, or a pair with a slash


def _columns(spec: str) -> Columns:
    pairs = (part.split(":") for part in spec.split())
    return {name: tuple(columns.split(",")) for name, columns in pairs}


def _format(venue: str, label: str, marks: str, columns: str, **options: Any) -> Format:
    return Format(venue, label, frozenset(marks.split()), _columns(columns), **options)


_TRADES: Final = {"trade": FILL, "adltrade": FILL, "busttrade": LIQUIDATION, "liquidation": LIQUIDATION, "": FILL}
_TRADES_AND_FUNDING: Final = {**_TRADES, "funding": FUNDING}
_OKX: Final = dict.fromkeys(
    ("buy", "sell", "open long", "close long", "open short", "close short"), FILL
) | dict.fromkeys(("funding fee", "funding fee expense", "funding fee income"), FUNDING)
_COINBASE: Final = dict.fromkeys(
    ("buy", "sell", "advanced trade buy", "advanced trade sell", "advance trade buy", "advance trade sell"), FILL
)
# A name of a column is without spaces and case; see `normal_name`.
FORMATS: Final[Mapping[str, Format]] = {
    "binance_spot": _format(
        "Binance", "spot trade history", "pair side executed price",
        "time:date,time symbol:pair side:side quantity:executed price:price fee:fee", market=SPOT, fee_sign=0,
    ),
    "binance_spot_coins": _format(
        "Binance", "spot trade history", "date symbol side price quantity feecoin quoteasset",
        "time:date symbol:symbol side:side quantity:quantity price:price quote:quoteasset fee:fee fee_coin:feecoin",
        market=SPOT,
    ),
    "binance_spot_old": _format(
        "Binance", "spot trade history", "date market type price amount total fee feecoin",
        "time:date symbol:market side:type quantity:amount price:price fee:fee fee_coin:feecoin", market=SPOT,
    ),
    "binance_futures": _format(
        "Binance", "futures trade history", "symbol side price quantity realizedprofit fee",
        "time:date,time symbol:symbol side:side quantity:quantity price:price quote:quoteasset fee:fee"
        " fee_coin:feecoin,feeasset fill_id:tradeid pnl:realizedprofit", market=FUTURES, fee_sign=0,
    ),
    "binance_spot_api": _format(
        "Binance", "spot trades of the API", "id symbol price qty commission isbuyer time",
        "time:time symbol:symbol side:isbuyer quantity:qty price:price fee:commission fee_coin:commissionasset"
        " fill_id:id", market=SPOT,
    ),
    "binance_futures_api": _format(
        "Binance", "futures trades of the API", "id symbol side price qty commission realizedpnl time",
        "time:time symbol:symbol side:side quantity:qty price:price fee:commission fee_coin:commissionasset fill_id:id"
        " pnl:realizedpnl", market=FUTURES,
    ),
    "binance_funding_api": _format(
        "Binance", "futures income of the API", "symbol incometype income asset time tranid",
        "time:time symbol:symbol kind:incometype amount:income fee_coin:asset", market=FUTURES,
        kinds={"funding fee": FUNDING},
    ),
    "bybit_spot": _format(
        "Bybit", "spot trade history", "spotpairs direction filledprice filledquantity",
        "time:timestamp symbol:spotpairs side:direction quantity:filledquantity price:filledprice fee:execfeev2,fees"
        " fee_coin:feecoin fill_id:transactionid", market=SPOT, is_fee_in_received=True,
    ),
    "bybit_futures": _format(
        "Bybit", "derivatives trade history", "market filledtype filledquantity filledprice direction",
        "time:transactiontime symbol:market side:direction quantity:filledquantity price:filledprice"
        " fee:execfeev2,tradingfee fee_coin:feecoin fill_id:trasactionid,transactionid kind:filledtype",
        market=FUTURES, kinds=_TRADES_AND_FUNDING, is_usd_inverse=True,
    ),
    "bybit_api": _format(
        "Bybit", "executions of the API", "execid symbol side execprice execqty execfee exectime",
        "time:exectime symbol:symbol side:side quantity:execqty price:execprice fee:execfee fee_coin:feecurrency"
        " fill_id:execid kind:exectype market:category pnl:execpnl", kinds=_TRADES_AND_FUNDING, is_fee_in_received=True,
        is_usd_inverse=True,
    ),
    "okx": _format(
        "OKX", "trading history", "orderid time tradetype symbol action amount tradingunit filledprice fee",
        "time:time symbol:symbol side:action quantity:amount price:filledprice fee:fee fee_coin:feeunit fill_id:id"
        " order:orderid kind:action market:tradetype unit:tradingunit amount:balancechange pnl:pnl",
        kinds=_OKX, zone="", fee_sign=-1, in_contracts=True, has_legs=True,
    ),
    "okx_api": _format(
        "OKX", "fills of the API", "insttype instid side fillpx fillsz fee feeccy",
        "time:filltime,ts symbol:instid side:side quantity:fillsz price:fillpx fee:fee fee_coin:feeccy"
        " fill_id:billid,tradeid market:insttype contract:contractsize pnl:fillpnl", fee_sign=-1, in_contracts=True,
    ),
    "kraken": _format(
        "Kraken", "trades", "ordertxid pair time type price cost fee vol",
        "time:time symbol:pair side:type quantity:vol price:price fee:fee fill_id:txid,id,tradeid"
        " liquidation:ordertype", market=SPOT,
    ),
    "coinbase_fills": _format(
        "Coinbase", "fills", "tradeid product side createdat size price fee",
        "time:createdat symbol:product side:side quantity:size price:price fee:fee fee_coin:price/fee/totalunit"
        " fill_id:tradeid", market=SPOT,
    ),
    "coinbase": _format(
        "Coinbase", "transactions", "timestamp transactiontype asset quantitytransacted feesand/orspread",
        "time:timestamp symbol:asset side:transactiontype quantity:quantitytransacted"
        " price:priceattransaction,spotpriceattransaction quote:pricecurrency,spotpricecurrency fee:feesand/orspread"
        " fill_id:id kind:transactiontype", market=SPOT, kinds=_COINBASE, names_coins=True,
    ),
    "coinbase_api": _format(
        "Coinbase", "fills of the API", "entryid tradetime productid side price size commission",
        "time:tradetime symbol:productid side:side quantity:size price:price fee:commission fill_id:entryid"
        " kind:tradetype unit:sizeinquote", market=SPOT, kinds={"fill": FILL, "": FILL},
    ),
    "bitget_spot": _format(
        "Bitget", "spot trades", "tradingpair direction price amount total fee",
        "time:date,time symbol:tradingpair side:direction quantity:amount price:price fee:fee fee_coin:feecoin"
        " fill_id:tradeid", market=SPOT, fee_sign=0, is_fee_in_received=True, zone="",
    ),
    "bitget_futures": _format(
        "Bitget", "futures trades", "futures direction fee realizedp/l",
        "time:date,time,transactiontime symbol:futures side:direction quantity:amount,filled,executed,quantity"
        " price:price,averageprice,avgprice fee:fee fee_coin:feecoin fill_id:tradeid pnl:realizedp/l",
        market=FUTURES, fee_sign=0, zone="",
    ),
    "bitget_spot_api": _format(
        "Bitget", "spot fills of the API", "tradeid symbol side priceavg size feedetail.totalfee ctime",
        "time:ctime symbol:symbol side:side quantity:size price:priceavg fee:feedetail.totalfee"
        " fee_coin:feedetail.feecoin fill_id:tradeid", market=SPOT, fee_sign=-1,
    ),
    "bitget_futures_api": _format(
        "Bitget", "futures fills of the API", "tradeid symbol side price basevolume tradeside ctime",
        "time:ctime symbol:symbol side:side quantity:basevolume price:price fee:feedetail.totalfee"
        " fee_coin:feedetail.feecoin fill_id:tradeid close:tradeside mode:posmode pnl:profit",
        market=FUTURES, fee_sign=-1,
    ),
    "hyperliquid": _format(
        "Hyperliquid", "trade history", "time coin dir px sz ntl fee",
        "time:time symbol:coin side:dir quantity:sz price:px fee:fee fee_coin:feetoken pnl:closedpnl",
        zone="", names_coins=True, is_pnl_net=True,
    ),
    "hyperliquid_api": _format(
        "Hyperliquid", "fills of the API", "coin px sz side time hash oid",
        "time:time symbol:coin side:side quantity:sz price:px fee:fee fee_coin:feetoken fill_id:tid"
        " order:oid start:startposition liquidation:dir liquidated:liquidation.liquidateduser pnl:closedpnl",
        names_coins=True,
    ),
    "hyperliquid_funding": _format(
        "Hyperliquid", "funding history", "time coin sz side payment rate", "time:time symbol:coin amount:payment",
        market=FUTURES, zone="", kinds={"": FUNDING}, names_coins=True,
    ),
    "hyperliquid_funding_api": _format(
        "Hyperliquid", "funding of the API", "time hash delta.coin delta.usdc delta.type",
        "time:time symbol:delta.coin amount:delta.usdc kind:delta.type", market=FUTURES, kinds={"funding": FUNDING},
        names_coins=True,
    ),
    "keel": _format(
        "Keel", "CSV of fills", "fillid time symbol side quantity price",
        "time:time symbol:symbol side:side quantity:quantity price:price fee:feeusd,fee fee_coin:feecoin"
        " fill_id:fillid liquidation:liquidation", market=FUTURES, names_coins=True,
    ),
}  # fmt: skip
# Names that other tables use for a field, the likeliest first.
_SYNONYMS: Final = _columns(
    "time:time,date,datetime,date/time,timestamp,tradetime,executedat,createdat,date&time,datum,fecha,data,zeit,ts,opentime,filltime"
    " clock:timeofday,clock,uhrzeit"
    " symbol:symbol,pair,market,coin,asset,instrument,ticker,product,contract,currencypair,tradingpair,base"
    ",paire,par,contracts"
    " side:side,type,direction,action,buy/sell,b/s,orderside,tradetype,seite,richtung,sens,lado,tipo"
    " quantity:quantity,qty,amount,size,volume,vol,filled,executed,executedqty,filledqty,units,shares,contracts"
    ",menge,quantité,cantidad,quantidade,quantità"
    " price:price,avgprice,averageprice,fillprice,filledprice,executionprice,rate,px,avg.price"
    ",preis,kurs,prix,precio,preço,prezzo"
    " total:total,value,quoteamount,cost,notional,quoteqty,turnover,amountusd"
    " quote:quote,quoteasset,quotecurrency,pricecurrency,currency,quotecoin"
    " fee_coin:feecoin,feecurrency,feeasset,feeccy,commissionasset,commissioncurrency,feeunit"
    " fee:fee,fees,commission,tradingfee,feeusd,feeamount,feepaid,commissions"
    ",gebühr,frais,comisión,commissioni"
    " fill_id:fillid,tradeid,executionid,execid,dealid,transactionid,id"
)


@dataclass(frozen=True, slots=True)
class FillMapping:
    """How to read a table's rows, as proposed and as corrected."""

    format: str = ""  # a key of FORMATS; empty: by hand
    columns: Columns = field(default_factory=dict)
    zone: str = "UTC"
    dates: str = "ymd"  # empty: to be chosen
    decimal: str = "."
    fee_sign: int = 1
    market: str = ""
    contract_sizes: str = ""  # such as BTC-USDT-SWAP=0.01, ETH-USDT-SWAP=0.1
    account: str = ""  # the user's address, to tell liquidations apart
    ledger: str = ""  # the name of the account, if there are several at the venue

    @property
    def recognised(self) -> str:
        chosen = FORMATS.get(self.format)
        return f"{chosen.venue}: {chosen.label}" if chosen else ""

    def correct(self, columns: Iterable[tuple[str, str]], **changes: str | None) -> "FillMapping":
        """Return the mapping with fields read from other columns; an empty change changes nothing."""
        named = {name: (normal_name(column),) for name, column in columns}
        given: dict[str, Any] = {name: value for name, value in changes.items() if value}
        return replace(self, **given, columns={**self.columns, **named})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "FillMapping":
        """Return a stored mapping; what an older version stored besides is left out."""
        return TypeAdapter(cls).validate_python(values)


def find_format(columns: Iterable[str]) -> str:
    """Return the key of the most specific format that has these columns, or nothing."""
    present = set(columns)
    found = [key for key, one in FORMATS.items() if one.marks <= present]
    return max(found, key=lambda key: len(FORMATS[key].marks), default="")


def propose_mapping(table: FileTable, *, zone: str) -> FillMapping:
    """Return the mapping of a recognised export, or a guess by the columns' names; `zone` is the user's."""
    key = find_format(table.columns)
    if key:
        columns = {
            name: tuple(one for one in named if one in table.columns) for name, named in FORMATS[key].columns.items()
        }
    else:
        # Of two columns with one name the user chooses.
        named = Counter(normal_name(title) for title in table.titles.values())
        columns = _guess_columns([name for name in table.columns if named[normal_name(table.titles[name])] == 1])
    columns = {name: named for name, named in columns.items() if named}
    absent = [name for name in REQUIRED if name not in columns]
    if key and absent:  # the venue renamed columns of its export
        taken = {one for named in columns.values() for one in named}
        guessed = _guess_columns([name for name in table.columns if name not in taken])
        columns |= {name: guessed[name] for name in absent if name in guessed}
    chosen = FORMATS.get(key)
    # Where no column was recognised, every cell may tell.
    times = _cells(table, columns.get("time") or table.columns)
    amounts = [column for name in ("quantity", "price", "fee") for column in columns.get(name, ())]
    numbers = _cells(table, amounts if len(amounts) > 1 else table.columns)
    # Where most fees stand below zero, the file writes what it takes away.
    fees = _cells(table, columns.get("fee", ()))
    is_negative = 2 * sum(text.startswith(("-", "(", "\u2212")) for text in fees) > len(fees)
    # The title of the column of days or of that of clocks may name the zone.
    titles = [table.titles.get(name, "") for field in ("time", "clock") for name in columns.get(field, ())[:1]]
    return FillMapping(
        format=key,
        columns=columns,
        zone=next(filter(None, map(parse_offset, titles)), "") or table.zone or (chosen.zone if chosen else "") or zone,
        dates=guess_date_order(times),
        decimal=guess_decimal(numbers),
        fee_sign=(chosen.fee_sign if chosen else 0) or (-1 if is_negative else 1),
        market=chosen.market if chosen else FUTURES,
        contract_sizes="BTC-USDT-SWAP=0.01, ETH-USDT-SWAP=0.1" if chosen and chosen.in_contracts else "",
    )


def _guess_columns(present: Sequence[str]) -> dict[str, tuple[str, ...]]:
    taken: set[str] = set()
    columns: dict[str, tuple[str, ...]] = {}
    for name, synonyms in _SYNONYMS.items():
        choices = [one for one in synonyms if one in present and one not in taken]
        choices += [one for one in present if one not in taken and any(len(w) > 3 and w in one for w in synonyms[:6])]
        if choices:
            columns[name] = (choices[0],)
            taken.add(choices[0])
    if columns.get("time") == ("date",) and "time" in present:
        columns["clock"] = ("time",)
    if columns.get("time") == ("time",) and "date" in present:
        columns |= {"time": ("date",), "clock": ("time",)}
    return columns


def _cells(table: FileTable, names: Iterable[str]) -> list[str]:
    cells = (row.cells.get(name, "") for row in table.rows for name in names)
    return [cell for cell in cells if not is_empty(cell)]


def parse_contract_sizes(text: str) -> dict[str, Decimal]:
    """Return sizes by symbol from `BTC-USDT-SWAP=0.01, ...`. Raises ValueError."""
    sizes = {}
    for part in filter(None, (one.strip() for one in text.replace(";", ",").split(","))):
        name, found, size = part.partition("=")
        if not found:
            raise ValueError(f"write contract sizes as SYMBOL=COINS, not {part[:30]!r}")
        sizes[name.strip().upper()] = parse_number(size)
        if sizes[name.strip().upper()] <= 0:
            raise ValueError(f"the contract size of {name.strip()[:30]} must be above zero")
    return sizes
