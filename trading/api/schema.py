"""Descriptions of operations that many views share."""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers

from config.lib.rest.views import PageQuery, page_serializer

View = TypeVar("View", bound=Callable[..., Any])


def describe_list(
    operation_id: str, tag: str, item: type[serializers.Serializer[Any]], query: type[PageQuery] = PageQuery
) -> Callable[[View], View]:
    """Describe an operation that returns pages of a list."""
    return extend_schema(operation_id=operation_id, tags=[tag], parameters=[query], responses=page_serializer(item))
