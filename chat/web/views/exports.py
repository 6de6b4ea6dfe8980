"""Export everything of a user."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from chat.endings.export import iter_zip
from config.lib.streaming import stream_file
from config.lib.web import AuthedRequest, owned_page, owned_view


@require_safe
@owned_view
def show_export(request: AuthedRequest) -> HttpResponse:
    """Say what the export has, and offer it."""
    return TemplateResponse(request, "chat/export.html")


@owned_page
def export_everything(request: AuthedRequest) -> HttpResponseBase:
    """Send the zip while it is written."""
    now = timezone.now()
    parts = iter_zip(request.user.pk, now=now)
    return stream_file(request, parts, content_type="application/zip", filename=f"keel-{now:%Y-%m-%d}.zip")
