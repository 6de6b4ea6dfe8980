"""REST writes without input, to the row in the address."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from config.lib.owned import owned_tx
from config.lib.rest.views import ApiRequest, ApiView


class ActionView(ApiView):
    write: ClassVar[Callable[..., Any]]
    answer: ClassVar[type[Serializer[Any]]]

    def post(self, request: ApiRequest, **ids: UUID) -> Response:
        with owned_tx(request.user):
            written = type(self).write(**ids, now=timezone.now())
        return Response(self.answer(written).data)


def make_action_view(
    name: str, noun: str, write: Callable[..., Any], answer: type[Serializer[Any]]
) -> type[ActionView]:
    """Return a write's view, described by its docstring's first line."""
    schema = extend_schema(operation_id=f"{name}_{noun}", tags=[f"{noun}s"], request=None, responses=answer)
    docstring = (write.__doc__ or "").partition("\n")[0]
    content = {"write": staticmethod(write), "answer": answer, "__doc__": docstring}
    return extend_schema_view(post=schema)(type(f"{name.capitalize()}View", (ActionView,), content))
