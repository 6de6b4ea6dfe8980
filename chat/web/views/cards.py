"""Show, confirm and cancel cards."""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from chat.cards import CardNotFound, CardOutdated, CardView, cancel_card, confirm_card, get_card, view_card
from chat.models import ActionCard
from config.lib.edge.second_factor import read_proof
from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.proofs import ProofNeeded
from config.lib.web import AuthedRequest, owned_act, owned_page


@owned_page
@vary_on_headers("HX-Request")
def card(request: AuthedRequest, card_id: UUID) -> HttpResponse:
    """Show a card; to htmx, the card alone."""
    shown = get_card(card_id)
    return _answer_card(request, shown, view_card(shown, at=timezone.now()))


@owned_act
@vary_on_headers("HX-Request")
def confirm(request: AuthedRequest, card_id: UUID) -> HttpResponse:
    """Do what a card says."""
    now, digest = timezone.now(), request.POST.get("digest", "")
    proof = read_proof(request, page=reverse("chat:card", args=[card_id]))
    return _decide_card(
        request, card_id, lambda: confirm_card(card_id=card_id, digest=digest, proof=proof, now=now), now
    )


@owned_act
@vary_on_headers("HX-Request")
def cancel(request: AuthedRequest, card_id: UUID) -> HttpResponse:
    """Do nothing of what a card says."""
    now = timezone.now()
    return _decide_card(request, card_id, lambda: cancel_card(card_id=card_id, now=now), now)


def _decide_card(
    request: AuthedRequest, card_id: UUID, decide: Callable[[], ActionCard], now: datetime
) -> HttpResponse:
    try:
        with owned_tx(request.user):
            decided = decide()
    except (CardNotFound, ProofNeeded):
        raise
    except DomainError as error:
        # The transaction was rolled back; show the card unchanged, with the error.
        standing = get_card(card_id)
        can_be_tried = not isinstance(error, CardOutdated)
        view = view_card(standing, at=now, refusal=str(error), can_be_tried=can_be_tried)
        return _answer_card(request, standing, view, status=HTTPStatus.CONFLICT)
    view = view_card(decided, at=now)
    if request.headers.get("HX-Request"):
        return _answer_card(request, decided, view)
    messages.success(request, f"{view.title}: {view.said}")
    return redirect("chat:conversation", decided.conversation_id)


def _answer_card(
    request: AuthedRequest, shown: ActionCard, view: CardView, *, status: int = HTTPStatus.OK
) -> HttpResponse:
    template = "chat/_card.html" if request.headers.get("HX-Request") else "chat/card.html"
    context = {"card": view, "conversation_id": shown.conversation_id, "is_answer": request.method == "POST"}
    return TemplateResponse(request, template, context, status=status)
