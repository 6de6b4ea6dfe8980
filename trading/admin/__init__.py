from trading.admin import account, market, record, venues

__all__ = ["account", "market", "record", "venues"]
