"""Everything of a user, over REST."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema

from chat.endings.export import iter_zip
from config.lib.rest.views import ApiRequest, ApiView
from config.lib.streaming import stream_file


class ExportView(ApiView):
    @extend_schema(
        operation_id="export_everything", tags=["account"], responses={(200, "application/zip"): OpenApiTypes.BINARY}
    )
    def get(self, request: ApiRequest) -> HttpResponseBase:
        """Return one zip of JSON files with everything of yours; `schema.json` in it describes the others."""
        now = timezone.now()
        parts = iter_zip(request.user.pk, now=now)
        return stream_file(request._request, parts, content_type="application/zip", filename=f"keel-{now:%Y-%m-%d}.zip")
