"""Read a pitch into the fields of a skill by a table; percents are 0..100."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from config.lib.text import one_line
from config.offline.facts import key_words
from config.offline.reading.sentences import QUOTED, Pattern, sentences, straight, strip_lead_in
from trading.market.names import symbols_in

MAX_TEXT: Final = 2000  # characters of entry, exit and the rules of risk
MAX_AVOID: Final = 280
MAX_NAME: Final = 80
_SPANS: Final = {"1m": 1, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "4h": 240, "1d": 1440}  # minutes

_PARTS: Final = {
    "N": r"(\d{1,6}(?:\.\d{1,4})?)",
    "P": r"(\d{1,6}(?:\.\d{1,4})?)\s?(?:%|percent)",
    "U": r"(m|min|mins|minutes?|h|hrs?|hours?|d|days?)",
    "OF": r"(?: (?:of|is|at|to|cap|max|at most|up to))*[ :=]+",
    "ALL": r"of (?:the |my )?(?:equity|account|capital|nav|portfolio)",
}
# By the names of `set_risk`. What bounds the day or the whole is taken out before a position's cap is looked for.
CAPS: Final = {
    "dailyLossHaltPct": Pattern(
        r"""
(?:daily (?:loss|drawdown)(?: limit| halt| stop)?|(?:max(?:imum)? )?loss (?:per|a) day|day(?:'s)? loss|halt|loss limit
    |stop (?:for the day|trading)|kill switch)\b[^.;,%\d]{0,30}-?<P>
<P> (?:max(?:imum)? )?(?:daily (?:loss|drawdown|stop)|(?:loss )?(?:a|per) day|day(?:'s)? loss)
""",
        **_PARTS,
    ),
    "maxTotalExposurePct": Pattern(
        r"(?:total|overall|max(?:imum)? total) exposure<OF><P>"
        + "\n"
        + r"<P> (?:total exposure|exposure|in total|overall)",
        **_PARTS,
    ),
    "maxPositionPct": Pattern(
        r"""
(?:max(?:imum)? )?(?:position(?: size)?|size|sizing)<OF><P>
<P>(?: <ALL>)?(?: (?:per|a|each|in one) (?:position|trade)| positions?\b| size\b)
<P> <ALL>
""",
        **_PARTS,
    ),
    "maxLeverage": Pattern(
        r"""
<N>\s?[x×] (?:max(?:imum)? )?leverage
leverage(?: cap| limit)?(?: (?:of|at|to|is|up to|max|at most|below|under))*[ :=]+<N>\s?[x×]?(?![\d%])
(?:max(?:imum)?|at most|at|up to|use|with|never above|no more than)(?: a)? <N>\s?[x×](?!\w)(?! (?:the |atr|average))
^<N>\s?[x×](?: max)?$
""",
        **_PARTS,
    ),
    "maxOrdersPerDay": Pattern(r"<N> (?:trades|orders|entries) (?:a|per|each) day", **_PARTS),
}
_NO_LEVERAGE: Final = Pattern(r"\b(?:no|without(?: any)?|zero) leverage\b|\bunlevered\b|\bspot only\b")
_TO_THE_STOP: Final = Pattern(r"\brisk(?:ing|s)?\b")
_BARS: Final = Pattern(
    r"""
\b(\d{1,2})[ -]?<U>[ -](?:bars?|candles?|charts?|time ?frames?|tf|closes?)\b
\b(?:on|using|with|use) (?:the |a )?(\d{1,2})[ -]?<U>\b(?! (?:before|after|ago|around|of))
\b(?:bars?|time ?frame|interval)(?: (?:of|is|at|to))?[ :=]+(\d{1,2})[ -]?<U>\b
\b(hourly|daily)[ -](?:bars?|candles?|charts?|time ?frame|closes?)\b
""",
    **_PARTS,
)
_BARE_BARS: Final = Pattern(r"\b(\d{1,2})[ -]?<U>\b", **_PARTS)
_EVERY: Final = Pattern(
    r"\bevery (\d{1,2}) ?<U>\b|\b(?:check|run|tick|look|decide|evaluate|act)\w*(?: \w+){0,3} (hourly|every hour)\b",
    **_PARTS,
)
_DAILY_AT: Final = Pattern(
    r"\b(?:daily|(?:once a|every|each) day) at (\d{1,2}):(\d\d)|\bat (\d{1,2}):(\d\d) ?utc (?:every|each) day\b"
)
_STYLES: Final = (
    ("mean_reversion", Pattern(r"\b(?:mean[- ]?rever\w+|revert\w*|reversion)\b")),
    ("breakout", Pattern(r"\b(?:break ?outs?|break(?:s|ing)? (?:out|above|below))\b")),
    ("trend", Pattern(r"\b(?:trend(?:s|ing)?(?:[- ]follow\w+)?|momentum|moving averages?|pullbacks?)\b")),
    ("range", Pattern(r"\b(?:range(?:s|[- ]?bound)?|sideways|choppy)\b")),
    ("mean_reversion", Pattern(r"\b(?:funding|fad(?:e|es|ing)|crowded|oversold|overbought|rsi|bollinger)\b")),
    ("carry", Pattern(r"\b(?:carry|basis trade)\b")),
    ("event", Pattern(r"\b(?:event[- ]driven|(?:trade|trading) the news)\b")),
)
_HORIZONS: Final = (
    ("day", Pattern(r"\b(?:scalp\w*|day[- ]?trad\w+|intra[- ]?day|within (?:the|a) day)\b")),
    ("swing", Pattern(r"\b(?:swing|(?:a few|several|couple of|\d+) days|for days)\b")),
    ("position", Pattern(r"\b(?:position trad\w+|weeks|months|long[- ]term)\b")),
)
BUILD: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|i want to|i'd like to|i would like to|i'd like you to|i want you to"
    r"|let's|let us|help me|help me to)\s+)*(?:build|create|write|draft|make|design|set up|put together|start"
    r"|come up with|develop)(?: me| us)? (?:(?P<what>(?:an?|the|my|some|this|new|up)\b.{0,120}?)\b)?(?:strateg(?:y"
    r"|ies)|skills?|agents?|trading bots?|bots?|trading systems?)\b"
)
_AFTER_BUILD: Final = Pattern(r"^[\s,:;-]*(?:(?:that|which|to|where it|and)\s+)?")
_LABEL: Final = Pattern(
    r"^(?:[-*•]\s*|\d{1,2}[.)]\s*)?(?:\*\*)?(?P<label>entry|entries|exit|exits|avoid|rules?|what kills it|kills?"
    r"|invalidation|thesis|idea|edge|pitch|sizing|size|risk|horizon|symbols?|markets?)(?:\*\*)?\s*[:=]\s*(?P<rest>\S.*)$"
)
_BY_LABEL: Final = {
    **{"entr": "entry", "exit": "exit", "avoi": "avoid", "rule": "avoid", "what": "avoid", "kill": "avoid"},
    **{"inva": "avoid", "thes": "thesis", "idea": "thesis", "edge": "thesis", "sizi": "riskManagement"},
    **{"size": "riskManagement", "risk": "riskManagement"},
}
# A clause goes to the first of these texts whose words it has.
_TEXTS: Final = (
    (
        "avoid",
        Pattern(
            r"^(?:(?:and|but|also)\s+)?(?:never|avoid|stay out|stay flat|sit out|skip|don't|do not"
            r"|no(?! more than| leverage))\b"
        ),
    ),
    (
        "exit",
        Pattern(
            r"^(?:(?:and|then|or)\s+)*(?:exits?|closes?|get out|take profits?|tp|sl|cover|leave"
            r"|out (?:at|when|after|if)|stop(?:[- ]loss)?(?: out)?|stops?|target"
            r"|(?:hold|keep)(?: it| them)? (?:for|until|at most|max))\b"
            r"|\b(?:exit(?:ing)?|take profits?|stop[- ]loss(?:es)?|close (?:it|out|the position|the trade))\b"
        ),
    ),
    (
        "entry",
        Pattern(
            r"^(?:(?:and|then|i|i'd|we|it should|should|want to|would|will|like to|that|it)\s+)*(?:enter(?:s|ing)?"
            r"|entr(?:y|ies)|buy(?:s|ing)?|sell(?:s|ing)?|shorts?|shorting|longs?|longing|go(?:es|ing)? (?:long|short)"
            r"|fad(?:e|es|ing)|open(?:s|ing)?|trade the|get in|add(?:s|ing)? when)\b"
        ),
    ),
    (
        "riskManagement",
        Pattern(
            r"\b(?:risk(?:ing)?|size|sizing|scale|half size|per trade|add(?:s|ing)? (?:to|once|at most)|pyramid\w*)\b"
        ),
    ),
)
_SPLIT: Final = Pattern(
    r"""
(?:,|;| - | – )\s*(?:and |then |but )*(?=(?:exit|close|stop|get out|take profit|tp|sl|target|halt|avoid|never|no |don't
    |do not|skip|stay out|max|at most|enter|buy|short|long|fade|risk|size|sizing|leverage|hold|out at|out when|check|run
    |on \d|\d+(?:\.\d+)?\s?x|\d{1,2}[mhd]|daily|half size)\b|\d+(?:\.\d+)?\s?%)
\s+(?:and|then)\s+(?=(?:exits?|closes? (?:it|at|when|out)|get out|take profit|avoid|never|stop out|stop at)\b)
"""
)
# A clause of these words alone was read as numbers and is no prose.
_NUMBER_WORDS: Final = frozenset(
    """
    x leverage max maximum bars bar m h d min of on the at with use equity per position a day daily loss halt
    size btc eth sol check every hour hours minute minutes and it to caps cap only
    """.split()  # noqa: SIM905 - a paragraph reads better than a column
)
# A name has capital letters: "called Harbour", "name it Slow Boat 2".
_NAMED: Final = re.compile(
    r"(?:\b(?i:called|named)|\b(?i:call|name) (?i:it|this|the strategy|the skill))\s+[\"“]?"
    r"(?P<name>[A-Z][\w-]{1,30}(?: [A-Z0-9][\w-]{0,30}){0,4})[\"”]?"
)


@dataclass(slots=True)
class Pitch:
    """What a pitch says; empty fields were not said."""

    symbols: list[str] = field(default_factory=list)
    name: str = ""  # as its author calls it
    style: str = ""
    interval: str = ""  # of the bars
    every: str = ""  # of the schedule: an interval, or HH:MM in UTC
    horizon: str = ""  # day, swing or position
    caps: dict[str, float] = field(default_factory=dict)  # by the names of `set_risk`
    texts: dict[str, list[str]] = field(default_factory=dict)  # by the names of `set_strategy`
    is_exclusive: bool = False  # its symbols are all, not more

    @property
    def signals(self) -> int:
        """Count the kinds of details; other texts have at most one."""
        said = (self.symbols, self.style, self.interval, self.every, self.texts.get("entry"), self.texts.get("exit"))
        return sum(map(bool, said)) + bool(self.caps) + bool(self.texts.keys() & {"avoid", "riskManagement"})

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return not (self.signals or self.horizon or self.texts)

    @property
    def has_rules(self) -> bool:
        """Whether it means a strategy, though nobody asked for one."""
        rules = self.texts.keys() & {"entry", "exit", "avoid", "riskManagement"}
        return bool(rules or self.caps or self.every or self.interval) or self.signals > 1

    def add(self, name: str, text: str) -> None:
        """Add a sentence to a text of the strategy."""
        tidy = one_line(text).strip(" .,;-")
        self.texts.setdefault(name, []).append(tidy[:1].upper() + tidy[1:])

    def risk(self) -> dict[str, Any]:
        """Return the caps as `set_risk` takes them."""
        order = ["maxPositionPct", "maxTotalExposurePct", "maxLeverage", "dailyLossHaltPct", "maxOrdersPerDay"]
        return {name: int(cap) if (cap := self.caps[name]) == int(cap) else cap for name in order if name in self.caps}

    def context(self) -> dict[str, Any]:
        """Return what `set_context` takes."""
        given = {"symbols": self.symbols, "barsInterval": self.interval}
        return {name: value for name, value in given.items() if value}

    def schedule(self) -> dict[str, Any]:
        """Return what `set_schedule` takes; bars without a schedule are looked at as they close."""
        value = self.every or self.interval
        return {"type": "daily" if ":" in value else "interval", "value": value} if value else {}

    def strategy(self) -> dict[str, Any]:
        """Return the words that `set_strategy` takes."""
        given: dict[str, Any] = {"style": self.style} if self.style else {}
        for name in ("thesis", "entry", "exit", "riskManagement"):
            if told := " ".join(f"{text}." for text in dict.fromkeys(self.texts.get(name, []))):
                given[name] = told if len(told) <= MAX_TEXT else f"{told[: MAX_TEXT - 1]}…"
        if avoid := self.texts.get("avoid"):
            given["avoid"] = [rule[:MAX_AVOID] for rule in dict.fromkeys(avoid)][:20]
        return given

    def horizon_or_guess(self) -> str:
        """Return the horizon or guess it from the bars."""
        span = _SPANS.get(self.interval, 60)
        return self.horizon or ("day" if span <= 30 else "swing" if span <= 240 else "position")

    def title(self) -> str:
        """Return the skill's name, by default its symbols and style."""
        texts = " ".join([*self.texts.get("thesis", []), *self.texts.get("entry", [])])
        funding = "funding " if "funding" in texts.casefold() and self.style != "trend" else ""
        words = f"{' '.join(self.symbols[:3])} {funding}{self.style.replace('_', ' ') or 'strategy'}".strip()
        return self.name or (words[:1].upper() + words[1:])[:MAX_NAME]


def read_pitch(message: str) -> Pitch:
    """Parse a strategy from a message, without quotations."""
    pitch = Pitch()
    read = [sentence for sentence in sentences(message) if not QUOTED.match(sentence)]
    for sentence in read:
        _read_sentence(pitch, straight(strip_lead_in(sentence)).strip(" .!;"))
    text = straight(" ".join(read))
    if named := _NAMED.search(text):
        pitch.name = named["name"].strip()[:MAX_NAME]
        text = text.replace(named[0], " ")  # a name such as "BTC Harbour" does not name the traded symbols
    pitch.symbols = symbols_in(text)
    pitch.is_exclusive = bool(re.search(r"\b(?:only|instead|nothing else)\b", text, re.IGNORECASE))
    pitch.style = next((style for style, words in _STYLES if words.search(text)), "")
    pitch.horizon = next((name for name, words in _HORIZONS if words.search(text)), "")
    pitch.interval, pitch.every = _read_interval(text, _BARS), _read_interval(text, _EVERY)
    if at := _DAILY_AT.search(text):
        hour, minute = [part for part in at.groups() if part]
        pitch.every = f"{int(hour):02}:{minute}"
    for sentence in sentences(text):
        for clause in _list_clauses(sentence.strip(" .!;")):
            pitch.caps |= _read_caps(clause)
    return pitch


def read_number(text: str, pattern: Pattern = CAPS["maxLeverage"]) -> float | None:
    """Return the number of a cap, None when there is none."""
    match = pattern.search(text)
    return next((float(part) for part in match.groups() if part), None) if match else None


def _read_interval(text: str, pattern: Pattern) -> str:
    match = pattern.search(text)
    if match is None:
        return ""
    first, *rest = [part for part in match.groups() if part]
    interval = f"{int(first)}{rest[0][0].lower()}" if first.isdecimal() else "1d" if first[:1] in "dD" else "1h"
    return {"60m": "1h", "24h": "1d"}.get(interval, interval)


def read_bars(text: str) -> str:
    """Return the interval that a short answer names, or ""."""
    return _read_interval(text, _BARE_BARS)


def _read_sentence(pitch: Pitch, plain: str) -> None:
    if built := BUILD.match(plain):
        described = (built["what"] or "").strip()
        if len(key_words(described)) > 1:
            pitch.add("thesis", f"{described} strategy")
        plain = _AFTER_BUILD.compiled.sub("", plain[built.end() :])
    if label := _LABEL.match(plain):
        plain, into = label["rest"], _BY_LABEL.get(label["label"].casefold()[:4])
        if into is not None and not _is_number(plain):
            pitch.add(into, plain)
            return
    for clause in _list_clauses(plain):
        if _is_number(clause) or _is_cap(clause):
            continue
        into = next((name for name, words in _TEXTS if words.search(clause)), None)
        into = into or ("thesis" if len(key_words(clause)) > 3 else None)
        if into is not None:
            pitch.add(into, clause)


def _list_clauses(sentence: str) -> list[str]:
    return [clause for part in _SPLIT.compiled.split(sentence) if (clause := part.strip(" .,;!-"))]


def _is_number(clause: str) -> bool:
    return all(word.casefold() in _NUMBER_WORDS for word in re.findall(r"[^\W\d_]+", clause))


def _is_cap(clause: str) -> bool:
    """Tell whether a clause is only a cap, such as "no leverage"."""
    found = next((match for words in (_NO_LEVERAGE, *CAPS.values()) if (match := words.search(clause))), None)
    if found is None or _TO_THE_STOP.search(clause):
        return False
    return len(clause.replace(found[0], "").split()) <= 3


def _read_caps(clause: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, words in CAPS.items():
        value = read_number(clause, words)
        if value is not None and not (name == "maxPositionPct" and _TO_THE_STOP.search(clause)):
            found[name] = value
            clause = words.compiled.sub(" ", clause) if name in {"dailyLossHaltPct", "maxTotalExposurePct"} else clause
    return {"maxLeverage": 1.0} | found if _NO_LEVERAGE.search(clause) else found
