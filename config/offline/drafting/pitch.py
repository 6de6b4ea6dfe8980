"""Parse a pitch into skill fields; percents are 0..100."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from config.lib.text import one_line
from config.offline.drafting import pitch_patterns as patterns
from config.offline.drafting.templates import ENTRY, EXIT, HORIZON, KILLS, RISK, SIZING, SYMBOLS
from config.offline.facts import key_words
from config.offline.reading.sentences import QUOTED, sentences, straight, strip_lead_in
from trading.market.names import symbols_in

Fields = dict[str, Any]  # of a tool call

MAX_TEXT: Final = 2000  # characters of entry, exit and the rules of risk
MAX_THESIS: Final = 4000
MAX_AVOID: Final = 280
MAX_NAME: Final = 80

STYLES: Final = {
    "mean_reversion": "mean reversion",
    "trend": "trend",
    "breakout": "breakout",
    "range": "range",
    "carry": "carry",
    "event": "event",
}
_PROSE: Final = frozenset({ENTRY, EXIT})
_EXCLUSIVE = re.compile(r"\b(?:only|instead|nothing else)\b", re.IGNORECASE)


@dataclass(slots=True)
class Pitch:
    """What a pitch says; empty fields were not said."""

    symbols: list[str] = field(default_factory=list)
    name: str = ""  # as its author calls it
    style: str = ""
    interval: str = ""  # of the bars
    every: str = ""  # of the schedule
    daily_at: str = ""  # HH:MM in UTC
    horizon: str = ""  # day, swing or position
    caps: dict[str, float] = field(default_factory=dict)  # by the names of `set_risk`
    entry: list[str] = field(default_factory=list)
    exit: list[str] = field(default_factory=list)
    avoid: list[str] = field(default_factory=list)
    sizing: list[str] = field(default_factory=list)
    thesis: list[str] = field(default_factory=list)
    is_exclusive: bool = False  # its symbols are all, not more

    @property
    def is_silent(self) -> bool:
        """Whether nothing in it could be placed."""
        return not self.signals and not self.horizon

    @property
    def signals(self) -> int:
        """Count the kinds of details; other texts have at most one."""
        said = (self.symbols, self.style, self.interval, self.every or self.daily_at, self.entry, self.exit)
        return sum(map(bool, said)) + bool(self.caps) + bool(self.avoid or self.sizing)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return self.is_silent and not self.thesis

    def answer(self, area: str, words: str) -> None:
        """Take words as the answer to one question of AREAS."""
        text = _tidy_clause(words)
        for texts in (self.entry, self.exit, self.avoid, self.sizing, self.thesis):
            texts[:] = [one for one in texts if one.casefold() not in text.casefold()]
        amount = _parse_value(patterns.BARE_PCT, words)
        if area in _PROSE and len(text.split()) > 2:
            (self.entry if area == ENTRY else self.exit).append(text)
        elif area == KILLS and not patterns.NOTHING.match(text):
            self.avoid.append(text if patterns.AVOIDS.match(text) else f"No trade: {text}")
        elif area == SIZING and amount is not None and not patterns.TO_THE_STOP.search(words):
            self.caps["maxPositionPct"] = amount
        elif area == SIZING:
            self.sizing.append(text)
        elif area == HORIZON:
            self.interval = self.interval or _parse_interval(words, patterns.BARE_BARS)
        elif area == SYMBOLS:
            self.symbols = symbols_in(words.upper())
        elif area == RISK:
            leverage = self.caps.pop("maxLeverage", None) or _parse_value(patterns.BARE_LEVERAGE, words)
            said = {"dailyLossHaltPct": amount, "maxLeverage": leverage}
            self.caps |= {name: value for name, value in said.items() if value is not None}

    def risk(self) -> Fields:
        """Return the caps as `set_risk` takes them."""
        names = ("maxPositionPct", "maxTotalExposurePct", "maxLeverage", "dailyLossHaltPct", "maxOrdersPerDay")
        return {name: _plain_number(self.caps[name]) for name in names if name in self.caps}

    def context(self) -> Fields:
        """Return what `set_context` takes."""
        given: Fields = {"symbols": self.symbols, "barsInterval": self.interval}
        return {name: value for name, value in given.items() if value}

    def schedule(self) -> Fields:
        """Return what `set_schedule` takes; bars without a schedule are looked at as they close."""
        if self.daily_at:
            return {"type": "daily", "value": self.daily_at}
        value = self.every or self.interval
        return {"type": "interval", "value": value} if value else {}

    def strategy(self) -> Fields:
        """Return the words that `set_strategy` takes."""
        given: Fields = {
            "style": self.style,
            "thesis": _join_texts(self.thesis, MAX_THESIS),
            "entry": _join_texts(self.entry, MAX_TEXT),
            "exit": _join_texts(self.exit, MAX_TEXT),
            "riskManagement": _join_texts(self.sizing, MAX_TEXT),
            "avoid": [rule[:MAX_AVOID] for rule in dict.fromkeys(self.avoid)][:20],
        }
        return {name: value for name, value in given.items() if value}

    def horizon_or_guess(self) -> str:
        """Return the horizon or guess it from the bars."""
        span = patterns.SPANS.get(self.interval, 60)
        return self.horizon or ("day" if span <= 30 else "swing" if span <= 240 else "position")

    def title(self) -> str:
        """Return the skill's name, by default its symbols and style."""
        if self.name:
            return self.name
        symbols = " ".join(self.symbols[:3])
        funding = "funding " if any("funding" in text.casefold() for text in (*self.thesis, *self.entry)) else ""
        style = STYLES.get(self.style, "strategy")
        words = f"{symbols} {'' if funding and self.style == 'trend' else funding}{style}".strip()
        return (words[:1].upper() + words[1:])[:MAX_NAME]


def read_pitch(message: str) -> Pitch:
    """Parse a strategy from a message, without quotations."""
    pitch = Pitch()
    read: list[str] = []
    for sentence in sentences(message):
        if QUOTED.match(sentence):
            continue
        read.append(sentence)
        _read_sentence(pitch, straight(strip_lead_in(sentence)))
    text = straight(" ".join(read))
    if named := patterns.NAMED.search(text):
        pitch.name = named["name"].strip()[:MAX_NAME]
        text = text.replace(named[0], " ")  # a name such as "BTC Harbour" does not name the traded symbols
    pitch.symbols = symbols_in(text)
    pitch.is_exclusive = bool(_EXCLUSIVE.search(text))
    pitch.style = next((style for style, words in patterns.STYLE_PATTERNS if words.search(text)), "")
    pitch.horizon = next((name for name, words in patterns.HORIZONS if words.search(text)), "")
    pitch.interval = _parse_interval(text, patterns.BARS)
    pitch.every = _parse_interval(text, patterns.EVERY)
    if at := patterns.DAILY_AT.search(text):
        hour, minute = [part for part in at.groups() if part]
        pitch.daily_at = f"{int(hour):02}:{minute}"
    _read_caps(pitch, text)
    return pitch


def _read_sentence(pitch: Pitch, sentence: str) -> None:
    plain = sentence.strip(" .!;")
    if built := patterns.BUILD.match(plain):
        described = (built["what"] or "").strip()
        if len(key_words(described)) > 1:
            pitch.thesis.append(_tidy_clause(f"{described} strategy"))
        plain = patterns.AFTER_BUILD.sub("", plain[built.end() :])
    if label := patterns.LABEL.match(plain):
        into = _by_label(pitch, label["label"].casefold())
        if into is not None and not _is_number(label["rest"]):
            into.append(_tidy_clause(label["rest"]))
            return
        plain = label["rest"]
    for clause in _iter_clauses(plain):
        _read_clause(pitch, clause)


def _by_label(pitch: Pitch, label: str) -> list[str] | None:
    fields = (
        (("entr",), pitch.entry),
        (("exit",), pitch.exit),
        (("avoid", "rule", "what kills", "kill", "invalid"), pitch.avoid),
        (("thesis", "idea", "edge"), pitch.thesis),
        (("sizing", "size", "risk"), pitch.sizing),
    )
    return next((texts for starts, texts in fields if label.startswith(starts)), None)


def _iter_clauses(sentence: str) -> Iterator[str]:
    for clause in patterns.SPLIT.split(sentence):
        stripped = clause.strip(" .,;!-")
        if stripped:
            yield stripped


def _read_clause(pitch: Pitch, clause: str) -> None:
    if _is_number(clause) or _is_cap(clause):
        return  # read as numbers
    kinds = (
        (patterns.AVOIDS, pitch.avoid),
        (patterns.EXITS, pitch.exit),
        (patterns.ENTERS, pitch.entry),
        (patterns.SIZES, pitch.sizing),
    )
    into = next((texts for words, texts in kinds if words.search(clause)), None)
    if into is None and len(key_words(clause)) > 3:
        into = pitch.thesis
    if into is not None:
        into.append(_tidy_clause(clause))


def _is_number(clause: str) -> bool:
    return all(word.casefold() in patterns.NUMBERS_WORDS for word in re.findall(r"[^\W\d_]+", clause))


def _is_cap(clause: str) -> bool:
    """Tell whether a clause is only a cap, such as "no leverage"."""
    if patterns.TO_THE_STOP.search(clause):
        return False
    caps = (patterns.NO_LEVERAGE, *_CAPS.values())
    found = next((match for words in caps if (match := words.search(clause))), None)
    return found is not None and len(clause.replace(found[0], "").split()) <= 3


# In this order: what bounds the day or the whole is taken out before a position's cap is looked for.
_CAPS: Final = {
    "dailyLossHaltPct": patterns.DAY_LOSS,
    "maxTotalExposurePct": patterns.EXPOSURE,
    "maxPositionPct": patterns.POSITION,
    "maxLeverage": patterns.LEVERAGE,
    "maxOrdersPerDay": patterns.ORDERS,
}


def _read_caps(pitch: Pitch, text: str) -> None:
    clauses = [clause for sentence in sentences(text) for clause in _iter_clauses(sentence.strip(" .!;"))]
    for clause in clauses:
        rest = clause
        found: dict[str, float] = {}
        for name, words in _CAPS.items():
            value = _parse_value(words, rest)
            if value is None or (name == "maxPositionPct" and patterns.TO_THE_STOP.search(rest)):
                continue
            found[name] = int(value) if name == "maxOrdersPerDay" else value
            if name in {"dailyLossHaltPct", "maxTotalExposurePct"}:
                rest = words.sub(" ", rest)
        if patterns.NO_LEVERAGE.search(rest):
            found.setdefault("maxLeverage", 1.0)
        pitch.caps |= found


def _parse_value(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return next((float(part) for part in match.groups() if part), None) if match else None


def _parse_interval(text: str, pattern: re.Pattern[str]) -> str:
    match = pattern.search(text)
    if match is None:
        return ""
    first, *rest = [part for part in match.groups() if part]
    if not first.isdecimal():
        return "1d" if first.casefold() == "daily" else "1h"
    interval = f"{int(first)}{patterns.UNITS[rest[0].casefold()]}"
    return {"60m": "1h", "24h": "1d"}.get(interval, interval)


def _tidy_clause(clause: str) -> str:
    text = one_line(clause).strip(" .,;-")
    return text[:1].upper() + text[1:]


def _join_texts(texts: list[str], most: int) -> str:
    joined = " ".join(f"{text}." for text in dict.fromkeys(texts))
    return joined if len(joined) <= most else f"{joined[: most - 1]}…"


def _plain_number(value: float) -> float | int:
    return int(value) if value == int(value) else value
