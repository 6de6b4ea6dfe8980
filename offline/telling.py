"""Results of tools as text: one rendering by templates, and of lists by a table of views.

A template names the keys of a row: `"{symbol} {side}| since {entry_at}|, exit by {exit_kind}"`. The end of a key says
how its value is written. Parts between bars are left out when the row lacks one of their values; before the first bar a
missing value is `?`. A part `!key text` is told when that value is missing. Texts that the user did not type are one
line of Markdown that draws nothing.

A view names the tool, the list in its result, the tool's argument `detail`, and the templates of a row and of what
stands around it. Lists inside a row are told by the views of their names. What an agent noted is quoted as the agent's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final

from config.lib import figures
from config.lib.text import prompt_line
from config.lib.words.clauses import load_forms, read_rows, read_sections
from trading.asking.query import MEASURES
from trading.asking.words import Words

MAX_QUOTED: Final = 300  # characters

_MARKS = re.compile(r"([\\`*_\[\]<>~|])")
_KEY = re.compile(r"\{(\w+)\}")
_SAMPLES: Final = frozenset({"n", "closed_trades", "sample_size", "trades_considered"})
_FEW_TRADES: Final = 5  # below it a record is chance
_SIGNED: Final = re.compile(r"pnl|unrealised|open_so_far|change_|worst|funding_rate|basis")

Row = Mapping[str, Any]


def number(row: Row, key: str) -> Decimal | None:
    """Return a number of a result, None when there is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return Decimal(str(value))


def rows(row: Row, key: str) -> list[Row]:
    """Return the objects of a list in a result."""
    listed = row.get(key)
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def block(row: Row, key: str) -> Row:
    """Return an object of a result, empty if missing."""
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def exact(row: Row, key: str) -> str:
    """Return a result's raw text to compare, or ""."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def escape(text: str) -> str:
    """Return a text as one short line of Markdown that draws nothing."""
    line = prompt_line(text)
    short = line if len(line) <= MAX_QUOTED else f"{line[: MAX_QUOTED - 1].rstrip()}…"
    return _MARKS.sub(r"\\\1", short)


def fill(template: str, row: Row) -> str:
    """Return a template with the values of a row."""
    first, *optional = template.split("|")
    told = [_KEY.sub(lambda match: spell(row, match[1]) or "?", first)]
    for part in optional:
        if part.startswith("!"):
            key, _, text = part[1:].partition(" ")
            told += [] if spell(row, key) else [text]
            continue
        values = {key: spell(row, key) for key in _KEY.findall(part)}
        told += [part.format(**values)] if all(values.values()) else []
    return "".join(told)


def spell(row: Row, key: str) -> str:
    """Return a value by the end of its key; "" when there is none."""
    value, told = number(row, key), row.get(key)
    if value is not None:
        return _spell_number(key, value)
    if key.endswith(("_at", "_start", "_end", "as_of")):
        at = parse_instant(exact(row, key))
        return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""
    if "interval" in key and isinstance(told, list) and len(told) == 2:
        return " and ".join(spell({key: bound}, key) or "no bound" for bound in told)
    if key == "lessons_text":
        lines = [line.removeprefix("- ") for line in exact(row, key).splitlines() if line.strip()]
        return "\n>\n".join(f"> {escape(line)}" for line in lines)
    if told is True:
        return key.removeprefix("is_")
    return escape(exact(row, key).replace("_", " ") if key.endswith("kind") else exact(row, key))


def _spell_number(key: str, value: Decimal) -> str:
    is_signed = bool(_SIGNED.search(key))
    if key.endswith("_usd"):
        return (figures.format_signed_usd if is_signed else figures.format_usd)(value)
    if key.endswith("_pct") or key.startswith("median_90pct"):
        places = {"funding_rate_pct": 4, "basis_pct": 4, "value_pct": 2}.get(key, 1)
        return (figures.format_signed_pct if is_signed else figures.format_pct)(value / 100, places)
    if key.endswith("price"):
        return figures.format_price(value)
    if key == "quantity":
        return figures.format_quantity(value)
    if key.endswith("minutes"):
        return figures.format_duration(timedelta(minutes=max(0, int(min(value, Decimal(10**9))))))
    if key == "sentiment":
        return figures.format_signed_ratio(float(value))
    is_whole = value == int(value) and key not in {"sharpe", "profit_factor", "importance"}
    told = figures.format_count(int(value)) if is_whole else figures.format_ratio(float(value))
    return f"{told}, too few to say anything" if key in _SAMPLES and 0 < value < _FEW_TRADES else told


def parse_instant(text: str) -> datetime | None:
    """Parse an ISO instant in UTC; None if invalid."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def listing(lines: Sequence[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def paragraphs(*parts: str) -> str:
    """Return the parts that say something, a blank line between them."""
    return "\n\n".join(part for part in parts if part)


TEXTS: Final = read_sections(Path(__file__).with_name("replies.txt"))
SAYS: Final = read_rows(TEXTS["texts"])
FORMS: Final = load_forms(Path(__file__).with_name("tables.forms"))
TERMS: Final = {
    name.casefold(): f"**{names.partition('|')[0]}**: {told}."
    for names, told in read_rows(TEXTS["terms"]).items()
    for name in names.split("|")
}
_PART = re.compile(r"<(\w+)>")
_PARTS: Final = {"break": "\n\n", **read_rows(TEXTS["parts"])}
_INSIDE: Final = ("positions", "recent_rejections", "your_exposure")  # lists inside a row


@dataclass(frozen=True, slots=True)
class ResultView:
    """How a list of a tool's result is told."""

    tool: str
    key: str  # of the list
    detail: str = ""  # argument of the tool
    row: str = ""
    empty: str = ""
    head: str = ""  # of the result
    note: str = ""


def _parse_view(text: str) -> tuple[str, ResultView]:
    names, *parts = text.split("\n    ")
    name, *fields = names.split()
    filled = (_PART.sub(lambda match: _PARTS[match[1]], part) for part in parts)
    return name, ResultView(*fields, **dict(part.split(": ", 1) for part in filled))


VIEWS: Final = dict(map(_parse_view, re.split(r"\n(?! )", re.sub(r"\n {8}", " ", TEXTS["views"].strip()))))


def tell(name: str, found: Row, listed: Sequence[Row] | None = None, most: int = 10) -> str:
    """Return a list of a result by its view, or the rows that were picked of it."""
    view = VIEWS[name]
    listed = rows(found, view.key) if listed is None else listed
    lines = []
    for one in listed[:most]:
        inside = [fill(VIEWS[key].row, row) for key in _INSIDE for row in rows(one, key)]
        lines.append("\n  - ".join([fill(view.row, {**one, **block(one, "last_simulation")}), *inside]))
    left = f"{len(listed) - len(lines)} more not shown." if len(listed) > len(lines) else ""
    around = [fill(text, {**found, **block(found, "all")}) for text in (view.head, view.note) if lines]
    return paragraphs(*around[:1], listing(lines), left, *around[1:]) if lines else fill(view.empty, found)


def list_inside(found: Row, key: str) -> list[Row]:
    """Return the rows of a list inside the deployments, each with whose it is."""
    return [
        {**row, **{name: exact(one, name) for name in ("deployment_id", "skill_id", "skill_name")}}
        for one in rows(found, "deployments")
        for row in rows(one, key)
    ]


# --- Answers of the record ---

_KEYS: Final = {"usd": "pnl_usd", "pct": "value_pct", "minutes": "minutes", "count": "count", "ratio": "profit_factor"}
_FIRST: Final = {"long": "Longest", "short": "Shortest"}
_MOST_GROUPS: Final = 8


def list_record_parts(result: Row, words: Words) -> list[str]:
    """Return value, sample, interval, groups and link of an answer."""
    measure, unknown = exact(result, "measure"), number(result, "not_known")
    label = MEASURES[measure].label if measure in MEASURES else "Net"
    if not number(result, "n"):
        scope = escape(exact(result, "scope"))
        return [f"{label}: not known for {unknown} trades." if unknown else f"No closed trade fits: {scope}."]
    told = {key: _spell_measure(result, result.get(key)) for key in ("value", "mean", "interval_90pct")}
    link = exact(result, "link")
    return [
        fill(VIEWS["record"].head, {**result, "label": label, **told}),
        _format_groups(result, words),
        fill("|{groups_left_out} more groups not shown.", result),
        _judge(result) if "trust" in words.tags else "",
        f"[The trades behind it]({link})" if re.fullmatch(r"/trades/[\w/?&=%+.,:-]*", link) else "",
    ]


def _spell_measure(result: Row, value: object) -> str:
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
        told = {**one, "told": _spell_measure(result, one.get("value"))}
        lines.append(fill(VIEWS["ranked" if "trade_id" in one else "record"].row, told))
    if not lines or not words.has("top|low|long|short|which|versus"):
        return listing(lines)
    which = next((word for tag, word in _FIRST.items() if tag in words.tags), "Worst" if is_low else "Best")
    return paragraphs(f"{which}: **{lines[0]}**", listing(lines[1:]))
