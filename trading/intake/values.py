"""Read one cell: numbers, instants, sides, instruments. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.lib.words.moments import read_month
from trading.ledger.executions import DOLLARS, EARLIEST, EXACT_MATHS, MAX_AMOUNT, QUANTITY_GRAIN

_MONEY: Final = frozenset(("EUR", "GBP", "AUD", "NZD", "CAD", "CHF", "JPY", "XAU", "XAG"))
_OTHER_QUOTES: Final = (
    *("EUR", "GBP", "JPY", "TRY", "BRL", "AUD", "CAD", "CHF", "KRW"),
    *("BTC", "XBT", "ETH", "BNB", "SOL"),
)
_QUOTES: Final = sorted({*DOLLARS, *_OTHER_QUOTES} - {"USDH"}, key=len, reverse=True)
_SHADED: Final = frozenset(("TUSD", "BUSD", "GUSD"))  # a coin that ends in T, B or G may stand before USD
_TRADED: Final = frozenset(("BTC", "ETH", "BNB", "XRP", "SOL", "ADA", "DOGE", "LTC", "LINK", "TRX", "USDC", "USDT"))
_RENAMED: Final = {"XBT": "BTC", "XDG": "DOGE", "XXBT": "BTC", "XETH": "ETH", "ZUSD": "USD", "ZEUR": "EUR"}
# The clocks of exports that a zone is named of in letters, in hours.
LETTERED: Final = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_DERIVATIVE: Final = re.compile(r"(?:[-_]SWAP|[-_]?PERP(?:ETUAL)?|_[UCD]MCBL)\Z")
_DATED: Final = re.compile(r"[-_](\d{6}|\d{8})\Z")
_MONTHS: Final = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
# ESZ6, /NQM26, ES 03-26, MES JUN26, ESZ6.CME, ES1!: a root, and the month that it is settled in.
_FUTURE: Final = re.compile(
    r"(?:[A-Z_]+:|F\.US\.)?/?([A-Z0-9]{1,4})"
    rf"(?:[FGHJKMNQUVXZ]\d{{1,2}}|\d!|[ -]\d\d-\d\d|[ -](?:{_MONTHS})\d\d)(?:\.[A-Z]+)?\Z"
)
_OPTION: Final = re.compile(r"\d{6}[CP]\d{8}\Z|\d [CP]\Z| \d+ (?:CALL|PUT)\Z")
_EXCHANGE: Final = re.compile(r"\A[A-Z_]{2,12}:(?=[A-Z0-9])")
_NO_VALUE: Final = frozenset({"", "-", "--", "n/a", "na", "null", "none", "nan"})
_ACTS: Final = {"buy": 1, "bought": 1, "sell": -1, "sold": -1}
_BUYS: Final = frozenset(
    {"b", "bid", "l", "long", "open long", "close short", "buy long", "true"}
    | {"kauf", "achat", "compra", "acquisto", "koop"}
)
_SELLS: Final = frozenset(
    {"s", "a", "ask", "short", "open short", "close long", "sell short", "false"}
    | {"verkauf", "vente", "venta", "venda", "vendita", "verkoop"}
)
_NUMBER: Final = re.compile(r"([-+]?)([\d.,'’_ ]*\d[\d.,]*)(e[-+]?\d{1,2})?\Z", re.IGNORECASE)
_GROUPED: Final = {
    ".": re.compile(r"(\d{1,3}(?:[,'’_ ]\d{3})+|\d*)(?:\.(\d*))?\Z"),
    ",": re.compile(r"(\d{1,3}(?:[.'’_ ]\d{3})+|\d*)(?:,(\d*))?\Z"),
}
_LONGEST: Final = 100  # characters of a cell's value; the patterns are slow on long texts
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*([ap]\.?m\.?)?", re.IGNORECASE)
_OFFSET: Final = re.compile(
    rf"[\s,]*(?:(?:UTC|GMT|Z)?\s*([+-])(\d{{1,2}}):?(\d{{2}})?|UTC|GMT|Z|({'|'.join(LETTERED)}))\s*\Z", re.IGNORECASE
)
_COMPACT: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:[;, T]?(\d\d)(\d\d)(\d\d))?\Z")
_SIGNS: Final = {
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₩": "KRW",
    "₺": "TRY",
    "R$": "BRL",
    "C$": "CAD",
    "A$": "AUD",
}
_SIGN: Final = re.compile("|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True)))
_DAY: Final = re.compile(r"(\d{1,4})[-/.\s]\s*(\d{1,2})[-/.\s]\s*(\d{1,4})\Z")
_WORDY: Final = re.compile(r"(?:(\d{1,2})[ -])?([A-Za-z]{3})[a-z]*\.?[ -](?:(\d{1,2}),? )?(\d{4})\Z")


@dataclass(frozen=True, slots=True)
class Instrument:
    base: str
    quote: str
    is_derivative: bool = False
    is_inverse: bool = False

    @property
    def coin(self) -> str:
        return self.base.split("/")[0]


def is_empty(text: str) -> bool:
    """Tell whether a cell says that there is no value."""
    return text.strip().casefold() in _NO_VALUE


def looks_like_value(text: str) -> bool:
    """Tell whether a cell is a number or an instant, not a column's name."""
    if len(text) > _LONGEST:
        return False
    text = re.sub(r"\([^()]*\)", "", text)  # Time(UTC+02:00) names a column
    return bool(_NUMBER.match(text.strip())) or bool(_CLOCK.search(text)) or bool(_DAY.match(text.strip()))


def parse_number(text: str, decimal: str = ".") -> Decimal:
    """Return a finite number written with this decimal sign. Raises ValueError."""
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:40]!r}… is not a number")
    stripped = text.strip().removeprefix("@").strip("$").replace("\u00a0", " ").replace("\u202f", " ")
    stripped = stripped.replace("\u2212", "-").strip()
    if stripped.startswith("(") and stripped.endswith(")"):
        stripped = f"-{stripped[1:-1].strip('$')}"
    stripped = re.sub(r"^([-+])\$", r"\1", stripped)
    matched = _NUMBER.match(stripped)
    grouped = _GROUPED[decimal].match(matched[2]) if matched else None
    if matched is None or grouped is None:
        raise ValueError(f"{text[:40]!r} is not a number")
    whole = re.sub(r"\D", "", grouped[1])
    try:
        found = Decimal(f"{matched[1]}{whole or '0'}.{grouped[2] or '0'}{matched[3] or ''}", EXACT_MATHS)
    except InvalidOperation as error:
        raise ValueError(f"{text[:40]!r} is not a number") from error
    if abs(found) >= MAX_AMOUNT:
        raise ValueError(f"{text[:40]!r} is too large")
    return found


def round_amount(value: Decimal) -> Decimal:
    """Return the amount as the database counts it. Raises ValueError."""
    if abs(value) >= MAX_AMOUNT:
        raise ValueError(f"{value:.3E} is too large")
    return value.quantize(QUANTITY_GRAIN, context=EXACT_MATHS)


def split_amount(text: str, coins: Iterable[str], decimal: str = ".") -> tuple[Decimal, str]:
    """Return the number and the coin, perhaps one of `coins`, of an amount such as `0.01BTC`. Raises ValueError."""
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:40]!r}… is no amount")
    stripped = text.strip()
    if sign := _SIGN.search(stripped):  # €1.20 is euros
        return parse_number(stripped.replace(sign[0], ""), decimal), _SIGNS[sign[0]]
    upper = stripped.upper()
    for coin in coins:
        if coin and upper.endswith(coin) and len(upper) > len(coin):
            return parse_number(stripped[: -len(coin)], decimal), coin
    # 1e30 and 0x10 are no amounts of a coin.
    matched = re.match(r"(.*?[\d.,)])\s*(?![EeXx]\d)([A-Za-z][A-Za-z0-9]{1,11})\Z", stripped)
    if matched:
        return parse_number(matched[1], decimal), matched[2].upper()
    return parse_number(stripped, decimal), ""


def guess_decimal(texts: Iterable[str]) -> str:
    """Return the decimal sign that these numbers use; a point where nothing tells."""
    points = commas = 0
    for text in texts:
        if re.search(r",\d+\.\d*|\.\d{1,2}(?!\d)|\.\d{4,}|(?:^|\D)0\.\d", text):
            points += 1
        elif re.search(r"\.\d+,\d*|,\d{1,2}(?!\d)|,\d{4,}|(?:^|\D)0,\d", text):
            commas += 1
    return "," if commas > points else "."


def parse_side(text: str) -> int:
    """Return 1 for a buy, -1 for a sale. Raises ValueError."""
    words = " ".join(re.split(r"[^a-z]+", text.casefold())).strip()
    if not text:
        raise ValueError("the side is empty")
    acts = {_ACTS[word] for word in words.split(" ") if word in _ACTS}
    if words in _BUYS or (acts == {1} and words not in _SELLS):
        return 1
    if words in _SELLS or acts == {-1}:
        return -1
    raise ValueError(f"the side {text[:30]!r} is neither a buy nor a sale")


def split_coin(text: str) -> Instrument:
    """Return the coin, or the pair with a slash, under the venue's name. Raises ValueError."""
    name = text.strip().upper()
    if not name:
        raise ValueError("the symbol is empty")
    return Instrument(name, name.partition("/")[2] or "USD")


def split_instrument(text: str, *, is_plain: bool = False) -> Instrument:
    """Return base and quote of a venue's market name; in plain ones DOTUSD is DOT in dollars, not DO in TUSD.

    Raises ValueError.
    """
    name = text.strip().upper()
    if not name:
        raise ValueError("the symbol is empty")
    if find_root(name):
        return Instrument(_EXCHANGE.sub("", name).strip("/!").replace(" ", "-"), "USD", is_derivative=True)
    name = _EXCHANGE.sub("", name).removesuffix(".P")
    is_derivative = bool(_DERIVATIVE.search(name)) or ":" in name.partition("/")[2]
    is_inverse = bool(re.search(r"USD(?:[-_]SWAP|_PERP|[-_]\d{6,8})\Z|_DMCBL\Z", name))
    name = _DERIVATIVE.sub("", name.partition(":")[0] if "/" in name else name).removesuffix("_SPBL")
    dated = _DATED.search(name)
    if dated:
        name = name[: dated.start()]
    base, quote = _split_pair(name, is_plain)
    base = name if base in _MONEY and quote else base  # EURUSD is a pair, not euros
    symbol = f"{base}-{dated[1]}" if dated else base
    return Instrument(symbol, quote or "USD", is_derivative or bool(dated), is_inverse)


def find_root(symbol: str) -> str:
    """Return the root of a future's name, ES of ESZ6, or nothing."""
    matched = _FUTURE.match(symbol.strip().upper())
    return matched[1] if matched else ""


def is_option(symbol: str) -> bool:
    """Tell whether a symbol names an option."""
    return bool(_OPTION.search(symbol.strip().upper()))


def _split_pair(name: str, is_plain: bool) -> tuple[str, str]:
    for mark in "/-_":
        base, found, quote = name.partition(mark)
        if found:
            return _RENAMED.get(base, base), _RENAMED.get(quote, quote)
    if len(name) == 8 and name[0] in "XZ" and name[4] in "XZ":  # Kraken: XXBTZUSD
        return _RENAMED.get(name[1:4], name[1:4]), _RENAMED.get(name[5:], name[5:])
    for quote in _QUOTES:
        base = name.removesuffix(quote)
        if is_plain and quote in _SHADED and base not in _TRADED:
            continue
        # WBTC and STETH are coins; RENBTC alone is taken for a pair.
        if base != name and len(base) >= (1 if quote in DOLLARS else 3):
            return _RENAMED.get(base, base), _RENAMED.get(quote, quote)
    return _RENAMED.get(name, name), ""


def find_zone(name: str) -> tzinfo:
    """Return a zone by its name or its offset. Raises ValueError."""
    if matched := re.fullmatch(r"([+-])(\d\d):(\d\d)", name):
        offset = timedelta(hours=int(matched[2]), minutes=int(matched[3]))
        return timezone(-offset if matched[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name[:40]!r}") from error


def guess_date_order(texts: Iterable[str]) -> str:
    """Return `ymd`, `dmy`, `mdy`, or nothing where days and months cannot be told apart."""
    orders = set()
    for text in texts:
        if not (matched := _DAY.match(_split_clock(text.strip())[0])):
            continue
        first, second, third = (int(part) for part in matched.groups())
        if len(matched[1]) == 4 or first > 31:
            orders.add("ymd")
        elif len(matched[3]) < 4 and third > 31:
            orders.add("")
        elif len(matched[3]) < 4 and "/" not in text:
            orders.add("ymd")  # two digits for the year: Binance writes it first
        elif first > 12:
            orders.add("dmy")
        elif second > 12:
            orders.add("mdy")
        elif "." in text:
            orders.add("dmy")  # dots stand where the day comes first
        else:
            orders.add("")
    known = orders - {""}
    return known.pop() if len(known) == 1 else "" if orders else "ymd"


def parse_instant(text: str, *, zone: tzinfo, order: str = "ymd") -> datetime:
    """Return the instant of a date and time, or of a count since 1970. Raises ValueError."""
    stripped = text.strip()
    try:
        if matched := _COMPACT.match(stripped):
            found = _parse_date(f"{'-'.join(matched.groups()[:3])} {':'.join(matched.groups('00')[3:])}", zone, "ymd")
        elif re.fullmatch(r"\d{9,19}(?:\.\d+)?", stripped):
            found = _parse_count(stripped)
        else:
            found = _parse_date(stripped, zone, order)
    except (ValueError, OverflowError) as error:
        reason = str(error) if str(error).startswith("the clock") else f"{text[:40]!r} is not a date and time"
        raise ValueError(reason) from error
    if found < EARLIEST:
        raise ValueError(f"{text[:40]!r} is before the first trade of any coin")
    return found


def _parse_count(text: str) -> datetime:
    whole, _, fraction = text.partition(".")
    grain = {9: 0, 10: 0, 13: 3, 16: 6, 19: 9}.get(len(whole))
    if grain is None:
        raise ValueError("not a count of seconds, or of thousandths")
    digits = (whole[len(whole) - grain :] if grain else "") + fraction
    seconds = int(whole[: len(whole) - grain] if grain else whole)
    return _EPOCH + timedelta(seconds=seconds, microseconds=int(digits[:6].ljust(6, "0")))


def _split_clock(text: str) -> tuple[str, re.Match[str] | None, str]:
    """Return the day, the time of day and what follows it."""
    clock = _CLOCK.search(text)
    if clock is None:
        return text, None, ""
    before, after = text[: clock.start()], text[clock.end() :]
    offset = _OFFSET.match(after)
    day = before if offset or not after.strip() else f"{before} {after}"
    return day.strip(" ,-T").strip(), clock, after if offset else ""


def _parse_date(text: str, zone: tzinfo, order: str) -> datetime:
    day, clock, after = _split_clock(text)
    year, month, date = _parse_day(day, order)
    hour = minute = second = microsecond = 0
    if clock is not None:
        hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
        microsecond = int((clock[4] or "0")[:6].ljust(6, "0"))
        if clock[5]:
            if not 1 <= hour <= 12:
                raise ValueError("no such hour")
            hour = hour % 12 + (12 if clock[5][0] in "pP" else 0)
    if offset := _OFFSET.match(after):
        sign = -1 if offset[1] == "-" else 1
        hours = LETTERED[offset[4].upper()] if offset[4] else int(offset[2] or 0)
        shift = timedelta(hours=hours, minutes=int(offset[3] or 0)) * sign
        zone = timezone(shift)
    local = datetime(year, month, date, hour, minute, second, microsecond, tzinfo=zone)
    found = local.astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
        raise ValueError(f"the clock of {zone} jumped over {local:%Y-%m-%d %H:%M}; check the time zone")
    return found


def _parse_day(text: str, order: str) -> tuple[int, int, int]:
    if matched := _WORDY.match(text):
        day = matched[1] or matched[3]
        return int(matched[4]), read_month(matched[2], is_cued=True), int(day)
    matched = _DAY.match(text)
    if matched is None:
        raise ValueError("no date")
    parts = dict(zip("ymd" if len(matched[1]) == 4 else order or "ymd", matched.groups(), strict=True))
    year = int(parts["y"])
    return (year if len(parts["y"]) == 4 else 2000 + year), int(parts["m"]), int(parts["d"])
