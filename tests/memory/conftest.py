from tests.memory.browsing import client, know, last
from tests.owners import as_trader, stranger, strangers_event, strangers_fact, trader

__all__ = ["as_trader", "client", "know", "last", "stranger", "strangers_event", "strangers_fact", "trader"]
