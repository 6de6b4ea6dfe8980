import factory
from factory.django import DjangoModelFactory

from tests.factories.memory import MAY
from trading.models import StaffEntry, Trader


class TraderFactory(DjangoModelFactory):
    """A trader who cannot sign in."""

    class Meta:
        model = Trader

    email = factory.Sequence(lambda number: f"trader{number}@example.com")
    password = "!"  # no password fits


class StaffEntryFactory(DjangoModelFactory):
    """A look at a user's rows by a staff member whose account is gone."""

    class Meta:
        model = StaffEntry

    staff_id = 2**40
    act = "open"
    subject = "trader 1"
    reason = "the user asked for help"
    created_at = MAY
