"""Import lists and other products' memories as proposals."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from memory.facts.review import propose_fact
from memory.facts.schemas import MAX_DOCUMENT, MAX_ITEMS
from memory.facts.versions import Origin
from memory.models import MemoryProposal, ProposalKind
from memory.transfer.arrival import DocumentRefused, ImportResult, refuse_large, shorten_text
from memory.transfer.foreign import ForeignFact, read_foreign
from memory.wording import FactRefused

_MAX_LINES: Final = 5 * MAX_ITEMS  # of a list, with headings and empty ones


def parse_list(text: str) -> list[ForeignFact]:
    """Return the facts of a list, outside of transactions. Raises DocumentRefused (empty, too long)."""
    refuse_large(text)
    if len(text) > MAX_DOCUMENT or text.count("\n") > _MAX_LINES:
        raise DocumentRefused(f"This list is too long; at most {MAX_DOCUMENT:,} characters and {_MAX_LINES:,} lines.")
    try:
        facts = list(islice(read_foreign(text), MAX_ITEMS + 1))
    except RecursionError:
        raise DocumentRefused("This list is nested too deeply.") from None
    if not 0 < len(facts) <= MAX_ITEMS:
        has = "more" if facts else "none"
        raise DocumentRefused(f"A list needs 1 to {MAX_ITEMS} facts, one a line; this one has {has}.")
    return facts


def import_list(facts: Sequence[ForeignFact], *, now: datetime) -> ImportResult:
    """Propose each fact of a list that has not ended."""
    added, refused = 0, []
    for fact in facts:
        try:
            proposal = _propose_line(fact, now)
        except FactRefused as error:
            refused.append(f"{shorten_text(fact.text)}: {error}")
        else:
            added += proposal is not None
    return ImportResult(None, added, len(facts) - added - len(refused), refused)


def _propose_line(fact: ForeignFact, now: datetime) -> MemoryProposal | None:
    if fact.ends_at is not None and fact.ends_at <= now:
        raise FactRefused(f"It ended on {fact.ends_at:%Y-%m-%d}.")
    dated = f", dated {fact.said_at:%Y-%m-%d}" if fact.said_at else ""
    until = f", true until {fact.ends_at:%Y-%m-%d}" if fact.ends_at else ""
    return propose_fact(
        kind=ProposalKind.IMPORT,
        content=fact.text,
        topic=fact.topic,
        said_at=fact.said_at if fact.said_at and fact.said_at <= now else None,
        ends_at=fact.ends_at,
        why=f"From the list you imported{dated}{until}.",
        origin=Origin(),
        now=now,
    )


def iter_notes(conversations: Any) -> Iterator[dict[str, Any]]:
    """Yield what ChatGPT noted about the user in its conversations."""
    for conversation in conversations if isinstance(conversations, list) else []:
        mapping = conversation.get("mapping") if isinstance(conversation, dict) else None
        for node in mapping.values() if isinstance(mapping, dict) else []:
            message = node.get("message") if isinstance(node, dict) else None
            if not isinstance(message, dict) or message.get("recipient") != "bio":
                continue
            content = message.get("content")
            parts = content.get("parts", []) if isinstance(content, dict) else []
            for part in parts if isinstance(parts, list) else []:
                if isinstance(part, str):
                    yield {"memory": part, "created_at": message.get("create_time")}
