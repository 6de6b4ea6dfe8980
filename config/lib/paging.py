"""Pages of a list that is read on from where it was left, however many rows came or went meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from config.lib.errors import DomainError

PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 200

M = TypeVar("M", bound=Model)


class CursorRefused(DomainError):
    """The cursor is none of ours, or of another list."""


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Some rows of a list in order, and the cursor that the next ones are asked for with; empty: these are the last."""

    items: list[M]
    next_cursor: str


def page_of(rows: "QuerySet[M]", *, by: Sequence[str], cursor: str = "", limit: int = PAGE_SIZE) -> Page[M]:
    """Return the page that follows a cursor; the first one without.

    `by` are columns of the row itself, none of them nullable, each with `-` for descending, the last one unique:
    together they are the order. The cursor holds the last row's values of them, signed, so that what reaches the
    database is what came from it. It names a place in one order of one table and works with any filter.

    Raises:
        CursorRefused: the cursor is none that this list gave out.
    """
    if cursor:
        rows = rows.filter(_after(rows.model, by, _read(rows.model, by, cursor)))
    found = list(rows.order_by(*by)[: limit + 1])
    items = found[:limit]
    return Page(items, _cursor(items[-1], by) if len(found) > limit else "")


def _salt(model: type[Model], by: Sequence[str]) -> str:
    return f"cursor {model._meta.label} {' '.join(by)}"


def _cursor(row: Model, by: Sequence[str]) -> str:
    fields = (row._meta.get_field(name.removeprefix("-")) for name in by)
    values = [field.value_to_string(row) for field in fields]  # type: ignore[union-attr]
    return signing.dumps(values, salt=_salt(type(row), by))


def _read(model: type[Model], by: Sequence[str], cursor: str) -> list[Any]:
    try:
        values = signing.loads(cursor, salt=_salt(model, by))
    except signing.BadSignature as error:
        raise CursorRefused("This cursor fits no page of this list. Begin without one.") from error
    fields = (model._meta.get_field(name.removeprefix("-")) for name in by)
    return [field.to_python(value) for field, value in zip(fields, values, strict=True)]  # type: ignore[union-attr]


def _after(model: type[Model], by: Sequence[str], values: Sequence[Any]) -> Q:
    # Equal in the first columns and beyond in the next one: a place in an order of mixed directions.
    names = [name.removeprefix("-") for name in by]
    places = []
    for index, name in enumerate(by):
        same = dict(zip(names[:index], values[:index], strict=True))
        beyond = "lt" if name.startswith("-") else "gt"
        places.append(Q(**same, **{f"{names[index]}__{beyond}": values[index]}))
    # Said again of the first column alone, which an index can answer.
    bound = "lte" if by[0].startswith("-") else "gte"
    return Q(**{f"{names[0]}__{bound}": values[0]}) & reduce(or_, places)
