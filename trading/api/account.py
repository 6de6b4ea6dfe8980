"""The signed-in user over REST."""

from typing import Any

from config.lib.rest.operations import read
from config.lib.rest.views import ApiView
from trading.api.fields import ExactRowSerializer
from trading.models import Trader


class MeSerializer(ExactRowSerializer):
    """Who is signed in, as the API tells it."""

    class Meta:
        model = Trader
        fields = ("email", "experience_tier", "time_zone")


class MeView(ApiView):
    @read("get_me", MeSerializer)
    def get(self) -> Any:
        """Tell who is signed in."""
        return self.user
