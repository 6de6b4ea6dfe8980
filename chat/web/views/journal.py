"""The page of kept replies, and the bookmark of each reply."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import trigger_client_event

from chat.conversations import journal
from chat.models import Message, Role
from chat.parts import Json
from chat.web.forms import WordsForm
from chat.web.markdown import render_markdown
from config.lib.lists import address
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, PageRequest, get_safe_next, owned_act, owned_page

HERE: Final = "chat:kept"
UNDO_FOR: Final = timedelta(hours=1)
TOO_LATE: Final = "This can be undone no more."
_SALT: Final = "chat.views.journal"


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def kept(request: PageRequest) -> HttpResponse:
    """Show the replies that were kept, newest first."""
    return _show_kept(request)


def _show_kept(request: PageRequest, **more: Any) -> HttpResponse:
    filters = WordsForm(request.GET, home=reverse(HERE))
    page = journal.page_of_journal(filters.query, filters.number)
    context = {
        "filters": filters,
        "page": page,
        "entries": [(entry, render_markdown(entry.text)) for entry in page],
        "here": address(filters, page=page.number),
        **more,
    }
    if not (request.htmx and request.htmx.target == "results"):
        return TemplateResponse(request, "chat/kept.html", context)
    response = TemplateResponse(request, "chat/_kept_results.html", context)
    response["HX-Replace-Url"] = context["here"]
    return response


@owned_act
def bookmark(request: PageRequest, message_id: int) -> HttpResponse:
    """Keep a reply or remove it from the journal."""
    now = timezone.now()
    reply = Message.objects.filter(pk=message_id, role=Role.ASSISTANT).only("pk", "user_id", "conversation_id").first()
    if reply is None:
        raise Http404
    undo = refusal = ""
    try:
        with owned_tx(request.user):
            removed = _read_signed(request)
            if request.POST.get("to") != "off" and removed is not None and removed["message_id"] == message_id:
                journal.restore_bookmark(removed=removed, now=now)
            elif request.POST.get("to") != "off":
                journal.bookmark_reply(message_id=message_id, now=now)
            elif row := journal.find_bookmark(message_id):
                undo = _sign_removed(request, journal.remove_bookmark(bookmark_id=row.pk))
    except journal.ReplyNotKept as error:
        refusal = str(error)
    is_kept = journal.find_bookmark(message_id) is not None
    if not request.htmx:
        said = "Kept in the journal." if is_kept else "Taken out of the journal."
        messages.add_message(request, messages.ERROR if refusal else messages.SUCCESS, refusal or said)
        return redirect(f"{reverse('chat:conversation', args=[reply.conversation_id])}#message-{message_id}")
    context = {"message_id": message_id, "is_kept": is_kept, "undo": undo, "is_focused": True}
    response = TemplateResponse(request, "chat/_bookmark.html", context)
    return trigger_client_event(response, "keel:toast", {"text": refusal, "level": "error"}) if refusal else response


@owned_act
def edit_note(request: PageRequest, bookmark_id: UUID) -> HttpResponse:
    """Set the note of an entry."""
    typed, refusal = request.POST.get("note", ""), ""
    try:
        with owned_tx(request.user):
            journal.edit_note(bookmark_id=bookmark_id, note=typed, now=timezone.now())
    except journal.NoteRefused as error:
        refusal = str(error)
    if request.htmx or refusal:
        return _answer_entry(request, bookmark_id, refusal=refusal, typed=typed if refusal else None)
    return redirect(f"{get_safe_next(request, reverse('chat:kept'))}#kept-{bookmark_id}")


@owned_act
def remove(request: PageRequest, bookmark_id: UUID) -> HttpResponse:
    """Remove an entry; the response can restore it."""
    with owned_tx(request.user):
        removed = journal.remove_bookmark(bookmark_id=bookmark_id)
    context = {"removed_id": bookmark_id, "undo": _sign_removed(request, removed), "here": get_safe_next(request, "")}
    if request.htmx:
        return TemplateResponse(request, "chat/_kept_removed.html", context)
    # Not a redirect: only this response contains the token for the undo.
    return _show_kept(request, removed=context)


@owned_act
def restore(request: PageRequest) -> HttpResponse:
    """Put an entry back that was just taken out."""
    removed = _read_signed(request)
    refusal = TOO_LATE if removed is None else ""
    if removed is not None:
        try:
            with owned_tx(request.user):
                back = journal.restore_bookmark(removed=removed, now=timezone.now())
        except journal.ReplyNotFound as error:
            refusal = str(error)
    if not request.htmx:
        if refusal:
            messages.error(request, refusal)
        return redirect(get_safe_next(request, reverse(HERE)))
    if refusal:
        context = {"removed_id": "gone", "refusal": refusal}
        return TemplateResponse(request, "chat/_kept_removed.html", context, status=HTTPStatus.CONFLICT)
    return _answer_entry(request, back.pk)


def _answer_entry(
    request: PageRequest, bookmark_id: UUID, *, refusal: str = "", typed: str | None = None
) -> HttpResponse:
    """Answer with an entry or, without htmx, its page."""
    entry = journal.get_bookmark(bookmark_id)
    context = {
        "bookmark": entry,
        "html": render_markdown(entry.text),
        "here": get_safe_next(request, reverse(HERE)),
        "refusal": refusal,
        "typed": typed,
        "is_touched": True,
    }
    template = "chat/_kept.html" if request.htmx else "chat/journal_entry.html"
    return TemplateResponse(
        request, template, context, status=HTTPStatus.UNPROCESSABLE_ENTITY if refusal else HTTPStatus.OK
    )


def _sign_removed(request: AuthedRequest, removed: Json) -> str:
    given = {**removed, "created_at": removed["created_at"].isoformat()}
    return signing.dumps(given, salt=f"{_SALT}.{request.user.pk}", compress=True)


def _read_signed(request: AuthedRequest) -> Json | None:
    try:
        given = signing.loads(request.POST.get("undo", ""), salt=f"{_SALT}.{request.user.pk}", max_age=UNDO_FOR)
    except signing.BadSignature:
        return None
    return {**given, "created_at": datetime.fromisoformat(given["created_at"])}
