"""The trader's experience tier and token budget."""

from collections.abc import Collection

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


def set_token_budget(*, tokens: int | None) -> None:
    """Set the owner's tokens per day; None follows the setting."""
    Trader.objects.filter(pk=owner_id()).update(daily_token_budget=tokens)


def skip_first_steps(*, steps: Collection[str]) -> None:
    """Leave first steps out of the owner's page, beside those left out before."""
    row = Trader.objects.select_for_update().get(pk=owner_id())
    row.skipped_steps = sorted({*row.skipped_steps, *steps})
    row.save(update_fields=["skipped_steps"])
