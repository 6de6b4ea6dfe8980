from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from trading.templatetags.figures import (
    gain_or_loss,
    last_day,
    lasting,
    model_cost,
    pct,
    ratio,
    signed_usd,
    usd,
    whole_usd,
)

MIDNIGHT = datetime(2026, 5, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (None, "–"),
        (timedelta(seconds=59), "under 1 min"),
        (timedelta(minutes=45), "45 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=2, minutes=5, seconds=59), "2 h 5 min"),
        (timedelta(days=3, hours=4, minutes=5), "3 d 4 h"),
        (timedelta(days=3, minutes=5), "3 d"),
    ],
)
def test_lasting_shows_the_two_largest_units(length, text):
    assert lasting(length) == text


@pytest.mark.parametrize("show", [usd, signed_usd, whole_usd, pct, ratio])
def test_unknown_value_is_a_dash(show):
    assert show(None) == "–"


@pytest.mark.parametrize(
    ("amount", "way"), [(Decimal("0.01"), "gain"), (-1.5, "loss"), (Decimal("0.004"), ""), (Decimal(0), ""), (None, "")]
)
def test_gain_or_loss_follows_the_rounded_amount(amount, way):
    assert gain_or_loss(amount) == way


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "price not known"),
        (Decimal(0), "$0.00"),
        (Decimal("0.0099"), "under $0.01"),
        (Decimal("0.01"), "$0.01"),
        (Decimal("1234.5"), "$1,234.50"),
    ],
)
def test_model_cost_distinguishes_zero_tiny_and_unknown(amount, text):
    assert model_cost(amount) == text


@pytest.mark.parametrize(("end", "day"), [(MIDNIGHT, "2026-05-02"), (MIDNIGHT + timedelta(hours=9), "2026-05-03")])
def test_last_day_leaves_the_end_out(end, day):
    assert last_day(end).isoformat() == day


def test_amounts_may_be_floats():
    assert signed_usd(0.1 + 0.2) == "+$0.30"
