"""Arguments of commands."""

from argparse import ArgumentTypeError
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from trading.market.imports.rows import parse_instant
from trading.models.choices import INTERVALS
from trading.skills.schemas import symbol_name


def add_import_arguments(parser: CommandParser, *, needs_symbol: bool) -> None:
    """Add the file, or the venue with its symbol and range."""
    sources = parser.add_mutually_exclusive_group(required=True)
    sources.add_argument("file", type=Path, nargs="?")
    sources.add_argument("--exchange", metavar="VENUE", help="instead of a file: hyperliquid, binance, bybit, ...")
    parser.add_argument("--source", default="", help="for a file: its source, by default the file name")
    parser.add_argument("--symbol", required=needs_symbol, type=symbol_argument)
    parser.add_argument("--market", default="", help="for a venue: its market name, such as BTC/USDC:USDC")
    parser.add_argument("--since", type=instant_argument, help="for a venue: by default from the newest stored one on")
    parser.add_argument("--until", type=instant_argument, help="for a venue: by default now")


def find_begin(since: datetime | None, newest: datetime | None, step: timedelta, *, of: str) -> datetime:
    """Return from when a venue is asked: `since`, or `step` from the newest stored row. Raises CommandError."""
    if since is not None:
        return since
    if newest is None:
        raise CommandError(f"No {of} are stored yet. Give the first instant with --since.")
    return newest + step


def symbol_argument(text: str) -> str:
    """Return a symbol as it is stored."""
    try:
        return symbol_name(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text}: {error}") from error


def instant_argument(text: str) -> datetime:
    """Parse an ISO 8601 instant; default UTC."""
    try:
        return parse_instant(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; write 2026-01-31 or 2026-01-31T12:00") from error


def intervals_argument(text: str) -> list[str]:
    """Parse a list of intervals such as "1h,1d"."""
    names = [] if text == "none" else [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in INTERVALS]:
        raise ArgumentTypeError(f"{', '.join(unknown)} is none of {', '.join(INTERVALS)}")
    return names


def number_argument(text: str) -> Decimal:
    """Return a finite number."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        value = Decimal("NaN")
    if not value.is_finite():
        raise ArgumentTypeError(f"{text} is not a number")
    return value


def positive_argument(text: str) -> Decimal:
    """Return an amount above zero."""
    value = number_argument(text)
    if value <= 0:
        raise ArgumentTypeError(f"{text} is not above zero")
    return value
