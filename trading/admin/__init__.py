from trading.admin import account, invitations, market, record, work

__all__ = ["account", "invitations", "market", "record", "work"]
