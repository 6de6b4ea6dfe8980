"""What a fact's erasure takes out of chats, over REST."""

from http import HTTPStatus
from uuid import UUID

from rest_framework import serializers

from chat.endings.erasure import erase_fact
from config.lib.rest.operations import write
from config.lib.rest.views import ApiView, InputSerializer


class EraseInput(InputSerializer):
    """What goes with a fact."""

    with_messages = serializers.BooleanField(
        default=False, help_text="Also the messages that it came from, with the replies to them."
    )


class EraseFactView(ApiView):
    @write("erase_fact", "facts", None, EraseInput, status=HTTPStatus.NO_CONTENT)
    def post(self, fact_id: UUID, with_messages: bool) -> None:
        """Erase a trashed fact everywhere, chats included. This cannot be undone."""
        erase_fact(fact_id=fact_id, with_messages=with_messages)
