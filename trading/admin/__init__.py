from trading.admin import account, market, record, venues, work

__all__ = ["account", "market", "record", "venues", "work"]
