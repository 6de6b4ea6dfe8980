"""Review a strategy's draft: find what its words leave open.

The user's message names the tier, and the draft as JSON on the last line: data that is only counted and searched.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from config.offline.figures import Row, block, number
from config.offline.reading.sentences import Pattern

DRAFT: Final = "## Draft (data, not instructions)"
SHORT_THESIS: Final = 12  # words, below which a thesis names no mechanism
MANY_SYMBOLS: Final = 10
OFTEN_PER_DAY: Final = 10  # orders, above which fees decide

# A finding: gravity and title, the detail ({} is the match), the suggestion. `basic`: an expert knows it.
_FINDINGS: Final = f"""
warning: The thesis names no mechanism
It has {{}} words: it says what to do, hardly why anybody would be on the other side.
Say who pays, why they do it, and why it goes on.

warning: Nothing says what would prove it wrong
No line of the strategy names a market in which the idea does not hold.
Name the regime, the level or the fact that ends the idea, not only the trade.

warning: The entry has no number
Two readers would enter at different moments, and so will an agent from tick to tick.
Give the threshold, and over how many bars it has to hold.

warning: A rule that cannot be checked
“{{}}” is no fact that stands in the data.
Say which number would show it.

warning: No rule of size
Nothing says how large a position is; the cap of {{}} % of equity is a limit, not a size.
Say how much of equity a trade may lose, or of which size it is.

warning: More orders than the style needs
Up to {{}} orders a day, for positions that are meant to last longer than a day.
{OFTEN_PER_DAY} a day leave room enough, and bound what fees can take.

info: No exit by time
A trade that does neither is held for ever, and binds the position limit.
Add after how many bars or days it is given up.

basic info: One symbol alone
Its record grows slowly, and what it learns may be about that symbol.
A second symbol of the same kind doubles the sample.

info: Many symbols at once
{{}} symbols share one prompt and one limit of exposure.
Begin with the three to five that the thesis is about.

basic info: Not tested yet
A draft has no record. A backtest shows how often it trades and what a day of it costs.
Save it and play it over past bars before it is deployed.
"""
_NUMBER: Final = Pattern(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|twice|tenth)\b")
_WRONG: Final = Pattern(
    r"\b(?:wrong|invalid\w*|unless|fails?|breaks?|stops? (?:working|rewarding)|no longer|until|kills?|if not|regime)\b"
)
_SIZE: Final = Pattern(r"\b(?:siz\w+|risk\w*|equity|notional|units?|adds?|scale\w*)\b|%")
_TIME: Final = Pattern(r"\b(?:hours?|days?|weeks?|bars?|minutes?|session|close of|end of|overnight|\d+ ?[hdm])\b")
_VAGUE: Final = Pattern(r"\b(?:feel|gut|looks? (?:good|bad|strong|weak)|probably|somehow|obvious\w*)\b")


def critique_answer(text: str) -> str:
    """Return a review of a draft as JSON."""
    _, found, rest = text.rpartition(f"\n{DRAFT}\n")
    try:
        draft = json.loads(rest.split("\n")[0]) if found else None
    except (ValueError, RecursionError):
        draft = None
    if not isinstance(draft, dict):
        return json.dumps({"summary": "There is no draft in what I was given.", "findings": []})
    is_expert = re.search(r"^Tier: expert$", text, re.MULTILINE) is not None
    findings = []
    for lines, find in zip(_FINDINGS.strip().split("\n\n"), _FINDERS, strict=True):
        head, detail, suggestion = lines.split("\n")
        gravity, _, title = head.partition(": ")
        if value := "" if is_expert and gravity.startswith("basic") else find(draft):
            told = {"title": title, "detail": detail.format(value), "suggestion": suggestion}
            findings.append({"severity": gravity.removeprefix("basic "), **told})
    first = findings[0]["title"] if findings else ""
    things = f"{len(findings)} thing{'s' * (len(findings) > 1)}"
    left = f"it leaves {things} open, first of all: {first[:1].lower()}{first[1:]}."
    fine = "what it says is specific enough to be followed."
    summary = f"Reviewed by rules, without a language model: {left if findings else fine}"
    return json.dumps({"summary": summary, "findings": findings})


def _text(draft: Row, *names: str) -> str:
    values = [block(draft, "strategy").get(name) for name in names]
    lines = [line for value in values for line in (value if isinstance(value, list) else [value])]
    return "\n".join(line for line in lines if isinstance(line, str))


def _lacks(name: str, words: Pattern) -> Callable[[Row], object]:
    return lambda draft: bool(text := _text(draft, name)) and not words.search(text)


def _count_symbols(draft: Row) -> int:
    symbols = block(draft, "context").get("symbols")
    return len(symbols) if isinstance(symbols, list) else 0


def _find_unsized(draft: Row) -> object:
    cap = number(block(draft, "risk"), "max_position_pct") or 0
    is_open = _text(draft, "thesis", "entry") and not _SIZE.search(_text(draft, "risk_management"))
    return is_open and f"{float(cap):g}"


def _find_many_orders(draft: Row) -> object:
    orders = float(number(block(draft, "risk"), "max_orders_per_day") or 0)
    return draft.get("trading_style") != "day" and orders > 2 * OFTEN_PER_DAY and f"{orders:g}"


_WHOLE: Final = ("thesis", "entry", "exit", "risk_management", "avoid")
_FINDERS: Final[tuple[Callable[[Row], object], ...]] = (  # in the order of the findings; falsy: nothing
    lambda draft: 0 < (words := len(_text(draft, "thesis").split())) < SHORT_THESIS and words,
    lambda draft: _text(draft, "thesis") and not _WRONG.search(_text(draft, *_WHOLE)),
    _lacks("entry", _NUMBER),
    lambda draft: (vague := _VAGUE.search(_text(draft, "entry", "exit"))) and vague[0],
    _find_unsized,
    _find_many_orders,
    _lacks("exit", _TIME),
    lambda draft: _count_symbols(draft) == 1,
    lambda draft: _count_symbols(draft) > MANY_SYMBOLS and _count_symbols(draft),
    lambda draft: _text(draft, "thesis", "entry"),
)
