"""Join patterns without regard to case."""

import re


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches what any of some do."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)
