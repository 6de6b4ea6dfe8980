"""Read the memory of another assistant: a pasted list, JSON, or the files of an export. Pure.

A line becomes the user's own sentence: without bullet, number and date, in the first person. Its date is kept, and its
topic is guessed from its words, else from the heading above it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.utils.dateparse import parse_date, parse_datetime

from config.lib.text import one_line


@dataclass(frozen=True, slots=True)
class ForeignFact:
    text: str
    said_at: datetime | None = None  # aware UTC
    topic: str = ""


# Keys of objects that other products write: the text, its date, and lists of objects.
_TEXTS: Final = ("memory", "content", "text", "fact", "value", "data", "conversations_memory")
_DATES: Final = ("created_at", "date", "timestamp", "updated_at", "create_time")
_LISTS: Final = ("results", "memories", "facts", "items")

_BULLET: Final = re.compile(r"^\s*(?:[-*•–+]|\(?\d{1,4}[.)])(?:\s+|$)")
_LEADING_DATE: Final = re.compile(
    r"^[\[(]?(?P<day>\d{4}-\d{2}-\d{2}|(?:unknown|no date|date unknown)(?=[\])]))(?:[T ][\d:.]+Z?)?[\])]?"
    r"[.,:]?\s*(?:[-–—|]\s*)?",
    re.IGNORECASE,
)
_TRAILING_DATE: Final = re.compile(
    r"\s*[\[(](?:saved|added|updated|noted|on|as of)?:?\s*(?P<day>\d{4}-\d{2}-\d{2})[\])]\.?\s*$", re.IGNORECASE
)
_HEADING: Final = re.compile(r"^(?:#{1,6}\s+(?P<a>.+)|\*\*(?P<b>[^*]+)\*\*:?|(?P<c>[A-Z][\w &/-]{1,40}):)\s*$")
_FENCE: Final = re.compile(r"^\s*(?:```|~~~|---+$|\*\*\*+$)")
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9)%”\"][.!?])\s+(?=[A-Z])")
_LONG: Final = 120  # characters of a line that is prose: each sentence is a fact

_TOPICS: Final = (
    ("tax", r"\btax(?:es|able)?\b|\bcapital gains\b"),
    ("risk", r"\brisk\w*\b|\bleverage\b|\bstops?\b|\bstop-loss\b|\bdraw ?downs?\b|\bloss(?:es)?\b|\bposition siz\w+"),
    ("style", r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|tone|emojis?|jargon|concise|communication)\b"),
    ("goal", r"\b(?:goals?|aims?|targets?|plans? to|wants? to|retire\w*|objectives?)\b"),
    ("session", r"\b(?:hours|sessions?|mornings?|evenings?|time ?zone|weekends?|schedule)\b"),
    ("account", r"\b(?:accounts?|exchanges?|brokers?|capital|portfolio|binance|kraken|coinbase|hyperliquid|bybit)\b"),
    ("symbols", r"\b(?:BTC|ETH|SOL|XRP|bitcoin|ethereum|solana|altcoins?|alts|symbols?|pairs?|coins?)\b"),
)

_ADVERB: Final = (
    r"(?:(?:never|always|usually|often|only|also|currently|now|generally|typically|primarily|mostly|mainly|still|"
    r"rarely|sometimes|really|strongly|actively|regularly|no longer)\s+)*"
)
_SUBJECT: Final = re.compile(rf"^(?:the user|user|you)\s+(?P<adverb>{_ADVERB})(?P<verb>[a-z']+)", re.IGNORECASE)
_OWNER: Final = re.compile(r"^(?:the user|user)['’]s\b|^your\b", re.IGNORECASE)
_NAMED_BY: Final = re.compile(r"\b(?P<join>and|but|or|,)\s+(?P<adverb>" + _ADVERB + r")(?P<verb>[a-z]+)\b")
_IRREGULAR: Final = {
    **{"is": "am", "are": "am", "has": "have", "does": "do", "was": "was", "were": "was", "goes": "go"},
    **{"doesn't": "don't", "isn't": "am not", "aren't": "am not", "hasn't": "haven't", "you're": "I'm"},
}
_FORMS: Final = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("zzes", "zz"))
_JOINED: Final = re.compile(
    r"(?:is|has|does|prefers|trades|uses|likes|wants|lives|works|enjoys|avoids|needs|keeps|focuses|risks|holds|plans|aims"
    r"|follows|runs|takes|values|dislikes|hates|loves|tries|believes|considers|closes|opens|stops|sizes|tracks)"
)
_NOT_VERBS: Final = frozenset({"can", "could", "may", "might", "must", "should", "will", "would", "had", "did"})
_SECOND: Final = (
    *((r"\byourself\b", "myself"), (r"\byour\b", "my")),
    *((r"\byou are\b", "I am"), (r"\byou have\b", "I have")),
)
_THIRD: Final = (
    *((r"\bthe user['’]s\b", "my"), (r"\b(?:their|his|her)\b", "my")),
    (r"\b(?:themselves|himself|herself)\b", "myself"),
)


def read_foreign(text: str) -> Iterator[ForeignFact]:
    """Yield the facts of a pasted text or of a JSON file, in order."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    found = _iter_values(value, None) if isinstance(value, (list, dict)) else _iter_lines(text, None)
    yield from (fact for fact in found if fact.text)


def in_first_person(text: str) -> str:
    """Return a sentence about the user as the user would say it."""
    subject = _SUBJECT.match(text)
    owner = _OWNER.match(text)
    if subject is None and owner is None:
        return re.sub(r"^You(?=['’](?:ve|d|ll)\b)", "I", text)
    is_second = text[:3].lower() == "you"
    if owner is not None:
        rest = text[owner.end() :]
        start = "My"
    else:
        assert subject is not None, "one of the two matched"
        verb = subject["verb"].lower()
        start = f"I {subject['adverb'].lower()}{verb if is_second and verb not in _IRREGULAR else _base_form(verb)}"
        rest = text[subject.end() :]
        if not is_second:
            rest = _NAMED_BY.sub(_rewrite_joined, rest)
    for pattern, word in _SECOND if is_second else _THIRD:
        rest = re.sub(pattern, word, rest, flags=re.IGNORECASE)
    if is_second:
        # After a conjunction "you" is a subject, elsewhere an object.
        rest = re.sub(r"(?<=\band |\bbut )you\b|(?<=\bthat |\bwhen )you\b|(?<=\bif )you\b", "I", rest)
        rest = re.sub(r"\byou\b", "me", rest)
    return start + rest


def guess_topic(text: str, heading: str = "") -> str:
    """Return the topic that the words of a line give away, else those of its heading."""
    for words in (text, heading):
        for topic, pattern in _TOPICS:
            if re.search(pattern, words, re.IGNORECASE):
                return topic
    return ""


def _rewrite_joined(match: re.Match[str]) -> str:
    verb = match["verb"]
    if not _JOINED.fullmatch(verb):
        return match[0]
    join = match["join"]
    return f"{join} {match['adverb']}{_base_form(verb)}"


def _base_form(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _NOT_VERBS or not verb.endswith("s") or verb.endswith("ss"):
        return verb
    for ending, base in _FORMS:
        if verb.endswith(ending):
            return verb.removesuffix(ending) + base
    return verb[:-1]


def _iter_values(value: Any, said_at: datetime | None, heading: str = "") -> Iterator[ForeignFact]:
    """Yield the facts of a JSON value; unknown keys are ignored."""
    if isinstance(value, str):
        yield from _iter_lines(value, said_at, heading)
    elif isinstance(value, list):
        for one in value:
            yield from _iter_values(one, said_at, heading)
    elif isinstance(value, dict):
        said = next((at for key in _DATES if (at := parse_moment(value.get(key)))), said_at)
        inner = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
        texts = [value[key] for key in _TEXTS if isinstance(value.get(key), str)][:1]
        projects = value.get("project_memories")
        yield from _iter_values([*texts, *inner], said, heading)
        if isinstance(projects, dict):
            yield from _iter_values(list(projects.values()), said, heading)


def _iter_lines(text: str, said_at: datetime | None, heading: str = "") -> Iterator[ForeignFact]:
    for line in text.splitlines():
        line = " ".join(line.split())  # a pattern that ends at the line's end takes long over a run of spaces
        if not line or _FENCE.match(line):
            continue
        if title := _HEADING.match(line.strip()):
            heading = next(word for word in title.groups() if word)
            continue
        yield from _read_line(line, said_at, heading)


def _read_line(line: str, said_at: datetime | None, heading: str) -> Iterator[ForeignFact]:
    rest = _BULLET.sub("", line).strip()
    for pattern in (_LEADING_DATE, _TRAILING_DATE):
        if match := pattern.search(rest):
            said_at = parse_moment(match["day"]) or said_at
            rest = rest[match.end() :] if pattern is _LEADING_DATE else rest[: match.start()]
    plain = one_line(re.sub(r"\*\*|__", "", _BULLET.sub("", rest)))
    for sentence in _SENTENCE.split(plain) if len(plain) > _LONG else [plain]:
        mine = in_first_person(sentence)
        yield ForeignFact(mine, said_at, guess_topic(mine, heading))


def parse_moment(value: Any) -> datetime | None:
    """Return the instant of a date, a time or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if not isinstance(value, str):
            return None
        if (moment := parse_datetime(value)) is not None:
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        day = parse_date(value)
    except (ValueError, OverflowError, OSError):
        return None
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
