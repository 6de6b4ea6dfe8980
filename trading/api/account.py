"""The signed-in user over REST."""

from typing import Any

from config.lib.rest.operations import read
from config.lib.rest.views import ApiView
from trading.api.serializers.account import MeSerializer


class MeView(ApiView):
    @read("get_me", "me", MeSerializer)
    def get(self) -> Any:
        """Tell who is signed in."""
        return self.user
