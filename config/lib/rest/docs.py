"""The description of the API and its docs page. What makes it is imported at its first request."""

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe
from rest_framework.renderers import BaseRenderer
from rest_framework.response import Response

from config.lib.rest.views import ApiRequest, ApiView


class SchemaView(ApiView):
    """The description of the API, OpenAPI 3.1."""

    schema = None

    def get_renderers(self) -> list[BaseRenderer]:
        from drf_spectacular.renderers import OpenApiJsonRenderer  # noqa: PLC0415 - few ask for it

        return [OpenApiJsonRenderer()]

    def get(self, request: ApiRequest) -> Response:
        """Answer with the description."""
        from config.lib.rest.openapi import describe_api  # noqa: PLC0415 - brings a generator and Django's test client

        return Response(describe_api())


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show the description as a page to try requests."""
    return TemplateResponse(request, "api_docs.html")
