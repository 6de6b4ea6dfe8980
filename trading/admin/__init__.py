from trading.admin import account, market, record, work

__all__ = ["account", "market", "record", "work"]
