from tests.owners import as_trader, stranger, trader

__all__ = ["as_trader", "stranger", "trader"]
