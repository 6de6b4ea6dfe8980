import pytest

from trading.account.services import TierUnknown, choose_tier
from trading.skills.queries import experience_tier


def test_tier_is_noted_of_the_owner_in_scope_alone(stranger, as_trader):
    assert experience_tier() is None

    choose_tier(tier="expert")

    stranger.refresh_from_db()
    assert (experience_tier(), stranger.experience_tier) == ("expert", None)


def test_tier_that_is_unknown_is_refused(as_trader):
    with pytest.raises(TierUnknown, match="no tier guru"):
        choose_tier(tier="guru")
