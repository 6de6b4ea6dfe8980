"""The tokens of the site: what all models took in a day (UTC), and whether the budget lasts.

The door to models counts each call, of chats, agents and jobs alike (`config.lib.observe.meter`). Whoever called a
model then writes down what its process has counted; until then the process itself knows.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from django.conf import settings
from django.db import DatabaseError
from django.db.models import F

from config.lib.observe.meter import is_free, note_tokens, read_tokens, take_tokens
from config.lib.work.models import SiteDay

logger = logging.getLogger(__name__)


def is_used_up(models: Sequence[str], *, now: datetime, tokens: int = 0) -> bool:
    """Tell whether the site's budget does not last for a call with that many tokens, or for any.

    The models of this process itself take nothing of it.
    """
    budget = settings.SITE_DAILY_TOKEN_BUDGET
    if not budget or all(map(is_free, models)):
        return False
    return count_site_tokens(now.date()) + max(tokens, 1) > budget


def count_site_tokens(day: date) -> int:
    """Return the tokens of a day, with those of this process that are not written down."""
    written = SiteDay.objects.filter(day=day).values_list("tokens", flat=True).first()
    return (written or 0) + read_tokens()


def find_next_day(now: datetime) -> datetime:
    """Return when the count begins anew."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def write_site_tokens(day: date) -> None:
    """Write down what this process has counted, outside of transactions: the row is everybody's."""
    tokens = take_tokens()
    if not tokens:
        return
    try:
        SiteDay.objects.get_or_create(day=day)
        SiteDay.objects.filter(day=day).update(tokens=F("tokens") + tokens)
    except DatabaseError as error:  # an answer that was paid for must not be lost with its count
        note_tokens("", tokens)
        logger.warning("The tokens of the site are not written down: %s", type(error).__name__)
