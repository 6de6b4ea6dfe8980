"""Import lists and other products' memories as proposals; read uploaded files."""

import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from memory.facts.review import propose_fact
from memory.facts.schemas import MAX_DOCUMENT, MAX_ITEMS
from memory.facts.versions import Origin
from memory.models import MemoryProposal, ProposalKind
from memory.transfer.arrival import (
    MAX_ARCHIVE,
    DocumentRefused,
    ImportResult,
    import_archive,
    is_archive,
    parse_archive,
    parse_json,
    refuse_large,
    shorten_text,
)
from memory.transfer.documents import import_document, parse_document
from memory.transfer.foreign import ForeignFact, read_foreign
from memory.wording import FactRefused

_MAX_LINES: Final = 5 * MAX_ITEMS  # of a list, with headings and empty ones

# The file of an export that has the memory: Keel's, Claude's, ChatGPT's.
_MEMBERS: Final = ("memory.json", "memories.json", "conversations.json")


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


def parse_memory(text: str, *, is_list: bool) -> Callable[..., ImportResult]:
    """Return the import of a list or of what Keel exported, which takes `now`. Raises DocumentRefused.

    Parse outside of transactions; the import, in one, raises DocumentRefused, too.
    """
    if is_list:
        return partial(import_list, parse_list(text))
    if is_archive(text):
        return partial(import_archive, parse_archive(text))
    return partial(import_document, parse_document(text))


def read_upload(data: bytes) -> str:
    """Return the text of an uploaded file, of a zip its memory. Raises DocumentRefused."""
    if data[:2] != b"PK":
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise DocumentRefused(
                "This file is no text in UTF-8 and no zip. Export it again, or paste its text."
            ) from None
    try:
        with ZipFile(io.BytesIO(data)) as packed:
            # Claude's newer exports have one file for each account in a folder.
            names = {
                "memories.json" if "/memories/" in f"/{name}" else name.rsplit("/", 1)[-1]: name
                for name in reversed(packed.namelist())
            }
            member = next((name for name in _MEMBERS if name in names), None)
            if member is None:
                raise DocumentRefused("This zip has no memory.json of Keel and no memories of another assistant.")
            packing = packed.getinfo(names[member]).compress_type
            if packing not in (ZIP_STORED, ZIP_DEFLATED):
                raise NotImplementedError  # the other ways unpack all at once, whatever is asked for
            with packed.open(names[member]) as file:
                text = file.read(MAX_ARCHIVE + 1)
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError, zlib.error):
        raise DocumentRefused("This zip cannot be read. Export it again.") from None
    if len(text) > MAX_ARCHIVE:
        raise DocumentRefused("The memory in this zip is too large.")
    content = text.decode("utf-8-sig", errors="replace")
    if member != "conversations.json":
        return content
    conversations = parse_json(content, refusal="The conversations in this zip are no JSON.")
    return json.dumps(list(_iter_notes(conversations)))


def _iter_notes(conversations: Any) -> Iterator[dict[str, Any]]:
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
