"""Change many facts at once: one batch, one undo."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import PageRequest, owned_act
from memory.facts.services import archive_fact, delete_fact, demote_fact, promote_fact, restore_fact
from memory.facts.versions import FactNotFound, FactWrite, Origin
from memory.web.views import responses
from memory.web.views.fact_list import build_batch_listing, build_listing, show_facts_page

MOST_AT_ONCE: Final = 500  # facts
_ACTS: Final[dict[str, Callable[..., FactWrite]]] = {
    "promote": promote_fact,
    "demote": demote_fact,
    "archive": archive_fact,
    "delete": delete_fact,
    "restore": restore_fact,
}


@owned_act
def change_facts(request: PageRequest) -> HttpResponse:
    """Do one action on all selected facts; report those left unchanged."""
    now = timezone.now()
    write = _ACTS.get(request.POST.get("act", ""))
    fact_ids = responses.parse_uuids(request.POST.getlist("fact"), MOST_AT_ONCE)
    if write is None or not fact_ids:
        return _show_refusal(request, "Select at least one fact first, then say what to do with it.", now)
    batch_id = uuid4()
    counted = Counter[str]()
    with owned_tx(request.user):
        for fact_id in fact_ids:
            counted[_write_fact(write, fact_id, Origin(batch_id=batch_id), now)] += 1
    if counted["missing"] == len(fact_ids):
        raise Http404
    return _show_result(request, batch_id if counted["changed"] else None, _format_notice(counted), now)


def _write_fact(write: Callable[..., FactWrite], fact_id: UUID, origin: Origin, now: datetime) -> str:
    """Write one fact and return what came of it; a refused write has changed nothing, so the others remain valid."""
    try:
        written = write(fact_id=fact_id, origin=origin, now=now)
    except FactNotFound:
        return "missing"
    except DomainError:
        return "refused"
    return "changed" if written.event else "unchanged"


def _format_notice(counted: Counter[str]) -> str:
    left = counted["refused"] + counted["missing"]
    if left:
        return f"{left} changed since and {'was' if left == 1 else 'were'} left alone. Look at them again."
    return "" if counted["changed"] else responses.UNCHANGED


def _show_result(request: PageRequest, batch_id: UUID | None, notice: str, now: datetime) -> HttpResponse:
    if responses.is_for_element(request, "results"):
        shown = build_batch_listing(request, batch_id, now, notice=notice)
        return TemplateResponse(request, "memory/_found.html", {**shown, "focus": True})
    if notice:
        messages.warning(request, notice)
    return responses.redirect_back(request, reverse("memory:facts"), batch=batch_id)


def _show_refusal(request: PageRequest, refusal: str, now: datetime) -> HttpResponse:
    shown = build_listing(responses.parse_source_query(request), now, notice=refusal)
    if responses.is_for_element(request, "results"):
        return TemplateResponse(request, "memory/_found.html", shown, status=responses.REFUSED)
    return show_facts_page(request, shown, status=responses.REFUSED)
