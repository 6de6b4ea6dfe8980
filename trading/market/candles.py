"""The candles of a symbol over any time, few enough to draw."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.db.models import BigIntegerField, Count, F, Func, Max, Min

from config.lib.charts.thinning import MOST, Ohlc
from trading.market.tape import STORED, StoredTape
from trading.models.choices import INTERVALS

_ENOUGH = 100  # candles; fewer, and shorter ones are joined instead


@dataclass(frozen=True, slots=True)
class Candles:
    """Candles of one length, oldest first."""

    bars: Sequence[Ohlc] = ()
    length: timedelta = timedelta(0)
    is_simulated: bool = False


class _TimeSlot(Func):
    """The number of a time of so many seconds since 1970."""

    output_field = BigIntegerField()
    template = "(CAST(EXTRACT(EPOCH FROM %(expressions)s) AS BIGINT) / %(seconds)s)"

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "(CAST(strftime('%%%%s', %(expressions)s) AS INTEGER) / %(seconds)s)"
        return self.as_sql(compiler, connection, template=template, **context)


def read_candles(
    symbol: str, since: datetime, until: datetime, most: int = MOST, *, tape: StoredTape = STORED
) -> Candles:
    """Return at most so many candles of a time: bars of the tape, or groups of them made by the database."""
    rows = tape.bars(symbol, since, until).order_by()
    names = ("opened_at", "open", "high", "low", "close", "is_simulated")
    is_short = until - since <= most * min(INTERVALS.values())  # so that all of its bars are read at once
    few = list(rows.order_by("opened_at").values_list(*names, "interval")) if is_short else []
    counts = Counter(bar[6] for bar in few)
    if not is_short:
        counts.update(dict(rows.values_list("interval").annotate(Count("pk"))))
    fitting = [name for name in counts if _ENOUGH <= counts[name] <= most] or [
        name for name in counts if counts[name] <= most and max(counts.values()) <= most
    ]
    interval = max(fitting or counts, key=lambda name: counts[name] if fitting else -counts[name], default="")
    if not interval:
        return Candles()
    rows, length = rows.filter(interval=interval), INTERVALS[interval]
    if fitting:
        bars = [bar for bar in few if bar[6] == interval]
        if not is_short:
            bars = list(rows.order_by("opened_at").values_list(*names, "interval"))
        return Candles([Ohlc(*bar[:5]) for bar in bars], length, any(bar[5] for bar in bars))
    length *= ceil((until - since) / length / (most - 1))
    groups = list(
        rows.annotate(group=_TimeSlot(F("opened_at"), seconds=int(length.total_seconds())))
        .values("group")
        .annotate(first=Min("opened_at"), last=Max("opened_at"), highest=Max("high"), lowest=Min("low"))
        .order_by("group")
    )
    instants = {at for group in groups for at in (group["first"], group["last"])}
    ends = {bar[0]: bar for bar in rows.filter(opened_at__in=instants).values_list(*names)}
    bars_of = [
        Ohlc(one["first"], ends[one["first"]][1], one["highest"], one["lowest"], ends[one["last"]][4]) for one in groups
    ]
    return Candles(bars_of, length, any(bar[5] for bar in ends.values()))
