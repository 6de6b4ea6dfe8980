from trading.admin import market, record, work

__all__ = ["market", "record", "work"]
