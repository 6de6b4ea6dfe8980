from trading.admin import account, market, record

__all__ = ["account", "market", "record"]
