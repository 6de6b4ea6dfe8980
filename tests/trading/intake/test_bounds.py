"""Uploads are bounded while they are read, and read outside of transactions."""

import gzip
import json
import subprocess
import sys
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse

from config.lib.rest import parsing
from tests.factories.memory import MAY
from tests.factories.trading import TraderFactory
from tests.source import ROOT
from tests.trading.web.test_views_imports import fields_of
from trading.intake import files, tables
from trading.intake.tables import MAX_COLUMNS, MAX_ROWS, TableRefused, normal_name, read_table, table_of_records
from trading.intake.values import looks_like_value, parse_number, split_amount
from trading.models import TradeFile
from trading.web.import_forms import TradeFileForm

HEADER = "Time,Symbol,Side,Quantity,Price"
ROW = "2026-05-01 12:00:00,BTC,buy,1,100"

# Each unpacks to far more than it weighs; with the words of its refusal.
LARGE = {
    "columns": (lambda: ",".join(f"c{number}" for number in range(100_000)) + "\n1\n", "200 columns"),
    "columns of a header over two lines": (lambda: f'{HEADER},"x\n"' + "," * 100_000 + f"\n{ROW}\n", "200 columns"),
    "nameless columns": (lambda: "," * 5_000_000 + "\n1\n", "200 columns"),
    "rows": (lambda: f"{HEADER}\n" + "1\n" * 9_000_000, "50,000 rows"),
    "empty lines": (lambda: HEADER + "\n" * 10_000_000, "50,000 rows"),
    "cells": (lambda: f"{HEADER}\n" + ("," * 390 + "x\n") * 49_000, "2,000,000 cells"),
    "an open quote": (lambda: f'{HEADER}\n"' + "a\n" * 5_000_000, "quotation mark"),
    "objects": (lambda: "[" + "{}," * 2_600_000 + "{}]", "2,000,000 cells"),
    "lists": (lambda: "[" + "[]," * 6_000_000 + "{}]", "2,000,000 cells"),
    "values": (lambda: '[{"a":[' + "1," * 9_000_000 + "1]}]", "2,000,000 cells"),
    "keys of one record": (lambda: json.dumps([{f"k{n}": 1 for n in range(300_000)}]), "200 columns"),
    "keys of many records": (lambda: json.dumps([{f"k{n}": 1} for n in range(40_000)]), "200 columns"),
    # Each record would get a copy of the texts around the list.
    "texts around a list": (
        lambda: json.dumps({f"k{n}": "x" for n in range(40_000)} | {"list": [{"a": "b"}] * 40_000}),
        "200 columns",
    ),
    "texts around many records": (
        lambda: json.dumps({f"k{n}": "x" for n in range(190)} | {"list": [{"a": "b"}] * 49_000}),
        "2,000,000 cells",
    ),
    "lines of JSON": (lambda: '{"a": 1}\n' * 60_000, "50,000 rows"),
}


@pytest.mark.parametrize("name", LARGE)
def test_read_table_refuses_what_is_beyond_its_bounds(name):
    build, words = LARGE[name]
    packed = gzip.compress(build().encode(), 1)

    with pytest.raises(TableRefused, match=words):
        read_table(packed)


# Reads each large file under a limit of memory. VmSize: what the limit counts.
UNDER_A_LIMIT = """
import gzip, resource, sys
import django
django.setup()
from tests.trading.intake.test_bounds import LARGE
from trading.intake.tables import TableRefused, read_table
packed = [gzip.compress(build().encode(), 1) for build, _ in LARGE.values()]
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (held + int(sys.argv[1]), -1))
for one in packed:
    try:
        read_table(one)
    except TableRefused:
        pass
print("read", len(packed))
"""


@pytest.mark.computing
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_large_uploads_take_less_than_200_megabytes():
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT, str(200 * 2**20)], cwd=ROOT, capture_output=True, text=True
    )

    assert done.stdout == f"read {len(LARGE)}\n", done.stderr[-500:]


@pytest.mark.limit("trading.intake.tables.MAX_COLUMNS", "trading.intake.tables.MAX_ROWS")
def test_table_at_its_bounds_is_read():
    wide = ",".join([*HEADER.split(","), *(f"c{number}" for number in range(MAX_COLUMNS - 5))])
    assert len(read_table(f"{wide}\n{ROW}\n".encode()).columns) == MAX_COLUMNS
    with pytest.raises(TableRefused, match="200 columns"):
        read_table(f"{wide},one more\n{ROW}\n".encode())

    rows = f"{HEADER}\n" + f"{ROW}\n" * MAX_ROWS
    assert len(read_table(rows.encode()).rows) == MAX_ROWS
    with pytest.raises(TableRefused, match="50,000 rows"):
        read_table(f"{rows}{ROW}\n".encode())


def test_long_text_in_a_row_is_no_header_and_no_reason_to_refuse():
    note = "a, " * 300

    table = read_table(f'{HEADER},Note\n{ROW},"{note}"\n'.encode())

    assert [row.cells["note"] for row in table.rows] == [note.strip()]


@pytest.mark.limit("trading.intake.values._LONGEST")
def test_long_cells_and_names_are_no_work():
    zones = "(UTC" * 50_000

    for digits in ("1" * 101, "1" * 200_000):
        assert not looks_like_value(digits)
        for read in (parse_number, lambda text: split_amount(text, ["BTC"])):
            with pytest.raises(ValueError, match=r"is no(t a number| amount)"):
                read(digits)
    assert normal_name(zones) == normal_name(zones[:200])
    assert normal_name(" " * 200_000 + "Time (UTC+8)") == "time"


def test_feed_of_a_venue_may_be_longer_than_a_file():
    assert len(table_of_records([{"coin": "BTC"}] * (MAX_ROWS + 1)).rows) == MAX_ROWS + 1


@pytest.mark.limit("trading.intake.tables._MAX_MEMBERS")
def test_packed_file_that_was_joined_is_read_whole():
    parts = [gzip.compress(text.encode()) for text in (f"{HEADER}\n{ROW}\n", f"{ROW}\n")]

    assert len(read_table(b"".join(parts)).rows) == 2
    with pytest.raises(TableRefused, match="joined of too many"):
        read_table(gzip.compress(f"{HEADER}\n".encode()) + gzip.compress(b"\n") * 200)


@pytest.mark.limit("trading.intake.tables.MAX_BYTES")
def test_file_has_so_many_bytes():
    large = f"{HEADER}\n{ROW}\n".encode().ljust(tables.MAX_BYTES + 1)

    with pytest.raises(TableRefused, match="larger than 20 MB"):
        read_table(large)
    refused = TradeFileForm(files={"file": SimpleUploadedFile("trades.csv", large)})
    assert "larger than 20 MB" in refused.errors["file"][0]


@pytest.mark.limit("trading.intake.tables._MAX_CELLS")
def test_table_has_so_many_cells(monkeypatch):
    monkeypatch.setattr(tables, "_MAX_CELLS", 40)

    assert len(read_table(f"{HEADER}\n{ROW}\n".encode()).rows) == 1
    with pytest.raises(TableRefused, match="40 cells"):
        read_table(f"{HEADER}\n{ROW * 10}\n".encode())


@pytest.mark.limit("trading.intake.tables._MAX_OBJECTS")
def test_json_has_so_many_objects(monkeypatch):
    monkeypatch.setattr(tables, "_MAX_OBJECTS", 40)

    with pytest.raises(TableRefused, match="cells"):
        read_table(json.dumps([{"time": "2026-05-01"}] * 41).encode())


@pytest.mark.limit("trading.intake.files.MAX_WAITING")
def test_only_the_newest_files_of_a_user_wait(as_trader):
    new = files.read_upload(f"{HEADER}\n{ROW}\n".encode(), zone="UTC")
    names = [f"{number}.csv" for number in range(files.MAX_WAITING + 1)]

    for day, name in enumerate(names):
        files.keep_file(new, name=name, now=MAY + timedelta(days=day))

    assert list(TradeFile.objects.order_by("created_at").values_list("name", flat=True)) == names[1:]


# --- Outside of transactions ---


@pytest.fixture
def client(transactional_db):
    client = Client()
    client.force_login(TraderFactory())
    return client


def watch(monkeypatch, module, name: str) -> list[bool]:
    """Note whether a transaction is open whenever a module calls one of its readers."""
    read, seen = getattr(module, name), []

    def note(*args, **kwargs):
        seen.append(connection.in_atomic_block)
        return read(*args, **kwargs)

    monkeypatch.setattr(module, name, note)
    return seen


def upload(client: Client) -> str:
    """Upload a file of one fill; return the address of its page."""
    file = SimpleUploadedFile("trades.csv", f"{HEADER}\n{ROW}\n".encode())
    return client.post(reverse("trading:imports"), {"file": file})["Location"]


def test_file_of_trades_is_read_outside_of_transactions_and_once_a_request(client, monkeypatch):
    read, readings = watch(monkeypatch, files, "read_table"), watch(monkeypatch, files, "read_fills")

    place = upload(client)
    assert read == [False]

    fields = fields_of(client.get(place))
    assert (read, readings) == ([False] * 2, [False])

    response = client.post(place, fields | {"act": "import"})

    assert response.status_code == 302
    assert (read, readings) == ([False] * 3, [False] * 2)


def test_upload_over_rest_is_parsed_outside_of_transactions(client, monkeypatch):
    body, table = watch(monkeypatch, parsing, "parse_json"), watch(monkeypatch, files, "read_table")
    given = {"name": "a.csv", "content": f"{HEADER}\n{ROW}\n", "dry_run": True}

    answer = client.post("/api/trades/import/", given, content_type="application/json")

    assert (answer.status_code, body, table) == (200, [False], [False])


@pytest.fixture
def meanwhile(client, monkeypatch):
    """A function that imports a file while another window does something with it; it returns the answer."""

    def play(**act: str):
        place = upload(client)
        fields = fields_of(client.get(place))
        check = files.check_reading

        def act_meanwhile(*args, **kwargs):
            check(*args, **kwargs)
            monkeypatch.setattr(files, "check_reading", check)
            client.post(place, fields | act)

        monkeypatch.setattr(files, "check_reading", act_meanwhile)
        return client.post(place, fields | {"act": "import"}, follow=True)

    return play


def test_import_of_a_file_that_another_window_corrected_or_imported_says_so(meanwhile):
    response = meanwhile(zone="Asia/Tokyo", act="correct")
    assert response.status_code == 422
    assert "corrected in another window" in response.content.decode()

    response = meanwhile(act="import")
    assert response.redirect_chain[0][0] == reverse("trading:imports")
    assert "not here any more" in response.content.decode()
