"""Uploads of a memory are bounded while they are read, and read outside of transactions."""

import json
import zipfile
from io import BytesIO

import pytest
from django.db import connection
from django.test import Client

from memory.api import memory as memory_api
from memory.transfer import arrival
from memory.transfer.arrival import MAX_ARCHIVE, DocumentRefused
from memory.transfer.uploads import parse_memory, read_upload
from memory.web.views import settings as memory_settings
from tests.factories.trading import TraderFactory
from tests.tables import each_case


def pack(packing: int = zipfile.ZIP_DEFLATED, **members: str) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", packing) as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.json", text)
    return packed.getvalue()


@each_case(
    "members",
    [
        {"memory": '{"format": "keel-memory", "facts": [' + "{}," * 6_000_000 + "{}]}"},
        {"conversations": "[" + "[]," * 6_000_000 + "7]"},
        {"memories": "[" + '"a",' * 6_000_000 + '"a"]'},
    ],
)
def test_zip_of_a_memory_is_refused_before_its_values_are_made(members):
    packed = pack(**members)
    for is_list in (False, True):
        with pytest.raises(DocumentRefused, match="too many values"):
            parse_memory(read_upload(packed), is_list=is_list)


@pytest.mark.limit("memory.transfer.arrival.MAX_ARCHIVE")
def test_zip_of_a_memory_unpacks_to_so_much():
    assert len(read_upload(pack(memory=" " * MAX_ARCHIVE))) == MAX_ARCHIVE
    with pytest.raises(DocumentRefused, match="in this zip is too large"):
        read_upload(pack(memory=" " * (MAX_ARCHIVE + 1)))


@pytest.mark.limit("memory.transfer.arrival._MAX_CONTAINERS", "memory.transfer.arrival._MAX_VALUES")
def test_file_of_too_many_values_is_refused_before_they_are_made():
    for part, most in (("[],", arrival._MAX_CONTAINERS), ("7,", arrival._MAX_VALUES)):
        with pytest.raises(DocumentRefused, match="too many values"):
            arrival.refuse_large(f"[{part * (most + 1)}7]")


def test_zip_that_unpacks_all_at_once_or_is_damaged_is_refused(monkeypatch):
    damaged = bytearray(pack(memory=json.dumps([str(number) for number in range(500)])))
    damaged[60:90] = b"\xff" * 30
    with pytest.raises(DocumentRefused, match="cannot be read"):
        read_upload(bytes(damaged))

    packed = [pack(packing, memory="{}") for packing in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)]
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    for one in packed:
        with pytest.raises(DocumentRefused, match="cannot be read"):
            read_upload(one)


@pytest.mark.parametrize(
    "data", [b"PK not a zip", pack(other="1"), b"\xff\xfe\xff"], ids=["no zip", "another file", "no text"]
)
def test_read_upload_of_another_file_is_refused(data):
    with pytest.raises(DocumentRefused):
        read_upload(data)


def test_text_that_is_neither_an_archive_nor_a_document_is_refused():
    with pytest.raises(DocumentRefused):
        parse_memory("Trades BTC only", is_list=False)


@pytest.mark.parametrize(
    ("module", "reader", "address", "body"),
    [
        (memory_settings, "parse_memory", "/profile/facts/import/", {"kind": "list", "text": "I trade ETH only"}),
        (memory_settings, "parse_memory", "/profile/facts/import/", {"kind": "document", "text": "no document"}),
        (memory_api, "parse_list", "/api/memory/list/", {"text": "I trade BTC only"}),
    ],
    ids=["list", "document", "REST"],
)
def test_memory_is_parsed_outside_of_transactions(transactional_db, monkeypatch, module, reader, address, body):
    read, seen = getattr(module, reader), []

    def note(*args, **kwargs):
        seen.append(connection.in_atomic_block)
        return read(*args, **kwargs)

    monkeypatch.setattr(module, reader, note)
    client = Client()
    client.force_login(TraderFactory())

    client.post(address, body, **({"content_type": "application/json"} if module is memory_api else {}))

    assert seen == [False]
