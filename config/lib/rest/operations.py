"""Operations of the API: each decorator describes a method to OpenAPI and answers with what the method returns.

A method takes the ids of its address, and the fields of its query or body, by their names. It returns what the
serializer `answer` shows; a `Response` passes unchanged.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any, Final

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import AnySerializer, ApiRequest, ApiView, PageQuery, answer_page, page_serializer

NEW_OR_KNOWN: Final = 0  # 201 for a new row, 200 for a known one: the method returns the row and whether it is new
NEWEST: Final = ("-created_at", "id")

Method = Callable[..., Any]
Answer = type[AnySerializer]


def read(name: str, tag: str, answer: Answer, query: Answer | None = None) -> Callable[[Method], Method]:
    """Describe a GET of the operation `name`."""

    def operate(method: Method, view: ApiView, ids: dict[str, Any]) -> Response:
        return _respond(method(view, **ids, **(view.query(query) if query else {})), answer, HTTPStatus.OK)

    parameters = [query] if query else None
    return _decorate(operate, extend_schema(operation_id=name, tags=[tag], parameters=parameters, responses=answer))


def read_pages(
    name: str, tag: str, item: Answer, query: type[PageQuery] = PageQuery, *, by: Sequence[str] = NEWEST
) -> Callable[[Method], Method]:
    """Describe a GET of a list; the method returns rows, which are ordered and cut here."""

    def operate(method: Method, view: ApiView, ids: dict[str, Any]) -> Response:
        fields = view.query(query)
        place = {field: fields.pop(field) for field in ("cursor", "limit")}
        return answer_page(get_page(method(view, **ids, **fields), by=by, **place), item)

    return _decorate(operate, describe_pages(name, tag, item, query))


def _decorate(operate: Callable[..., Response], describe: Callable[[Method], Method]) -> Callable[[Method], Method]:
    """Return the decorator of a method that `operate` calls and `describe` adds to the schema."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def handle(view: ApiView, request: ApiRequest, **ids: Any) -> Response:
            return operate(method, view, ids)

        return describe(handle)

    return decorate


def describe_pages(name: str, tag: str, item: Answer, query: type[PageQuery] = PageQuery) -> Callable[[Method], Method]:
    """Describe a GET of a list; the method answers by itself."""
    described: Callable[[Method], Method] = extend_schema(
        operation_id=name, tags=[tag], parameters=[query], responses=page_serializer(item)
    )
    return described


def write(
    name: str,
    tag: str,
    answer: Answer | None,
    body: Answer | None = None,
    *,
    status: int = HTTPStatus.OK,
    parse: Callable[[dict[str, Any]], Any] | None = None,
) -> Callable[[Method], Method]:
    """Describe a write, which runs in its owner's transaction.

    `parse` makes the method's one argument of a large body, before any transaction.
    """
    responses: Any = answer if status == HTTPStatus.OK else {status: answer}
    if status == NEW_OR_KNOWN:
        responses = {HTTPStatus.OK: answer, HTTPStatus.CREATED: answer}

    def operate(method: Method, view: ApiView, ids: dict[str, Any]) -> Response:
        fields = view.body(body) if body else {}
        given: list[Any] = []
        if parse:
            with view.door_closed():
                given, fields = [parse(fields)], {}
        with owned_tx(view.user):
            written = method(view, *given, **ids, **fields)
        if status != NEW_OR_KNOWN:
            return _respond(written, answer, status)
        row, is_new = written
        return _respond(row, answer, HTTPStatus.CREATED if is_new else HTTPStatus.OK)

    return _decorate(operate, extend_schema(operation_id=name, tags=[tag], request=body, responses=responses))


def make_act_view(
    name: str, tag: str, act: Callable[..., Any], answer: Answer, says: str = "", *, status: int = HTTPStatus.OK
) -> type[ApiView]:
    """Return the view of a POST without a body; `says` describes it, else the first line of the act's docstring."""

    def post(view: ApiView, **ids: Any) -> Any:
        return act(**ids, now=timezone.now())

    post.__doc__ = says or (act.__doc__ or "").partition("\n")[0]
    return type(f"{name}_view", (ApiView,), {"post": write(name, tag, answer, status=status)(post)})


def _respond(value: Any, answer: Answer | None, status: int) -> Response:
    if isinstance(value, Response):
        return value
    return Response(None if answer is None else answer(value).data, status=status)
