"""Shared responses of memory's pages.

A view answers htmx with one part of a page, selected by the id of the target element: `results` is the list, `add` the
form above it, `more` the place of the next facts, `slot-<uuid>` one fact in the list, `menu-<uuid>` its menu,
`fact-page` a fact's own page, `proposal-<uuid>` a proposal, `places` the list of places, `memory-<uuid>` a line in a
chat. Without htmx a write redirects to the page it came from, with the undo line there.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.text import parse_uuid
from config.lib.web import PageRequest, get_safe_next
from memory.facts.queries import find_event, get_switches
from memory.models import EventKind, MemoryEvent
from memory.web.queries import Batch, count_waiting_proposals, find_batch

UNCHANGED: Final = "Nothing changed: it was so already."
REFUSED: Final = HTTPStatus.UNPROCESSABLE_ENTITY
CONFLICT: Final = HTTPStatus.CONFLICT
_PAST: Final = {
    EventKind.SAVE: "saved",
    EventKind.UPDATE: "corrected",
    EventKind.CONFIRM: "confirmed",
    EventKind.FORGET: "forgotten",
    EventKind.PROMOTE: "marked as said by you",
    EventKind.DEMOTE: "marked as inferred",
    EventKind.ARCHIVE: "archived",
    EventKind.RESTORE: "restored",
    EventKind.MERGE: "merged into another",
    EventKind.DELETE: "moved to the trash",
    EventKind.LINK: "linked",
    EventKind.UNLINK: "unlinked",
    EventKind.EVICT: "left out for space",
    EventKind.IMPORT: "imported",
}


@contextmanager
def write_or_404(request: PageRequest, missing: type[DomainError]) -> Iterator[None]:
    """Open the owner's transaction; turn `missing` into Http404."""
    try:
        with owned_tx(request.user):
            yield
    except missing as error:
        raise Http404 from error


def try_write(request: PageRequest, missing: type[DomainError], write: Callable[..., object], **values: object) -> str:
    """Run a write; return its refusal, or an empty text."""
    try:
        with write_or_404(request, missing):
            write(**values)
    except DomainError as error:
        return str(error)
    return ""


def is_for_element(request: PageRequest, element_id: str) -> bool:
    """Tell whether htmx targets an id with this prefix."""
    return bool(request.htmx) and (request.htmx.target or "").startswith(element_id)


def get_page_frame(tab: str) -> dict[str, Any]:
    """Return the context of a page's frame: open tab, switches, proposals."""
    return {"tab": tab, "surroundings": {"switches": get_switches(), "proposals": count_waiting_proposals()}}


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


def find_query_event(query: QueryDict) -> MemoryEvent | None:
    """Return the fact event of a query's undo line, if any."""
    event_id = parse_uuid(query.get("event", ""))
    event = find_event(event_id) if event_id else None
    return event if event is not None and event.lineage is not None else None


def find_query_batch(query: QueryDict) -> Batch | None:
    """Return the batch for the undo line that a query names."""
    batch_id = parse_uuid(query.get("batch", ""))
    return find_batch(batch_id) if batch_id else None


def describe_batch(batch: Batch | None) -> str:
    """Describe a batch, such as "3 facts archived, 1 corrected"."""
    if batch is None:
        return ""
    parts = [f"{count} {_PAST.get(kind, kind.label.lower())}" for kind, count in batch.kinds]
    first, count = parts[0], batch.kinds[0][1]
    number, _, rest = first.partition(" ")
    said = ", ".join([f"{number} {'fact' if count == 1 else 'facts'} {rest}", *parts[1:]])
    return f"Undone: {said}" if batch.is_undone else said


def parse_uuids(texts: Iterable[str], most: int) -> list[UUID]:
    """Return the distinct valid ids, at most `most`."""
    found = dict.fromkeys(fact_id for text in texts if (fact_id := parse_uuid(text)))
    return list(found)[:most]
