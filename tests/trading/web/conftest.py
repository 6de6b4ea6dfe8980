from tests.trading.browsing import browser_of_trader, made

__all__ = ["browser_of_trader", "made"]
