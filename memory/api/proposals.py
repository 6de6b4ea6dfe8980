"""Proposals over REST: list, accept, dismiss, reopen."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, answer_page, page_serializer
from memory.api.actions import make_action_view
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


AcceptView = make_action_view("accept", "proposal", accept_proposal, ProposalSerializer)
DismissView = make_action_view("dismiss", "proposal", dismiss_proposal, ProposalSerializer)
ReopenView = make_action_view("reopen", "proposal", reopen_proposal, ProposalSerializer)
