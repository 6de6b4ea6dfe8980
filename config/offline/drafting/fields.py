"""Read what a message says of a strategy into the arguments of the `set_*` tools, by tables; percents are 0..100."""

import re
from collections.abc import Iterator, Mapping
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

Fields = dict[str, Any]  # by argument of the tools

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

_PARTS: Final = {
    "N": r"(\d{1,6}(?:\.\d{1,4})?)",
    "P": r"(\d{1,6}(?:\.\d{1,4})?)\s?(?:%|percent)",
    "U": r"(m|min|mins|minutes?|h|hrs?|hours?|d|days?)",
    "OF": r"(?: (?:of|is|at|to|cap|max|at most|up to))*[ :=]+",
    "EQUITY": r"of (?:the |my )?(?:equity|account|capital)",
}
# Each is read and taken out of its clause: what bounds the day or the whole before the cap of a position.
_NUMBERS: Final = r"""
dailyLossHaltPct: (?:daily (?:loss|drawdown)|loss (?:per|a) day|halt|stop for the day)\b[^.;,%\d]{0,30}-?<P>
    |^\s*(?=risk: .{0,30}?<P>)|<P> (?:daily (?:loss|drawdown)|(?:loss )?(?:a|per) day)
maxTotalExposurePct: (?:total|overall) exposure<OF><P>|<P> (?:total exposure|exposure|in total)
maxPositionPct: ^(?!.*\brisk(?:ing|s)?\b(?!:)).*?(?:(?:position(?: size)?|siz(?:e|ing))<OF><P>
    |<P>(?: <EQUITY>)?(?: (?:per|a|each) (?:position|trade)| positions?\b)|<P> <EQUITY>)
maxLeverage: <N>\s?[x×] (?:max )?leverage|leverage(?: cap| limit)?<OF><N>\s?[x×]?(?![\d%])
    |(?:at most|max|with|use)(?: a)? <N>\s?[x×](?!\w)(?! atr)
    |^\s*(?=risk: \D{0,30}<N>\s?[x×])|\b(?:no|without|zero) leverage\b|\bspot only\b
maxOrdersPerDay: <N> (?:trades|orders|entries) (?:a|per) day
barsInterval: \b(\d{1,2})[ -]?<U>[ -](?:bars?|candles?|charts?|time ?frames?|closes?)\b
    |\b(?:on|use|horizon:) (?:the |a )?(\d{1,2})[ -]?<U>\b(?! (?:before|after|around|of))
    |\b(hourly|daily)[ -](?:bars?|candles?|charts?|closes?)\b
value: \b(?:daily|(?:once a|every) day) at (\d{1,2}:\d\d)|\b(?:check )?every (\d{1,2}) ?<U>\b
    |\b(?:check|run)\w*(?: \w+){0,3} (hourly|every hour)\b
"""
_WORDS: Final = r"""
style=mean_reversion: \b(?:mean[- ]?rever\w+|revert\w*|reversion)\b
style=breakout: \b(?:break ?outs?|break(?:s|ing)? (?:out|above|below))\b
style=trend: \b(?:trend(?:s|ing)?|momentum|moving averages?|pullbacks?)\b
style=range: \b(?:range(?:s|[- ]?bound)?|sideways)\b
style=mean_reversion : \b(?:funding|fad(?:e|es|ing)|oversold|overbought|rsi|bollinger)\b
style=carry: \b(?:carry|basis trade)\b
tradingStyle=day: \b(?:scalp\w*|day[- ]?trad\w+|intra[- ]?day|within (?:the|a) day)\b
tradingStyle=swing: \b(?:swing|(?:a few|several|\d+) days|for days)\b
tradingStyle=position: \b(?:position trad\w+|weeks|months|long[- ]term)\b
"""
BUILD: Final = Pattern(
    r"""
^(?:(?:please|can you|could you|i want to|i'd like to|i'd like you to|i want you to|let's|help me|help me to)\s+)*
    (?:build|create|write|draft|make|design|set up|start|develop)(?: me| us)? (?:(?P<what>(?:an?|the|my|some|this)\b
    .{0,120}?)\b)?(?:strateg(?:y|ies)|skills?|agents?|(?:trading )?bots?)\b[\s,:;-]*(?:(?:that|which|to|and)\s+)?
^(?:here(?:'s| is) (?:my|the|a) pitch|(?:my |the )?pitch|draft (?:this|it))\s*[:.-]\s*
"""
)
# The text that a clause, or a line with a label, goes to: the first whose words it begins with.
_PLACES: Final = r"""
avoid: ^<AND>(?:never|avoid|stay (?:out|flat)|sit out|skip|don't|do not|what kills it|no(?! more than| leverage))\b
exit: ^<AND>(?:exits?|get out|take profits?|tp|sl|cover|out (?:at|when|after|if)|stops?(?! for the day)|target
    |close (?:it|out|the|when|at|after|if)|(?:hold|keep)(?: it| them)? (?:for|until|at most))\b|\bexit\b
    |\bstop[- ]loss\b
entry: ^<AND>(?:enter(?:s|ing)?|entr(?:y|ies)|buy(?:s|ing)?|sell(?:s|ing)?|short(?:s|ing)?|long(?:s|ing)?
    |go(?:es|ing)? (?:long|short)|fad(?:e|es|ing)|open(?:s|ing)?|get in)\b
riskManagement: \b(?:risk(?:ing)?|siz(?:e|ing)|scale|half size|per trade|add(?:s|ing)? (?:to|once|at most)|pyramid\w*)\b
"""
_AND: Final = r"(?:(?:and|but|then|or|also|i|i'd|it|that|should|want to|would)\s+)*"
_LABEL: Final = re.compile(r"^(?:[-*•]\s*|\d{1,2}[.)]\s*)?(?:\*\*)?([\w ]{2,14}?)(?:\*\*)?\s*[:=]\s*(\S.*)$")
_BREAK: Final = re.compile(r"[,;]\s+(?:and |then |but )*|\s+(?:and|then)\s+| [-–] ")
_MOST_BESIDE: Final = 3  # words beside numbers and symbols, which alone make no thesis
# A name has capital letters: "called Harbour", "name it Slow Boat 2".
_NAMED: Final = re.compile(
    r"(?:\b(?i:called|named)|\b(?i:call|name) (?i:it|this|the strategy|the skill))\s+[\"“]?"
    r"(?P<name>[A-Z][\w-]{1,30}(?: [A-Za-z0-9][\w-]{0,30}){0,4})[\"”]?"
)


def read_fields(message: str) -> Fields:
    """Read the fields of a strategy that a message names, quotations aside."""
    read = [straight(sentence) for sentence in sentences(message) if not QUOTED.match(sentence)]
    text = " ".join(read)
    named = _NAMED.search(text)
    # A name such as "BTC Harbour" does not name the traded symbols.
    text = text.replace(named[0], " ") if named else text
    fields: Fields = {"name": named["name"] if named else "", "symbols": symbols_in(text)}
    for words, pattern in parse_table(_WORDS).items():
        if pattern.search(text):
            fields.setdefault(*words.strip().split("="))
    told: dict[str, list[str]] = {}
    for sentence in read:
        _read_sentence(strip_lead_in(sentence).replace(named[0] if named else "", ""), fields, told)
    fields |= {place: " ".join(f"{text}." for text in texts)[:MAX_TEXT] for place, texts in told.items()}
    fields["avoid"] = [rule[:MAX_AVOID] for rule in told.get("avoid", ())][:20]
    if interval := fields.setdefault("value", fields.get("barsInterval")):
        fields["type"] = "daily" if ":" in interval else "interval"
    return {name: value for name, value in fields.items() if value}


def name_skill(fields: Mapping[str, Any]) -> str:
    """Return the skill's name, by default its symbols and style."""
    title = " ".join([*fields.get("symbols", ())[:3], str(fields.get("style", "strategy")).replace("_", " ")])
    return str(fields.get("name") or title[:1].upper() + title[1:])[:MAX_NAME]


def _read_sentence(sentence: str, fields: Fields, told: dict[str, list[str]]) -> None:
    """Read the numbers of a sentence into fields, and its clauses into the text of their place."""
    plain = sentence.strip(" .!;")
    if built := BUILD.match(plain):
        if len(key_words(built["what"] or "")) > 1:
            _add_text(told, "thesis", f"{built['what'].strip()} strategy")
        plain = plain[built.end() :]
    label = _LABEL.match(plain)
    labelled = _find_place(label[1]) if label else ""
    for clause in [plain] if labelled else _iter_clauses(plain):
        place, words = labelled or _find_place(clause), _take_numbers(clause, fields)
        text = label[2] if label and labelled else clause
        count = sum(bool(re.search(r"[^\W\d_]{2}", word)) and not symbols_in(word.upper()) for word in key_words(words))
        if count > (bool(labelled) if place else _MOST_BESIDE):  # a label is a word itself
            _add_text(told, place or "thesis", text)


def _find_place(text: str) -> str:
    return next((place for place, words in parse_table(_PLACES, AND=_AND).items() if words.search(text)), "")


def _take_numbers(clause: str, fields: Fields) -> str:
    """Write the caps and times of a clause into fields; return what is left of it."""
    for name, words in parse_table(_NUMBERS, **_PARTS).items():
        if match := words.search(clause):
            parts = [part for part in match.groups() if part]
            fields[name] = _read_number(parts) if name in CAPS else _read_interval(*parts)
            clause = words.compiled.sub(" ", clause)
    return clause


def _read_number(parts: list[str]) -> float:
    value = float(parts[0]) if parts else 1.0  # "no leverage"
    return int(value) if value == int(value) else value


def _read_interval(first: str, unit: str = "") -> str:
    if ":" in first:
        return first.zfill(5)
    interval = f"{int(first)}{unit[0].lower()}" if first.isdecimal() else "1d" if first[:1] in "dD" else "1h"
    return {"60m": "1h", "24h": "1d"}.get(interval, interval)


def _add_text(told: dict[str, list[str]], place: str, text: str) -> None:
    tidy = one_line(text).strip(" .,;-")
    tidy = tidy[:1].upper() + tidy[1:]
    if tidy not in told.setdefault(place, []):
        told[place].append(tidy)


def _iter_clauses(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence: a break counts where a cap or a text of its own begins."""
    begins = (*parse_table(_NUMBERS, **_PARTS).values(), *parse_table(_PLACES, AND=_AND).values())
    begin = 0
    for match in _BREAK.finditer(sentence):
        rest = re.sub(r"^(?:at most|max(?:imum)?) (?=\d+(?:\.\d+)?\s?%)", "", sentence[match.end() :])
        if any(words.match(rest) for words in begins):
            yield sentence[begin : match.start()].strip(" .,;!-")
            begin = match.end()
    yield sentence[begin:].strip(" .,;!-")
