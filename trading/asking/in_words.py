"""Read a question to the record in the user's words: its measure, group, period and filters. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from config.lib.words.sentences import spell_out, straight
from trading.asking.query import GROUPS, MEASURES
from trading.asking.words import Words, read_words

# What a question measures and groups by: the first row whose tags it has, and has not.
_MEASURE_OF: Final = {
    "common": "count",
    "rule|broken -net -pay -effect -doing -fees": "count",
    "long|short trade|result": "holding",
    "drawdown which trade": "mae",
    "often result=won -exit": "win_rate",
    **{name: name for name in reversed(list(MEASURES)) if name not in {"net", "count"}},
    "average|trust -count": "expectancy",
    "count -low -top": "count",
    "count -agent -skill": "count",
    "": "net",
}
_GROUP_OF: Final = {
    "rule|broken": "rule",
    "side=long side=short versus|per|top|low": "side",
    "result=won result=lost -net": "result",
    "regime=chop regime=trend|regime=shock": "regime",
    "skill|agent|strategy which|top|low|per|versus": "skill",
    "where top|low|result": "symbol",
    "hour more|low|top": "hour",
    "weekday more|low|top -day": "weekday",
    "when net|result|top|low": "hour",
    "top|low|long|short trade|result -agent -skill": "trade",
    "": "",
}


def find_question(text: str) -> dict[str, str] | None:
    """Return what a text asks the record, as `parse_query` takes it; None: it has a word of something else."""
    words = read_words(spell_out(straight(text)).strip(" .!?;"))
    is_question = words.is_covered and (words.is_of_record or not words.tags.isdisjoint(words.given))
    return read_question(words) if is_question else None


def read_question(words: Words) -> dict[str, str]:
    """Return what words ask the record, as `parse_query` takes it."""
    between = "symbol" if len(words.symbols) > 1 and "versus" in words.tags else ""
    group = words.given.get("group", "").partition(",")[0] or between or _find_first(_GROUP_OF, words)
    measure = _find_first(_MEASURE_OF, words)
    where = {key: value for key, value in words.given.items() if key in GROUPS and key != group}
    where |= {"symbol": ",".join(words.symbols)} if group != "symbol" else {}
    where |= {"event": ",".join(words.kinds)}
    is_yes_or_no = re.match(r"(?:did|am|do|have|is|was|are)\b", words.text, re.IGNORECASE)
    # "Profit and loss", "did I lose money", "which agent is losing money" ask for the net of all trades.
    if group == "trade" or measure in {"win_rate", "profit_factor"} or (measure == "net" and (is_yes_or_no or group)):
        where.pop("result", None)
    found = {"measure": measure, "group": group, "period": words.given.get("period", ""), **where}
    return {name: value for name, value in found.items() if value}


def _find_first(table: Mapping[str, str], words: Words) -> str:
    return next(name for wanted, name in table.items() if words.has(wanted))
