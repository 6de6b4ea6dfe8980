"""Metrics of this process for Prometheus.

`prometheus_client` is an extra and is imported at the first use on a site that sets METRICS_TOKEN. Elsewhere each
function does nothing.
"""

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from django.conf import settings

logger = logging.getLogger(__name__)

# Seconds until the first words of a reply. People notice 0.1 s, and leave after ten.
_FIRST_TOKEN_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 60.0)
_REQUEST_BUCKETS: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class _Metrics:
    """The counters of this process, in a registry of their own."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.registry = client.CollectorRegistry()
        client.ProcessCollector(registry=self.registry)
        made = {"registry": self.registry}
        self.turns = client.Counter("keel_turns", "Replies that ended, by status.", ["status"], **made)
        self.model_errors = client.Counter(
            "keel_model_errors", "Failed calls to models, by kind of failure.", ["kind"], **made
        )
        self.first_token = client.Histogram(
            "keel_first_token_seconds",
            "Seconds from the beginning of a turn to its first words.",
            buckets=_FIRST_TOKEN_BUCKETS,
            **made,
        )
        self.requests = client.Counter(
            "keel_requests", "Answered requests, by hundreds of the status.", ["status"], **made
        )
        self.request_seconds = client.Histogram(
            "keel_request_seconds", "Seconds of a request, streams to their end.", buckets=_REQUEST_BUCKETS, **made
        )
        self.gauges: dict[str, Any] = {}


@cache
def _find_metrics() -> _Metrics | None:
    if not settings.METRICS_TOKEN:
        return None
    try:
        import prometheus_client  # noqa: PLC0415 - an extra
    except ImportError:
        logger.warning("METRICS_TOKEN is set, but prometheus_client is missing: install keel[metrics]")
        return None
    return _Metrics(prometheus_client)


def count_turn(status: str) -> None:
    """Count a reply that ended."""
    if metrics := _find_metrics():
        metrics.turns.labels(status).inc()


def observe_first_token(seconds: float) -> None:
    """Note the time to a reply's first words."""
    if metrics := _find_metrics():
        metrics.first_token.observe(seconds)


def count_model_error(kind: str) -> None:
    """Count a failed call to a model."""
    if metrics := _find_metrics():
        metrics.model_errors.labels(kind).inc()


def observe_request(status: int, seconds: float) -> None:
    """Note an answered request."""
    if metrics := _find_metrics():
        metrics.requests.labels(f"{status // 100}xx").inc()
        metrics.request_seconds.observe(seconds)


def serve_metrics(host: str, port: int) -> bool:
    """Serve this process's counters by HTTP, without a token: for a worker that has no site. Tell whether it does."""
    metrics = _find_metrics()
    if metrics is not None:
        metrics.client.start_http_server(port, addr=host, registry=metrics.registry)
    return metrics is not None


def render_metrics(gauges: Mapping[str, float]) -> bytes | None:
    """Return the metrics as text, with `gauges` as they are now. None: the site has no metrics."""
    metrics = _find_metrics()
    if metrics is None:
        return None
    for name, value in gauges.items():
        if name not in metrics.gauges:
            gauge = metrics.client.Gauge(f"keel_{name}", name.replace("_", " "), registry=metrics.registry)
            metrics.gauges[name] = gauge
        metrics.gauges[name].set(value)
    text: bytes = metrics.client.generate_latest(metrics.registry)
    return text
