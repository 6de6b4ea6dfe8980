from rest_framework import serializers

from config.lib.rest.views import InputSerializer


class EraseInput(InputSerializer):
    """What goes with a fact."""

    with_messages = serializers.BooleanField(
        default=False, help_text="Also the messages that it came from, with the replies to them."
    )
