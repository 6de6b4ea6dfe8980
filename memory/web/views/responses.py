"""Shared responses of memory's pages.

A view answers htmx with one part of a page, selected by the id of the target element: `results` is the list, `add` the
form above it, `more` the place of the next facts, `slot-<uuid>` one fact in the list, `menu-<uuid>` its menu,
`fact-page` a fact's own page, `proposal-<uuid>` a proposal, `places` the list of places, `memory-<uuid>` a line in a
chat. Without htmx a write redirects to the page it came from, with the undo line there.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.text import parse_uuid
from config.lib.web import PageRequest, get_safe_next, or_404
from memory.facts.queries import find_event, get_switches
from memory.models import MemoryEvent
from memory.web.queries import count_waiting_proposals

T = TypeVar("T")

UNCHANGED: Final = "Nothing changed: it was so already."
REFUSED: Final = HTTPStatus.UNPROCESSABLE_ENTITY
CONFLICT: Final = HTTPStatus.CONFLICT


def try_write(request: PageRequest, write: Callable[..., object], **values: object) -> str:
    """Run a write; return its refusal, or an empty text. A missing row is a 404."""
    try:
        with or_404(), owned_tx(request.user):
            write(**values)
    except DomainError as error:
        return str(error)
    return ""


def is_for_element(request: PageRequest, element_id: str) -> bool:
    """Tell whether htmx targets an id with this prefix."""
    return bool(request.htmx) and (request.htmx.target or "").startswith(element_id)


def show_page(
    request: PageRequest, name: str, context: dict[str, Any], *, part: str = "", status: int = 200
) -> HttpResponse:
    """Show the page of a tab, or a part of it, with what its frame says: open tab, switches, proposals."""
    frame = {"tab": name, "surroundings": {"switches": get_switches(), "proposals": count_waiting_proposals()}}
    return TemplateResponse(request, f"memory/{part or name}.html", {**context, **frame}, status=status)


def get_source_address(request: PageRequest) -> str:
    """Return the local address of the requesting page, or an empty text."""
    return (request.htmx.current_url_abs_path or "") if request.htmx else get_safe_next(request, "")


def parse_source_query(request: PageRequest) -> QueryDict:
    """Return the query of the requesting page's address."""
    return QueryDict(urlsplit(get_source_address(request)).query)


def redirect_back(request: PageRequest, default: str, **said: UUID | str | None) -> HttpResponse:
    """Redirect to the form's page, with any undo line."""
    back = urlsplit(get_safe_next(request, default))
    query = QueryDict(back.query, mutable=True)
    for name in ("event", "batch", "decided", "select"):
        query.pop(name, None)
    query.update({name: str(value) for name, value in said.items() if value})
    has_line = any(said.values())
    return redirect(f"{back.path}?{query.urlencode()}{'#done' if has_line else ''}" if query else back.path)


def find_named(query: QueryDict, name: str, find: Callable[[UUID], T | None]) -> T | None:
    """Return the row that a parameter names by its id, if any."""
    row_id = parse_uuid(query.get(name, ""))
    return find(row_id) if row_id else None


def find_query_event(query: QueryDict) -> MemoryEvent | None:
    """Return the fact event of a query's undo line, if any."""
    event = find_named(query, "event", find_event)
    return event if event is not None and event.lineage is not None else None


def parse_uuids(texts: Iterable[str], most: int) -> list[UUID]:
    """Return the distinct valid ids, at most `most`."""
    found = dict.fromkeys(fact_id for text in texts if (fact_id := parse_uuid(text)))
    return list(found)[:most]
