from trading.models.tokens import ApiToken, TokenScope
from trading.models.users import ExperienceTier, Trader

__all__ = ["ApiToken", "ExperienceTier", "TokenScope", "Trader"]
