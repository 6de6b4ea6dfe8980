"""Proposals over REST: list, accept, dismiss, reopen."""

from collections.abc import Callable
from typing import ClassVar
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, answer_page, page_serializer
from memory.api.serializers import ProposalQuery, ProposalSerializer
from memory.facts.review import accept_proposal, dismiss_proposal, reopen_proposal
from memory.models import MemoryProposal


class ProposalsView(ApiView):
    @extend_schema(
        operation_id="list_proposals",
        tags=["proposals"],
        parameters=[ProposalQuery],
        responses=page_serializer(ProposalSerializer),
    )
    def get(self, request: ApiRequest) -> Response:
        """List proposals, the newest first."""
        query = self.query(ProposalQuery)
        rows = MemoryProposal.objects.filter(status=query.pop("status"))
        return answer_page(get_page(rows, by=("-created_at", "id"), **query), ProposalSerializer)


class DecideView(ApiView):
    """A decision about a proposal."""

    decide: ClassVar[Callable[..., MemoryProposal]]

    def post(self, request: ApiRequest, proposal_id: UUID) -> Response:
        with owned_tx(request.user):
            proposal = type(self).decide(proposal_id=proposal_id, now=timezone.now())
        return Response(ProposalSerializer(proposal).data)


def _make_decision_view(name: str, decide: Callable[..., MemoryProposal]) -> type[DecideView]:
    schema = extend_schema(
        operation_id=f"{name}_proposal", tags=["proposals"], request=None, responses=ProposalSerializer
    )
    docstring = (decide.__doc__ or "").partition("\n")[0]
    view = type(f"{name.capitalize()}View", (DecideView,), {"decide": staticmethod(decide), "__doc__": docstring})
    return extend_schema_view(post=schema)(view)


AcceptView = _make_decision_view("accept", accept_proposal)


DismissView = _make_decision_view("dismiss", dismiss_proposal)


ReopenView = _make_decision_view("reopen", reopen_proposal)
