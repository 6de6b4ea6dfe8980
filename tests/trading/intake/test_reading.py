import gzip
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

import pytest

from tests.trading.intake import samples
from tests.trading.intake.samples import Sample
from tests.trading.intake.samples_answered import ANSWERED
from tests.trading.intake.samples_brokers import BROKERS
from trading.intake.formats import FORMATS, find_format
from trading.intake.guessing import propose_mapping
from trading.intake.reading import FileReading, read_fills
from trading.intake.tables import TableRefused, read_table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SAMPLES = samples.SAMPLES | BROKERS


def read_sample(sample: Sample, *, columns: Mapping = MappingProxyType({}), **answers) -> FileReading:
    table = read_table(sample.content)
    mapping = propose_mapping(table, zone=sample.zone)
    assert mapping.format == sample.key
    return read_fills(table, replace(mapping, columns={**mapping.columns, **columns}, **answers), now=NOW)


def say(value: Decimal | datetime) -> str:
    return value.replace(tzinfo=None).isoformat() if isinstance(value, datetime) else f"{value.normalize():f}"


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_read_fills_of_an_export_returns_its_fills(sample):
    reading = read_sample(sample)

    check_reading(reading, sample)
    again = read_sample(sample)
    assert [fill.fill_id for fill in reading.fills] == [fill.fill_id for fill in again.fills]
    assert len({(fill.market, fill.symbol, fill.fill_id) for fill in reading.fills}) == len(reading.fills)


def check_reading(reading: FileReading, sample: Sample) -> None:
    assert reading.problems == []
    found = [
        (
            fill.market,
            fill.symbol,
            say(fill.at),
            say(fill.quantity),
            say(fill.price),
            f"{say(fill.fee)} {fill.fee_coin}",
        )
        for fill in reading.fills
    ]
    assert found == list(sample.fills)
    assert [(paid.symbol, say(paid.at), say(paid.amount_usd)) for paid in reading.funding] == list(sample.funding)
    assert reading.left_out.total() == sample.left_out


@pytest.mark.parametrize(("sample", "answers"), ANSWERED.values(), ids=ANSWERED)
def test_read_fills_of_an_export_that_lacks_something_asks_for_it(sample, answers):
    assert read_sample(sample).problems

    check_reading(read_sample(sample, **answers), sample)


HEADERS = [one for one in (*SAMPLES.values(), *(sample for sample, _ in ANSWERED.values())) if one.key]


@pytest.mark.parametrize("sample", HEADERS, ids=lambda sample: sample.key)
def test_find_format_knows_an_export_without_each_column_that_is_not_a_mark(sample):
    columns = read_table(sample.content).columns
    chosen = FORMATS[sample.key]

    assert [find_format([name for name in columns if name != one]) for one in columns if one not in chosen.marks] == [
        sample.key
    ] * len(set(columns) - chosen.marks)
    # Nor do columns of others' make it another.
    assert find_format({*columns, "feecoin", "quoteasset", "status", "currency", "notes"}) == sample.key


def test_read_fills_knows_every_format_by_a_sample():
    known = {sample.key for sample in HEADERS}

    assert set(FORMATS) - known == set(), "add a Sample of it to tests/trading/intake/samples.py, of days in 2025"
    assert known - set(FORMATS) == set(), "add it to the formats beside trading/intake/formats.py"


STATING = [key for key, one in samples.SAMPLES.items() if one.key and "pnl" in FORMATS[one.key].columns]


@pytest.mark.parametrize("key", STATING)
def test_read_fills_returns_the_profits_that_a_venue_states_before_fees(key):
    fills = [fill for fill in read_sample(SAMPLES[key]).fills if fill.market == "futures"]

    # Each sells at 91,000 what was bought at 90,000; a venue that states the profit of an entry says zero.
    stated = [fill.pnl_usd for fill in fills]
    assert (stated[0] or 0, stated[1:]) == (0, [500] * (len(fills) - 1))


LOCAL_WORDS = {
    "German": "Datum;Uhrzeit;Symbol;Richtung;Menge;Kurs;Gebühr\n{};10:00:00;BTCUSDT;Kauf;0,5;60.000,50;0,3\n"
    "{};11:00:00;BTCUSDT;Verkauf;0,5;61.000,50;0,3\n",
    "French": "Date;Paire;Sens;Quantité;Prix;Frais\n{} 10:00;BTC/USDT;Achat;0,5;60 000,50;0,3\n"
    "{} 11:00;BTC/USDT;Vente;0,5;61 000,50;0,3\n",
    "Spanish": "Fecha;Par;Lado;Cantidad;Precio;Comisión\n{} 10:00;BTC/USDT;Compra;0,5;60.000,50;0,3\n"
    "{} 11:00;BTC/USDT;Venta;0,5;61.000,50;0,3\n",
    "Italian": "Data,Coppia Symbol,Lato Side,Quantità,Prezzo,Commissioni\n{} 10:00,BTC/USDT,Acquisto,0.5,60000.50,0.3\n"
    "{} 11:00,BTC/USDT,Vendita,0.5,61000.50,0.3\n",
}


@pytest.mark.parametrize("text", LOCAL_WORDS.values(), ids=LOCAL_WORDS)
def test_read_fills_in_another_language_reads_its_words_and_dotted_days(text):
    table = read_table(text.format("03.05.2025", "03.05.2025").encode())

    reading = read_fills(table, propose_mapping(table, zone="UTC"), now=NOW)

    assert reading.problems == []
    found = [(fill.symbol, str(fill.at.date()), say(fill.quantity), say(fill.price)) for fill in reading.fills]
    assert found == [("BTC", "2025-05-03", "0.5", "60000.5"), ("BTC", "2025-05-03", "-0.5", "61000.5")]
    assert {fill.fee for fill in reading.fills} == {Decimal("0.3")}


@pytest.mark.parametrize("titles", ["Date (UTC),Time", "Date,Time (UTC)"])
def test_the_title_of_days_or_of_clocks_names_the_zone(titles):
    table = read_table(f"{titles},Symbol,Side,Price,Quantity\n2025-03-01,10:00:00,BTCUSD,Buy,80000,1\n".encode())
    reading = read_fills(table, propose_mapping(table, zone="Europe/Berlin"), now=NOW)

    assert [fill.at for fill in reading.fills] == [datetime(2025, 3, 1, 10, tzinfo=UTC)]


def test_propose_mapping_of_an_export_with_a_renamed_column_guesses_it():
    lines = [
        "Date,Futures,Direction,Price,Filled qty,Fee,Realized P/L",
        "2025-03-01 10:00:00,BTCUSDT,Open long,90000,0.5,18,0",
    ]
    table = read_table("\n".join(lines).encode())

    mapping = propose_mapping(table, zone="UTC")

    assert (mapping.format, mapping.columns["quantity"]) == ("bitget_futures", ("filledqty",))


NUMBERS = (b"1e99", b"-", b"NaN", b"99999999999999999999", b"2025-13-45")
PIECES = (*NUMBERS, b"\x00", b"\xff", b'"', b",", b";", b"\n", b"{", b"null")


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_read_fills_of_a_damaged_file_never_fails(sample):
    is_packed = sample.content.startswith(b"\x1f\x8b")
    whole = gzip.decompress(sample.content) if is_packed else sample.content
    chance = random.Random(len(whole))
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5))):
            begin = chance.randrange(len(content))
            content[begin : begin + chance.randrange(9)] = chance.choice((b"", *PIECES))
        with suppress(TableRefused):
            table = read_table(bytes(content))
            read_fills(table, propose_mapping(table, zone="Europe/Berlin"), now=NOW)
