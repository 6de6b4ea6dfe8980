"""Proposals over REST: list, accept, dismiss, reopen."""

from django.db.models import QuerySet

from config.lib.rest.operations import make_act_view, read_pages
from config.lib.rest.views import ApiView
from memory.api.serializers import ProposalQuery, ProposalSerializer
from memory.facts.review import accept_proposal, dismiss_proposal, reopen_proposal
from memory.models import MemoryProposal


class ProposalsView(ApiView):
    @read_pages("list_proposals", "proposals", ProposalSerializer, ProposalQuery)
    def get(self, status: str) -> QuerySet[MemoryProposal]:
        """List proposals, the newest first."""
        return MemoryProposal.objects.filter(status=status)


AcceptView = make_act_view("accept_proposal", "proposals", accept_proposal, ProposalSerializer)
DismissView = make_act_view("dismiss_proposal", "proposals", dismiss_proposal, ProposalSerializer)
ReopenView = make_act_view("reopen_proposal", "proposals", reopen_proposal, ProposalSerializer)
