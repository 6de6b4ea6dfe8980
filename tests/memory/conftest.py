from hypothesis import settings

from tests.memory.browsing import client, know, last
from tests.owners import as_trader, stranger, strangers_event, strangers_fact, trader

__all__ = ["as_trader", "client", "know", "last", "stranger", "strangers_event", "strangers_fact", "trader"]

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
