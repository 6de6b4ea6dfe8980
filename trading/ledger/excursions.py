"""Best and worst of trades that were recorded before the bars of their time."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Max, Min, Value
from django.db.models.functions import Coalesce

from trading.ledger.rebuild import rebuild_symbols
from trading.ledger.services import lock_deployment
from trading.market.tape import Span
from trading.models import Bar, BrokerKind, Deployment, TradeQuerySet

_LONGEST_BAR: Final = timedelta(days=1)


def measure_paths(trades: TradeQuerySet, *, now: datetime) -> int:
    """Measure trades without a path by the stored bars; return how many have one now. Idempotent."""
    live = Deployment.objects.filter(broker_kind=BrokerKind.LIVE).values("pk")
    unknown = trades.filter(path_minutes__isnull=True, deployment__in=live)
    last = Max(Coalesce("exit_at", Value(now)))
    spans: dict[UUID, dict[str, Span]] = defaultdict(dict)
    for row in unknown.order_by().values("deployment", "symbol").annotate(first=Min("entry_at"), last=last):
        held = row["first"] - _LONGEST_BAR, row["last"]
        if Bar.objects.filter(symbol=row["symbol"], is_simulated=False, opened_at__range=held).exists():
            spans[row["deployment"]][row["symbol"]] = row["first"], row["last"]
    before = unknown.count()
    for deployment_id, by_symbol in spans.items():
        rebuild_symbols(lock_deployment(deployment_id), by_symbol, now=now)
    return before - unknown.count()
