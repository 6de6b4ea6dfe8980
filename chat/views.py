from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from chat.models import Conversation
from chat.queries import ConversationNotFound, get_conversation, list_messages, list_recent, list_threads
from chat.rendering import view_messages
from chat.services import MessageRefused, rename_conversation, start_conversation
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_view
from memory.queries import count_current_facts, list_latest_lines

RECENT_ON_HOME = 5


@require_safe
@login_not_required
def home(request: HttpRequest) -> HttpResponseBase:
    """Show what Keel is to strangers, and to others where they left off."""
    if not request.user.is_authenticated:
        return TemplateResponse(request, "landing.html")
    return _signed_in_home(request)


@owned_view
def _signed_in_home(request: AuthedRequest) -> HttpResponse:
    now = timezone.now()
    context = {
        "conversations": list_recent(RECENT_ON_HOME),
        "facts_count": count_current_facts(now),
        "facts": list_latest_lines(now, RECENT_ON_HOME),
    }
    return TemplateResponse(request, "chat/home.html", context)


@require_safe
@never_cache
@owned_view
def index(request: AuthedRequest) -> HttpResponse:
    """Show an empty chat: the row is made with its first message."""
    return _page(request, None)


@require_safe
@never_cache
@owned_view
def conversation(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Show one chat with its messages."""
    return _page(request, _get_or_404(conversation_id))


def _page(request: AuthedRequest, shown: Conversation | None) -> HttpResponse:
    context = {**_thread_context(shown), "threads": list_threads(timezone.localtime())}
    return TemplateResponse(request, "chat/index.html", context)


@require_safe
@never_cache
@owned_view
def panel(request: AuthedRequest) -> HttpResponse:
    """Return the chat for the slide-over panel: the one named, or an empty one if it is gone."""
    shown = None
    if wanted := _uuid_or_none(request.GET.get("conversation", "")):
        shown = Conversation.objects.filter(pk=wanted).first()
    return TemplateResponse(request, "chat/_thread.html", {**_thread_context(shown)})


def _thread_context(shown: Conversation | None) -> dict[str, Any]:
    messages = view_messages(list_messages(shown.pk)) if shown else []
    return {"conversation": shown, "chat_messages": messages}


@require_safe
@never_cache
@owned_view
def messages(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Return the messages after one, as HTML: what a page that was away has missed."""
    after = request.GET.get("after", "")
    shown = _get_or_404(conversation_id)
    rows = list_messages(shown.pk, after=int(after) if after.isdecimal() and len(after) < 19 else 0)
    return TemplateResponse(request, "chat/_messages.html", {"messages": view_messages(rows)})


@require_POST
@owned_view
def new(request: AuthedRequest) -> HttpResponse:
    """Make a conversation for a first message and say where it lives."""
    with owned_tx(request.user):
        made = start_conversation(now=timezone.now())
    url = reverse("chat:conversation", args=[made.pk])
    return JsonResponse({"id": str(made.pk), "url": url, "socket": f"/ws/chat/{made.pk}/"}, status=201)


@require_POST
@owned_view
def rename(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Set a chat's title."""
    try:
        with owned_tx(request.user):
            renamed = rename_conversation(conversation_id=conversation_id, title=request.POST.get("title", ""))
    except ConversationNotFound:
        raise Http404 from None
    except MessageRefused as error:
        return JsonResponse({"error": str(error)}, status=422)
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"title": renamed.title})
    return redirect("chat:conversation", renamed.pk)


def _get_or_404(conversation_id: UUID) -> Conversation:
    try:
        return get_conversation(conversation_id)
    except ConversationNotFound:
        raise Http404 from None


def _uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
