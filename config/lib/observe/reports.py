"""Reports of errors to Sentry, without private text."""

import logging
from typing import Any, Final

logger = logging.getLogger(__name__)

# What a report keeps: where in the code, which version, which kind of error.
_KEPT: Final = {
    *("event_id", "timestamp", "platform", "level", "logger", "release", "environment", "server_name", "sdk"),
    *("exception", "transaction", "fingerprint", "type"),
}
_KEPT_OF_FRAMES: Final = {"filename", "abs_path", "function", "module", "lineno", "in_app"}


def start_reports(dsn: str) -> None:
    """Send unhandled errors and logged errors to the DSN."""
    try:
        import sentry_sdk  # noqa: PLC0415 - an extra
    except ImportError:
        logger.warning("SENTRY_DSN is set, but sentry_sdk is missing: install keel[metrics]")
        return
    sentry_sdk.init(
        dsn=dsn,
        include_local_variables=False,
        include_source_context=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        before_send=scrub_report,
    )


def scrub_report(report: Any, hint: Any) -> Any:
    """Return a report without requests, users, messages and values.

    The message of an exception may repeat what a user typed, and an address may name a row, so both go.
    """
    kept = {name: value for name, value in report.items() if name in _KEPT}
    if message := (report.get("logentry") or {}).get("message"):
        kept["message"] = message  # the template of the line, before its values
    for link in (kept.get("exception") or {}).get("values", []):
        link["value"] = ""
        for frame in (link.get("stacktrace") or {}).get("frames", []):
            for name in set(frame) - _KEPT_OF_FRAMES:
                del frame[name]
    return kept
