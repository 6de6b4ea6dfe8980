from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from chat.conversations import queries
from chat.conversations.journal import find_bookmarked
from chat.conversations.lifecycle import note_here, note_left, request_close
from chat.conversations.services import MessageRefused, refocus_conversation, rename_conversation, start_conversation
from chat.conversations.services import ask_about_fact as open_chat_about_fact
from chat.endings.erasure import erase_fact as erase_fact_for_good
from chat.endings.erasure import list_source_messages
from chat.models import Conversation, Message, Role
from chat.parts import Json
from chat.prompt.assistants import ASSISTANTS, default_assistant
from chat.prompt.focus import can_refocus, subject_of
from chat.web.forms import SUBJECTS, ChatOpeningForm, NewChatForm
from chat.web.rendering import Gap, MessageView, view_messages
from chat.web.views.conversations import answer_act, sidebar_context
from config.lib.owned import owned_tx
from config.lib.text import parse_uuid
from config.lib.web import AuthedRequest, PageRequest, get_safe_next, goes_into, owned_act, owned_form, owned_page
from memory.facts.versions import get_last_version

_FOCUS = {"mode": "mode", **SUBJECTS}


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def index(request: PageRequest) -> HttpResponse:
    """Show an empty chat; its first message creates the row."""
    return _show_page(request, None)


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def conversation(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Show one chat with its messages."""
    return _show_page(request, queries.get_conversation(conversation_id))


def _show_page(request: PageRequest, shown: Conversation | None) -> HttpResponse:
    sidebar = sidebar_context(request, active_id=shown.pk if shown else None)
    if goes_into(request, "thread-list"):
        return TemplateResponse(request, "chat/_threads.html", sidebar)
    thread = _thread_context(shown, None if shown else _read_opening(request), around=_parse_id(request, "message"))
    return TemplateResponse(request, "chat/index.html", {**thread, **sidebar})


@owned_page
def panel(request: AuthedRequest) -> HttpResponse:
    """Return the chat of the panel, or an empty one."""
    opening = _read_opening(request)
    shown = queries.find_panel_chat(opening=opening, wanted=parse_uuid(request.GET.get("conversation", "")))
    return TemplateResponse(request, "chat/_thread.html", _thread_context(shown, opening))


def _read_opening(request: AuthedRequest) -> dict[str, str] | None:
    form = ChatOpeningForm(request.GET)
    return form.opening if form.is_valid() else None


def _thread_context(shown: Conversation | None, opening: dict[str, str] | None = None, *, around: int = 0) -> Json:
    """Return the context of `chat/_thread.html`.

    `opening` is what the page is about, `around` the id of an older message to show as well.
    """
    page_subject = subject_of(opening) if opening else ""
    turns = shown is not None and bool(opening and page_subject) and can_refocus(shown.opening_context, opening or {})
    return {
        "conversation": shown,
        "chat_messages": _list_shown(shown, around) if shown else [],
        "subject": subject_of(shown.opening_context) if shown and not turns else page_subject,
        "page_subject": page_subject,
        "focus": urlencode({name: opening[key] for name, key in _FOCUS.items() if key in opening}) if opening else "",
        "turns": turns,
        "assistants": ASSISTANTS.values(),
        "default_assistant": default_assistant(),
    }


def _list_shown(conversation: Conversation, around: int) -> list[MessageView | Gap]:
    """Return the newest messages, before them those around an older one."""
    newest = queries.get_window(conversation.pk)
    first = newest.messages[0].pk if newest.messages else 0
    if not 0 < around < first:
        return _view_window(conversation, newest)
    linked = queries.get_window(conversation.pk, before=first, around=around)
    return _view_window(conversation, linked, newer=newest.messages)


def _view_window(
    conversation: Conversation,
    window: queries.MessageWindow,
    *,
    after: int = 0,
    before: int | None = None,
    newer: Sequence[Message] = (),
) -> list[MessageView | Gap]:
    """Return a window's messages, then the `newer` ones, with a gap where messages are left out.

    The window is of the messages between `after` and `before`.
    """
    older = window.messages
    views = _view_rows(conversation, [*older, *newer], followed_by=before)
    until = newer[0].pk if newer else before
    begin = [Gap(after, older[0].pk)] if window.has_older else []
    end = [Gap(older[-1].pk, until)] if window.has_newer and until is not None else []
    return [*begin, *views[: len(older)], *end, *views[len(older) :]]


def _view_rows(
    conversation: Conversation, rows: Sequence[Message], *, followed_by: int | None = None
) -> list[MessageView]:
    kept = find_bookmarked([row.pk for row in rows if row.role == Role.ASSISTANT])
    through = queries.summarised_through(conversation.pk)
    return view_messages(rows, kept=kept, summarised_through=through, followed_by=followed_by)


@owned_page
def conversation_messages(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Return messages as HTML: all after one, the newest, or some of those between two.

    404 where another message took the place of the one that all others follow: then the page has to start over.
    """
    after, before, around = (_parse_id(request, name) for name in ("after", "before", "message"))
    shown = queries.get_conversation(conversation_id)
    views: Sequence[MessageView | Gap]
    if before or not after:
        window = queries.get_window(shown.pk, after=after, before=before or None, around=around)
        views = _view_window(shown, window, after=after, before=before or None)
    elif Message.objects.filter(pk=after, conversation=shown, replaced_at__isnull=False).exists():
        raise Http404
    else:
        views = _view_rows(shown, queries.list_messages(shown.pk, after=after))
    return TemplateResponse(request, "chat/_messages.html", {"messages": views})


def _parse_id(request: AuthedRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 19 else 0


@owned_act
def new(request: AuthedRequest) -> HttpResponse:
    """Create a conversation; return its address."""
    form = NewChatForm(request.POST)
    if not form.is_valid():
        return JsonResponse(
            {"error": "There is no such assistant, or no such kind of chat. Reload the page."}, status=422
        )
    with owned_tx(request.user):
        made = start_conversation(
            assistant=form.cleaned_data["assistant"] or None,
            is_temporary=form.cleaned_data["temporary"],
            opening=form.opening,
            now=timezone.now(),
        )
    url = reverse("chat:conversation", args=[made.pk])
    said = {"assistant": made.get_assistant_display(), "temporary": made.is_temporary}
    return JsonResponse({"id": str(made.pk), "url": url, "socket": f"/ws/chat/{made.pk}/", **said}, status=201)


@owned_act
def refocus(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Turn a chat to what its user looks at now."""
    form = ChatOpeningForm(request.POST)
    opening = form.opening if form.is_valid() else None
    if opening is None:
        return JsonResponse({"error": "This page is about nothing that a chat can turn to."}, status=422)
    with owned_tx(request.user):
        refocus_conversation(conversation_id=conversation_id, opening=opening)
    return HttpResponse(status=204)


@owned_act
def ask_about_fact(request: AuthedRequest, fact_id: UUID) -> HttpResponse:
    """Open a chat that asks what to change in a fact."""
    with owned_tx(request.user):
        made = open_chat_about_fact(fact_id=fact_id, now=timezone.now())
    return redirect("chat:conversation", made.pk)


@owned_act
def close(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Ask for a chat to be closed."""
    with owned_tx(request.user):
        request_close(conversation_id=conversation_id, now=timezone.now())
    return HttpResponse(status=202)


@owned_act
def leave(request: AuthedRequest, conversation_id: UUID) -> HttpResponse:
    """Note a left chat page; `here`: the user is still on site."""
    note = note_here if request.POST.get("here") else note_left
    with owned_tx(request.user):
        note(conversation_id=queries.get_conversation(conversation_id).pk, now=timezone.now())
    return HttpResponse(status=204)


@owned_form
def erase_fact(request: AuthedRequest, fact_id: UUID) -> HttpResponse:
    """Confirm and erase a trashed fact, optionally with its source messages."""
    fact = get_last_version(fact_id)
    if fact.trashed_at is None:
        messages.error(request, "Only a fact in the trash can be deleted for good. Delete it first.")
        return redirect("memory:fact", fact.pk)
    if request.POST.get("confirmed") != "yes":
        context = {"fact": fact, "sources": list_source_messages(fact_id=fact.pk)}
        return TemplateResponse(request, "chat/erase_fact.html", context)
    with owned_tx(request.user):
        erase_fact_for_good(fact_id=fact.pk, with_messages=request.POST.get("with_messages") == "yes")
    messages.success(request, "Deleted for good.")
    return redirect("memory:facts")


@owned_page
@vary_on_headers("HX-Request")
def quotes(request: AuthedRequest, fact_id: UUID) -> HttpResponse:
    """Show the user's own words that a fact was learned from."""
    fact = get_last_version(fact_id)
    template = "chat/_quotes.html" if request.headers.get("HX-Request") else "chat/quotes.html"
    return TemplateResponse(request, template, {"fact": fact, "quotes": queries.list_quotes(fact.quotes)})


@owned_act
def rename(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Set a chat's title."""
    refusal = ""
    try:
        with owned_tx(request.user):
            rename_conversation(conversation_id=conversation_id, title=request.POST.get("title", ""))
    except MessageRefused as error:
        refusal = str(error)
    if request.htmx:
        return answer_act(request, conversation_id, refusal=refusal)
    if refusal:
        return JsonResponse({"error": refusal}, status=422)
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"title": queries.get_conversation(conversation_id).title})
    return redirect(get_safe_next(request, reverse("chat:conversation", args=[conversation_id])))
