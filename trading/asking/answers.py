"""Answers as plain values, and as lines of words: every interface shows the same figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse

from config.lib import figures
from trading.asking.check import ComingEvent, PlanCheck
from trading.asking.planner import RecordAnswer, TradeAnswer
from trading.asking.query import FILTERS, GROUPS, MEASURES, RECORDS, TradeQuery
from trading.record.performance import MIN_TRADES, Figure

Row = dict[str, Any]


def _money(write: Callable[[Decimal], str]) -> Callable[[float], str]:
    return lambda value: write(Decimal(str(value)))


_BY_UNIT: Final[Mapping[str, Callable[[float], str]]] = {
    "usd": _money(figures.format_signed_usd),
    "count": lambda value: figures.format_count(int(value)),
    "fraction": figures.format_pct,
    "ratio": figures.format_ratio,
    "minutes": lambda value: figures.format_duration(timedelta(minutes=value)),
    "r": lambda value: f"{value:+.2f} R",
}
# Of either sign without a plus.
_BY_MEASURE: Final = dict.fromkeys(("fees", "drawdown"), _money(figures.format_usd))
_ROUND: Final[Mapping[str, Callable[[float | None], float | None]]] = {
    "usd": figures.round_usd,
    "count": lambda value: None if value is None else int(value),
    "fraction": figures.round_pct,
    "ratio": lambda value: figures.round_number(value, 2),
    "minutes": lambda value: figures.round_number(value, 1),
    "r": lambda value: figures.round_number(value, 2),
}


@dataclass(frozen=True, slots=True)
class FigureLine:
    """One figure in words; empty: there is none."""

    label: str
    trades: int
    value: str
    mean: str  # of a sum: what a trade adds
    interval: str  # about 90 %, of the mean where there is one
    unknown: int
    link: str = ""


def describe_total(answer: RecordAnswer) -> FigureLine:
    """Return the figure of all trades in words."""
    measure = answer.query.measure
    return describe_figure(measure, MEASURES[measure].label, answer.figure, answer.unknown)


def describe_groups(answer: RecordAnswer) -> list[FigureLine]:
    """Return the groups in words, each with the address of its own answer."""
    rows = [(one, narrow_words(answer.query, one.key)) for one in answer.groups]
    return [
        describe_figure(answer.query.measure, one.label, one.figure, one.unknown, build_link(words) if words else "")
        for one, words in rows
    ]


def format_value(measure: str, value: float | None) -> str:
    """Return a value of a measure in words."""
    write = _BY_MEASURE.get(measure) or _BY_UNIT[MEASURES[measure].unit]
    return "" if value is None else write(value)


def describe_figure(measure: str, label: str, figure: Figure, unknown: int, link: str = "") -> FigureLine:
    """Return a figure of a measure in words."""
    low, high = (format_value(measure, bound) for bound in figure.interval or (None, None))
    interval = f"{low} to {high}" if high else f"above {low}" if low else ""
    value, mean = format_value(measure, figure.value), format_value(measure, figure.mean)
    return FigureLine(label, figure.trades, value, mean, interval, unknown, link)


def describe_answer(answer: RecordAnswer) -> Row:
    """Return an answer as JSON; null is not known."""
    query, period = answer.query, answer.query.period
    first, last = period.bounds if period else (None, None)
    groups = [{"group": one.label, **_figure_row(answer.unit, one.figure, one.unknown)} for one in answer.groups]
    groups += [_trade_row(answer.unit, one) for one in answer.trades]
    return {
        "measure": query.measure,
        "unit": "pct" if answer.unit == "fraction" else answer.unit,
        "scope": describe_scope(query),
        **({"period": {"from": first, "to": last, "zone": str(query.zone)}} if period else {}),
        **_figure_row(answer.unit, answer.figure, answer.unknown),
        "interval_of": "value" if answer.figure.mean is None else "mean",
        "is_too_few": answer.figure.trades < MIN_TRADES,
        **({"groups": groups} if groups else {}),
        **({"groups_left_out": answer.left_out} if answer.left_out else {}),
        **({"best": _trade_row(answer.unit, answer.best)} if answer.best else {}),
        **({"worst": _trade_row(answer.unit, answer.worst)} if answer.worst else {}),
        "trade_ids": [str(pk) for pk in answer.trade_ids],
        **({"trades_left_out": answer.ids_left_out} if answer.ids_left_out else {}),
        "link": build_link(query.words),
    }


def describe_check(check: PlanCheck) -> Row:
    """Return a check as JSON; null is not known."""
    plan, sizing, mark = check.plan, check.sizing, check.mark
    open_usd, size = check.exposure_usd, sizing.size_usd
    return {
        "verdict": check.verdict,
        "why": check.why,
        "symbol": plan.symbol,
        "side": plan.side,
        "price": figures.round_price(check.price),
        "price_at": figures.format_instant(mark.at) if mark else None,
        "is_simulated": mark.bar.is_simulated if mark else None,
        "stop_price": figures.round_price(plan.numbers.get("stop")),
        "stop_distance_pct": figures.round_pct(sizing.stop_fraction),
        "size_usd": figures.round_usd(size),
        "quantity": figures.round_number(sizing.quantity, 8),
        "risk_usd": figures.round_usd(sizing.risk_usd),
        "risk_pct": figures.round_pct(sizing.risk_fraction),
        "leverage": figures.round_number(sizing.leverage, 2),
        "equity_usd": figures.round_usd(check.equity_usd),
        "equity_of": check.equity_of,
        "exposure_usd": figures.round_usd(open_usd),
        "exposure_after_usd": figures.round_usd(open_usd + size) if open_usd is not None and size is not None else None,
        "positions": [
            {"symbol": one.trade.symbol, "side": one.trade.side, "notional_usd": figures.round_usd(one.notional_usd)}
            for one in check.positions
        ],
        "rules": [{"rule": one.reading, "verdict": one.label, "why": one.why} for one in check.rules],
        "events": [_event_row(one) for one in check.events],
        "similar": {
            "n": check.expectancy.trades,
            "expectancy_usd": figures.round_usd(check.expectancy.value),
            "interval_90pct_usd": _figure_row("usd", check.expectancy, 0)["interval_90pct"],
            "win_rate_pct": figures.round_pct(check.win_rate.value),
            "win_rate_interval_90pct": _figure_row("fraction", check.win_rate, 0)["interval_90pct"],
            "link": build_link(check.similar.words),
        },
        "link": f"{reverse('trading:check')}?{urlencode(plan.words)}",
    }


def _event_row(coming: ComingEvent) -> Row:
    event, past = coming.event, coming.past
    bounds = past.median_interval_fraction
    return {
        "kind": event.kind,
        "starts_at": figures.format_instant(event.starts_at),
        "importance": figures.round_number(event.importance, 2),
        "past_events": past.events,
        "median_abs_move_pct": figures.round_pct(past.median_abs_move_fraction),
        "interval_90pct": [figures.round_pct(bound) for bound in bounds] if bounds else None,
        "worst_move_pct": figures.round_pct(past.worst_move_fraction),
    }


def build_link(words: Mapping[str, str]) -> str:
    """Return the address of the page that answers a question."""
    return f"{reverse('trading:ask')}?{urlencode(words)}"


def narrow_words(query: TradeQuery, key: str) -> dict[str, str] | None:
    """Return the words that ask about one group alone; None: there are none."""
    words = {name: text for name, text in query.words.items() if name != "group"}
    match query.group:
        case "version":
            skill, _, number = key.partition(" ")
            return {**words, "skill": skill, "version": number}
        case "month" if query.period is None:
            return {**words, "period": key}
        case group if group in FILTERS:
            return {**words, group: key}
    return None


def describe_scope(query: TradeQuery) -> str:
    """Return which trades a question is about, in words."""
    period = query.period.words if query.period else "all time"
    named = [(GROUPS[name], values) for name, values in query.where.items() if name != "record"]
    given = [
        f"{group.label.lower()}: {', '.join(group.choices.get(one, one) for one in values)}" for group, values in named
    ]
    records = [RECORDS[name].lower() for name in query.where.get("record", ())]
    return ", ".join([*(records or ["all closed trades"]), *given, period])


def _figure_row(unit: str, figure: Figure, unknown: int) -> Row:
    write, bounds = _ROUND[unit], figure.interval
    return {
        "n": figure.trades,
        "value": write(figure.value),
        **({"mean": write(figure.mean)} if figure.mean is not None else {}),
        "interval_90pct": [write(bound) for bound in bounds] if bounds else None,
        **({"not_known": unknown} if unknown else {}),
    }


def _trade_row(unit: str, one: TradeAnswer) -> Row:
    trade = one.trade
    return {
        "trade_id": str(trade.pk),
        "symbol": trade.symbol,
        "side": trade.side,
        "entry_at": figures.format_instant(trade.entry_at),
        "exit_at": figures.format_instant(trade.exit_at),
        "value": _ROUND[unit](one.value),
    }
