"""The signed-in user."""

from trading.api.serializers.fields import RowSerializer
from trading.models import Trader


class MeSerializer(RowSerializer):
    """Who is signed in, as the API tells it."""

    class Meta:
        model = Trader
        fields = ("email", "experience_tier", "time_zone")
