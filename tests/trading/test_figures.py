from datetime import UTC, datetime, timedelta
from decimal import Decimal

from trading.templatetags.figures import last_day, lasting, model_cost, pct, pnl, ratio, signed_usd, usd, whole_usd

MIDNIGHT = datetime(2026, 5, 3, tzinfo=UTC)


def test_lasting_shows_the_two_largest_units():
    hours, days = timedelta(hours=2), timedelta(days=3)
    for length, text in (
        (None, "–"),
        (timedelta(seconds=59), "under 1 min"),
        (timedelta(minutes=45), "45 min"),
        (hours, "2 h"),
        (hours + timedelta(minutes=5, seconds=59), "2 h 5 min"),
        (days + timedelta(hours=4, minutes=5), "3 d 4 h"),
        (days + timedelta(minutes=5), "3 d"),
    ):
        assert lasting(length) == text


def test_amounts_are_shown_rounded_and_unknown_ones_as_a_dash():
    assert {show(None) for show in (usd, signed_usd, whole_usd, pct, ratio)} == {"–"}
    assert signed_usd(0.1 + 0.2) == "+$0.30"

    arrow = '<span class="pnl__arrow" aria-hidden="true">{}</span>'
    ways = {Decimal("0.01"): ("gain", arrow.format("▲") + "+$0.01"), -1.5: ("loss", arrow.format("▼") + "-$1.50")}
    ways |= {Decimal("0.004"): ("", "$0.00"), None: ("", "–")}
    assert {amount: pnl(amount) for amount in ways} == {
        amount: f'<span class="pnl {way}">{text}</span>' for amount, (way, text) in ways.items()
    }

    texts = {None: "price not known", Decimal(0): "$0.00", Decimal("0.0099"): "under $0.01"}
    texts |= {Decimal("0.01"): "$0.01", Decimal("1234.5"): "$1,234.50"}
    assert {amount: model_cost(amount) for amount in texts} == texts

    ends = (MIDNIGHT, MIDNIGHT + timedelta(hours=9))
    assert [last_day(end).isoformat() for end in ends] == ["2026-05-02", "2026-05-03"]
