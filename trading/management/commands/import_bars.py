from itertools import dropwhile
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from config.lib.commands import KeelCommand
from trading.imports.bars import CSV_COLUMNS, last_stored, read_bars, store_bars, store_combined
from trading.models import Bar
from trading.schemas import INTERVALS, symbol_name


class Command(KeelCommand):
    help = f"Take bars into the market's history from a CSV with the columns {', '.join(CSV_COLUMNS)}; may be gzipped."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the file and what its bars are of."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--symbol", required=True)
        parser.add_argument("--interval", required=True, choices=list(INTERVALS))
        parser.add_argument("--source", default="", help="where the bars are from; by default the file's name")
        parser.add_argument("--combine", action="append", default=[], choices=list(INTERVALS), help="make longer bars")
        parser.add_argument("--resume", action="store_true", help="leave out what is not newer than what is stored")

    def run(
        self,
        *,
        file: Path,
        symbol: str,
        interval: str,
        source: str,
        combine: list[str],
        resume: bool,
        **options: object,
    ) -> None:
        """Read and write a chunk at a time; then make the longer bars."""
        try:
            name = symbol_name(symbol)
        except ValueError as error:
            raise CommandError(f"{symbol}: {error}.") from error
        if any(INTERVALS[longer] <= INTERVALS[interval] for longer in combine):
            raise CommandError(f"Bars of {interval} can only be combined into longer ones.")
        since = last_stored(name, interval) if resume else None
        bars = read_bars(file, symbol=name, interval=interval, source=(source or file.name)[:80])
        fresh = dropwhile(lambda bar: since is not None and bar.opened_at <= since, bars)
        count = store_bars(fresh, progress=self._tell)
        made = {
            longer: store_combined(name, from_interval=interval, to_interval=longer, since=since) for longer in combine
        }
        more = "".join(f", {number} of {longer}" for longer, number in made.items())
        self.say(f"{count} bars of {name} {interval}{more}", symbol=name, interval=interval, bars=count, combined=made)

    def _tell(self, count: int, last: Bar) -> None:
        if not self.is_json:
            self.stderr.write(f"{count} bars, up to {last.opened_at:%Y-%m-%d %H:%M}")
