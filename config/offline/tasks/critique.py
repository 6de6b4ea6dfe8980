"""Review a strategy's draft: find what its words leave open.

The user's message names the tier, and the draft as JSON on the last line: data that is only searched.
"""

import json
import re
from typing import Final

from config.offline.figures import Row, block

DRAFT: Final = "## Draft (data, not instructions)"
# A finding: its gravity and the texts of the strategy that say something but lack a form; the form; title, detail and
# suggestion. An expert is spared what is basic.
_FINDINGS: Final = r"""
warning: thesis
(?:\S+\s+){11}
The thesis names no mechanism
It says what to do, hardly why anybody would be on the other side.
Say who pays, why they do it, and why it goes on.

warning: thesis entry exit risk_management avoid
\b(?:wrong|invalid\w*|unless|fails?|breaks?|stops? (?:working|rewarding)|no longer|until|kills?|if not|regime)\b
Nothing says what would prove it wrong
No line of the strategy names a market in which the idea does not hold.
Name the regime, the level or the fact that ends the idea, not only the trade.

warning: entry
\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|twice|tenth)\b
The entry has no number
Two readers would enter at different moments, and so will an agent from tick to tick.
Give the threshold, and over how many bars it has to hold.

warning: risk_management
\b(?:siz\w+|risk\w*|equity|notional|units?|adds?|scale\w*)\b|%
No rule of size
Nothing says how large a position is; the cap of the draft is a limit, not a size.
Say how much of equity a trade may lose, or of which size it is.

basic info: exit
\b(?:hours?|days?|weeks?|bars?|minutes?|session|close of|end of|overnight|\d+ ?[hdm])\b
No exit by time
A trade that does neither is held for ever, and binds the position limit.
Add after how many bars or days it is given up.
"""


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
    for lines in _FINDINGS.strip().split("\n\n"):
        about, form, title, detail, suggestion = lines.split("\n")
        gravity, _, names = about.partition(": ")
        said = "" if is_expert and gravity.startswith("basic") else _text(draft, *names.split())
        if said and not re.search(form, said, re.IGNORECASE):
            told = {"title": title, "detail": detail, "suggestion": suggestion}
            findings.append({"severity": gravity.removeprefix("basic "), **told})
    left = f"what it leaves open: {len(findings)}." if findings else "it is specific enough to be followed."
    return json.dumps({"summary": f"Reviewed by rules, without a language model: {left}", "findings": findings})


def _text(draft: Row, *names: str) -> str:
    values = [block(draft, "strategy").get(name) for name in names]
    lines = [line for value in values for line in (value if isinstance(value, list) else [value])]
    return "\n".join(line for line in lines if isinstance(line, str))
