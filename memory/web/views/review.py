"""The review page: inferred facts and proposals."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpResponse, HttpResponseBadRequest, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.lists import ListForm
from config.lib.owned import owned_tx
from config.lib.text import one_line
from config.lib.web import PageRequest, owned_act, owned_form, owned_view
from memory.facts.queries import find_versions
from memory.facts.review import ProposalNotFound, accept_proposal, dismiss_proposal, reopen_proposal
from memory.facts.services import forget_fact, promote_fact, supersede_fact
from memory.facts.versions import FactWrite, Origin
from memory.models import ArchivedReason, Confidence, MemoryProposal, ProposalKind, ProposalStatus, UserFact
from memory.web import queries
from memory.web.views import responses

RIGHT: Final = "right"
FORGET: Final = "forget"
LATER: Final = "later"
ASKED_AT_ONCE: Final = 20  # inferred facts per page
PROPOSALS_SHOWN: Final = 50
DECIDED_SHOWN: Final = 10

DECISIONS: Final[dict[str, Callable[..., MemoryProposal]]] = {
    "accept": accept_proposal,
    "dismiss": dismiss_proposal,
    "reopen": reopen_proposal,
}


@dataclass
class ReviewEntry:
    """One inferred fact with its owner's answer."""

    fact: UserFact  # the newest version
    answer: str
    content: str  # as typed
    error: str = ""

    @classmethod
    def from_answer(cls, seen: UserFact, last: UserFact, data: QueryDict) -> Self:
        """Read a fact's answer; ask again if the fact changed."""
        entry = cls(last, data.get(f"answer-{seen.pk}", LATER), data.get(f"content-{seen.pk}", seen.content))
        if last.pk != seen.pk or last.is_archived:
            is_answered = entry.answer != LATER or one_line(entry.content) != seen.content
            state = "is no longer in use" if last.is_archived else f"now reads: “{last.content}”"
            entry.error = f"This fact has changed: it {state}. Answer again." if is_answered else ""
            entry.content = entry.content if is_answered else last.content
        return entry


class _Rejected(Exception):
    """An answer was refused, so the transaction rolls back."""


@owned_form
def show_review(request: PageRequest) -> HttpResponse:
    """Show the review, or save its answers."""
    if request.method == "POST":
        return _save_answers(request)
    rows = UserFact.objects.current(timezone.now()).filter(confidence=Confidence.INFERRED)
    ordered = rows.order_by(F("last_confirmed_at").asc(nulls_first=True), "-learned_at", "id")  # unaffirmed ones first
    filters = ListForm(request.GET, home=reverse("memory:review"))
    page = Paginator(ordered, ASKED_AT_ONCE).get_page(filters.number)
    asked = [ReviewEntry(fact, LATER, fact.content) for fact in page]
    return _show_page(request, {"asked": asked, "found": page, "filters": filters})


def decision_view(decide: Callable[..., MemoryProposal]) -> Callable[..., HttpResponseBase]:
    """Return the view of one of DECISIONS, about one proposal."""

    @require_POST
    @owned_view
    def view(request: PageRequest, proposal_id: UUID) -> HttpResponse:
        refusal = responses.try_write(request, decide, proposal_id=proposal_id, now=timezone.now())
        rows = MemoryProposal.objects.filter(pk=proposal_id).select_related("target")
        shown = next(iter(queries.describe_proposals(rows)), None)
        if shown is None:
            raise Http404
        if responses.is_for_element(request, "proposal-"):
            context = {"shown": shown, "refusal": refusal, "focus": True}
            status = responses.CONFLICT if refusal else 200
            return TemplateResponse(request, "memory/_proposal.html", context, status=status)
        if refusal:
            messages.error(request, refusal)
        return responses.redirect_back(request, reverse("memory:review"))

    return view


@owned_act
def decide_all(request: PageRequest) -> HttpResponse:
    """Accept or dismiss many proposals; report those left pending."""
    decision = request.POST.get("decision", "")
    proposal_ids = responses.parse_uuids(request.POST.getlist("proposal"), PROPOSALS_SHOWN)
    if decision not in ("accept", "dismiss") or not proposal_ids:
        return HttpResponseBadRequest("Say which proposals, and accept or dismiss.")
    now = timezone.now()
    missing, refusals = 0, []
    with owned_tx(request.user):
        for proposal_id in proposal_ids:
            try:
                DECISIONS[decision](proposal_id=proposal_id, now=now)
            except ProposalNotFound:
                missing += 1
            except DomainError as error:
                # Each decision refuses before it changes anything, so the others remain valid.
                refusals.append(str(error))
    if missing == len(proposal_ids):
        raise Http404
    for refusal in dict.fromkeys(refusals):
        messages.warning(request, f"{refusals.count(refusal)} left as they were: {refusal}")
    is_done = missing + len(refusals) < len(proposal_ids)
    return responses.redirect_back(request, reverse("memory:review"), decided=now.isoformat() if is_done else None)


@owned_act
def reopen_all(request: PageRequest) -> HttpResponse:
    """Undo decisions made together, all or none."""
    decided = _list_decided_together(request.POST)
    if not decided:
        raise Http404
    try:
        with owned_tx(request.user):
            for proposal_id, _ in reversed(decided):
                reopen_proposal(proposal_id=proposal_id, now=timezone.now())
    except DomainError as error:
        messages.error(request, f"Nothing was undone. {error}")
    return responses.redirect_back(request, reverse("memory:review"))


def _list_decided_together(data: QueryDict) -> list[tuple[UUID, str]]:
    """Return the ids and decisions of the proposals decided at the moment that a form or an address names."""
    try:
        moment = parse_datetime(data.get("decided", ""))
        if moment is None or moment.tzinfo is None:
            return []
        rows = MemoryProposal.objects.filter(decided_at=moment.astimezone(UTC)).order_by("created_at", "id")
        return list(rows.values_list("pk", "status"))
    except (ValueError, OverflowError):
        return []


def _save_answers(request: PageRequest) -> HttpResponse:
    now = timezone.now()
    fact_ids = responses.parse_uuids(request.POST.getlist("fact"), ASKED_AT_ONCE)
    rows = find_versions(fact_ids)
    newest = UserFact.objects.last_of_lineage().filter(lineage__in={row.lineage for row in rows})
    last = {row.lineage: row for row in newest}
    asked = [ReviewEntry.from_answer(seen, last[seen.lineage], request.POST) for seen in rows]
    if fact_ids and not asked:
        raise Http404
    batch_id = uuid4()
    try:
        with owned_tx(request.user):
            has_written = _write_answers(asked, Origin(batch_id=batch_id), now)
    except _Rejected:
        return _show_page(request, {"asked": asked}, status=responses.REFUSED)
    if not has_written:
        messages.info(request, "Nothing was answered, so nothing changed.")
    return responses.redirect_back(request, reverse("memory:review"), batch=batch_id if has_written else None)


def _write_answers(asked: list[ReviewEntry], origin: Origin, now: datetime) -> bool:
    """Write the answers and tell whether one changed something. Raises _Rejected, with the errors in the entries."""
    has_written = False
    for entry in asked:
        if entry.error:
            continue
        try:
            written = _write_answer(entry, origin, now)
            has_written |= written is not None and written.event is not None
        except DomainError as error:
            entry.error = str(error)
    if any(entry.error for entry in asked):
        raise _Rejected
    return has_written


def _write_answer(entry: ReviewEntry, origin: Origin, now: datetime) -> FactWrite | None:
    if entry.answer == FORGET:
        # The owner says it was never true, not that it ended now (settled 3).
        reason = ArchivedReason.USER_CORRECTED
        return forget_fact(id_or_substring=str(entry.fact.pk), reason=reason, origin=origin, now=now)
    if one_line(entry.content) != entry.fact.content:
        return supersede_fact(fact_id=entry.fact.pk, content=entry.content, origin=origin, now=now)
    return promote_fact(fact_id=entry.fact.pk, origin=origin, now=now) if entry.answer == RIGHT else None


def _show_page(request: PageRequest, asked: dict[str, Any], *, status: int = 200) -> HttpResponse:
    rows = MemoryProposal.objects.select_related("target")
    waiting = rows.filter(status=ProposalStatus.PENDING).order_by("-created_at", "id")[:PROPOSALS_SHOWN]
    decided = rows.exclude(status=ProposalStatus.PENDING).order_by("-decided_at", "id")[:DECIDED_SHOWN]
    by_kind = sorted(waiting, key=lambda row: ProposalKind.values.index(row.kind))
    context = {
        **asked,
        "proposals": queries.describe_proposals(by_kind),
        "decided": queries.describe_proposals(decided),
        "batch": responses.find_named(request.GET, "batch", queries.find_batch),
        "decided_together": _list_decided_together(request.GET),
    }
    return responses.show_page(request, "review", context, status=status)
