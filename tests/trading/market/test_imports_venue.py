import json
import logging
import sys
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO

import ccxt
import pytest
from django.core.management import CommandError, call_command

from tests.factories.memory import HOUR, MINUTE
from tests.factories.record import BarFactory, FundingRateFactory
from trading.market.imports.venue import (
    PAUSES,
    SETTLING,
    VenueRefused,
    VenueUnavailable,
    fetch_bars,
    fetch_funding,
    find_market,
    open_venue,
)
from trading.models import Bar, FundingRate
from trading.models.choices import INTERVALS

D = Decimal
START = datetime(2026, 6, 1, tzinfo=UTC)


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def market(symbol: str, **changes) -> dict:
    base, _, rest = symbol.partition("/")
    settle = rest.partition(":")[2]
    kind = {"swap": bool(settle), "linear": settle != base if settle else None, "active": True}
    return {"symbol": symbol, "base": base, "settle": settle or None, **kind, **changes}


class FakeVenue:
    """Answers as ccxt documents it: rows [ms, o, h, l, c, v], the earliest first, at most `limit` of them."""

    id = "hyperliquid"
    timeframes = {"1m": "1m", "1h": "1h"}  # noqa: RUF012  as ccxt's are
    page = 5
    most = 5  # rows an answer holds, whatever was asked

    def __init__(self, config=None):
        self.config = config
        self.has = {"fetchFundingRateHistory": True}
        self.named = [market("BTC/USDT:USDT"), market("BTC/USDC:USDC"), market("BTC/USDC"), market("ETH/USDC:USDC")]
        self.rows = {}
        self.payments = {}
        self.failures = []
        self.asked = []

    def load_markets(self):
        self._fail()
        return {one["symbol"]: one for one in self.named}

    def feature_value(self, symbol, method, parameter):
        return self.page if (method, parameter) == ("fetchOHLCV", "limit") else None

    def fetch_ohlcv(self, symbol, timeframe="1m", since=None, limit=None, params=None):
        self.asked.append((symbol, timeframe, since, limit, params))
        self._fail()
        rows = [self.rows[at] for at in sorted(self.rows) if since <= at <= params["until"]]
        return rows[: min(limit, self.most)]

    def fetch_funding_rate_history(self, symbol, since=None, limit=None, params=None):
        self.asked.append((symbol, since, limit, params))
        self._fail()
        found = [(at, rate) for at, rate in sorted(self.payments.items()) if since <= at <= params["until"]]
        return [{"symbol": symbol, "timestamp": at, "fundingRate": rate, "info": {}} for at, rate in found[:limit]]

    def _fail(self):
        if self.failures and (error := self.failures.pop(0)):
            raise error

    def add_minutes(self, count, *, first=START, skip=()):
        for number in set(range(count)) - set(skip):
            at = ms(first + number * MINUTE)
            self.rows[at] = [at, 100.1 + number, 101.25 + number, 99.5 + number, 100.7 + number, 1e-07]


@pytest.fixture
def venue(monkeypatch):
    """The venue that `--exchange hyperliquid` opens."""
    fake = FakeVenue()
    monkeypatch.setattr(ccxt, "hyperliquid", lambda config: fake)
    return fake


@pytest.fixture
def pauses(monkeypatch):
    """How long was waited, without waiting."""
    found = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def bars(venue, *, since=START, until=START + timedelta(days=1), now=START + timedelta(days=2)):
    fetched = fetch_bars(venue, market="BTC/USDC:USDC", symbol="BTC", interval="1m", since=since, until=until, now=now)
    return [bar for page in fetched for bar in page]


def run(*arguments, **options) -> str:
    output = StringIO()
    call_command(*map(str, arguments), stdout=output, stderr=StringIO(), **options)
    return output.getvalue()


def import_bars(*more) -> str:
    return run("import_bars", "--exchange", "hyperliquid", "--symbol", "btc", "--interval", "1m", *more)


def import_funding(*more) -> str:
    return run("import_funding", "--exchange", "hyperliquid", "--symbol", "btc", *more)


# --- Bars ---


def test_bars_are_paged_and_each_comes_once(venue):
    venue.add_minutes(23, skip=[9, 10])

    found = bars(venue, until=START + 23 * MINUTE)

    assert [(bar.opened_at - START) // MINUTE for bar in found] == [n for n in range(23) if n not in (9, 10)]
    kinds = {(bar.symbol, bar.interval, bar.source, bar.is_simulated) for bar in found}
    assert kinds == {("BTC", "1m", "hyperliquid BTC/USDC:USDC", False)}
    assert {asked[:2] for asked in venue.asked} == {("BTC/USDC:USDC", "1m")}


def test_a_page_names_both_of_its_ends(venue):
    venue.add_minutes(8)

    bars(venue, until=START + 8 * MINUTE)

    assert [asked[2:] for asked in venue.asked] == [
        (ms(START), 5, {"until": ms(START + 5 * MINUTE) - 1}),
        (ms(START + 5 * MINUTE), 5, {"until": ms(START + 8 * MINUTE) - 1}),
    ]


def test_answers_shorter_than_a_venue_promised_leave_no_hole_and_times_it_dropped_are_skipped(venue):
    venue.add_minutes(12)
    venue.add_minutes(3, first=START + 60 * MINUTE)
    venue.most = 2

    assert len(bars(venue, until=START + 12 * MINUTE)) == 12
    assert len(bars(venue, since=START + 20 * MINUTE, until=START + 70 * MINUTE)) == 3


def test_floats_become_the_numbers_they_were_written_as(venue):
    venue.add_minutes(1)

    (bar,) = bars(venue)

    numbers = [bar.open, bar.high, bar.low, bar.close, bar.volume]
    assert numbers == [D(text) for text in ("100.1", "101.25", "99.5", "100.7", "0.0000001")]


def test_bars_outside_the_range_and_those_still_forming_are_left_out(venue):
    venue.add_minutes(10)

    for late, count in ((-1, 2), (0, 3)):  # just before it has settled, and then
        now = START + 3 * MINUTE + SETTLING + timedelta(milliseconds=late)
        assert len(bars(venue, now=now)) == count

    venue.add_minutes(30)
    venue.fetch_ohlcv = lambda *asked: list(venue.rows.values())

    assert len(bars(venue, since=START + 4 * MINUTE, until=START + 11 * MINUTE)) == 7


def test_a_minute_without_a_trade_has_no_bar_and_one_without_volume_is_a_bar(venue):
    venue.add_minutes(3)
    venue.rows[ms(START + MINUTE)][1:5] = [None] * 4
    venue.rows[ms(START)][5] = None

    assert [bar.volume for bar in bars(venue)] == [0, D("0.0000001")]


def test_a_bar_or_a_length_that_cannot_be_is_refused(venue):
    for row in ([5, 4, 3, 3.5, 1], [5, 6, -1, 5, 1], [5, float("nan"), 4, 5, 1]):
        venue.rows[ms(START)] = [ms(START), *row]
        with pytest.raises(VenueRefused, match=r"hyperliquid BTC/USDC:USDC sent an invalid bar"):
            bars(venue)

    span = {"since": START, "until": START + HOUR, "now": START + HOUR}
    with pytest.raises(VenueRefused, match="no bars of 4h"):
        next(fetch_bars(venue, market="BTC/USDC:USDC", symbol="BTC", interval="4h", **span))


# --- Markets ---


def test_which_perpetual_is_meant(venue):
    inverse, usdt = market("BTC/USD:BTC"), market("BTC/USDT:USDT")
    gone, unknown = market("BTC/USDC:USDC", active=False), market("BTC/USDT:USDT", active=None)
    for named, found in (
        (FakeVenue().named, "BTC/USDC:USDC"),  # by settlement
        ([inverse, usdt], "BTC/USDT:USDT"),  # linear before inverse
        ([inverse], "BTC/USD:BTC"),
        ([gone, unknown], "BTC/USDT:USDT"),  # alive
        ([market("kBTC/USDC:USDC"), market("BTC/EUR:EUR")], "BTC/EUR:EUR"),
    ):
        venue.named = named
        assert find_market(venue, "BTC") == found


def test_a_market_that_is_named_is_taken_and_one_that_is_not_there_refused(venue):
    assert find_market(venue, "BTC", market="BTC/USDC") == "BTC/USDC"
    assert find_market(venue, "BTC/USDT:USDT") == "BTC/USDT:USDT"
    for symbol, named, words in (("SOL", "", "no perpetual of SOL; name the market"), ("BTC", "X/Y", "no market X/Y")):
        with pytest.raises(VenueRefused, match=f"hyperliquid has {words}"):
            find_market(venue, symbol, market=named)


def test_venues_keep_to_their_rate_limit_have_no_keys_and_bars_of_every_interval():
    venue = open_venue("hyperliquid")

    assert isinstance(venue, ccxt.hyperliquid)
    assert (venue.enableRateLimit, venue.timeout) == (True, 20_000)
    assert not any([venue.apiKey, venue.secret, venue.walletAddress, venue.privateKey])
    assert set(INTERVALS) <= set(venue.timeframes)


def test_an_unknown_venue_and_one_without_ccxt_is_refused_with_what_may_be_done(monkeypatch):
    for name in ("hyperliquit", "Exchange", "__name__", "errors"):
        guess = "Did you mean hyperliquid" if name == "hyperliquit" else ""
        with pytest.raises(VenueRefused, match=f"{name} is no venue.*{guess}"):
            open_venue(name)

    monkeypatch.setitem(sys.modules, "ccxt", None)

    with pytest.raises(VenueRefused, match="make venues"):
        open_venue("hyperliquid")


# --- Failures ---


def test_venue_call_retries_temporary_failures_alone(venue, pauses, caplog):
    venue.add_minutes(3)
    temporary = (ccxt.NetworkError, ccxt.RateLimitExceeded, ccxt.RequestTimeout, ccxt.ExchangeNotAvailable)
    for error in (*temporary, ccxt.BadResponse):
        venue.failures = [error("later"), error("later")]
        with caplog.at_level(logging.WARNING):
            assert len(bars(venue)) == 3
        assert pauses == [*PAUSES[:2]]
        assert error.__name__ in caplog.text
        pauses.clear()
    for error in (ccxt.BadSymbol, ccxt.ExchangeError, ccxt.PermissionDenied, ccxt.NotSupported):
        venue.failures = [error("no such thing")]
        with pytest.raises(VenueRefused, match=f"hyperliquid refused. {error.__name__}: no such thing"):
            bars(venue)
    assert pauses == []


def test_a_venue_that_stays_silent_is_given_up_with_a_word(venue, pauses):
    venue.failures = [ccxt.RequestTimeout("hyperliquid POST\nhttps://example.invalid timed out")] * 9

    with pytest.raises(VenueUnavailable) as caught:
        bars(venue)
    assert str(caught.value) == (
        "hyperliquid did not answer in 6 tries. RequestTimeout: hyperliquid POST https://example.invalid timed out"
    )
    assert pauses == list(PAUSES)


# --- The command ---


@pytest.mark.django_db
def test_import_brings_bars_and_longer_ones(venue):
    venue.add_minutes(120)

    said = import_bars("--since", "2026-06-01", "--until", "2026-06-01T02:00")
    made = dict.fromkeys(("5m", "15m", "30m", "1h"), 1)
    again = json.loads(import_bars("--since", "2026-06-01", "--until", "2026-06-01T00:05", "--json"))

    assert said == "120 bars of BTC 1m, 24 of 5m, 8 of 15m, 4 of 30m, 2 of 1h\n"
    assert again == {"symbol": "BTC", "interval": "1m", "bars": 5, "aggregated": made, "measured_trades": 0}
    hour = Bar.objects.filter(interval="1h").first()
    assert (hour.open, hour.high, hour.low, hour.close) == (D("100.1"), D("160.25"), D("99.5"), D("159.7"))
    assert hour.source == "hyperliquid BTC/USDC:USDC"


@pytest.mark.django_db
def test_import_bars_continues_after_the_newest_real_bar(venue):
    venue.add_minutes(30)
    import_bars("--since", "2026-06-01", "--until", "2026-06-01T00:10")
    BarFactory(symbol="BTC", interval="1m", opened_at=START + HOUR, is_simulated=True)
    venue.asked.clear()

    said = import_bars("--until", "2026-06-01T00:20", "--aggregate", "none")

    assert said == "10 bars of BTC 1m\n"
    assert venue.asked[0][2] == ms(START + 10 * MINUTE)


@pytest.mark.django_db
def test_import_bars_resumes_after_a_failure(venue, pauses):
    venue.add_minutes(20)
    venue.failures = [None, None, None, *[ccxt.NetworkError("gone")] * 6]

    with pytest.raises(CommandError, match="did not answer"):
        import_bars("--since", "2026-06-01", "--until", "2026-06-01T00:20")
    assert Bar.objects.filter(interval="1m").count() == 10
    assert Bar.objects.filter(interval="5m").count() == 2

    assert import_bars("--until", "2026-06-01T00:20").startswith("10 bars of BTC 1m, 2 of 5m")


@pytest.mark.django_db(transaction=True)
def test_following_brings_each_bar_when_it_has_settled_until_it_is_stopped(follow):
    said, waited = follow(3)

    assert said == "2 bars of BTC 1m\n1 bars of BTC 1m\n1 bars of BTC 1m\nStopped.\n"
    assert waited == [pytest.approx(35), pytest.approx(60), pytest.approx(60)]


@pytest.mark.django_db(transaction=True)
def test_following_outlives_a_venue_that_is_away(venue, follow):
    venue.failures = [None, *[ccxt.NetworkError("gone")] * (len(PAUSES) + 1)]

    assert follow(len(PAUSES) + 2)[0] == "4 bars of BTC 1m\nStopped.\n"


@pytest.fixture
def follow(venue, monkeypatch, time_machine):
    """A function that follows the venue from half a minute into the third bar for some waits, and what was waited."""

    def play(most):
        waited = []

        def sleep(seconds):
            waited.append(seconds)
            if len(waited) == most:
                raise KeyboardInterrupt
            time_machine.shift(seconds)

        time_machine.move_to(START + 2 * MINUTE + timedelta(seconds=30), tick=False)
        monkeypatch.setattr(time, "sleep", sleep)
        venue.add_minutes(10)
        return import_bars("--since", "2026-06-01", "--aggregate", "none", "--follow"), waited

    return play


@pytest.mark.django_db
def test_import_says_what_it_lacks():
    bare = ["--symbol", "BTC", "--interval", "1m"]
    named = ["--exchange", "hyperliquid", *bare]
    for arguments, words in (
        (bare, "one of the arguments file --exchange is required"),
        (["x.csv", *named], "not allowed with"),
        (named, "first instant with --since"),
        ([*named, "--symbol", "B C"], "a symbol has"),
        ([*named, "--since", "soon"], "not an instant"),
        ([*named, "--since", "2026-06-01", "--until", "2026-06-02", "--follow"], "leave out --until"),
        (["--exchange", "mars", *bare, "--since", "2026-06-01"], "mars is no venue"),
    ):
        with pytest.raises(CommandError, match=words):
            run("import_bars", *arguments)


# --- Funding ---


def pay(venue, *hours, rate=0.0000125):
    venue.payments |= {ms(START + hour * HOUR) + 31: rate for hour in hours}


def rates():
    return list(FundingRate.objects.order_by("at").values_list("at", "rate", "hours", "source"))


@pytest.mark.django_db
def test_funding_comes_in_once_with_the_hours_between(venue):
    pay(venue, *range(150))

    assert import_funding("--since", "2026-06-01", "--until", "2026-07-01") == "150 funding rates\n"
    first = rates()
    assert import_funding("--until", "2026-07-01") == "25 funding rates\n"

    assert rates() == first
    at = START + timedelta(milliseconds=31)
    assert first[0] == (at, D("0.0000125"), 1, "hyperliquid BTC/USDC:USDC")
    assert {row[2] for row in first} == {1}


def test_hours_are_those_to_the_nearer_neighbour(venue):
    for hours, between in (
        ([0, 8, 16, 20, 24], [8, 8, 4, 4, 4]),  # another rhythm
        ([0, 8, 40, 48], [8, 8, 8, 8]),  # a hole
        ([0, 90], [24, 24]),  # lost
    ):
        venue.payments.clear()
        pay(venue, *hours)
        assert [rate.hours for rate in funding(venue)] == between


def funding(venue, **options):
    until = START + timedelta(days=20)
    return list(fetch_funding(venue, market="BTC/USDC:USDC", symbol="BTC", since=START, until=until, **options))


def test_one_payment_alone_asks_for_the_hours_and_long_rates_are_rounded_to_the_column(venue):
    pay(venue, 3)
    with pytest.raises(VenueRefused, match="--hours"):
        funding(venue)
    assert [rate.hours for rate in funding(venue, hours=8)] == [8]

    pay(venue, 4, rate=1.2345678901234e-05)
    assert funding(venue)[1].rate == D("0.000012345679")


def test_a_rate_that_cannot_be_and_a_venue_without_funding_are_refused(venue):
    for rate in (None, float("nan"), 2.0):
        pay(venue, 0, 1, rate=rate)
        with pytest.raises(VenueRefused, match="an invalid funding rate"):
            funding(venue)

    venue.has = {"fetchFundingRateHistory": None}
    with pytest.raises(VenueRefused, match="no history of funding"):
        funding(venue)


@pytest.mark.django_db
def test_funding_before_a_failure_is_kept(venue, pauses):
    pay(venue, *range(150))
    venue.failures = [None, None, *[ccxt.NetworkError("gone")] * 6]

    with pytest.raises(CommandError, match="did not answer"):
        import_funding("--since", "2026-06-01", "--until", "2026-07-01")
    assert FundingRate.objects.count() == 99  # the last waits for its neighbour

    assert import_funding("--until", "2026-07-01") == "76 funding rates\n"


@pytest.mark.django_db
def test_import_funding_continues_after_the_newest_real_rate(venue):
    FundingRateFactory(symbol="BTC", at=START + HOUR, is_simulated=True)

    with pytest.raises(CommandError, match="first instant with --since"):
        import_funding()
    with pytest.raises(CommandError, match="symbol with --symbol"):
        run("import_funding", "--exchange", "hyperliquid")


# --- The real client, as far as it goes without a network ---


class CannedHyperliquid(ccxt.hyperliquid):
    """The client itself on answers in the venue's own form."""

    def fetch_markets(self, params=None):
        perpetual = {"index": 0, "name": "BTC", "szDecimals": 5, "maxLeverage": 40}
        return [self.parse_market({**perpetual, "baseId": 0, "midPx": "1", "markPx": "1", "funding": "0"})]

    def fetch_currencies(self, params=None):
        return {}

    def fetch(self, url, method="GET", headers=None, body=None):
        request = json.loads(body)
        if request["type"] == "fundingHistory":
            times = [ms(START) + 31, ms(START + HOUR) + 7]
            wanted = [at for at in times if request["startTime"] <= at <= request["endTime"]]
            return [{"coin": "BTC", "fundingRate": "0.0000125", "premium": "0.0005", "time": at} for at in wanted]
        asked = request["req"]
        opened = range(ms(START), ms(START + 3 * MINUTE), 60_000)
        return [
            {"t": at, "T": at + 59_999, "s": "BTC", "i": asked["interval"], "n": 3}
            | {"o": "67000.1", "h": "67001.25", "l": "66999.5", "c": "67000.7", "v": "0.00001"}
            for at in opened
            if asked["startTime"] <= at <= asked["endTime"]
        ]


@pytest.mark.django_db
def test_the_real_client_understands_what_it_is_asked(monkeypatch):
    monkeypatch.setattr(ccxt, "hyperliquid", CannedHyperliquid)

    said = import_bars("--since", "2026-06-01", "--until", "2026-06-02", "--aggregate", "none")
    import_funding("--since", "2026-06-01", "--until", "2026-06-02")

    bar = Bar.objects.first()
    assert said == "3 bars of BTC 1m\n"
    numbers = [bar.open, bar.high, bar.low, bar.close, bar.volume]
    assert numbers == [D(text) for text in ("67000.1", "67001.25", "66999.5", "67000.7", "0.00001")]
    assert [row[1:3] for row in rates()] == [(D("0.0000125"), 1)] * 2
