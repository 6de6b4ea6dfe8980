from tests.chat.conftest import _no_turn_left, model, talk
from tests.owners import as_trader, stranger, trader

__all__ = ["_no_turn_left", "as_trader", "model", "stranger", "talk", "trader"]
