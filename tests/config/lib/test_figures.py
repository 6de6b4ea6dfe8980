from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from config.lib.figures import (
    format_count,
    format_minute,
    format_minutes,
    format_pct,
    format_price,
    format_quantity,
    format_signed_pct,
    format_signed_usd,
    format_usd,
    format_whole_usd,
)

D = Decimal


@pytest.mark.parametrize(
    ("say", "value", "text"),
    [
        (format_usd, "1234.5", "$1,234.50"),
        (format_usd, "-3", "-$3.00"),
        (format_usd, "-0.001", "$0.00"),
        (format_usd, "123456789012345678901234567890.129", "$123,456,789,012,345,678,901,234,567,890.13"),
        (format_signed_usd, "28.4", "+$28.40"),
        (format_signed_usd, "-9.7", "-$9.70"),
        (format_signed_usd, "0.004", "$0.00"),
        (format_whole_usd, "250", "$250"),
        (format_whole_usd, "1234.5", "$1,234"),
        (format_whole_usd, "0.4", "$0.40"),
        (format_price, "65200", "65,200"),
        (format_price, "65200.55", "65,200.6"),
        (format_price, "3410.5", "3,410.5"),
        (format_price, "123456789.5", "123,456,790"),
        (format_price, "0.00001234567", "0.0000123457"),
        (format_price, "0", "0"),
        (format_quantity, "1.50000000", "1.5"),
        (format_quantity, "1E+3", "1000"),
        (format_quantity, "-0.000000001", "0"),
        (format_pct, "0.011", "1.1%"),
        (format_pct, "-0.0001", "0.0%"),
        (format_signed_pct, "0.011", "+1.1%"),
        (format_signed_pct, "-0.005", "-0.5%"),
        (format_signed_pct, "0", "0.0%"),
    ],
)
def test_format_number_returns_the_expected_text(say, value, text):
    assert say(D(value)) == text


@pytest.mark.parametrize(
    ("count", "noun", "zero", "text"),
    [
        (0, "", "0", "0"),
        (12345, "", "0", "12,345"),
        (0, "skill", "0", "0 skills"),
        (0, "skill", "no", "no skills"),
        (1, "closed trade", "no", "1 closed trade"),
        (-1, "trade", "0", "-1 trades"),
        (1234, "trade", "0", "1,234 trades"),
    ],
)
def test_format_count_with_a_noun_returns_its_plural(count, noun, zero, text):
    assert format_count(count, noun, zero=zero) == text


def test_instant_reads_in_utc():
    there = timezone(timedelta(hours=2))

    assert format_minute(datetime(2026, 6, 4, 12, 0, 59, tzinfo=there)) == "2026-06-04T10:00"
    assert format_minute(datetime(2026, 6, 4, 10, tzinfo=UTC)) == "2026-06-04T10:00"


def test_span_is_whole_minutes():
    assert format_minutes(timedelta(hours=2, seconds=59)) == "120m"
