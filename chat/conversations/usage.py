"""The daily token budget: reserve and settle (seed 003).

Call each function inside `owned_tx(user)`. Days are UTC days. Whoever reserves holds the owner's lock
(`config.lib.postgresql.locks`), so that no two turns spend the same tokens. The row of the day is locked last, after
the user and the conversation, or two turns of a user wait for each other.
"""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from chat.conversations.standing import bind_value
from chat.models import Message, UsageDay
from chat.parts import Json
from config.lib.llm.answer import Usage
from config.lib.llm.prices import cost_usd
from config.lib.owned import owner_id
from config.lib.work.spending import write_site_tokens

REPLY_ALLOWANCE: Final = 2_000  # tokens reserved for an answer of unknown length
_RESERVE: Final = """
UPDATE usage_days SET reserved_tokens = reserved_tokens + %s, turns = turns + 1 WHERE user_id = %s AND day = %s
"""
_COLUMNS: Final = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")


def get_daily_budget(budget: int | None) -> int:
    """Return a user's tokens per day; None follows the setting."""
    return settings.DAILY_TOKEN_BUDGET if budget is None else budget


def reserve_tokens(*, tokens: int, now: datetime) -> None:
    """Reserve tokens for a turn."""
    while not _reserve(tokens, now.date()):
        # Work beside a turn may begin the day at the same moment.
        UsageDay.objects.get_or_create(day=now.date())


def _reserve(tokens: int, day: date) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_RESERVE, [tokens, owner_id(), bind_value("day", day, of=UsageDay)])
        return bool(cursor.rowcount)


def settle_tokens(reply: Message, usage: Mapping[str, Any] | None, model: str) -> None:
    """Count a reply's usage in place of the tokens reserved for it."""
    _count_usage(reply.created_at.date(), usage, model, freed=reply.reserved_tokens)


def note_usage(usage: Usage, model: str, *, now: datetime) -> None:
    """Count the usage of a title, summary or review."""
    counted = {name: getattr(usage, name) for name in _COLUMNS}
    UsageDay.objects.get_or_create(day=now.date())
    _count_usage(now.date(), counted, model, freed=0)


def _count_usage(day: date, usage: Mapping[str, Any] | None, model: str, *, freed: int) -> None:
    transaction.on_commit(partial(write_site_tokens, day), robust=True)
    if not usage and not freed:
        return
    used = {name: int((usage or {}).get(name, 0)) for name in _COLUMNS}
    changes: Json = {name: F(name) + count for name, count in used.items()}
    prompt, completion, cached, written = used.values()
    # Zero where the price is not known. The cache saves less than nothing while it was written and not yet read.
    cost = cost_usd(model, Usage(prompt, completion, cached, cache_write_tokens=written)) or Decimal(0)
    uncached = cost_usd(model, Usage(prompt, completion)) or Decimal(0)
    changes |= {"cost_usd": F("cost_usd") + cost, "saved_usd": F("saved_usd") + uncached - cost}
    if freed:
        changes["reserved_tokens"] = Greatest(F("reserved_tokens") - freed, 0)
    UsageDay.objects.filter(day=day).update(**changes)


def get_day(day: date) -> UsageDay:
    """Return the usage of a day, zero if nothing was used."""
    return UsageDay.objects.filter(day=day).first() or UsageDay(day=day)


def list_days(limit: int) -> list[UsageDay]:
    """Return the days with usage, newest first."""
    return list(UsageDay.objects.order_by("-day")[:limit])
