"""Places over REST."""

from http import HTTPStatus
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.rest.views import ApiRequest, ApiView
from memory.api.serializers import PlaceInput, PlacesSerializer, PlaceWrittenSerializer
from memory.facts.places import add_place, list_places, remove_place


class PlacesView(ApiView):
    @extend_schema(operation_id="list_places", tags=["places"], responses=PlacesSerializer)
    def get(self, request: ApiRequest) -> Response:
        """List all places, by name."""
        return Response(PlacesSerializer({"places": list_places()}).data)

    @extend_schema(
        operation_id="save_place",
        tags=["places"],
        request=PlaceInput,
        responses={200: PlaceWrittenSerializer, 201: PlaceWrittenSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Save or update a place; 200 when nothing changed."""
        fields = self.body(PlaceInput)
        with owned_tx(request.user):
            written = add_place(**fields, now=timezone.now())
        status = HTTPStatus.OK if written.event is None else HTTPStatus.CREATED
        return Response(PlaceWrittenSerializer(written).data, status=status)


class PlaceView(ApiView):
    @extend_schema(operation_id="remove_place", tags=["places"], responses=PlaceWrittenSerializer)
    def delete(self, request: ApiRequest, place_id: UUID) -> Response:
        """Remove a place; undoing the event restores it."""
        with owned_tx(request.user):
            written = remove_place(id=place_id, now=timezone.now())
        return Response(PlaceWrittenSerializer(written).data)
