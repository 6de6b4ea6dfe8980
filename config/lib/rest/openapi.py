"""The schema of the API and its docs page."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rest_framework.response import Response

from config.lib.rest.problems import PROBLEM_JSON
from config.lib.rest.views import ApiRequest, ApiView

_TEXT = {"type": "string"}
_PROBLEM = {
    "type": "object",
    "description": "A refusal, as RFC 9457 has it.",
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "code": {**_TEXT, "description": "What it is, in one word for programs."},
        "detail": {**_TEXT, "description": "What happened and what to do, for people."},
        "errors": {
            "type": "array",
            "description": "What is wrong with which field of the body, or parameter of the address.",
            "items": {
                "type": "object",
                "properties": {"pointer": _TEXT, "parameter": _TEXT, "code": _TEXT, "detail": _TEXT},
                "required": ["code", "detail"],
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail"],
}


def describe_problems(result: dict[str, Any], generator: object, request: object, public: bool) -> dict[str, Any]:
    """Add the refusals to each operation."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["401"] = {
                "description": "Not signed in, or the token opens nothing.",
                "content": content,
            }
            operation["responses"]["4XX"] = {"description": "Refused.", "content": content}
    return result


@cache
def _describe_api() -> dict[str, object]:
    schema: dict[str, object] = SchemaGenerator().get_schema(None, public=True)  # type: ignore[no-untyped-call]
    return schema


class SchemaView(ApiView):
    """The description of the API, OpenAPI 3.1."""

    schema = None
    renderer_classes = (OpenApiJsonRenderer,)

    def get(self, request: ApiRequest) -> Response:
        """Answer with the description."""
        return Response(_describe_api())


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show the description as a page to try requests."""
    return TemplateResponse(request, "api_docs.html")
