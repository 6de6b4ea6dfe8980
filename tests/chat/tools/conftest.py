from tests.owners import as_trader, strangers_fact

__all__ = ["as_trader", "strangers_fact"]
