"""Operations of the API: each decorator describes a method to OpenAPI and answers with what the method returns.

A method takes the ids of its address, and the fields of its query or body, by their names. It returns what the
serializer `answer` shows; a `Response` passes unchanged.
"""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Final, cast

from django.utils import timezone
from rest_framework import decorators
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import AnySerializer, ApiRequest, ApiView, PageQuery, page_serializer

NEW_OR_KNOWN: Final = 0  # 201 for a new row, 200 for a known one: the method returns the row and whether it is new
NEWEST: Final = ("-created_at", "id")

Method = Callable[..., Any]
Decorator = Callable[[Method], Any]  # what an action of a viewset has, such as its `mapping`, no type tells
Answer = type[AnySerializer]

# Its stubs take methods with a request alone.
action = cast("Callable[..., Decorator]", decorators.action)


def describe(**said: Any) -> Decorator:
    """Note an operation's id, parameters, request and responses, which `config.lib.rest.openapi` reads.

    The decorator of drf-spectacular would import its generator, and with it Django's test client, at each start.
    """

    def note(method: Any) -> Any:
        method.described = {**getattr(method, "described", {}), **said}
        return method

    return note


def read(name: str, answer: Answer, query: Answer | None = None) -> Decorator:
    """Describe a GET of the operation `name`."""

    def decorate(method: Method) -> Any:
        @wraps(method)
        def operate(view: ApiView, request: ApiRequest, **ids: Any) -> Response:
            return _respond(method(view, **ids, **(view.query(query) if query else {})), answer, HTTPStatus.OK)

        parameters = [query] if query else None
        return describe(operation_id=name, parameters=parameters, responses=answer)(operate)

    return decorate


def read_page(name: str, item: Answer, query: type[PageQuery] = PageQuery) -> Decorator:
    """Describe a GET of a list; the method returns its rows, by default the newest first, which are cut here."""

    def decorate(method: Method) -> Any:
        @wraps(method)
        def cut(view: ApiView, cursor: str, limit: int, **fields: Any) -> Any:
            rows = method(view, **fields)
            return get_page(rows, by=rows.query.order_by or NEWEST, cursor=cursor, limit=limit)

        return read(name, page_serializer(item), query)(cut)

    return decorate


def write(
    name: str,
    answer: Answer | None,
    body: Answer | None = None,
    *,
    status: int = HTTPStatus.OK,
    parse: Callable[[dict[str, Any]], Any] | None = None,
) -> Decorator:
    """Describe a write, which runs in its owner's transaction.

    `parse` makes the method's one argument of a large body, before any transaction.
    """
    statuses = (HTTPStatus.OK, HTTPStatus.CREATED) if status == NEW_OR_KNOWN else (status,)

    def decorate(method: Method) -> Any:
        @wraps(method)
        def operate(view: ApiView, request: ApiRequest, **ids: Any) -> Response:
            fields = view.body(body) if body else {}
            given: list[Any] = []
            if parse:
                with view.door_closed():
                    given, fields = [parse(fields)], {}
            with owned_tx(request.user):
                written = method(view, *given, **ids, **fields)
            if status != NEW_OR_KNOWN:
                return _respond(written, answer, status)
            row, is_new = written
            return _respond(row, answer, statuses[is_new])

        return describe(operation_id=name, request=body, responses=dict.fromkeys(statuses, answer))(operate)

    return decorate


def act(name: str, service: Callable[..., Any], answer: Answer, says: str = "", *, status: int = HTTPStatus.OK) -> Any:
    """Return the action `confirm` of an operation `confirm_fact`: a POST without a body that calls a service.

    `says` describes it, else the first line of the service's docstring.
    """

    def method(view: ApiView, **ids: Any) -> Any:
        return service(**ids, now=timezone.now())

    method.__name__ = name.partition("_")[0]
    method.__doc__ = says or (service.__doc__ or "").partition("\n")[0]
    return write(name, answer, status=status)(action(detail=True, methods=["post"])(method))


def _respond(value: Any, answer: Answer | None, status: int) -> Response:
    if isinstance(value, Response):
        return value
    return Response(None if answer is None else answer(value).data, status=status)
