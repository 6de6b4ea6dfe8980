"""Refusals over HTTP: problem+json, as RFC 9457 defines it."""

import math
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.errors import DomainError
from config.lib.rest.parsing import BodyTooLarge

API_PATH: Final = "/api/"
PROBLEM_JSON: Final = "application/problem+json"


class ParametersRefused(exceptions.ValidationError):
    """The query is invalid; its errors name parameters."""


def build_problem(exc: Exception, context: Mapping[str, APIView]) -> Response | None:
    """Return a foreseen refusal as problem+json. None: the exception was not foreseen."""
    refusal = _classify(exc)
    if refusal is None:
        return None
    status, code, detail = refusal
    body = build_body(HTTPStatus(status), code=code, detail=detail)
    if isinstance(exc, exceptions.ValidationError):
        is_query = isinstance(exc, ParametersRefused)
        body["errors"] = [
            {"parameter" if is_query else "pointer": where, "code": error.code, "detail": str(error)}
            for where, error in _iter_errors(exc.detail, "" if is_query else "#")
        ]
    return Response(body, status=status, headers=_build_headers(exc, context["view"]), content_type=PROBLEM_JSON)


def build_body(status: HTTPStatus, *, code: str, detail: str) -> dict[str, object]:
    """Return the body of a problem."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "code": code, "detail": detail}


def _classify(exc: Exception) -> tuple[int, str, str] | None:
    match exc:
        case DomainError():
            return exc.http_status, re.sub(r"(?<=.)(?=[A-Z])", "_", type(exc).__name__).lower(), str(exc)
        case exceptions.ValidationError():
            return HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", "Some of what was sent cannot be taken."
        case exceptions.APIException():
            return exc.status_code, getattr(exc.detail, "code", None) or exc.default_code, str(exc.detail)
        case Http404():
            return HTTPStatus.NOT_FOUND, "not_found", "There is nothing here."
        case PermissionDenied():
            return HTTPStatus.FORBIDDEN, "permission_denied", "This is not allowed."
        case RequestDataTooBig():
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", BodyTooLarge.default_detail
        case SuspiciousOperation() | BadRequest():
            return HTTPStatus.BAD_REQUEST, "bad_request", "This request cannot be read."
    return None


def _iter_errors(detail: object, where: str) -> Iterator[tuple[str, exceptions.ErrorDetail]]:
    match detail:
        case dict():
            for name, inner in detail.items():
                here = where if name == "non_field_errors" else f"{where}/{name}" if where else str(name)
                yield from _iter_errors(inner, here)
        case list() if detail and all(isinstance(error, exceptions.ErrorDetail) for error in detail):
            yield from ((where, error) for error in detail)
        case list():
            for index, inner in enumerate(detail):
                yield from _iter_errors(inner, f"{where}/{index}")
        case exceptions.ErrorDetail():
            yield where, detail


def _build_headers(exc: Exception, view: APIView) -> dict[str, str]:
    headers = {}
    if scheme := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = scheme
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    if isinstance(exc, exceptions.MethodNotAllowed):
        headers["Allow"] = ", ".join(view.allowed_methods)
    return headers
