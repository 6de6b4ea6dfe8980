"""Read uploads of a memory: an archive, a document, a list, or the zip of another product."""

import io
import json
import zlib
from collections.abc import Callable
from functools import partial
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from memory.transfer.arrival import (
    MAX_ARCHIVE,
    DocumentRefused,
    ImportResult,
    import_archive,
    is_archive,
    parse_archive,
    parse_json,
)
from memory.transfer.documents import import_document, parse_document
from memory.transfer.lists import import_list, iter_notes, parse_list

# The file of an export that has the memory: Keel's, Claude's, ChatGPT's.
_MEMBERS: Final = ("memory.json", "memories.json", "conversations.json")


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
    return json.dumps(list(iter_notes(conversations)))
