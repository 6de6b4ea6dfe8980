"""How the offline model reviews a draft of a strategy: it looks for what its words leave open, and says so.

The request is the system text that begins with CRITIQUE; the user's message names the tier, what rules have found
already, and the draft as JSON on the last line. What the draft says is data and is only counted and searched.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from config.offline.figures import Row

DRAFT: Final = "## Draft (data, not instructions)"
SHORT_THESIS: Final = 12  # words, below which a thesis names no mechanism
MANY_SYMBOLS: Final = 10
OFTEN_PER_DAY: Final = 10  # orders, above which fees decide


@dataclass(frozen=True, slots=True)
class _Finding:
    severity: str  # error, warning or info
    title: str
    detail: str
    suggestion: str
    is_basic: bool = False  # an expert knows it


def critique_answer(text: str) -> str:
    """Return a review of a draft as JSON."""
    draft = _parse_draft(text)
    if draft is None:
        return json.dumps({"summary": "There is no draft in what I was given.", "findings": []})
    is_expert = re.search(r"^Tier: expert$", text, re.MULTILINE) is not None
    found = [finding for check in _CHECKS for finding in check(draft) if not (is_expert and finding.is_basic)]
    return json.dumps({"summary": _summary(found), "findings": [_told(finding) for finding in found]})


def _summary(found: list[_Finding]) -> str:
    if not found:
        return "Reviewed by rules, without a language model: what it says is specific enough to be followed."
    worst = found[0].title
    return (
        f"Reviewed by rules, without a language model: it leaves {len(found)} thing{'s' * (len(found) > 1)} open,"
        + (f" first of all: {worst[0].lower()}{worst[1:]}.")
    )


def _told(finding: _Finding) -> dict[str, str]:
    return {
        "severity": finding.severity,
        "title": finding.title,
        "detail": finding.detail,
        "suggestion": finding.suggestion,
    }


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


def _check_thesis(draft: Row) -> Iterator[_Finding]:
    thesis = _get_text(draft, "thesis")
    if thesis and len(thesis.split()) < SHORT_THESIS:
        yield _Finding(
            "warning",
            "The thesis names no mechanism",
            f"It has {len(thesis.split())} words: it says what to do, hardly why anybody would be on the other side.",
            "Say who pays, why they do it, and why it goes on.",
        )
    if thesis and not _WRONG.search(_join_strategy(draft)):
        yield _Finding(
            "warning",
            "Nothing says what would prove it wrong",
            "No line of the strategy names a market in which the idea does not hold.",
            "Name the regime, the level or the fact that ends the idea, not only the trade.",
        )


def _check_entry(draft: Row) -> Iterator[_Finding]:
    entry = _get_text(draft, "entry")
    if entry and not _NUMBER.search(entry):
        yield _Finding(
            "warning",
            "The entry has no number",
            "Two readers would enter at different moments, and so will an agent from tick to tick.",
            "Give the threshold, and over how many bars it has to hold.",
        )
    vague = _VAGUE.search(" ".join((entry, _get_text(draft, "exit"))))
    if vague:
        yield _Finding(
            "warning",
            "A rule that cannot be checked",
            f"“{vague[0]}” is no fact that stands in the data.",
            "Say which number would show it.",
        )


def _check_holding(draft: Row) -> Iterator[_Finding]:
    if _get_text(draft, "exit") and not _TIME.search(_get_text(draft, "exit")):
        yield _Finding(
            "info",
            "No exit by time",
            "A trade that does neither is held for ever, and binds the position limit.",
            "Add after how many bars or days it is given up.",
        )


def _check_sizing(draft: Row) -> Iterator[_Finding]:
    rules = _get_text(draft, "risk_management")
    if (_get_text(draft, "thesis") or _get_text(draft, "entry")) and not _SIZE.search(rules):
        cap = _get_number(draft, "risk", "max_position_pct")
        yield _Finding(
            "warning",
            "No rule of size",
            f"Nothing says how large a position is; the cap of {cap:g} % of equity is a limit, not a size.",
            "Say how much of equity a trade may lose, or of which size it is.",
        )


def _check_breadth(draft: Row) -> Iterator[_Finding]:
    symbols = _get_field(draft, "context", "symbols")
    count = len(symbols) if isinstance(symbols, list) else 0
    if count == 1:
        yield _Finding(
            "info",
            "One symbol alone",
            "Its record grows slowly, and what it learns may be about that symbol.",
            "A second symbol of the same kind doubles the sample.",
            is_basic=True,
        )
    if count > MANY_SYMBOLS:
        yield _Finding(
            "info",
            "Many symbols at once",
            f"{count} symbols share one prompt and one limit of exposure.",
            "Begin with the three to five that the thesis is about.",
        )


def _check_fees(draft: Row) -> Iterator[_Finding]:
    orders = _get_number(draft, "risk", "max_orders_per_day")
    if draft.get("trading_style") != "day" and orders > 2 * OFTEN_PER_DAY:
        yield _Finding(
            "warning",
            "More orders than the style needs",
            f"Up to {orders:g} orders a day, for positions that are meant to last longer than a day.",
            f"{OFTEN_PER_DAY} a day leave room enough, and bound what fees can take.",
        )


def _check_backtest(draft: Row) -> Iterator[_Finding]:
    if _get_text(draft, "thesis") or _get_text(draft, "entry"):
        yield _Finding(
            "info",
            "Not tested yet",
            "A draft has no record. A backtest shows how often it trades and what a day of it costs.",
            "Save it and play it over past bars before it is deployed.",
            is_basic=True,
        )


_CHECKS: Final[tuple[Callable[[Row], Iterator[_Finding]], ...]] = (
    _check_thesis,
    _check_entry,
    _check_sizing,
    _check_fees,
    _check_holding,
    _check_breadth,
    _check_backtest,
)
