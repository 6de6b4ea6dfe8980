"""Parse the extractor's answer into checked facts."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from uuid import UUID

from config.lib.text import clean_text, parse_uuid
from memory.claims.support import Quote
from memory.models import FactCategory
from memory.wording import FactRefused, find_category, parse_content, parse_topic

MISSING_CONFIDENCE: Final = 0.5
LEAST_CONFIDENCE: Final = 0.3  # below it a fact is not saved at all
MAX_FACTS: Final = 50  # in one answer
MAX_QUOTES: Final = 5  # per fact
MAX_SUMMARY: Final = 2_000  # characters
MAX_OBJECTS: Final = 100  # maximum parse attempts in one answer

Op = Literal["add", "update", "skip"]
_OPS: Final[tuple[Op, ...]] = get_args(Op)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed fact. As answered, its ids are unchecked and its content may be empty in a skip.

    Once checked (`extraction`), the target of an update or skip is a known fact, `conflicts_with` a known explicit
    fact; without `quotes`, nothing the user typed supports it.
    """

    op: Op
    target_id: UUID | None
    category: str
    topic: str
    content: str
    confidence: float  # LEAST_CONFIDENCE..1
    quotes: tuple[Quote, ...] = ()  # verified
    conflicts_with: UUID | None = None
    said: tuple[Quote, ...] = ()  # what the model quotes of the user without support: the content words it otherwise
    quoted: tuple[str | Mapping[str, Any], ...] = field(default=(), compare=False)  # by the model, as answered

    @property
    def is_supported(self) -> bool:
        return bool(self.quotes)


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    summary: str
    facts: tuple[Candidate, ...]


def parse_answer(text: str) -> ExtractionAnswer | None:
    """Parse the first JSON object that is an answer, or return None.

    It raises nothing. A fact is dropped for a wrong type, a null or non-finite number in a required place, a duplicate
    key or a confidence below LEAST_CONFIDENCE. Confidence is clamped to 0..1 and 0.5 when missing.
    """
    for value in _iter_objects(text):
        if "facts" in value or "summary" in value:
            given, summary = value.get("facts"), value.get("summary")
            facts = [_parse_fact(fact) for fact in given[: 4 * MAX_FACTS]] if isinstance(given, list) else []
            kept = [fact for fact in facts if fact is not None]
            said = clean_text(summary).strip()[:MAX_SUMMARY] if isinstance(summary, str) else ""
            return ExtractionAnswer(said, tuple(kept[:MAX_FACTS]))
    return None


class _DuplicateKeys(dict[str, Any]):
    """An object with a duplicate key, so its values are ambiguous."""


def _iter_objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_build_object, parse_constant=lambda _: math.nan, parse_int=_parse_integer
    )
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else _DuplicateKeys(value)


def _parse_integer(digits: str) -> float:
    return int(digits) if len(digits) < 20 else math.inf


def _parse_fact(fact: object) -> Candidate | None:
    if not isinstance(fact, dict) or isinstance(fact, _DuplicateKeys):
        return None
    op, content, topic = fact.get("op"), fact.get("content"), fact.get("topic", "")
    confidence = _parse_confidence(fact.get("confidence"))
    if op not in _OPS or confidence is None or not isinstance(topic, str | None):
        return None
    target_id = _parse_uuid(fact.get("target_id"))
    try:
        text = parse_content(content) if isinstance(content, str) and (content.strip() or op != "skip") else ""
        tag = parse_topic(topic or "")
    except FactRefused:
        return None
    if not text and (op != "skip" or target_id is None):
        return None
    category = fact.get("category")
    listed = quotes if isinstance(quotes := fact.get("quotes"), list) else []
    return Candidate(
        op=op,
        target_id=target_id,
        category=category if category in FactCategory.values else find_category(tag, text),
        topic=tag,
        content=text,
        confidence=confidence,
        conflicts_with=_parse_uuid(fact.get("conflicts_with")),
        quoted=tuple(one for one in listed if isinstance(one, str | dict))[:MAX_QUOTES],
    )


def _parse_confidence(value: object) -> float | None:
    if value is None:
        return MISSING_CONFIDENCE
    if isinstance(value, str) and re.fullmatch(r"\s*(?:0?\.\d+|[01](?:\.\d+)?)\s*", value):
        value = float(value)  # some models write numbers as text
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    clamped = min(1.0, max(0.0, float(value)))
    return clamped if clamped >= LEAST_CONFIDENCE else None


def _parse_uuid(value: object) -> UUID | None:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-fA-F-]{32,36}", value.strip()):
        return None
    return parse_uuid(value.strip())
