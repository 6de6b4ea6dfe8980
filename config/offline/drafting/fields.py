"""Read what a message says of a strategy into the arguments of the `set_*` tools, by tables; percents are 0..100."""

import re
from collections.abc import Mapping
from typing import Any, Final

from chat.tools.base import Tool
from chat.tools.drafts import SET_BASICS, SET_CONTEXT, SET_RISK, SET_SCHEDULE, SET_STRATEGY
from config.lib.text import one_line
from config.offline.facts import key_words
from config.offline.reading.sentences import QUOTED, Pattern, parse_table, sentences, straight, strip_lead_in
from trading.market.names import symbols_in

MAX_TEXT: Final = 2000  # characters of entry, exit and the rules of risk
MAX_AVOID: Final = 280
MAX_NAME: Final = 80

Fields = dict[str, Any]  # by argument of the tools; `only` says that the symbols are all, not more

# The tool of each argument, in the order of the calls: a template comes before what stands over it.
TOOL_OF: Final[dict[str, Tool[Any]]] = {
    **dict.fromkeys(("template", "mode", "style", "thesis", "entry", "exit", "riskManagement", "avoid"), SET_STRATEGY),
    **dict.fromkeys(("name", "tradingStyle"), SET_BASICS),
    **dict.fromkeys(("symbols", "barsInterval"), SET_CONTEXT),
    **dict.fromkeys(
        ("maxPositionPct", "maxTotalExposurePct", "maxLeverage", "dailyLossHaltPct", "maxOrdersPerDay"), SET_RISK
    ),
    **dict.fromkeys(("type", "value"), SET_SCHEDULE),
}
CAPS: Final = tuple(name for name, tool in TOOL_OF.items() if tool is SET_RISK)
TEXTS: Final = ("thesis", "entry", "exit", "riskManagement")

_PARTS: Final = {
    "N": r"(\d{1,6}(?:\.\d{1,4})?)",
    "P": r"(\d{1,6}(?:\.\d{1,4})?)\s?(?:%|percent)",
    "U": r"(m|min|mins|minutes?|h|hrs?|hours?|d|days?)",
    "OF": r"(?: (?:of|is|at|to|cap|max|at most|up to))*[ :=]+",
    "ALL": r"of (?:the |my )?(?:equity|account|capital|portfolio)",
}
# What bounds the day or the whole is taken out before a position's cap is looked for.
_NUMBERS: Final = r"""
dailyLossHaltPct: (?:daily (?:loss|drawdown)(?: limit| halt| stop)?|(?:max(?:imum)? )?loss (?:per|a) day|halt|loss limit
    |stop (?:for the day|trading))\b[^.;,%\d]{0,30}-?<P>|<P> (?:max(?:imum)? )?(?:daily (?:loss|drawdown|stop)
    |(?:loss )?(?:a|per) day)
maxTotalExposurePct: (?:total|overall) exposure<OF><P>|<P> (?:total exposure|exposure|in total|overall)
maxPositionPct: (?:position(?: size)?|size|sizing)<OF><P>|<P>(?: <ALL>)?(?: (?:per|a|each|in one) (?:position|trade)
    | positions?\b| size\b)|<P> <ALL>
maxLeverage: <N>\s?[x×] (?:max(?:imum)? )?leverage|leverage(?: cap| limit)?(?: (?:of|at|to|is|up to|max|at most|below
    |under))*[ :=]+<N>\s?[x×]?(?![\d%])|(?:max(?:imum)?|at most|at|up to|use|with|never above|no more than)(?: a)?[ ]
    <N>\s?[x×](?!\w)(?! (?:the |atr|average))|^<N>\s?[x×](?: max)?$
maxOrdersPerDay: <N> (?:trades|orders|entries) (?:a|per|each) day
"""
_NO_LEVERAGE: Final = Pattern(r"\b(?:no|without(?: any)?|zero) leverage\b|\bunlevered\b|\bspot only\b")
_TO_THE_STOP: Final = Pattern(r"\brisk(?:ing|s)?\b")
_SPANS: Final = r"""
barsInterval: \b(\d{1,2})[ -]?<U>[ -](?:bars?|candles?|charts?|time ?frames?|closes?)\b|\b(?:on|using|with|use|bars?:
    |time ?frame:?|interval:?) (?:the |a )?(\d{1,2})[ -]?<U>\b(?! (?:before|after|around|of))
    |\b(hourly|daily)[ -](?:bars?|candles?|charts?|time ?frame|closes?)\b
value: \b(?:daily|(?:once a|every|each) day) at (\d{1,2}:\d\d)|\b(?:check )?every (\d{1,2}) ?<U>\b
    |\b(?:check|run|look|decide)\w*(?: \w+){0,3} (hourly|every hour)\b
"""
_STYLES: Final = r"""
mean_reversion: \b(?:mean[- ]?rever\w+|revert\w*|reversion)\b
breakout: \b(?:break ?outs?|break(?:s|ing)? (?:out|above|below))\b
trend: \b(?:trend(?:s|ing)?(?:[- ]follow\w+)?|momentum|moving averages?|pullbacks?)\b
range: \b(?:range(?:s|[- ]?bound)?|sideways|choppy)\b
mean_reversion again: \b(?:funding|fad(?:e|es|ing)|crowded|oversold|overbought|rsi|bollinger)\b
carry: \b(?:carry|basis trade)\b
"""
_HORIZONS: Final = r"""
day: \b(?:scalp\w*|day[- ]?trad\w+|intra[- ]?day|within (?:the|a) day)\b
swing: \b(?:swing|(?:a few|several|couple of|\d+) days|for days)\b
position: \b(?:position trad\w+|weeks|months|long[- ]term)\b
"""
BUILD: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|i want to|i'd like to|i would like to|i'd like you to|i want you to"
    r"|let's|let us|help me|help me to)\s+)*(?:build|create|write|draft|make|design|set up|put together|start"
    r"|come up with|develop)(?: me| us)? (?:(?P<what>(?:an?|the|my|some|this|new|up)\b.{0,120}?)\b)?(?:strateg(?:y"
    r"|ies)|skills?|agents?|trading bots?|bots?|trading systems?)\b[\s,:;-]*(?:(?:that|which|to|where it|and)\s+)?"
)
# A line with a label, or a clause with such words, goes to the first of these texts.
_LABELS: Final = r"""
avoid: avoid|rules?|what kills it|kills?|invalidation
riskManagement: sizing|size|risk
entry: entry|entries
exit: exits?
thesis: thesis|idea|edge|pitch
nothing: horizon|symbols?|markets?|bars
"""
_CLAUSES: Final = r"""
avoid: ^(?:(?:and|but|also)\s+)?(?:never|avoid|stay out|stay flat|sit out|skip|don't|do not
    |no(?! more than| leverage))\b
exit: ^(?:(?:and|then|or)\s+)*(?:exits?|closes?|get out|take profits?|tp|sl|cover|leave|out (?:at|when|after|if)
    |stop(?:[- ]loss)?(?: out)?|stops?|target|(?:hold|keep)(?: it| them)? (?:for|until|at most|max))\b
    |\b(?:exit(?:ing)?|take profits?|stop[- ]loss(?:es)?|close (?:it|out|the position|the trade))\b
entry: ^(?:(?:and|then|i|i'd|we|it should|should|want to|would|will|like to|that|it)\s+)*(?:enter(?:s|ing)?
    |entr(?:y|ies)|buy(?:s|ing)?|sell(?:s|ing)?|shorts?|shorting|longs?|longing|go(?:es|ing)? (?:long|short)
    |fad(?:e|es|ing)|open(?:s|ing)?|trade the|get in|add(?:s|ing)? when)\b
riskManagement: \b(?:risk(?:ing)?|size|sizing|scale|half size|per trade|add(?:s|ing)? (?:to|once|at most)|pyramid\w*)\b
"""
_SPLIT: Final = Pattern(
    r"""
(?:,|;| - | – )\s*(?:and |then |but )*(?=(?:exit|close|stop|get out|take profit|tp|sl|target|halt|avoid|never|no |don't
    |do not|skip|stay out|max|at most|enter|buy|short|long|fade|risk|size|sizing|leverage|hold|out at|out when|check|run
    |on \d|\d+(?:\.\d+)?\s?x|\d{1,2}[mhd]|daily|half size)\b|\d+(?:\.\d+)?\s?%)
\s+(?:and|then)\s+(?=(?:exits?|closes? (?:it|at|when|out)|get out|take profit|avoid|never|stop out|stop at)\b)
"""
)
_FEW: Final = frozenset("use set max maximum min check cap caps only trade size equity bars bar".split())  # noqa: SIM905
# A name has capital letters: "called Harbour", "name it Slow Boat 2".
_NAMED: Final = re.compile(
    r"(?:\b(?i:called|named)|\b(?i:call|name) (?i:it|this|the strategy|the skill))\s+[\"“]?"
    r"(?P<name>[A-Z][\w-]{1,30}(?: [A-Za-z0-9][\w-]{0,30}){0,4})[\"”]?"
)


def read_fields(message: str) -> Fields:
    """Read the fields of a strategy that a message names, quotations aside."""
    read = [sentence for sentence in sentences(message) if not QUOTED.match(sentence)]
    text = straight(" ".join(read))
    named = _NAMED.search(text)
    # A name such as "BTC Harbour" does not name the traded symbols.
    bare = text.replace(named[0], " ") if named else text
    spans = {name: _read_interval(bare, words) for name, words in parse_table(_SPANS, **_PARTS).items()}
    interval, every = spans["barsInterval"], spans["value"]
    fields: Fields = {
        "style": _find_first(_STYLES, bare).partition(" ")[0],
        **_read_texts(read, named[0] if named else ""),
        "name": named["name"].strip()[:MAX_NAME] if named else "",
        "tradingStyle": _find_first(_HORIZONS, bare),
        "symbols": symbols_in(bare),
        "barsInterval": interval,
        **_read_caps(bare),
        "type": "daily" if ":" in every else "interval" if every or interval else "",
        "value": every or interval,
        "only": bool(re.search(r"\b(?:only|instead|nothing else)\b", bare, re.IGNORECASE)),
    }
    return {name: value for name, value in fields.items() if value}


def name_skill(fields: Mapping[str, Any]) -> str:
    """Return the skill's name, by default its symbols and style."""
    words = f"{fields.get('thesis', '')} {fields.get('entry', '')}".casefold()
    style = str(fields.get("style", ""))
    funding = "funding " if "funding" in words and style != "trend" else ""
    title = f"{' '.join(fields.get('symbols', ())[:3])} {funding}{style.replace('_', ' ') or 'strategy'}".strip()
    return str(fields.get("name") or (title[:1].upper() + title[1:])[:MAX_NAME])


def _find_first(table: str, text: str) -> str:
    return next((name for name, words in parse_table(table).items() if words.search(text)), "")


def _read_interval(text: str, pattern: Pattern) -> str:
    match = pattern.search(text)
    if match is None:
        return ""
    first, *rest = [part for part in match.groups() if part]
    if ":" in first:
        return first.zfill(5)
    interval = f"{int(first)}{rest[0][0].lower()}" if first.isdecimal() else "1d" if first[:1] in "dD" else "1h"
    return {"60m": "1h", "24h": "1d"}.get(interval, interval)


def _read_caps(text: str) -> Fields:
    found: Fields = {"maxLeverage": 1} if _NO_LEVERAGE.search(text) else {}
    for clause in (part for sentence in sentences(text) for part in _list_clauses(sentence)):
        for name, words in parse_table(_NUMBERS, **_PARTS).items():
            match = words.search(clause)
            if match and not (name == "maxPositionPct" and _TO_THE_STOP.search(clause)):
                value = next(float(part) for part in match.groups() if part)
                found[name] = int(value) if value == int(value) else value
                is_whole = name in {"dailyLossHaltPct", "maxTotalExposurePct"}
                clause = words.compiled.sub(" ", clause) if is_whole else clause
    return found


def _read_texts(read: list[str], name: str) -> Fields:
    """Return thesis, entry, exit, rules of risk and what to avoid, each clause in its place."""
    told: dict[str, list[str]] = {}
    for sentence in read:
        plain = straight(strip_lead_in(sentence)).replace(name, "").strip(" .!;")
        if built := BUILD.match(plain):
            if len(key_words(built["what"] or "")) > 1:
                _add_text(told, "thesis", f"{built['what'].strip()} strategy")
            plain = plain[built.end() :]
        label = re.match(r"^(?:[-*•]\s*|\d{1,2}[.)]\s*)?(?:\*\*)?([\w ]{2,14}?)(?:\*\*)?\s*[:=]\s*(\S.*)$", plain)
        labels = parse_table(_LABELS) if label else {}
        into = next((place for place, words in labels.items() if label and words.compiled.fullmatch(label[1])), "")
        plain = label[2] if label and into else plain
        for clause in [plain] if into not in ("", "nothing") else _list_clauses(plain):
            rest = len(key_words(_without_numbers(clause)))
            place = into.replace("nothing", "") or _find_first(_CLAUSES, clause)
            if rest and (place or rest > 3):
                _add_text(told, place or "thesis", clause)
    texts: Fields = {place: " ".join(f"{text}." for text in told.get(place, ()))[:MAX_TEXT] for place in TEXTS}
    return {**texts, "avoid": [rule[:MAX_AVOID] for rule in told.get("avoid", ())][:20]}


def _add_text(told: dict[str, list[str]], place: str, text: str) -> None:
    tidy = one_line(text).strip(" .,;-")
    tidy = tidy[:1].upper() + tidy[1:]
    if tidy not in told.setdefault(place, []):
        told[place].append(tidy)


def _without_numbers(clause: str) -> str:
    """Return a clause without what is read as numbers, symbols and names."""
    tables = {**parse_table(_NUMBERS, **_PARTS), **parse_table(_SPANS, **_PARTS), **parse_table(_HORIZONS)}
    for name, words in {**tables, "": _NO_LEVERAGE}.items():
        if not (name == "maxPositionPct" and _TO_THE_STOP.search(clause)):
            clause = words.compiled.sub(" ", clause)
    return " ".join(w for w in clause.split() if w.casefold() not in _FEW and re.search(r"[^\W\d_]{2}", w)
                    and not symbols_in(w.upper()))  # fmt: skip


def _list_clauses(sentence: str) -> list[str]:
    return [clause for part in _SPLIT.compiled.split(sentence) if (clause := part.strip(" .,;!-"))]
