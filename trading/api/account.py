"""The signed-in user over REST."""

from config.lib.rest.operations import read
from config.lib.rest.views import ApiView
from trading.api.serializers.account import MeSerializer
from trading.models import Trader


class MeView(ApiView):
    @read("get_me", "me", MeSerializer)
    def get(self) -> Trader:
        """Tell who is signed in."""
        return self.request.user  # type: ignore[return-value]
