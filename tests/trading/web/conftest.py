from tests.trading.browsing import browser_of_trader

__all__ = ["browser_of_trader"]
