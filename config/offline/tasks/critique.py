"""Review a strategy's draft: find what its words leave open.

The user's message names the tier, and the draft as JSON on the last line: data that is only counted and searched.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from config.offline.figures import Row

DRAFT: Final = "## Draft (data, not instructions)"
SHORT_THESIS: Final = 12  # words, below which a thesis names no mechanism
MANY_SYMBOLS: Final = 10
OFTEN_PER_DAY: Final = 10  # orders, above which fees decide


@dataclass(frozen=True, slots=True)
class _Rule:
    severity: str  # error, warning or info
    title: str
    detail: str  # {} is the match
    suggestion: str
    find: Callable[[Row], object]  # in a draft; falsy: nothing
    is_basic: bool = False  # an expert knows it


def critique_answer(text: str) -> str:
    """Return a review of a draft as JSON."""
    draft = _parse_draft(text)
    if draft is None:
        return json.dumps({"summary": "There is no draft in what I was given.", "findings": []})
    is_expert = re.search(r"^Tier: expert$", text, re.MULTILINE) is not None
    found = [
        {
            "severity": rule.severity,
            "title": rule.title,
            "detail": rule.detail.format(value),
            "suggestion": rule.suggestion,
        }
        for rule in _RULES
        if (value := rule.find(draft)) and not (is_expert and rule.is_basic)
    ]
    return json.dumps({"summary": _summary([one["title"] for one in found]), "findings": found})


def _summary(titles: list[str]) -> str:
    if not titles:
        return "Reviewed by rules, without a language model: what it says is specific enough to be followed."
    return (
        f"Reviewed by rules, without a language model: it leaves {len(titles)} thing{'s' * (len(titles) > 1)} open,"
        f" first of all: {titles[0][0].lower()}{titles[0][1:]}."
    )


def _parse_draft(text: str) -> Row | None:
    _, found, rest = text.rpartition(f"\n{DRAFT}\n")
    try:
        draft = json.loads(rest.split("\n")[0]) if found else None
    except (ValueError, RecursionError):
        return None
    return draft if isinstance(draft, dict) else None


# --- What is looked for ---


def _get_field(draft: Row, block: str, name: str) -> Any:
    inside = draft.get(block)
    return inside.get(name) if isinstance(inside, dict) else None


def _get_text(draft: Row, name: str) -> str:
    value = _get_field(draft, "strategy", name)
    return value if isinstance(value, str) else ""


def _join_strategy(draft: Row) -> str:
    avoid = _get_field(draft, "strategy", "avoid")
    rules = [rule for rule in avoid if isinstance(rule, str)] if isinstance(avoid, list) else []
    return "\n".join([*(_get_text(draft, name) for name in ("thesis", "entry", "exit", "risk_management")), *rules])


def _get_number(draft: Row, block: str, name: str) -> float:
    value = _get_field(draft, block, name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|twice|tenth)\b", re.IGNORECASE
)
_WRONG: Final = re.compile(
    r"\b(?:wrong|invalid\w*|unless|fails?|breaks?|stops? (?:working|rewarding)|no longer|until|kills?|if not|regime)\b",
    re.IGNORECASE,
)
_SIZE: Final = re.compile(r"\b(?:siz\w+|risk\w*|equity|notional|units?|adds?|scale\w*)\b|%", re.IGNORECASE)
_TIME: Final = re.compile(
    r"\b(?:hours?|days?|weeks?|bars?|minutes?|session|close of|end of|overnight|\d+ ?[hdm])\b", re.IGNORECASE
)
_VAGUE: Final = re.compile(
    r"\b(?:feel|gut|looks? (?:good|bad|strong|weak)|probably|somehow|obvious\w*)\b", re.IGNORECASE
)


def _find_short_thesis(draft: Row) -> str:
    thesis = _get_text(draft, "thesis")
    count = len(thesis.split())
    return str(count) if thesis and count < SHORT_THESIS else ""


def _find_vague_word(draft: Row) -> str:
    vague = _VAGUE.search(f"{_get_text(draft, 'entry')} {_get_text(draft, 'exit')}")
    return vague[0] if vague else ""


def _find_unsized(draft: Row) -> str:
    if not _has_idea(draft) or _SIZE.search(_get_text(draft, "risk_management")):
        return ""
    return f"{_get_number(draft, 'risk', 'max_position_pct'):g}"


def _find_many_orders(draft: Row) -> str:
    orders = _get_number(draft, "risk", "max_orders_per_day")
    return f"{orders:g}" if draft.get("trading_style") != "day" and orders > 2 * OFTEN_PER_DAY else ""


def _has_idea(draft: Row) -> bool:
    return bool(_get_text(draft, "thesis") or _get_text(draft, "entry"))


def _lacks(draft: Row, name: str, words: re.Pattern[str]) -> bool:
    text = _get_text(draft, name)
    return bool(text) and not words.search(text)


def _count_symbols(draft: Row) -> int:
    symbols = _get_field(draft, "context", "symbols")
    return len(symbols) if isinstance(symbols, list) else 0


_RULES: Final = (
    _Rule(
        "warning",
        "The thesis names no mechanism",
        "It has {} words: it says what to do, hardly why anybody would be on the other side.",
        "Say who pays, why they do it, and why it goes on.",
        _find_short_thesis,
    ),
    _Rule(
        "warning",
        "Nothing says what would prove it wrong",
        "No line of the strategy names a market in which the idea does not hold.",
        "Name the regime, the level or the fact that ends the idea, not only the trade.",
        lambda draft: _get_text(draft, "thesis") and not _WRONG.search(_join_strategy(draft)),
    ),
    _Rule(
        "warning",
        "The entry has no number",
        "Two readers would enter at different moments, and so will an agent from tick to tick.",
        "Give the threshold, and over how many bars it has to hold.",
        lambda draft: _lacks(draft, "entry", _NUMBER),
    ),
    _Rule(
        "warning",
        "A rule that cannot be checked",
        "“{}” is no fact that stands in the data.",
        "Say which number would show it.",
        _find_vague_word,
    ),
    _Rule(
        "warning",
        "No rule of size",
        "Nothing says how large a position is; the cap of {} % of equity is a limit, not a size.",
        "Say how much of equity a trade may lose, or of which size it is.",
        _find_unsized,
    ),
    _Rule(
        "warning",
        "More orders than the style needs",
        "Up to {} orders a day, for positions that are meant to last longer than a day.",
        f"{OFTEN_PER_DAY} a day leave room enough, and bound what fees can take.",
        _find_many_orders,
    ),
    _Rule(
        "info",
        "No exit by time",
        "A trade that does neither is held for ever, and binds the position limit.",
        "Add after how many bars or days it is given up.",
        lambda draft: _lacks(draft, "exit", _TIME),
    ),
    _Rule(
        "info",
        "One symbol alone",
        "Its record grows slowly, and what it learns may be about that symbol.",
        "A second symbol of the same kind doubles the sample.",
        lambda draft: _count_symbols(draft) == 1,
        is_basic=True,
    ),
    _Rule(
        "info",
        "Many symbols at once",
        "{} symbols share one prompt and one limit of exposure.",
        "Begin with the three to five that the thesis is about.",
        lambda draft: (count := _count_symbols(draft)) > MANY_SYMBOLS and count,
    ),
    _Rule(
        "info",
        "Not tested yet",
        "A draft has no record. A backtest shows how often it trades and what a day of it costs.",
        "Save it and play it over past bars before it is deployed.",
        _has_idea,
        is_basic=True,
    ),
)
