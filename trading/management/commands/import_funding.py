from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.work.commands import KeelCommand
from trading.management.arguments import add_import_arguments, find_begin
from trading.market.imports.funding import FUNDING_COLUMNS, find_newest_funding, read_funding, store_funding
from trading.market.imports.venue import fetch_funding, find_market, open_venue
from trading.models import FundingRate


class Command(KeelCommand):
    help = (
        f"Take funding rates from a CSV or JSON file with the columns {', '.join(FUNDING_COLUMNS)}, or from a venue by"
        " ccxt."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_import_arguments(parser, needs_symbol=False)
        parser.add_argument(
            "--hours",
            type=int,
            choices=range(1, 25),
            metavar="N",
            help="hours between payments; by default from the data",
        )

    def run(self, *, file: Path | None, exchange: str, source: str, **options: Any) -> None:
        if file is not None:
            count = store_funding(list(read_funding(file, source=(source or file.name)[:80])))
        else:
            count = _import_venue(exchange, **options)
        self.say(f"{count} funding rates", funding_rates=count)


def _import_venue(
    exchange: str,
    *,
    symbol: str | None,
    market: str,
    since: datetime | None,
    until: datetime | None,
    hours: int | None,
    **_: Any,
) -> int:
    if symbol is None:
        raise CommandError("Name the symbol with --symbol.")
    # From a day before: by the last payments one sees how far apart they are.
    since = find_begin(since, find_newest_funding(symbol), timedelta(days=-1), of=f"funding rates of {symbol}")
    venue, found = open_venue(exchange), list[FundingRate]()
    market = find_market(venue, symbol, market=market)
    rates = fetch_funding(venue, market=market, symbol=symbol, since=since, until=until or timezone.now(), hours=hours)
    try:
        for rate in rates:
            found.append(rate)
    finally:
        count = store_funding(found)  # also those before a venue stopped answering
    return count
