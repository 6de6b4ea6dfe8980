"""The base view of the API: permission, throttle, input, pages.

To add a resource (`memory/api/facts.py` is an example):

1. In `<app>/api/<noun>.py`: an `InputSerializer` for each body or query, a serializer that lists the fields of the
   answer, and an `ApiViewSet` whose methods have a decorator of `config.lib.rest.operations`: `read`, `read_page`,
   `write` or `act`. Input has no `id`, no `user` and no state: those are the services' business. A method reads the
   clock, calls one function and returns a value. A read runs inside `owned(request.user)`, a write inside
   `owned_tx(request.user)`. A method that calls a model or a venue has `@describe` instead and opens `owned_tx`
   itself. The generator of a streaming answer runs after the view has returned, so it opens its own scope.
   Its `areas` say which tokens open it.
2. In `<app>/api/urls.py`: a line of its router.
3. In `tests/matrix/api.py`: a `Case` of each address that takes data or parameters. Its answers must fit the schema.

Refusals need no code: a `DomainError` becomes the status in its `http_status`, a serializer's errors become 422 with
`errors`, an unknown and a foreign id the same 404, a body that is not JSON 400. Without sign-in the answer is 401.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC
from functools import cache
from typing import Any, ClassVar, NoReturn, TypeVar, cast

from django.conf import settings
from django.core.cache import cache as store
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import exceptions, serializers
from rest_framework.decorators import MethodMapper
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from config.lib.owned import owned
from config.lib.paging import MAX_PAGE_SIZE, PAGE_SIZE
from config.lib.rest.parsing import StrictJSONParser
from config.lib.rest.problems import ParametersRefused
from config.lib.web import render_now

AnySerializer = serializers.Serializer[Any]
Rows = TypeVar("Rows", bound=QuerySet[Any])


class InputSerializer(AnySerializer):
    """What a client may send: the fields declared, and nothing else."""

    def to_internal_value(self, data: object) -> object:
        if isinstance(data, Mapping) and (unknown := [name for name in data if name not in self.fields]):
            raise serializers.ValidationError({name: ["This field is not known here."] for name in unknown})
        return super().to_internal_value(data)


class ReadOnlySerializer(serializers.ModelSerializer[Any]):
    """A read-only row."""

    def get_extra_kwargs(self) -> dict[str, Any]:
        given: dict[str, Any] = getattr(self.Meta, "extra_kwargs", {})
        return {name: {"read_only": True, **given.get(name, {})} for name in self.Meta.fields}

    def include_extra_kwargs(self, kwargs: Any, extra_kwargs: Any) -> Any:
        # DRF drops this from what is read-only, and the schema would miss the empty choice.
        is_blank = "choices" in kwargs and kwargs.get("allow_blank", False)
        return {**super().include_extra_kwargs(kwargs, extra_kwargs), **({"allow_blank": True} if is_blank else {})}


class PageQuery(InputSerializer):
    """A list's query; lists with filters subclass it."""

    cursor = serializers.CharField(default="", max_length=1_000, help_text="`next_cursor` of the page before.")
    limit = serializers.IntegerField(default=PAGE_SIZE, min_value=1, max_value=MAX_PAGE_SIZE)


def narrow(rows: Rows, **filters: object) -> Rows:
    """Return the rows that fit a list's query; a filter without a value fits all."""
    return rows.filter(**{name: value for name, value in filters.items() if value not in (None, "")})


class JSONOnly(DefaultContentNegotiation):
    """Answer in the view's one format. A 406 would precede the 401."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class ApiRequest(Request):
    """A request of a signed-in user."""

    user: Any
    auth: Any


class ScopeAllows(BasePermission):
    """The permission of tokens and sessions: read-only tokens never write, and each opens its areas alone."""

    message = "This token may only read."

    def has_permission(self, request: Request, view: APIView) -> bool:
        token: Any = request.auth
        if token is None:
            return True
        areas = cast("ApiView", view).areas
        if not token.opens(areas):
            self.message = (
                f"This token does not open: {', '.join(sorted(areas))}. Make another one on the profile page."
            )
            return False
        return request.method in SAFE_METHODS or bool(token.may_write)


class PerMinute(BaseThrottle):
    """A user's read and write limits per minute, counted atomically."""

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
        return self._left


def define_answer(name: str, says: str, **fields: Any) -> type[AnySerializer]:
    """Return the serializer of an object with a few fields, such as a list under its name."""
    made = type(f"{name}Serializer", (serializers.Serializer,), {"__doc__": says, **fields})
    return cast("type[AnySerializer]", extend_schema_serializer(many=False)(made))


@cache
def page_serializer(item: type[AnySerializer]) -> type[AnySerializer]:
    """Return the page serializer of an item, one class per item."""
    cursor = serializers.CharField(help_text="Ask for the next page with it; empty: this is the last one.")
    name = f"{item.__name__.removesuffix('Serializer')}Page"
    return define_answer(name, "A page of a list.", items=item(many=True), next_cursor=cursor)


class ApiView(APIView):
    """An API address in its user's reading scope; writes open `owned_tx`."""

    permission_classes = (IsAuthenticated, ScopeAllows)
    throttle_classes = (PerMinute,)
    parser_classes = (StrictJSONParser,)
    content_negotiation_class = JSONOnly
    metadata_class = None
    http_method_names: list[str] = ["get", "head", "post", "put", "patch", "delete"]  # noqa: RUF012  as the base has it
    max_body_bytes: ClassVar[int] = 64 * 1024
    areas: ClassVar[frozenset[str]] = frozenset()  # a token needs all of them; none: each token opens it

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer and render in the owner's scope, in UTC."""
        with timezone.override(UTC), ExitStack() as self._door:
            return render_now(super().dispatch(request, *args, **kwargs))

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Open the scope after authentication, permission and throttle."""
        super().initial(request, *args, **kwargs)
        if self.max_body_bytes > ApiView.max_body_bytes and request.method in ("POST", "PUT", "PATCH"):
            request.data  # noqa: B018 - parsed now: a large body takes a second, and the scope may be a transaction
        self._door.enter_context(owned(request.user))

    @contextmanager
    def door_closed(self) -> Iterator[None]:
        """Close the scope, since a model call must hold no transaction."""
        self._door.close()
        yield
        self._door.enter_context(owned(self.request.user))

    def handle_exception(self, exc: Exception) -> Response:
        """Roll back the scope's transaction, then describe the error."""
        self._door.__exit__(type(exc), exc, exc.__traceback__)
        return super().handle_exception(exc)

    @property
    def user(self) -> Any:
        return self.request.user

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Keep people's data out of caches."""
        return {"Cache-Control": "no-store"}

    def body(self, serializer: type[AnySerializer]) -> dict[str, Any]:
        """Return the fields of the body. Raises ValidationError, ParseError."""
        checked = serializer(data=self.request.data)
        checked.is_valid(raise_exception=True)
        return dict(checked.validated_data)

    def query(self, serializer: type[AnySerializer]) -> dict[str, Any]:
        """Return the parameters of the address. Each may appear once. Raises ParametersRefused."""
        lists = dict(self.request.query_params.lists())
        if twice := [name for name, values in lists.items() if len(values) > 1]:
            raise ParametersRefused({name: ["This parameter is given twice."] for name in twice})
        checked = serializer(data={name: values[0] for name, values in lists.items()})
        if not checked.is_valid():
            raise ParametersRefused(checked.errors)
        return dict(checked.validated_data)


class ApiViewSet(ViewSetMixin, ApiView):
    """The operations of a noun; its router gives them their addresses."""

    lookup_value_converter = "uuid"

    @classmethod
    def get_extra_actions(cls) -> list[Any]:
        """Return the actions; the base looks at all attributes, of which `schema` imports the generator of schemas."""
        members = (getattr(cls, name) for name in dir(cls) if name != "schema")
        return [member for member in members if isinstance(getattr(member, "mapping", None), MethodMapper)]


class NowhereView(ApiView):
    """The API's 404, only for signed-in users."""

    schema = None

    def http_method_not_allowed(self, request: HttpRequest, *args: object, **kwargs: object) -> NoReturn:
        """Say that nothing is here, whatever the method."""
        raise exceptions.NotFound("There is nothing here. Addresses of the API end with a slash.")
