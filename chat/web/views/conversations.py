"""Archive, trash and restore conversations."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from chat.conversations import lifecycle
from chat.conversations.queries import page_of_trash
from chat.web.views.sidebar import answer_act
from config.lib.owned import owned_tx
from config.lib.paging import build_page_links, parse_page_number
from config.lib.web import AuthedRequest, PageRequest, get_safe_next, owned_act, owned_page


def _act_view(act: str, write: Callable[..., None]) -> Callable[..., HttpResponseBase]:
    """Return the view of one act on a chat."""

    @owned_act
    def view(request: PageRequest, conversation_id: UUID) -> HttpResponse:
        with owned_tx(request.user):
            write(conversation_id=conversation_id, now=timezone.now())
        return answer_act(request, conversation_id, act=act)

    return view


archive = _act_view("archived", lifecycle.archive_conversation)
unarchive = _act_view("unarchived", lifecycle.unarchive_conversation)
trash = _act_view("trashed", lifecycle.trash_conversation)


@owned_act
def restore(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Take a chat out of the trash."""
    with owned_tx(request.user):
        lifecycle.restore_conversation(conversation_id=conversation_id)
    if request.htmx or request.POST.get("act") == "undo":
        return answer_act(request, conversation_id, act="restored")
    messages.success(request, "The chat is restored.")
    return redirect(get_safe_next(request, reverse("chat:trashed")))


@owned_page
def trashed(request: AuthedRequest) -> HttpResponse:
    """Show the trash, with the date of each deletion."""
    page = page_of_trash(parse_page_number(request.GET.get("page", "")))
    links = build_page_links(page, lambda number: f"?page={number}")
    return TemplateResponse(request, "chat/trashed.html", {"page": page, "links": links})
