"""Rules in words, labelled by hand before the code that reads them; every second one was kept unseen while tuning."""

from decimal import Decimal
from typing import Final

from config.lib.words.markets import CalendarKind
from config.lib.words.rules import (
    DailyLoss,
    Days,
    Events,
    Hours,
    Leverage,
    LossPause,
    RiskPerTrade,
    Rule,
    StopRequired,
    Symbols,
    TradesPerDay,
)

ZONE: Final = "Europe/Oslo"  # the user's


def _risk(limit: str, unit: str = "pct", *, is_strict: bool = False) -> RiskPerTrade:
    return RiskPerTrade(limit=Decimal(limit), unit=unit, is_strict=is_strict)  # type: ignore[arg-type]


def _leverage(limit: str, *, is_strict: bool = False) -> Leverage:
    return Leverage(limit=Decimal(limit), is_strict=is_strict)


def _only(*symbols: str) -> Symbols:
    return Symbols(mode="only", symbols=symbols)


def _never(*symbols: str) -> Symbols:
    return Symbols(mode="never", symbols=symbols)


def _hours(mode: str, start: str, end: str, zone: str = ZONE) -> Hours:
    begin, stop = (int(text[:2]) * 60 + int(text[3:]) for text in (start, end))
    return Hours(mode=mode, start=begin, end=stop, zone=zone)  # type: ignore[arg-type]


def _days(mode: str, *days: int) -> Days:
    return Days(mode=mode, days=days, zone=ZONE)  # type: ignore[arg-type]


def _per_day(limit: int) -> TradesPerDay:
    return TradesPerDay(limit=limit, zone=ZONE)


def _daily_loss(limit: str, unit: str = "pct") -> DailyLoss:
    return DailyLoss(limit=Decimal(limit), unit=unit, zone=ZONE)  # type: ignore[arg-type]


def _pause(losses: int, minutes: int | None = None, *, is_in_row: bool = True) -> LossPause:
    return LossPause(losses=losses, is_in_row=is_in_row, minutes=minutes, zone=ZONE)


def _events(*kinds: CalendarKind, before: int | None, after: int | None) -> Events:
    return Events(kinds=kinds, before=before, after=after, zone=ZONE)


WITHIN: Final[list[tuple[str, Rule]]] = [
    ("I never risk more than 1% per trade", _risk("1")),
    ("Risks at most 1% of the account per trade", _risk("1")),
    ("Max risk per trade is 0.5 % of equity", _risk("0.5")),
    ("Never risk more than .5% per trade", _risk("0.5")),
    ("Never more than two percent risk on any single trade", _risk("2")),
    ("I don't want to risk over $250 on a trade", _risk("250", "usd")),
    ("Keeps leverage at 3x or less", _leverage("3")),
    ("Max leverage is 5x", _leverage("5")),
    ("Never above 10x", _leverage("10")),
    ("I use no leverage", _leverage("1")),
    ("My leverage stays under 4x", _leverage("4", is_strict=True)),
    ("No more than 2x leverage on any position", _leverage("2")),
    ("Leverage is capped at three times", _leverage("3")),
    ("I trade BTC and ETH only", _only("BTC", "ETH")),
    ("Only trades Bitcoin", _only("BTC")),
    ("I never trade DOGE or SHIB", _never("DOGE", "SHIB")),
    ("No SOL", _never("SOL")),
    ("I stay away from XRP and ADA", _never("XRP", "ADA")),
    ("Trades nothing but BTC, ETH and SOL", _only("BTC", "ETH", "SOL")),
    ("I don't touch PEPE", _never("PEPE")),
    ("No trades after 17:00 UTC", _hours("only", "00:00", "17:00", "UTC")),
    ("I only trade between 08:00 and 17:00", _hours("only", "08:00", "17:00")),
    ("Never opens a trade before 9am", _hours("only", "09:00", "24:00")),
    ("I don't trade between 12:00 and 13:30", _hours("never", "12:00", "13:30")),
    ("Only trades from 9 am to 4 pm New York time", _hours("only", "09:00", "16:00", "America/New_York")),
    ("I never trade outside 07:00-15:00 UTC", _hours("only", "07:00", "15:00", "UTC")),
    ("No new positions past 10 pm", _hours("only", "00:00", "22:00")),
    ("I stop trading at 21:00", _hours("only", "00:00", "21:00")),
    ("I never trade on Mondays", _days("never", 0)),
    ("No trading on weekends", _days("never", 5, 6)),
    ("Only trades on weekdays", _days("only", 0, 1, 2, 3, 4)),
    ("I take Fridays off", _days("never", 4)),
    ("I don't trade Saturdays and Sundays", _days("never", 5, 6)),
    ("At most 3 trades a day", _per_day(3)),
    ("I never take more than five trades per day", _per_day(5)),
    ("Max two trades each day", _per_day(2)),
    ("I stop for the day after losing 3%", _daily_loss("3")),
    ("My daily loss limit is 2% of equity", _daily_loss("2")),
    ("Once I am down $500 on the day I stop trading", _daily_loss("500", "usd")),
    ("Never lose more than 4% in a day", _daily_loss("4")),
    ("No new trades after losing $1,000 in a day", _daily_loss("1000", "usd")),
    ("I stop for the day after three losses in a row", _pause(3)),
    ("After two losing trades in a row I take a break of 2 hours", _pause(2, 120)),
    ("I quit for the day after 3 losses", _pause(3, is_in_row=False)),
    ("After a loss I wait 30 minutes", _pause(1, 30)),
    ("No trades within 30 minutes of CPI", _events(CalendarKind.CPI, before=30, after=30)),
    ("I don't trade on FOMC days", _events(CalendarKind.FOMC, before=None, after=None)),
    (
        "No new position within 2 hours before FOMC or CPI",
        _events(CalendarKind.FOMC, CalendarKind.CPI, before=120, after=0),
    ),
    ("Always uses a stop loss", StopRequired()),
    ("I never trade without a stop", StopRequired()),
    ("Every trade has a stop", StopRequired()),
]
OUTSIDE: Final = [
    "I usually trade from 13:00 to 17:00 UTC",
    "Max leverage is 5x on BTC and 3x on ETH",
    "Never risk less than 1% per trade",
    "No trading after 5",
    "I avoid alts when funding is high",
    "I never close a winner before the target",
    "Risks 2% of the account per trade",
    "Does not want a drawdown over 15%",
    "I don't always use a stop",
    "At least 3 trades a day",
]
# Beside the sixty: sentences one word away from a rule.
TRAPS: Final = [
    "I no longer limit leverage to 5x",
    "My friend never trades above 5x",
    "I never trade BTC without a stop",
    "I never use a stop",
    "I don't stop after losing 3% in a day",
    "Max 5x leverage until March",
    "At most 3 trades a week",
    "I never risk more than 1% per day",
    "I enter at most 3 times",
    "Max 5x, never SOL",
    "Is my max leverage 5x?",
    "Never more than 5x the average range",
    "I trade more than 3 times a day",
    "I stop for the week after losing 5%",
    "No BTC on weekends",
    "No trades after 17:00 on Fridays",
    "I never trade only BTC",
    "I only trade BTC, never before 9am",
    "Never lose more than 1% on a trade",
    "Max 500 EUR risk per trade",
    "No trades around CPI",
    "I stop after three losses in a row",
    "I never hold positions over FOMC",
    "Only trades between 9 and 11",
    "No trades after 17:00 CET",
    "I stop after 3 wins in a row",
    "Never below 2x leverage",
    "I never trade less than 3 times a day",
    "I do not avoid DOGE",
    "Not only BTC",
    "No trades past midnight",
    "I stop trading after 3 trades a day",
    "I never take a break after a loss",
    "Never stop after a loss for the day",
    "No limit on leverage",
    "I don't trade the day before FOMC",
    "I risk 1% max per trade, 3% max per day",
]
