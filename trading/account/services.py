"""The trader's experience tier."""

from config.lib.errors import DomainError
from config.lib.owned import owner_id
from trading.models import ExperienceTier, Trader


class TierUnknown(DomainError):
    """There is no such tier of experience."""


def choose_tier(*, tier: str) -> None:
    """Set the owner's experience tier. Raises TierUnknown."""
    if tier not in ExperienceTier.values:
        raise TierUnknown(f"There is no tier {tier}. Take one of {', '.join(ExperienceTier.values)}.")
    Trader.objects.filter(pk=owner_id()).update(experience_tier=tier)
