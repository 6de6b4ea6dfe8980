"""The venues whose accounts Keel reads: what a key may do, and where its trades are.

Answers go to the reader as the venue sends them, so a sync reads the same formats as a file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from trading.intake.tables import find_records
from trading.market.imports.venue import VenueRefused, ask_account, open_venue

_PAGES: Final = 400  # of one question: more is a cursor that goes round
_MONTH: Final = timedelta(days=30)
_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Credentials:
    key: str = field(repr=False)
    secret: str = field(repr=False)
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Feed:
    """One question to a venue, asked for a range page by page."""

    method: str  # of ccxt's client: the venue's own endpoint
    begin: str
    end: str
    params: Mapping[str, Any] = field(default_factory=dict)
    window: timedelta = _WEEK  # the longest range of one question
    limit: int = 100
    limit_name: str = "limit"
    cursor: str = ""  # the parameter of the next page
    next: str = ""  # where its value is: in the answer, or `last.` in the last row, or `count` of the rows so far
    is_per_market: bool = False
    unit: str = "ms"


@dataclass(frozen=True, slots=True)
class VenueSource:
    """A venue that Keel can read by a key, or by an address."""

    label: str
    client: str
    feeds: Sequence[Feed]
    history: timedelta  # what the venue keeps
    list_rights: Callable[[Any], list[str]] = field(default=lambda _: [])  # to do more than read
    rights: str = ""  # the endpoint that knows them
    needs_password: bool = False
    needs_markets: bool = False
    by_address: bool = False


def _list_binance_rights(answer: Any) -> list[str]:
    reading = {"enableReading", "enableFixReadOnly"}
    if str(answer["enableReading"]).lower() != "true":
        raise KeyError("enableReading")
    switches = [name for name in answer if name.startswith(("enable", "permits")) and name not in reading]
    return [name for name in switches if str(answer[name]).lower() != "false"]


def _list_bybit_rights(answer: Any) -> list[str]:
    result = answer["result"]
    if str(result["readOnly"]) == "1":
        return []
    return sorted(name for name, rights in result["permissions"].items() if rights) or ["Read and Write"]


def _list_bitget_rights(answer: Any) -> list[str]:
    # Codes of four letters end with r for reading and w for writing.
    rights = answer["data"]["authorities"]
    return [one for one in rights if one.lower() not in ("readonly", "read") and not (len(one) == 4 and one[-1] == "r")]


_BITGET: Final[dict[str, Any]] = {
    "begin": "startTime", "end": "endTime", "cursor": "idLessThan", "next": "last.tradeId",
}  # fmt: skip
_OKX: Final[dict[str, Any]] = {
    "begin": "begin", "end": "end", "cursor": "after", "next": "last.billId", "window": 3 * _MONTH,
}  # fmt: skip
_BYBIT: Final[dict[str, Any]] = {"begin": "startTime", "end": "endTime", "cursor": "cursor", "next": "nextPageCursor"}
_BY_TIME: Final[dict[str, Any]] = {"begin": "startTime", "end": "endTime", "limit": 1000, "next": "time"}
_BY_ADDRESS: Final[dict[str, Any]] = {**_BY_TIME, "window": 120 * _MONTH, "limit_name": ""}
SOURCES: Final[Mapping[str, VenueSource]] = {
    "hyperliquid": VenueSource(
        "Hyperliquid", "hyperliquid", (
            Feed("publicPostInfo", params={"type": "userFillsByTime"}, **{**_BY_ADDRESS, "limit": 2000}),
            Feed("publicPostInfo", params={"type": "userFunding"}, **{**_BY_ADDRESS, "limit": 500}),
        ),
        history=60 * _MONTH, by_address=True,
    ),
    "binance": VenueSource(
        "Binance", "binance", (
            Feed("privateGetMyTrades", window=timedelta(days=1), is_per_market=True, **_BY_TIME),
            Feed("fapiPrivateGetUserTrades", is_per_market=True, **_BY_TIME),
            Feed("fapiPrivateGetIncome", params={"incomeType": "FUNDING_FEE"}, **_BY_TIME),
        ),
        history=6 * _MONTH, needs_markets=True,
        list_rights=_list_binance_rights, rights="sapiGetAccountApiRestrictions",
    ),
    "bybit": VenueSource(
        "Bybit", "bybit",
        tuple(Feed("privateGetV5ExecutionList", params={"category": kind}, **_BYBIT) for kind in ("spot", "linear")),
        history=24 * _MONTH, list_rights=_list_bybit_rights, rights="privateGetV5UserQueryApi",
    ),
    "okx": VenueSource(
        "OKX", "okx", tuple(
            Feed("privateGetTradeFillsHistory", params={"instType": kind}, **_OKX)
            for kind in ("SPOT", "MARGIN", "SWAP")
        ),
        history=3 * _MONTH, needs_password=True, rights="privateGetAccountConfig",
        list_rights=lambda answer: [one for one in answer["data"][0]["perm"].split(",") if one != "read_only"],
    ),
    "kraken": VenueSource(
        "Kraken", "kraken", (
            Feed("privatePostTradesHistory", "start", "end", window=120 * _MONTH, limit=50, limit_name="",
                 cursor="ofs", next="count", unit="s"),
        ),
        history=60 * _MONTH, rights="privatePostGetApiKeyInfo",
        list_rights=lambda answer: [
            one for one in answer["result"]["permissions"] if not one.lower().startswith(("query", "export"))
        ],
    ),
    "coinbase": VenueSource(
        "Coinbase", "coinbase", (
            Feed("v3PrivateGetBrokerageOrdersHistoricalFills", "start_sequence_timestamp", "end_sequence_timestamp",
                 window=120 * _MONTH, limit=1000, cursor="cursor", next="cursor", unit="iso"),
        ),
        history=60 * _MONTH, rights="v3PrivateGetBrokerageKeyPermissions",
        list_rights=lambda answer: [
            name for name in ("can_trade", "can_transfer") if str(answer[name]).lower() != "false"
        ],
    ),
    "bitget": VenueSource(
        "Bitget", "bitget", (
            Feed("privateSpotGetV2SpotTradeFills", **_BITGET),
            Feed("privateMixGetV2MixOrderFillHistory", params={"productType": "USDT-FUTURES"}, **_BITGET),
        ),
        history=3 * _MONTH, needs_password=True,
        list_rights=_list_bitget_rights, rights="privateSpotGetV2SpotAccountInfo",
    ),
}  # fmt: skip


def open_account(source: VenueSource, credentials: Credentials | None) -> Any:
    """Return a client of the venue. Raises VenueRefused: ccxt is not installed."""
    if credentials is None:
        return open_venue(source.client)
    given = {"apiKey": credentials.key, "secret": credentials.secret, "password": credentials.password}
    return open_venue(source.client, {name: value for name, value in given.items() if value})


def check_rights(source: VenueSource, client: Any) -> None:
    """Refuse a key that may do more than read, or whose rights are unclear. Raises VenueRefused, VenueUnavailable."""
    answer = ask_account(client, source.rights, {})
    try:
        rights = source.list_rights(answer)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise VenueRefused(f"{source.label} does not say what this key may do, so Keel does not keep it.") from error
    if rights:
        raise VenueRefused(
            f"This key may do more than read ({', '.join(map(str, rights))[:120]}). Keel keeps only keys that cannot "
            f"trade or move money: make a read-only one at {source.label}."
        )


def fetch_records(
    source: VenueSource, client: Any, *, address: str, markets: Sequence[str], since: datetime, until: datetime
) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the rows of each feed in a range. Raises VenueRefused, VenueUnavailable."""
    sizes: dict[str, str] = {}
    if source.client == "okx":
        answer = ask_account(client, "publicGetPublicInstruments", {"instType": "SWAP"})
        sizes = {str(one["instId"]): str(one["ctVal"]) for one in answer.get("data", ()) if one.get("ctVal")}
    for feed in source.feeds:
        for extra in [{"symbol": market} for market in markets] if feed.is_per_market else [{}]:
            params = {**feed.params, **extra, **({"user": address} if address else {})}
            rows, begin = [], since
            while begin < until:
                end = min(begin + feed.window, until)
                span = {feed.begin: _write(begin, feed), feed.end: _write(end, feed)}
                rows += [row for page in _ask_pages(feed, client, {**params, **span}) for row in page]
                begin = end
            if rows:
                yield [row | {"contractSize": sizes.get(str(row.get("instId")), "")} if sizes else row for row in rows]


def _ask_pages(feed: Feed, client: Any, params: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    count = 0
    for _ in range(_PAGES):
        answer = ask_account(client, feed.method, params | ({feed.limit_name: feed.limit} if feed.limit_name else {}))
        rows = [dict(row) for row in next(find_records(answer), [])]
        yield rows
        count += len(rows)
        following = _find_next(feed, rows, count)
        name = feed.begin if feed.next == "time" else feed.cursor
        if len(rows) < feed.limit or not following or str(params.get(name)) == following:
            return
        params = {**params, name: following}
    raise VenueRefused("The venue sends the same page again and again. Keel stopped asking.")


def _find_next(feed: Feed, rows: Sequence[Mapping[str, Any]], count: int) -> str:
    if not rows:
        return ""
    if feed.next == "count":
        return str(count)
    if feed.next == "time":
        return max(str(row["time"]) for row in rows)
    return str(rows[-1].get(feed.next.removeprefix("last."), ""))


def _write(at: datetime, feed: Feed) -> str:
    if feed.unit == "iso":
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")
    seconds = at.timestamp()
    return str(int(seconds if feed.unit == "s" else seconds * 1000))
