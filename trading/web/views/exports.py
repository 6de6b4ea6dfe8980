"""Exports, read page by page while they are sent."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Model, QuerySet
from django.http.response import HttpResponseBase
from django.utils import timezone

from config.lib.edge.streaming import stream_file
from config.lib.owned import owned
from config.lib.paging import get_page
from config.lib.web import AuthedRequest

Row = TypeVar("Row", bound=Model)

_ROWS_AT_ONCE: Final = 500
CONTENT_TYPES: Final = {"csv": "text/csv", "json": "application/json"}


def export_rows(
    request: AuthedRequest,
    noun: str,
    select: Callable[[], QuerySet[Row]],
    *,
    by: Sequence[str],
    writers: Mapping[str, Callable[[Iterator[Row]], Iterator[str]]],
) -> HttpResponseBase:
    """Send the rows that `select` returns, in the order of `by`, as CSV or JSON."""
    shape = "json" if request.GET.get("format") == "json" else "csv"
    filename = f"keel-{noun}-{timezone.now():%Y-%m-%d}.{shape}"
    lines = writers[shape](_iter_rows(request.user, select, by))
    return stream_file(request, lines, content_type=CONTENT_TYPES[shape], filename=filename)


# The file is sent after the view has returned, to a reader who may be slow. Open the scope for one page at a time and
# close it before its rows are sent, so that no transaction lasts as long as a download.
def _iter_rows(user: AbstractBaseUser, select: Callable[[], QuerySet[Row]], by: Sequence[str]) -> Iterator[Row]:
    cursor, is_first = "", True
    while cursor or is_first:
        with owned(user):
            page = get_page(select(), by=by, cursor=cursor, limit=_ROWS_AT_ONCE)
        yield from page.items
        cursor, is_first = page.next_cursor, False
