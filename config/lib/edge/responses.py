"""Responses that any view may get: pages of signed-in users, refusals and outages."""

import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template.loader import render_to_string
from django.utils.cache import patch_cache_control
from django.views.defaults import bad_request, page_not_found, server_error

from config.lib.rest.problems import API_PATH, PROBLEM_JSON, build_body

RETRY_SECONDS: Final = 30
_IDLE_TOO_LONG: Final = "25P03"
_MISSING: Final = ("42P01", "42703")  # a table, a column; SQLite has no codes for them
MAX_SHOWN: Final = 40_000  # characters of one field; what a user types is shorter
_NEVER_SHOWN: Final = ("password", "csrf", "token", "secret", "key", "code")


class NoStoreMiddleware:
    """Keep pages of signed-in users out of every cache, so that Back after sign-out shows nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Mark the response, unless its view said how it may be kept."""
        response = self.get_response(request)
        if request.user.is_authenticated and not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response


def answer_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404; 400 where the body cannot be read.

    The page of a 404 has forms, whose token makes Django read the body once more, outside of what answers unreadable
    ones.
    """
    try:
        return page_not_found(request, exception)
    except (MultiPartParserError, UnreadablePostError, SuspiciousOperation, BadRequest) as error:
        return bad_request(request, error)


def answer_error(request: HttpRequest) -> HttpResponse:
    """Answer an unforeseen error: 503 while the database is away or not migrated, else 500.

    The disk is full, a lock lasts, the server restarts: a form was not saved, and the browser may have dropped what the
    user typed. The page of a 503 shows each text to copy, but for secrets.
    """
    error = sys.exc_info()[1]
    # PostgreSQL that stood still for a minute ends the open transactions, as an internal error.
    is_ended = getattr(error and error.__cause__, "sqlstate", "") == _IDLE_TOO_LONG
    is_api = request.path_info.startswith(API_PATH)
    is_old = _lacks_table(error)
    if not is_ended and not is_old and not isinstance(error, OperationalError | InterfaceError):
        detail = "Keel could not do that. Try again in a moment."
        return _build_problem(HTTPStatus.INTERNAL_SERVER_ERROR, "error", detail) if is_api else server_error(request)
    if is_api:
        reason = "lacks migrations: this site's operator runs `migrate`" if is_old else "does not answer"
        detail = f"The database {reason}. Nothing was changed. Try again in a moment."
        response = _build_problem(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", detail)
    else:
        page = render_to_string("503.html", {"typed": _read_typed(request), "is_old": is_old})
        response = HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE)
    response["Retry-After"] = str(RETRY_SECONDS)
    response["Cache-Control"] = "no-store"
    return response


def _lacks_table(error: BaseException | None) -> bool:
    """Tell whether a table or column is missing, as in a database that lacks migrations."""
    state = getattr(error and error.__cause__, "sqlstate", "")
    return isinstance(error, DatabaseError) and (state in _MISSING or str(error).startswith("no such "))


def _read_typed(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the label and text of each field that a user may have typed."""
    try:
        fields = request.POST.items()
    except (MultiPartParserError, OSError, SuspiciousOperation):
        return []
    return [
        (name.replace("_", " ").capitalize(), str(value)[:MAX_SHOWN])
        for name, value in fields
        if str(value).strip() and not any(word in name.lower() for word in _NEVER_SHOWN)
    ]


def _build_problem(status: HTTPStatus, code: str, detail: str) -> HttpResponse:
    body = build_body(status, code=code, detail=detail)
    return HttpResponse(json.dumps(body), status=status, content_type=PROBLEM_JSON)
