import factory
from factory.django import DjangoModelFactory

from trading.models import Trader


class TraderFactory(DjangoModelFactory):
    """A trader who cannot sign in."""

    class Meta:
        model = Trader

    email = factory.Sequence(lambda number: f"trader{number}@example.com")
    password = "!"  # no password fits
