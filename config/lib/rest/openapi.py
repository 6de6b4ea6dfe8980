"""The schema of the API, imported once somebody asks for it."""

from functools import cache
from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from rest_framework.settings import api_settings

from config.lib.rest.problems import PROBLEM_JSON
from config.lib.rest.views import ApiView

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


_EXAMPLES = {  # by name; all others are made of their types
    **{"content": "My max leverage is 3x.", "topic": "risk", "symbol": "BTC", "title": "Plans of the week"},
    **{"message": "How did my week go?", "q": "leverage", "query": "leverage", "side": "long", "stop": "95"},
    **{"quantity": "0.5", "price": "64000", "BTC": "64000", "measure": "net", "url": "https://example.com/"},
}
_BY_FORMAT = {"uuid": "6f1c0a52-7d0c-4f5e-9a53-0d6a3a4f7c11", "date-time": "2026-05-01T12:00:00Z", "date": "2026-05-01"}
_BY_TYPE = {"boolean": True, "integer": 1, "number": 0.5}


def complete_operations(result: dict[str, Any], generator: object, request: object, public: bool) -> dict[str, Any]:
    """Add to each operation its summary, an example of what it takes and returns, and its refusals."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = _PROBLEM
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["summary"], _, rest = operation["description"].partition("\n")
            operation["description"] = rest.strip() or operation["summary"]
            for part in (operation.get("requestBody", {}), *operation["responses"].values()):
                for described in part.get("content", {}).values():
                    described["example"] = build_example(described["schema"], schemas)
            for parameter in operation.get("parameters", ()):
                parameter["example"] = build_example(parameter["schema"], schemas, parameter["name"])
            operation["responses"]["401"] = {
                "description": "Not signed in, or the token opens nothing.",
                "content": content,
            }
            operation["responses"]["4XX"] = {"description": "Refused.", "content": content}
    return result


def build_example(schema: dict[str, Any], schemas: dict[str, Any], name: str = "") -> Any:
    """Return a value of a JSON schema; `schemas` are those that it refers to, `name` is that of the field."""
    for choices in (schema.get("allOf"), schema.get("oneOf"), schema.get("anyOf")):
        if choices:
            return build_example(choices[0], schemas, name)
    match schema:
        case {"$ref": str(reference)}:
            return build_example(schemas[reference.rpartition("/")[2]], schemas, name)
        case {"enum": [first, *_]} | {"const": first}:
            return first
        case {"properties": dict(properties)}:
            return {key: build_example(inner, schemas, key) for key, inner in properties.items()}
        case {"items": inner}:
            return [build_example(inner, schemas)]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        inner = schema.get("additionalProperties") or {}
        return {name: build_example(inner, schemas, name) for name in ("BTC",) if inner}
    if kind == "string":
        return _BY_FORMAT.get(schema.get("format", "")) or _EXAMPLES.get(name, "100" if "pattern" in schema else "text")
    return max(_BY_TYPE[kind], schema.get("minimum", 0))


@cache
def describe_api() -> dict[str, object]:
    """Return the description, OpenAPI 3.1."""
    schema: dict[str, object] = SchemaGenerator().get_schema(None, public=True)  # type: ignore[no-untyped-call]
    return schema


class OperationSchema(AutoSchema):
    """Describes an operation as its method does, with the areas that a token needs for it."""

    @property
    def _described(self) -> dict[str, Any]:
        method = getattr(self.view, getattr(self.view, "action", None) or self.method.lower())
        return getattr(method, "described", {})

    def get_operation_id(self) -> str:
        return self._described.get("operation_id") or super().get_operation_id()

    def get_override_parameters(self) -> list[Any]:
        return super().get_override_parameters() + (self._described.get("parameters") or [])

    def get_request_serializer(self) -> Any:
        return self._described["request"] if "request" in self._described else super().get_request_serializer()

    def get_response_serializers(self) -> Any:
        return self._described["responses"] if "responses" in self._described else super().get_response_serializers()

    def get_auth(self) -> list[dict[str, list[str]]]:
        areas = sorted(cast("ApiView", self.view).areas)
        return [{name: areas if name == "token" else [] for name in way} for way in super().get_auth()]


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes how a token is shown."""

    target_class = api_settings.DEFAULT_AUTHENTICATION_CLASSES[0]
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "keel_...",
            "description": "A personal token, made on the profile page. It reads, or reads and writes, in its areas:"
            " an operation names those that it needs.",
        }
