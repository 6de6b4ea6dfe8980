"""The signed-in user."""

from rest_framework import serializers

from trading.models import Trader


class MeSerializer(serializers.ModelSerializer[Trader]):
    """Who is signed in, as the API tells it."""

    class Meta:
        model = Trader
        fields = ("email", "experience_tier", "time_zone")
        read_only_fields = fields
