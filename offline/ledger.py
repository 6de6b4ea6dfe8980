"""Questions to the record: `query_trades`, its arguments and one telling of its results."""

import re
from collections.abc import Sequence
from typing import Final

from chat.tools.questions import query_trades
from offline.messages import Call
from offline.talk import Steps, Talk
from offline.telling import VIEWS, Row, escape, exact, fill, listing, number, paragraphs, rows, spell
from trading.asking.in_words import read_question
from trading.asking.query import MEASURES
from trading.asking.words import Words

_KEYS: Final = {"usd": "pnl_usd", "pct": "value_pct", "minutes": "minutes", "count": "count", "ratio": "profit_factor"}
_FIRST: Final = {"long": "Longest", "short": "Shortest"}
_MOST_GROUPS: Final = 8
_LIKE: Final = ("symbol", "side", "regime", "exit")  # groups in which losing trades may be alike


def query_steps(talk: Talk, words: Words, view: str) -> Steps:
    """Return the steps that ask the record and tell its answer."""
    where = read_question(words)
    first = {key: where.pop(key, "") for key in ("measure", "period", "group")}
    if words.has("it -me") and "deployment_id" in talk.scene.focus:
        where["deployment"] = talk.scene.focus["deployment_id"]
    groups = _LIKE if "common" in words.tags else (first["group"],)
    return (yield from ask_record(talk, words, [{**first, "where": where, "group": one} for one in groups]))


def ask_record(talk: Talk, words: Words, asked: Sequence[Row]) -> Steps:
    """Ask the record several questions and tell the answers."""
    found = yield tuple(Call(query_trades.name, {key: one[key] for key in one if one[key]}) for one in asked)
    told = [part for outcome in found for part in _list_parts(outcome.as_row, words) if not outcome.error]
    return paragraphs(talk.tell_errors(found), *dict.fromkeys(told))


# --- Telling ---


def _list_parts(result: Row, words: Words) -> list[str]:
    """Return value, sample, interval, groups and link of an answer."""
    measure, unknown = exact(result, "measure"), number(result, "not_known")
    label = MEASURES[measure].label if measure in MEASURES else "Net"
    if not number(result, "n"):
        scope = escape(exact(result, "scope"))
        return [f"{label}: not known for {unknown} trades." if unknown else f"No closed trade fits: {scope}."]
    told = {key: _spell(result, result.get(key)) for key in ("value", "mean", "interval_90pct")}
    link = exact(result, "link")
    return [
        fill(VIEWS["record"].head, {**result, "label": label, **told}),
        _format_groups(result, words),
        fill("|{groups_left_out} more groups not shown.", result),
        _judge(result) if "trust" in words.tags else "",
        f"[The trades behind it]({link})" if re.fullmatch(r"/trades/[\w/?&=%+.,:-]*", link) else "",
    ]


def _spell(result: Row, value: object) -> str:
    """Return a value of an answer, or the bounds of its interval, in its unit."""
    unit = exact(result, "unit")
    is_paid = unit == "usd" and exact(result, "measure") in {"fees", "drawdown"}
    key = "paid_usd" if is_paid else _KEYS.get(unit, "profit_factor")
    key = f"interval_{key}" if isinstance(value, list) else key
    told = spell({key: value}, key)
    return f"{told} R" if told and unit == "r" else told


def _judge(result: Row) -> str:
    bounds = result.get("interval_90pct")
    if not isinstance(bounds, list) or result.get("is_too_few") or None in bounds:
        return "That is too few trades to tell an edge from luck."
    if bounds[0] <= 0 <= bounds[-1]:
        return "The interval holds zero: this cannot be told from luck yet."
    return "The interval does not hold zero: that is more than luck would usually give."


def _format_groups(result: Row, words: Words) -> str:
    """List the groups, the one that was asked for first."""
    is_low = words.has("low|short") or (exact(result, "measure") == "net" and words.has("result=lost|effect|pay"))
    groups = sorted(rows(result, "groups"), key=lambda one: number(one, "value") or 0, reverse=not is_low)
    lines = []
    for one in groups[:_MOST_GROUPS]:
        told = {**one, "told": _spell(result, one.get("value"))}
        lines.append(fill(VIEWS["ranked" if "trade_id" in one else "record"].row, told))
    if not lines or not words.has("top|low|long|short|which|versus"):
        return listing(lines)
    which = next((word for tag, word in _FIRST.items() if tag in words.tags), "Worst" if is_low else "Best")
    return paragraphs(f"{which}: **{lines[0]}**", listing(lines[1:]))
