"""Metrics for Prometheus: counters of this process, and what the database knows of all."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.models import Min, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chat.models import UsageDay
from chat.turns.live import list_running
from chat.web.consumers import count_sockets
from config.lib.observe.metrics import render_metrics
from config.lib.operations.sizes import measure_database, measure_tables
from config.lib.owned import OwnedModel, system
from config.lib.work.models import BACKUP
from config.lib.work.runs import count_failed, measure_age
from config.lib.work.spending import count_site_tokens
from trading.models import AT_ONCE

_DUE: Final = frozenset({"due_at", "extraction_due_at"})
_LEASES: Final = frozenset({"lease_until", "closing_until"})


@require_safe
@never_cache
@login_not_required
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Answer with the metrics for the token of the settings; 404 on a site without one."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Bearer" or not constant_time_compare(token, settings.METRICS_TOKEN):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    with system("metrics"):
        text = render_metrics(_read_gauges(timezone.now()))
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _read_gauges(now: datetime) -> dict[str, float]:
    used = UsageDay.objects.filter(day=now.date()).aggregate(
        used=Sum("prompt_tokens") + Sum("completion_tokens"), reserved=Sum("reserved_tokens")
    )
    ages = {"backup_age_seconds": measure_age(now, BACKUP), "worker_silence_seconds": measure_age(now)}
    return {
        **{name: age.total_seconds() for name, age in ages.items() if age is not None},
        "failed_tasks": count_failed(),
        "sockets": count_sockets(),
        "running_turns": len(list_running()),
        "queue_lag_seconds": _measure_lag(_DUE, now),
        "lease_overdue_seconds": _measure_lag(_LEASES, now),
        "tokens_used_today": used["used"] or 0,
        "database_bytes": measure_database(),
        **{f"table_bytes_{name}": size for name, size in _list_table_sizes()},
        "tokens_reserved_today": used["reserved"] or 0,
        "site_tokens_today": count_site_tokens(now.date()),
        "site_token_budget": settings.SITE_DAILY_TOKEN_BUDGET,
    }


def _list_table_sizes() -> Iterable[tuple[str, int]]:
    """Return the ten largest tables with their bytes; none on SQLite, which would read the whole file."""
    return list(measure_tables().items())[:10] if connection.vendor == "postgresql" else ()


def _measure_lag(columns: frozenset[str], now: datetime) -> float:
    """Return by how many seconds the oldest instant of the columns, in any model, is past."""
    places = [
        (model, field.name)
        for model in apps.get_models()
        if issubclass(model, OwnedModel)
        for field in model._meta.fields
        if field.name in columns
    ]
    # What is due at once has no instant of which one could say that it is late.
    rows = [model.objects.filter(**{f"{name}__gt": AT_ONCE}) for model, name in places]
    oldest = [found.aggregate(oldest=Min(name))["oldest"] for found, (_, name) in zip(rows, places, strict=True)]
    lags: list[float] = [(now - moment).total_seconds() for moment in oldest if moment]
    return max([0.0, *lags])
