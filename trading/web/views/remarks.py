"""The user's note, tags and picture of a trade."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_act, owned_form
from trading.record.pictures import (
    CONTENT_TYPE,
    PictureRefused,
    clean_picture,
    drop_picture,
    keep_picture,
    read_picture,
)
from trading.record.remarks import RemarkRefused, write_remark


@owned_act
def save_remark(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Save the note and the tags of a trade."""
    text, tags = request.POST.get("text", ""), request.POST.get("tags", "").split(",")
    try:
        with owned_tx(request.user):
            write_remark(trade_id=trade_id, text=text, tags=tags, now=timezone.now())
    except RemarkRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Saved.")
    return redirect(f"{reverse('trading:trade', args=[trade_id])}#note")


@owned_form
def show_picture(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Send a trade's picture; replace or delete it."""
    if request.method == "POST":
        return _change_picture(request, trade_id)
    content = read_picture(trade_id)
    # Opened on its own, the address runs nothing and loads nothing, whatever a browser takes its bytes for.
    headers = {
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return HttpResponse(content, content_type=CONTENT_TYPE, headers=headers)


def _change_picture(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    file, now = request.FILES.get("picture"), timezone.now()
    try:
        if file is not None:
            picture = clean_picture(file.read())  # takes long enough to keep it out of the transaction
            with owned_tx(request.user):
                keep_picture(trade_id=trade_id, picture=picture, now=now)
            messages.success(request, "Saved the picture without its metadata.")
        elif request.POST.get("act") == "drop":
            with owned_tx(request.user):
                drop_picture(trade_id=trade_id, now=now)
            messages.success(request, "Deleted the picture.")
        else:
            messages.error(request, "Choose a picture first.")
    except PictureRefused as error:
        messages.error(request, str(error))
    return redirect(f"{reverse('trading:trade', args=[trade_id])}#note")
