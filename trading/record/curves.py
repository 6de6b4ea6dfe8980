"""The equity curve of an account, thinned without a change to its figures."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from django.db.models import CharField, FloatField
from django.db.models.functions import Cast

from config.lib.charts.thinning import MOST, pick_extremes
from trading.models import Deployment, EquityPoint
from trading.record.performance import EquityAt


def read_curve(deployment: Deployment) -> list[EquityAt]:
    """Return the points of a curve that its figures and its picture need.

    Instants and amounts are read as text and floats: to convert each row would take most of the time.
    """
    columns = Cast("at", CharField()), Cast("equity_usd", FloatField())
    rows = EquityPoint.objects.filter(deployment=deployment).order_by("at").values_list(*columns)
    return thin_curve(list(rows), float(deployment.starting_equity_usd or 0))


def thin_curve(rows: Sequence[tuple[str, float]], start: float, most: int = MOST) -> list[EquityAt]:
    """Return the rows that figures and picture need.

    A year of quarter hours has 35,000 points. Those kept are each UTC day's last one, the extremes of the values and of
    the falls, and the peaks that those fell from: drawdown and Sharpe ratio are those of the whole curve.
    """
    values = [value for _, value in rows]
    peak_at, peak = 0, start
    peaks, falls = [], []
    for place, value in enumerate(values):
        if value > peak:
            peak_at, peak = place, value
        peaks.append(peak_at)
        falls.append(1 - value / peak if peak > 0 else 0.0)
    kept = {*pick_extremes([values, falls], most), *{at[:10]: place for place, (at, _) in enumerate(rows)}.values()}
    kept |= {peaks[place] for place in kept}
    return [_read_point(*rows[place]) for place in sorted(kept)]


def _read_point(at: str, equity: float) -> EquityAt:
    instant = datetime.fromisoformat(at)
    return EquityAt(instant if instant.tzinfo else instant.replace(tzinfo=UTC), Decimal(repr(equity)))
