from trading.models.users import ExperienceTier, Trader

__all__ = ["ExperienceTier", "Trader"]
