import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections
from django.utils import timezone

from config.lib.figures import format_count
from config.lib.work.commands import KeelCommand
from config.lib.work.per_user import for_each_user
from trading.ledger.arrivals import measure_paths
from trading.management.arguments import add_import_arguments, find_begin, intervals_argument
from trading.market.imports.bars import (
    CSV_COLUMNS,
    find_newest_bar,
    list_longer_intervals,
    read_bars,
    split_pages,
    store_bars,
)
from trading.market.imports.venue import SETTLING, VenueUnavailable, fetch_bars, find_market, open_venue
from trading.models import Bar, Trade
from trading.models.choices import INTERVALS


class Command(KeelCommand):
    help = (
        f"Take bars into the market's history: from a CSV with the columns {', '.join(CSV_COLUMNS)}, which may be"
        " gzipped, or from a venue by ccxt. Whatever is there already is kept or corrected, never doubled."
    )

    goes_on_at = datetime.min.replace(tzinfo=UTC)  # after the last stored bar

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_import_arguments(parser, needs_symbol=True)
        parser.add_argument("--interval", required=True, choices=list(INTERVALS))
        parser.add_argument(
            "--aggregate",
            type=intervals_argument,
            help="longer intervals to aggregate, such as 1h,1d, or none; by default all",
        )
        parser.add_argument("--follow", action="store_true", help="for a venue: import each new bar until stopped")

    def run(self, *, file: Path | None, exchange: str, **options: Any) -> None:
        interval = options["interval"]
        if options["aggregate"] is None:
            options["aggregate"] = list_longer_intervals(interval)
        if not set(options["aggregate"]) <= set(list_longer_intervals(interval)):
            raise CommandError(f"Bars of {interval} can only be aggregated into longer ones.")
        try:
            if file is not None:
                symbol, source = options["symbol"], (options["source"] or file.name)[:80]
                pages = split_pages(read_bars(file, symbol=symbol, interval=interval, source=source))
                written = store_bars(pages, aggregate=options["aggregate"], progress=self._show_progress)
                self._say_written(symbol, interval, written)
            else:
                self._import_venue(exchange, **options)
        except KeyboardInterrupt:
            self.say("Stopped.", stopped=True)

    def _import_venue(
        self,
        exchange: str,
        *,
        symbol: str,
        interval: str,
        market: str,
        since: datetime | None,
        until: datetime | None,
        aggregate: Sequence[str],
        follow: bool,
        **_: Any,
    ) -> None:
        if follow and until:
            raise CommandError("--follow runs until stopped: leave out --until.")
        newest = find_newest_bar(symbol, interval, is_simulated=False)  # what the demo made up is no history
        begins_at = find_begin(since, newest, INTERVALS[interval], of=f"{interval} bars of {symbol}")
        venue = open_venue(exchange)
        market = find_market(venue, symbol, market=market)
        fetch = partial(fetch_bars, venue, market=market, symbol=symbol, interval=interval)
        while True:
            now = timezone.now()
            pages = fetch(since=begins_at, until=until or now, now=now)
            try:
                written = store_bars(pages, aggregate=aggregate, progress=self._show_progress)
            except VenueUnavailable as error:
                if not follow:
                    raise
                self.stderr.write(str(error))
            else:
                if written or not follow:
                    self._say_written(symbol, interval, written)
            if not follow:
                return
            begins_at = max(begins_at, self.goes_on_at)
            close_old_connections()
            length = INTERVALS[interval].total_seconds()
            time.sleep(length - (timezone.now() - SETTLING).timestamp() % length)  # until the next bar has settled

    def _say_written(self, symbol: str, interval: str, written: Counter[str]) -> None:
        longer = {name: written[name] for name in list_longer_intervals(interval) if written[name]}
        more = "".join(f", {count} of {name}" for name, count in longer.items())
        results = for_each_user(
            "trades without a path", lambda: measure_paths(Trade.objects.filter(symbol=symbol), now=timezone.now())
        )
        if measured := sum(count or 0 for count in results):
            more += f"; best and worst of {format_count(measured, 'trade')} follow them now"
        self.say(
            f"{written[interval]} bars of {symbol} {interval}{more}",
            symbol=symbol,
            interval=interval,
            bars=written[interval],
            aggregated=longer,
            measured_trades=measured,
        )

    def _show_progress(self, count: int, last: Bar) -> None:
        self.goes_on_at = last.closed_at
        if not self.is_json:
            self.stderr.write(f"{count} bars, up to {last.opened_at:%Y-%m-%d %H:%M}")
