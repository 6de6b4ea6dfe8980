"""The ground of the REST API: who asks, in whose scope, what may come in, and how a refusal looks.

To add an endpoint:

1. In `<app>/serializers.py`, an `InputSerializer` for what comes in (body or query) and a plain serializer with
   its fields listed for what goes out. Input has no `id`, no `user` and no state: those are the services' business.
2. In `<app>/api.py`, an `ApiView` with one method for each verb, and `@extend_schema` on each with its
   `operation_id`, `tags`, `parameters` or `request`, and `responses`. The view reads the clock, calls one thing, and
   answers:

       class FactsView(ApiView):
           @extend_schema(operation_id="list_facts", tags=["facts"], parameters=[FactQuery],
                          responses=page_serializer(FactSerializer))
           def get(self, request: ApiRequest) -> Response:
               query = self.query(FactQuery)
               return paged(list_facts(...), FactSerializer)      # a `Page`, of config.lib.paging.page_of()

           @extend_schema(operation_id="add_fact", tags=["facts"], request=FactInput, responses={201: FactSerializer})
           def post(self, request: ApiRequest) -> Response:
               fields = self.body(FactInput)
               with owned_tx(request.user):
                   written = remember_fact(**fields, now=timezone.now())
               return Response(FactSerializer(written.fact).data, status=HTTPStatus.CREATED)

   A read needs no door: the view runs inside `owned(request.user)`. A write opens `owned_tx(request.user)` itself. A
   streaming answer's generator runs after the door is closed and opens its own.
3. In `<app>/api_urls.py` (with `app_name`; `config/urls.py` includes it below `api/`), a path that ends with a slash
   and takes ids as `<uuid:...>`; it is named `api:<app>:<name>`.
4. In `tests/test_matrix.py`, a `Case` under that name, with what is sent in `sends`.

Refusals need no code: a `DomainError` that a service raises becomes the status in its `http_status` (422 unless its
class says 404, 409 or else), a serializer's errors 422 with `errors`, an unknown and a foreign id the same 404, what
cannot be read 400. Who is not signed in gets 401 before anything else is looked at.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC
from functools import cache
from http import HTTPStatus
from typing import Any, ClassVar, Final, NoReturn

from django.conf import settings
from django.core.cache import cache as store
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.defaults import server_error as server_error_page
from rest_framework import exceptions, serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from config.lib.errors import DomainError
from config.lib.owned import owned
from config.lib.paging import MAX_PAGE_SIZE, PAGE_SIZE, Page
from config.lib.web import rendered

API_PATH: Final = "/api/"
MAX_DEPTH: Final = 20
PROBLEM_JSON: Final = "application/problem+json"

_MAX_INTEGER: Final = 2**63 - 1  # what a database column takes
_UNSAFE = re.compile(r"[\0\ud800-\udfff]")


# --- What comes in ---


class BodyTooLarge(exceptions.APIException):
    """More was sent than the address takes."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_detail = "This is more than can be taken at once."
    default_code = "too_large"


class StrictJSONParser(BaseParser):
    """JSON of bounded size and depth that means one thing to everybody, and that a database can keep."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """Return the value of the body. Raises ParseError, BodyTooLarge."""
        limit = (parser_context or {})["view"].max_body_bytes
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"The body may have {limit} bytes at most.")
        return parse_json(body)


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ParseError: it is not JSON in UTF-8, has a key twice, a number beyond 64 bits or none at all, text with NUL or
            half a surrogate pair, or is nested too deeply.
    """
    try:
        value = json.loads(
            body.decode(),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_no_constant,
        )
    except RecursionError as error:
        raise exceptions.ParseError("This is nested too deeply.") from error
    except ValueError as error:  # of decoding too
        raise exceptions.ParseError(f"This is not JSON in UTF-8: {error}") from error
    _check(value, depth=1)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise exceptions.ParseError("An object has the same key twice.")
    return found


def _integer(digits: str) -> int:
    number = int(digits) if len(digits) <= 20 else _MAX_INTEGER + 1
    if abs(number) > _MAX_INTEGER:
        raise exceptions.ParseError("A number is too large.")
    return number


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise exceptions.ParseError("A number is too large.")
    return number


def _no_constant(name: str) -> NoReturn:
    raise exceptions.ParseError(f"{name} is no JSON.")


def _check(value: Any, *, depth: int) -> None:
    match value:
        case str() if _UNSAFE.search(value):
            raise exceptions.ParseError("A text holds a character that cannot be kept: NUL or half a surrogate pair.")
        case dict() | list() if depth > MAX_DEPTH:
            raise exceptions.ParseError("This is nested too deeply.")
        case dict():
            for key, inner in value.items():
                _check(key, depth=depth)
                _check(inner, depth=depth + 1)
        case list():
            for inner in value:
                _check(inner, depth=depth + 1)


class InputSerializer(serializers.Serializer[Any]):
    """What a client may send: the fields declared, and nothing else."""

    def to_internal_value(self, data: Any) -> Any:
        """Check the fields, and that there are no others."""
        if isinstance(data, Mapping) and (unknown := [name for name in data if name not in self.fields]):
            raise serializers.ValidationError({name: ["This field is not known here."] for name in unknown})
        return super().to_internal_value(data)


class PageQuery(InputSerializer):
    """The query of a list. Lists with filters add theirs in a subclass."""

    cursor = serializers.CharField(default="", max_length=1_000, help_text="`next_cursor` of the page before.")
    limit = serializers.IntegerField(default=PAGE_SIZE, min_value=1, max_value=MAX_PAGE_SIZE)


class JSONOnly(DefaultContentNegotiation):
    """Answer in the view's one format, whatever is asked for: a 406 would come before the 401."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the view's renderer."""
        return renderers[0], renderers[0].media_type


# --- Who asks, and how often ---


class ApiRequest(Request):
    """A request of somebody known: what a method of a view gets."""

    user: Any
    auth: Any


class ScopeAllows(BasePermission):
    """A token may write only if it was made for that; a session may do what its user may."""

    message = "This token may only read."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the credentials reach that far."""
        token: Any = request.auth
        return request.method in SAFE_METHODS or token is None or token.may_write


class PerMinute(BaseThrottle):
    """A user's reads and writes, counted by the minute of the clock. Counting is one step, so none is lost."""

    _left = 0.0  # seconds until the next minute

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the request and tell whether it may pass."""
        kind = "reads" if request.method in SAFE_METHODS else "writes"
        limit: int = settings.API_READS_PER_MINUTE if kind == "reads" else settings.API_WRITES_PER_MINUTE
        minute, gone = divmod(time.time(), 60)
        self._left = 60 - gone
        key = f"api:{kind}:{request.user.pk}:{minute:.0f}"
        store.add(key, 0, timeout=120)
        return store.incr(key) <= limit

    def wait(self) -> float:
        """Return the seconds until a request may pass again."""
        return self._left


# --- What goes out ---


@cache
def page_serializer(item: type[serializers.BaseSerializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the serializer that describes a page of such items; the same for the same."""
    fields = {
        "items": item(many=True),
        "next_cursor": serializers.CharField(help_text="Ask for the next page with it; empty: this is the last one."),
    }
    return type(f"{item.__name__.removesuffix('Serializer')}PageSerializer", (serializers.Serializer,), fields)


def paged(page: Page[Any], item: type[serializers.BaseSerializer[Any]]) -> Response:
    """Answer with a page of rows."""
    return Response({"items": item(page.items, many=True).data, "next_cursor": page.next_cursor})


def problem(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return a foreseen refusal as RFC 9457 has it; None for what nobody foresaw."""
    known = _known(exc)
    if known is None:
        return None
    status, code, detail = known
    body = _problem(HTTPStatus(status), code=code, detail=detail)
    if isinstance(exc, exceptions.ValidationError):
        is_query = isinstance(exc, QueryRefused)
        body["errors"] = [
            {"parameter" if is_query else "pointer": where, "code": error.code, "detail": str(error)}
            for where, error in _errors(exc.detail, "" if is_query else "#")
        ]
    return Response(body, status=status, headers=_headers(exc, context["view"]), content_type=PROBLEM_JSON)


def _problem(status: HTTPStatus, *, code: str, detail: str) -> dict[str, Any]:
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "code": code, "detail": detail}


def _known(exc: Exception) -> tuple[int, str, str] | None:
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


def _errors(detail: Any, where: str) -> Iterator[tuple[str, exceptions.ErrorDetail]]:
    match detail:
        case dict():
            for name, inner in detail.items():
                here = where if name == "non_field_errors" else f"{where}/{name}" if where else str(name)
                yield from _errors(inner, here)
        case list() if detail and all(isinstance(error, exceptions.ErrorDetail) for error in detail):
            yield from ((where, error) for error in detail)
        case list():
            for index, inner in enumerate(detail):
                yield from _errors(inner, f"{where}/{index}")
        case _:
            yield where, detail


def _headers(exc: Exception, view: APIView) -> dict[str, str]:
    headers = {}
    if asked := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = asked
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    if isinstance(exc, exceptions.MethodNotAllowed):
        headers["Allow"] = ", ".join(view.allowed_methods)
    return headers


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer where nobody foresaw what happened: a page, and to who asked the API a problem."""
    if not request.path_info.startswith(API_PATH):
        return server_error_page(request)
    body = _problem(
        HTTPStatus.INTERNAL_SERVER_ERROR, code="error", detail="Keel could not do that. Try again in a moment."
    )
    return HttpResponse(json.dumps(body), status=body["status"], content_type=PROBLEM_JSON)


# --- The view ---


class QueryRefused(exceptions.ValidationError):
    """The query of the address does not fit; its errors name parameters."""


class ApiView(APIView):
    """One address of the API, run inside the door to read of who asks; a write inside opens `owned_tx` itself."""

    permission_classes = (IsAuthenticated, ScopeAllows)
    throttle_classes = (PerMinute,)
    parser_classes = (StrictJSONParser,)
    content_negotiation_class = JSONOnly
    metadata_class = None
    http_method_names: list[str] = ["get", "head", "post", "put", "patch", "delete"]  # noqa: RUF012  as the base has it
    max_body_bytes: ClassVar[int] = 64 * 1024

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer, and render the answer, while the owner is in scope. Moments are in UTC, whoever asks and however."""
        with timezone.override(UTC), ExitStack() as self._door:
            return rendered(super().dispatch(request, *args, **kwargs))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Open the door once it is known who asks, that they may, and not too often."""
        super().initial(request, *args, **kwargs)
        self._door.enter_context(owned(request.user))

    @contextmanager
    def door_closed(self) -> Iterator[None]:
        """Close the door for what opens its own and must not hold a transaction meanwhile, such as a model call."""
        self._door.close()
        yield
        self._door.enter_context(owned(self.request.user))

    def handle_exception(self, exc: Exception) -> Response:
        """Leave the door as any error does, which takes back its transaction if it is one; then say what it was."""
        self._door.__exit__(type(exc), exc, exc.__traceback__)
        return super().handle_exception(exc)

    def get_exception_handler(self) -> Callable[..., Response | None]:
        """Return what puts refusals into words."""
        return problem

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Keep people's data out of caches."""
        return {"Cache-Control": "no-store"}

    def body(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """Return the fields of the request's body. Raises ValidationError, ParseError."""
        given = serializer(data=self.request.data)
        given.is_valid(raise_exception=True)
        fields: dict[str, Any] = given.validated_data
        return fields

    def query(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """Return the parameters of the address, each given once at most. Raises QueryRefused."""
        lists = dict(self.request.query_params.lists())
        if twice := [name for name, values in lists.items() if len(values) > 1]:
            raise QueryRefused({name: ["This parameter is given twice."] for name in twice})
        given = serializer(data={name: values[0] for name, values in lists.items()})
        if not given.is_valid():
            raise QueryRefused(given.errors)
        fields: dict[str, Any] = given.validated_data
        return fields


class NowhereView(ApiView):
    """What answers below `api/` where nothing is: in the API's own words, and to nobody who is not signed in."""

    schema = None

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> NoReturn:
        """Say that nothing is here, whatever the method."""
        raise exceptions.NotFound("There is nothing here. Addresses of the API end with a slash.")
