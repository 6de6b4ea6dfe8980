"""Answers as plain values and words: the tool, REST, the command and the page show the same."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse

from config.lib.figures import format_instant, round_number, round_pct, round_usd
from trading.asking.planner import Answer, GroupAnswer, TradeAnswer
from trading.asking.query import FILTERS, GROUPS, RECORDS, TradeQuery
from trading.record.performance import MIN_TRADES, Figure

Row = dict[str, Any]
_ROUND: Final[Mapping[str, Callable[[float | None], float | None]]] = {
    "usd": round_usd,
    "count": lambda value: None if value is None else int(value),
    "fraction": round_pct,
    "ratio": lambda value: round_number(value, 2),
    "minutes": lambda value: round_number(value, 1),
    "r": lambda value: round_number(value, 2),
}


def describe_answer(answer: Answer) -> Row:
    """Return an answer as JSON; null is not known."""
    query, period = answer.query, answer.query.period
    first, last = period.bounds if period else (None, None)
    return {
        "measure": query.measure,
        "unit": "pct" if answer.unit == "fraction" else answer.unit,
        "scope": describe_scope(query),
        **({"period": {"from": first, "to": last, "zone": str(query.zone)}} if period else {}),
        **_figure_row(answer.unit, answer.figure, answer.unknown),
        "interval_of": "value" if answer.figure.mean is None else "mean",
        "is_too_few": answer.figure.trades < MIN_TRADES,
        **({"groups": [_group_row(answer.unit, one) for one in answer.groups]} if answer.groups else {}),
        **({"groups": [_trade_row(answer.unit, one) for one in answer.trades]} if answer.trades else {}),
        **({"groups_left_out": answer.left_out} if answer.left_out else {}),
        **({"best": _trade_row(answer.unit, answer.best)} if answer.best else {}),
        **({"worst": _trade_row(answer.unit, answer.worst)} if answer.worst else {}),
        "trade_ids": [str(pk) for pk in answer.trade_ids],
        **({"trades_left_out": answer.ids_left_out} if answer.ids_left_out else {}),
        "link": build_link(query.words),
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
    given = [f"{GROUPS[name].lower()} {', '.join(values)}" for name, values in query.where.items() if name != "record"]
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


def _group_row(unit: str, group: GroupAnswer) -> Row:
    return {"group": group.label, **_figure_row(unit, group.figure, group.unknown)}


def _trade_row(unit: str, one: TradeAnswer) -> Row:
    trade = one.trade
    return {
        "trade_id": str(trade.pk),
        "symbol": trade.symbol,
        "side": trade.side,
        "entry_at": format_instant(trade.entry_at),
        "exit_at": format_instant(trade.exit_at),
        "value": _ROUND[unit](one.value),
    }
