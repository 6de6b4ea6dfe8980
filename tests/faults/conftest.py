from tests.chat.conftest import model, talk
from tests.owners import trader

__all__ = ["model", "talk", "trader"]
