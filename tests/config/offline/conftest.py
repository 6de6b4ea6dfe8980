from tests.chat.conftest import _no_turn_left, _warm, model, talk
from tests.owners import as_trader, stranger, trader

__all__ = ["_no_turn_left", "_warm", "as_trader", "model", "stranger", "talk", "trader"]
