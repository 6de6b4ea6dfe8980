"""Pages by cursors; those by numbers are of `config.lib.lists`.

A cursor continues after the last row, even if rows were added or deleted since.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from config.lib.errors import DomainError

PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 200

M = TypeVar("M", bound=Model)


class CursorRefused(DomainError):
    """The cursor is invalid or belongs to another list."""


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Rows of a list and the next cursor, empty at the end."""

    items: list[M]
    next_cursor: str


def get_page(rows: "QuerySet[M]", *, by: Sequence[str], cursor: str = "", limit: int = PAGE_SIZE) -> Page[M]:
    """Return the page after a cursor, or the first. Raises CursorRefused.

    `by` is the order: columns of the row, none nullable, each with `-` for descending, the last one unique. The cursor
    is the signed list of the last row's values, so a client cannot forge a value. It works with any filter of the same
    order and table.
    """
    if cursor:
        rows = rows.filter(_build_condition(rows.model, by, _parse_cursor(rows.model, by, cursor)))
    found = list(rows.order_by(*by)[: limit + 1])
    items = found[:limit]
    return Page(items, _build_cursor(items[-1], by) if len(found) > limit else "")


def _build_salt(model: type[Model], by: Sequence[str]) -> str:
    return f"cursor {model._meta.label} {' '.join(by)}"


def _build_cursor(row: Model, by: Sequence[str]) -> str:
    fields = (row._meta.get_field(name.removeprefix("-")) for name in by)
    values = [field.value_to_string(row) for field in fields]  # type: ignore[union-attr]
    return signing.dumps(values, salt=_build_salt(type(row), by))


def _parse_cursor(model: type[Model], by: Sequence[str], cursor: str) -> list[object]:
    try:
        values = signing.loads(cursor, salt=_build_salt(model, by))
    except signing.BadSignature as error:
        raise CursorRefused("This cursor fits no page of this list. Begin without one.") from error
    fields = (model._meta.get_field(name.removeprefix("-")) for name in by)
    return [field.to_python(value) for field, value in zip(fields, values, strict=True)]  # type: ignore[union-attr]


def _build_condition(model: type[Model], by: Sequence[str], values: Sequence[object]) -> Q:
    # Equal in the first columns and beyond in the next one, since directions may be mixed.
    names = [name.removeprefix("-") for name in by]
    places = []
    for index, name in enumerate(by):
        same = dict(zip(names[:index], values[:index], strict=True))
        beyond = "lt" if name.startswith("-") else "gt"
        places.append(Q(**same, **{f"{names[index]}__{beyond}": values[index]}))
    # Repeat the condition for the first column alone: an index can answer it.
    bound = "lte" if by[0].startswith("-") else "gte"
    return Q(**{f"{names[0]}__{bound}": values[0]}) & reduce(or_, places)
