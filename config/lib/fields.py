"""Columns derived from another column of the row; rows as JSON values and back; a condition on many rows."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.expressions import Func

from config.lib.search.terms import build_index_text
from config.lib.text import normal_form
from config.lib.words.concerns import mark_statement

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models.sql.compiler import SQLCompiler

Columns = Sequence["models.Field[Any, Any]"]


class DerivedField(models.CharField):  # type: ignore[type-arg]
    """A text column computed from another when saved, by `derive`."""

    derive: Callable[[str], str]

    def __init__(self, *args: Any, source: str = "", **kwargs: Any) -> None:
        self.source = source
        super().__init__(*args, **{"editable": False, **kwargs})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "source": self.source}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        value = self.derive(getattr(model_instance, self.source))
        setattr(model_instance, self.attname, value)
        return value


class NormalFormField(DerivedField):
    """The normal form of a text, for substring search."""

    derive = staticmethod(normal_form)


def content_key(text: str) -> str:
    """Return the sha256 (hex) of the text's normal form."""
    return hashlib.sha256(normal_form(text).encode()).hexdigest()


class ContentKeyField(DerivedField):
    """A digest of the normal form, for equality."""

    derive = staticmethod(content_key)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"max_length": 64, **kwargs})


class SearchTermsField(models.TextField):  # type: ignore[type-arg]
    """The terms by which full-text search finds a row (`build_index_text`), and the subjects of its `statement`."""

    non_db_attrs = (*models.TextField.non_db_attrs, "sources", "statement")

    def __init__(self, *args: Any, sources: Sequence[str] = (), statement: str = "", **kwargs: Any) -> None:
        self.sources = tuple(sources)
        self.statement = statement
        super().__init__(*args, **{"editable": False, "default": "", **kwargs})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()
        marked = {"statement": self.statement} if self.statement else {}
        return name, path, args, {**kwargs, "sources": self.sources, **marked}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        text = "\n".join(getattr(model_instance, source) for source in self.sources)
        marks = mark_statement(getattr(model_instance, self.statement)) if self.statement else ()
        value = build_index_text(text, model_instance.user_id, marks=marks)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, value)
        return value


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


_IN: Final = "({columns}) IN (SELECT {values} FROM {source})"


class AmongRows(Func):
    """`(a, b) IN (rows)` for columns of text, which Django's own forms make slow to compile or to look up."""

    conditional = True
    output_field = models.BooleanField()

    def __init__(self, *columns: str, rows: Iterable[Sequence[str]]) -> None:
        super().__init__(*columns)
        self._rows = json.dumps(list(rows))

    def as_sql(
        self, compiler: "SQLCompiler", connection: "BaseDatabaseWrapper", *args: Any, **context: Any
    ) -> tuple[str, list[Any]]:
        columns = [compiler.compile(column)[0] for column in self.source_expressions]
        value, source = "json_extract(value, '$[{}]')", "json_each(%s)"
        if connection.vendor == "postgresql":
            value, source = "value ->> {}", "json_array_elements(%s)"
        values = ", ".join(value.format(place) for place in range(len(columns)))
        return _IN.format(columns=", ".join(columns), values=values, source=source), [self._rows]
