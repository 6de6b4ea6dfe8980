"""The list of conversations, on pages and in responses, and what moves one: archive, trash, restore."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect

from chat.conversations import lifecycle
from chat.conversations.queries import MOST_THREADS, THREADS_SHOWN, find_conversation, get_threads, page_of_trash
from chat.models import Conversation, ConversationStatus
from chat.parts import Json
from config.lib.lists import ListForm
from config.lib.owned import owned_tx
from config.lib.text import parse_uuid
from config.lib.web import AuthedRequest, PageRequest, get_safe_next, owned_act, owned_page

DONE: Final = ("archived", "unarchived", "trashed", "restored")  # what an address may say was done, and to which chat


@dataclass(frozen=True, slots=True)
class ChatAct:
    """A recent act on a conversation, which can be undone."""

    act: str  # one of DONE
    conversation: Conversation


def sidebar_context(request: AuthedRequest, *, active_id: UUID | None, done: ChatAct | None = None) -> Json:
    """Return what `chat/_threads.html` takes."""
    return {
        "threads": get_threads(timezone.localtime(), MOST_THREADS if "older" in request.GET else THREADS_SHOWN),
        "active_id": active_id,
        "done": done or _done_of(request.GET),
        "here": reverse("chat:conversation", args=[active_id]) if active_id else reverse("chat:index"),
    }


def answer_act(request: PageRequest, conversation_id: UUID, *, act: str = "", refusal: str = "") -> HttpResponse:
    """Answer an act with the new list, or redirect."""
    if not request.htmx:
        back = urlsplit(get_safe_next(request, reverse("chat:index")))
        if act == "trashed" and _shown_at(back.path) == conversation_id:
            back = urlsplit(reverse("chat:index"))
        return redirect(f"{back.path}?{urlencode({act: conversation_id})}" if act else back.path)
    active_id = _shown_at(request.htmx.current_url_abs_path or "")
    if act == "trashed" and active_id == conversation_id:
        return HttpResponseClientRedirect(f"{reverse('chat:index')}?{urlencode({act: conversation_id})}")
    found = find_conversation(conversation_id)
    done = ChatAct(act, found) if act and found else None
    context = {**sidebar_context(request, active_id=active_id, done=done), "touched": found, "refusal": refusal}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refusal else HTTPStatus.OK
    return TemplateResponse(request, "chat/_threads.html", context, status=status)


def _shown_at(address: str) -> UUID | None:
    try:
        match = resolve(urlsplit(address).path)
    except Resolver404:
        return None
    return match.kwargs["conversation_id"] if match.view_name == "chat:conversation" else None


def _done_of(query: QueryDict) -> ChatAct | None:
    """Return the act that an address names, if it still applies."""
    for act in DONE:
        conversation_id = parse_uuid(query.get(act, ""))
        if conversation_id is None or (found := find_conversation(conversation_id)) is None:
            continue
        is_so = found.status == ConversationStatus.ARCHIVED if "archived" in act else found.trashed_at is not None
        if is_so == (act in ("archived", "trashed")):
            return ChatAct(act, found)
    return None


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
    filters = ListForm(request.GET, home=reverse("chat:trashed"))
    context = {"page": page_of_trash(filters.number), "filters": filters}
    return TemplateResponse(request, "chat/trashed.html", context)
