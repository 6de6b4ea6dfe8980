"""The review page: inferred facts and proposals."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBadRequest, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.paging import parse_page_number
from config.lib.text import one_line
from config.lib.web import PageRequest, owned_act, owned_form, owned_view
from memory.facts.review import ProposalNotFound, accept_proposal, dismiss_proposal, reopen_proposal
from memory.facts.services import forget_fact, promote_fact, supersede_fact
from memory.facts.versions import FactWrite, Origin
from memory.models import ArchivedReason, MemoryProposal, UserFact
from memory.web import queries
from memory.web.views import responses

RIGHT: Final = "right"
FORGET: Final = "forget"
LATER: Final = "later"

_DECISIONS: Final[dict[str, Callable[..., MemoryProposal]]] = {"accept": accept_proposal, "dismiss": dismiss_proposal}


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
    return _show_page(request, _list_entries(request))


def _decision_view(decide: Callable[..., MemoryProposal]) -> Callable[..., HttpResponseBase]:
    """Return the view that decides about one proposal."""

    @require_POST
    @owned_view
    def view(request: PageRequest, proposal_id: UUID) -> HttpResponse:
        refusal = responses.try_write(request, decide, proposal_id=proposal_id, now=timezone.now())
        shown = queries.find_proposal(proposal_id)
        if shown is None:
            raise Http404
        if responses.is_for_element(request, "proposal-"):
            context = {"shown": shown, "refusal": refusal, "focus": True}
            return TemplateResponse(
                request, "memory/_proposal.html", context, status=responses.CONFLICT if refusal else 200
            )
        if refusal:
            messages.error(request, refusal)
        return responses.redirect_back(request, reverse("memory:review"))

    return view


accept = _decision_view(accept_proposal)
dismiss = _decision_view(dismiss_proposal)
reopen = _decision_view(reopen_proposal)


@owned_act
def decide_all(request: PageRequest) -> HttpResponse:
    """Accept or dismiss many proposals; report those left pending."""
    decide = _DECISIONS.get(request.POST.get("decision", ""))
    proposal_ids = responses.parse_uuids(request.POST.getlist("proposal"), queries.PROPOSALS_SHOWN)
    if decide is None or not proposal_ids:
        return HttpResponseBadRequest("Say which proposals, and accept or dismiss.")
    now = timezone.now()
    missing, refusals = 0, []
    with owned_tx(request.user):
        for proposal_id in proposal_ids:
            try:
                decide(proposal_id=proposal_id, now=now)
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
    try:
        moment = parse_datetime(data.get("decided", ""))
        return queries.list_decisions_at(moment.astimezone(UTC)) if moment is not None and moment.tzinfo else []
    except (ValueError, OverflowError):
        return []


def _save_answers(request: PageRequest) -> HttpResponse:
    now = timezone.now()
    fact_ids = responses.parse_uuids(request.POST.getlist("fact"), queries.ASKED_AT_ONCE)
    asked = [
        ReviewEntry.from_answer(seen, last, request.POST) for seen, last in queries.list_with_last_versions(fact_ids)
    ]
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
    written = []
    for entry in asked:
        if entry.error:
            continue
        try:
            written.append(_write_answer(entry, origin, now))
        except DomainError as error:
            entry.error = str(error)
    if any(entry.error for entry in asked):
        raise _Rejected
    return any(done is not None and done.event is not None for done in written)


def _write_answer(entry: ReviewEntry, origin: Origin, now: datetime) -> FactWrite | None:
    if entry.answer == FORGET:
        # The owner says it was never true, not that it ended now (settled 3).
        reason = ArchivedReason.USER_CORRECTED
        return forget_fact(id_or_substring=str(entry.fact.pk), reason=reason, origin=origin, now=now)
    if one_line(entry.content) != entry.fact.content:
        return supersede_fact(fact_id=entry.fact.pk, content=entry.content, origin=origin, now=now)
    return promote_fact(fact_id=entry.fact.pk, origin=origin, now=now) if entry.answer == RIGHT else None


def _list_entries(request: PageRequest) -> dict[str, Any]:
    found = queries.list_review_facts(parse_page_number(request.GET.get("page", "")), timezone.now())
    return {"asked": [ReviewEntry(fact, LATER, fact.content) for fact in found.rows], "found": found}


def _show_page(request: PageRequest, asked: dict[str, Any], *, status: int = 200) -> HttpResponse:
    context = {
        **asked,
        "proposals": queries.list_proposals(),
        "decided": queries.list_decided_proposals(),
        "batch": responses.find_named(request.GET, "batch", queries.find_batch),
        "decided_together": _list_decided_together(request.GET),
    }
    return responses.show_page(request, "review", context, status=status)
