from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from trading.wording import minute, pct, price, quantity, signed_pct, signed_usd, span, usd, whole_usd

D = Decimal


@pytest.mark.parametrize(
    ("say", "value", "text"),
    [
        (usd, "1234.5", "$1,234.50"),
        (usd, "-3", "-$3.00"),
        (usd, "-0.001", "$0.00"),
        (usd, "123456789012345678901234567890.129", "$123,456,789,012,345,678,901,234,567,890.13"),
        (signed_usd, "28.4", "+$28.40"),
        (signed_usd, "-9.7", "-$9.70"),
        (signed_usd, "0.004", "$0.00"),
        (whole_usd, "250", "$250"),
        (whole_usd, "1234.5", "$1,234"),
        (whole_usd, "0.4", "$0.40"),
        (price, "65200", "65,200"),
        (price, "65200.55", "65,200.6"),
        (price, "3410.5", "3,410.5"),
        (price, "123456789.5", "123,456,790"),
        (price, "0.00001234567", "0.0000123457"),
        (price, "0", "0"),
        (quantity, "1.50000000", "1.5"),
        (quantity, "1E+3", "1000"),
        (quantity, "-0.000000001", "0"),
        (pct, "0.011", "1.1%"),
        (pct, "-0.0001", "0.0%"),
        (signed_pct, "0.011", "+1.1%"),
        (signed_pct, "-0.005", "-0.5%"),
        (signed_pct, "0", "0.0%"),
    ],
)
def test_number_reads(say, value, text):
    assert say(D(value)) == text


def test_instant_reads_in_utc():
    there = timezone(timedelta(hours=2))

    assert minute(datetime(2026, 6, 4, 12, 0, 59, tzinfo=there)) == "2026-06-04T10:00"
    assert minute(datetime(2026, 6, 4, 10, tzinfo=UTC)) == "2026-06-04T10:00"


def test_span_is_whole_minutes():
    assert span(timedelta(hours=2, seconds=59)) == "120m"
