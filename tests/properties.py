"""How many examples a property is tried with."""

from hypothesis import settings

CI_EXAMPLES = 100  # of the profile `ci`, for which the properties name their numbers
FEWEST = 10


def examples(in_ci: int) -> int:
    """Return the number of examples for a slow property: as named in CI, scaled by the profile elsewhere."""
    return max(FEWEST, in_ci * settings().max_examples // CI_EXAMPLES)
