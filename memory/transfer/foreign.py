"""Read the memory of another assistant: JSON, a table, or a list or prose in Markdown.

Names of keys and columns say what is a fact, its date and its end; in a text, marks do. A line becomes the user's own
sentence: without bullet, number and date, in the first person. Its topic is guessed from its words, else its heading.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from config.lib.text import one_line
from config.lib.words.quantities import word_set
from memory.claims.topics import guess_topic
from memory.transfer.documents import parse_moment


@dataclass(frozen=True, slots=True)
class ForeignFact:
    """One sentence with its topic; the dates are aware UTC."""

    text: str
    said_at: datetime | None = None
    ends_at: datetime | None = None  # exclusive
    topic: str = ""


# Keys of objects and columns of tables in other products: the text, its date, its end, and what contains others.
_TEXTS: Final = ("memory", "content", "text", "fact", "value", "data", "conversations_memory", "saved_info")
_DATES: Final = ("valid_at", "created_at", "date", "timestamp", "updated_at", "create_time", "last_updated")
_ENDS: Final = ("invalid_at", "expired_at", "expiration_date", "valid_until")
_INNER: Final = ("results", "memories", "facts", "items", "edges", "blocks", "memory_blocks", "core_memory", "memory")
# Pages of other products that are copied begin with their own names.
_PAGES: Final = {"saved memories", "manage memories", "memory", "memories", "saved info", "saved memory"}
_PERSONA: Final = "persona"  # Letta's block about the assistant

_FENCE: Final = "```"
_BULLET: Final = re.compile(r"^(?:[-*•–+]|\(?\d{1,4}[.)])(?:\s+|$)")
_DAY: Final = r"\d{4}-\d{2}-\d{2}"
_TIME: Final = r"(?:[T ][\d:.]+Z?)?"
_LEADING_DATE: Final = re.compile(
    rf"^[\[(]?(?P<day>{_DAY}|(?:unknown|no date|date unknown)(?=[\])])){_TIME}[\])]?[.,:]?\s*(?:[-–—|]\s*)?",
    re.IGNORECASE,
)
_TRAILING_DATE: Final = re.compile(
    rf"\s*[\[(](?:saved|added|updated|noted|on|as of)?:?\s*(?P<day>{_DAY}){_TIME}"
    rf"(?:\s+[-–]\s+(?P<end>{_DAY}|present){_TIME})?[\])]\.?\s*$",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"#{1,6}\s+.+|(?P<mark>\*{1,3}|_{1,3})[^*_.]+(?P=mark):?")
_NO_LINE: Final = re.compile(r"[-=~*]{3,}|</?\w+>|(?=\S*\d)\S+")  # rules, tags and ids
_EVIDENCE: Final = re.compile(r"(?:^|\s*[(\[])(?:evidence|source|date)\s*:.*$", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9)%”\"][.!?])\s+(?=[A-Z])")
_LONG: Final = 120  # characters of an item that is prose: each sentence is a fact
_WRAPPED: Final = 60  # characters of a line that goes on in the next one
_HEADING_WORDS: Final = 5  # of a line without a mark above a list
# Claude's memory calls the person by name; the first sentence below these headings is about them.
_PERSONAL: Final = {"work context", "personal context"}

_ADVERBS: Final = (
    "never|always|usually|often|only|also|currently|now|generally|typically|primarily|mostly|mainly|still|rarely"
    "|sometimes|really|strongly|actively|regularly|no longer"
)
_ADVERB: Final = rf"(?:(?:{_ADVERBS})\s+)*"
_PERSON: Final = r"(?:the )?(?:user|human)"
_SUBJECT: Final = re.compile(rf"^(?:{_PERSON}|you)\s+(?P<adverb>{_ADVERB})(?P<verb>[a-z']+)", re.IGNORECASE)
_OWNER: Final = re.compile(rf"^{_PERSON}['’]s\b|^your\b", re.IGNORECASE)
_NAMED_BY: Final = re.compile(r"\b(?P<join>and|but|or|,)\s+(?P<adverb>" + _ADVERB + r")(?P<verb>[a-z]+)\b")
_IRREGULAR: Final = {
    **{"is": "am", "are": "am", "has": "have", "does": "do", "was": "was", "goes": "go", "focuses": "focus"},
    **{"doesn't": "don't", "isn't": "am not", "aren't": "am not", "hasn't": "haven't", "you're": "I'm"},
}
_THIRD_PERSON: Final = re.compile(r"(?<=ss|sh|ch|zz)es$|(?<=x)es$|(?<!s)s$")
_VERBS: Final = word_set(
    "is has does prefers trades uses likes wants lives works enjoys avoids needs keeps focuses risks holds plans aims"
    " follows runs takes values dislikes hates loves tries believes considers closes opens stops sizes tracks"
)
# "Is planning to ...", "Never risks more than 1%"; in "Trades after 17:00 are small" and "Stops at 2%" it is a noun.
_IMPLIED: Final = re.compile(
    rf"^(?P<adverb>{_ADVERB})(?P<verb>was|doesn't|isn't|hasn't|(?!stops|plans for)(?:{'|'.join(sorted(_VERBS))}))"
    r"(?=\s(?!of\b)(?!.*\b(?:are|were|must|should)\b)[^?]+$)",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(rf"(?P<name>[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?:['’]s\s|\s+{_ADVERB}(?:was|[a-z]*s)\b)")
_SECOND: Final = {
    **{r"\byourself\b": "myself", r"\byour\b": "my", r"\byou are\b": "I am", r"\byou have\b": "I have"},
    # After a conjunction "you" is a subject, elsewhere an object; with a capital it begins a sentence.
    r"(?-i:(?<=\band |\bbut )you\b|(?<=\bthat |\bwhen )you\b|(?<=\bif )you\b)": "I",
    r"(?-i:\byou\b)": "me",
}
_THIRD: Final = {rf"\b{_PERSON}['’]s\b|\b(?:their|his|her)\b": "my", r"\b(?:themselves|himself|herself)\b": "myself"}


def read_foreign(text: str) -> Iterator[ForeignFact]:
    """Yield the facts of a pasted text or of a file, in order."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = _read_table(text) or text
    yield from _iter_values(value if isinstance(value, (list, dict)) else text, ForeignFact(""))


def in_first_person(text: str) -> str:
    """Return a sentence about the user as the user would say it."""
    subject = _SUBJECT.match(text) or _IMPLIED.match(text)
    owner = _OWNER.match(text)
    if subject is None and owner is None:
        return re.sub(r"^You(?=['’](?:ve|d|ll)\b)", "I", text)
    is_second = text[:3].lower() == "you"
    if owner is not None:
        start, rest = "My", text[owner.end() :]
    else:
        assert subject is not None, "one of the two matched"
        verb = subject["verb"].lower()
        start = f"I {subject['adverb'].lower()}{verb if is_second and verb not in _IRREGULAR else _base_form(verb)}"
        rest = text[subject.end() :]
        rest = rest if is_second else _NAMED_BY.sub(_rewrite_joined, rest)
    for pattern, word in (_SECOND if is_second else _THIRD).items():
        rest = re.sub(pattern, word, rest, flags=re.IGNORECASE)
    return start + rest


def _rewrite_joined(match: re.Match[str]) -> str:
    verb = match["verb"]
    return f"{match['join']} {match['adverb']}{_base_form(verb)}" if verb in _VERBS else match[0]


def _base_form(verb: str) -> str:
    """Return "trade" of "trades", "pass" of "passes" and "carry" of "carries"."""
    return _IRREGULAR.get(verb) or _THIRD_PERSON.sub("", re.sub(r"ies$", "y", verb))


def _read_table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table with a header row, by column; empty for another text."""
    delimiter = max("\t;,", key=text.partition("\n")[0].count)
    try:
        header, *rows = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if row]
    except (csv.Error, ValueError):
        return []
    names = [cell.strip().casefold().replace(" ", "_") for cell in header]
    is_known = not {"id", "uuid", *_TEXTS, *_DATES, *_ENDS}.isdisjoint(names)
    if not is_known or len(names) < 2 or not rows or any(len(row) != len(names) for row in rows):
        return []
    if {*_TEXTS}.isdisjoint(names):
        names[max(range(len(names)), key=lambda column: sum(len(row[column]) for row in rows))] = _TEXTS[0]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _iter_values(value: Any, frame: ForeignFact) -> Iterator[ForeignFact]:
    """Yield the facts of a JSON value; unknown keys are ignored. `frame` has the dates around it."""
    if isinstance(value, str):
        yield from _iter_lines(value, frame)
    elif isinstance(value, list):
        for one in value:
            yield from _iter_values(one, frame)
    elif isinstance(value, dict) and value.get("label") != _PERSONA:
        said_at = next((at for key in _DATES if (at := parse_moment(value.get(key)))), frame.said_at)
        ends_at = next((at for key in _ENDS if (at := parse_moment(value.get(key)))), frame.ends_at)
        texts = [value[key] for key in _TEXTS if isinstance(value.get(key), str)][:1]
        inner = [value[key] for key in _INNER if isinstance(value.get(key), (list, dict))]
        projects = value.get("project_memories")
        inner += [list(projects.values())] if isinstance(projects, dict) else []
        yield from _iter_values([*texts, *inner], replace(frame, said_at=said_at, ends_at=ends_at))


def _iter_lines(text: str, frame: ForeignFact) -> Iterator[ForeignFact]:
    """Yield the facts of a list or of prose below headings."""
    lines = _join_lines(text)
    fences = sum(line.startswith(_FENCE) for line in lines)
    heading = name = ""
    is_fenced = False
    for line, following in zip(lines, [*lines, ""][1:], strict=True):
        if line.startswith(_FENCE):
            is_fenced = not is_fenced
        elif _is_heading(line, following):
            heading = line.strip("#*_:- ")
        elif not _NO_LINE.fullmatch(line) and (is_fenced or fences < 2 or _is_item(line)):  # the rest is talk
            if heading.casefold() in _PERSONAL and (match := _NAMED.match(line)):
                name = name or match["name"]
            yield from _read_line(line, name, replace(frame, topic=heading))


def _join_lines(text: str) -> list[str]:
    """Return the lines that are not empty; a long one that goes on in lower case is one with the next."""
    joined: list[str] = []
    is_open = False
    for line in (" ".join(line.split()) for line in text.splitlines()):
        if is_open and line[:1].islower():
            joined[-1] += f" {line}"
        elif line:
            joined.append(line)
        is_open = len(line) >= _WRAPPED and line[-1] not in ".!?:"
    return joined


def _is_item(line: str) -> bool:
    return bool(_BULLET.match(line) or _LEADING_DATE.match(line))


def _is_heading(line: str, following: str) -> bool:
    if _HEADING.fullmatch(line) or line.endswith(":") or line.casefold() in _PAGES:
        return True
    is_short = len(line.split()) <= _HEADING_WORDS and line[-1] not in ".!?" and ":" not in line
    return is_short and _is_item(following) and not _is_item(line)


def _read_line(line: str, name: str, frame: ForeignFact) -> Iterator[ForeignFact]:
    rest = _BULLET.sub("", line)
    if match := _LEADING_DATE.match(rest):
        frame, rest = replace(frame, said_at=parse_moment(match["day"]) or frame.said_at), rest[match.end() :]
    if match := _TRAILING_DATE.search(rest):
        said_at, ends_at = parse_moment(match["day"]), parse_moment(match["end"])
        frame = replace(frame, said_at=said_at or frame.said_at, ends_at=ends_at or frame.ends_at)
        rest = rest[: match.start()]
    plain = one_line(re.sub(r"\*\*|__", "", _EVIDENCE.sub("", _BULLET.sub("", rest))))
    is_whole = _is_item(line) and len(plain) <= _LONG
    for sentence in [plain] if is_whole else _SENTENCE.split(plain):
        mine = in_first_person(re.sub(rf"^{re.escape(name)}\b", "The user", sentence) if name else sentence)
        if mine:
            yield replace(frame, text=mine, topic=guess_topic(mine, frame.topic))
