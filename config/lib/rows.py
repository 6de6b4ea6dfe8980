"""Rows as JSON values and back, column by column."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

Columns = Sequence["models.Field[Any, Any]"]


def list_columns(model: type[models.Model], *, but: frozenset[str] = frozenset()) -> Columns:
    """Return a model's columns, without its owner and the named ones."""
    fields = model._meta.concrete_fields
    return [field for field in fields if field.name not in but | {"user"}]


def dump_row(row: models.Model, columns: Columns) -> dict[str, Any]:
    """Return a row's columns as JSON values."""
    return {field.name: _dump_value(getattr(row, field.attname)) for field in columns}


def _dump_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, (bytes, memoryview)):
        return b64encode(value).decode()
    return value.isoformat() if isinstance(value, date) else value


def parse_row(values: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return checked values of a dumped row. Raises ValueError."""
    if not isinstance(values, dict):
        raise ValueError("an entry is no object")
    parsed = {}
    for field in columns:
        if field.name not in values and field.has_default():
            continue
        try:
            value = field.clean(values.get(field.name), None)
        except ValidationError as error:
            raise ValueError(f"{field.name}: {' '.join(error.messages)}") from None
        if isinstance(value, datetime) and value.tzinfo is None:
            raise ValueError(f"{field.name}: a time needs its offset from UTC")
        parsed[field.name] = value
    return parsed


def describe_columns(columns: Columns) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each column with its type, choices and whether it may be empty."""
    for field in columns:
        described: dict[str, Any] = {"type": field.get_internal_type().removesuffix("Field").lower()}
        if field.null:
            described["may_be_null"] = True
        if field.choices:
            described["choices"] = {str(value): str(label) for value, label in field.flatchoices}
        if field.remote_field:
            described["refers_to"] = field.related_model._meta.verbose_name  # type: ignore[union-attr]
        yield field.name, described
