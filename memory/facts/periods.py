"""When a fact holds: by the dates given, or else by its words in the owner's time zone."""

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model

from config.lib.owned import owner_id
from config.lib.web import find_time_zone
from memory.claims.validity import ALWAYS, Validity, may_have_dates, read_validity, strip_dates
from memory.models import UserFact
from memory.wording import FactRefused

ENDS_TOO_EARLY: Final = "A fact has to end after it begins: choose a later end or an earlier beginning."


def find_validity(text: str, *, said_at: datetime) -> Validity:
    """Return when a fact holds by its words, said at `said_at`."""
    if not may_have_dates(text):
        return ALWAYS
    return read_validity(text, now=said_at, zone=get_zone())


def format_period(fact: UserFact, *, now: datetime) -> str:
    """Return the beginning of a future fact and the end of any: "until 2027-03-01"."""
    dates = {"from": fact.valid_from if fact.valid_from > now else None, "until": fact.valid_until}
    return " ".join(f"{word} {format_day(at)}" for word, at in dates.items() if at is not None)


def format_day(moment: datetime, zone: ZoneInfo | None = None) -> str:
    """Return the day of an instant in the owner's zone."""
    return f"{moment.astimezone(zone or get_zone()):%Y-%m-%d}"


def get_zone() -> ZoneInfo:
    """Return the owner's time zone."""
    name = get_user_model()._default_manager.values_list("time_zone", flat=True).get(pk=owner_id())
    return find_time_zone(name)


def begin_fact(text: str, given: Validity | None, *, now: datetime) -> dict[str, Any]:
    """Return the dates of a new fact. Raises FactRefused if it would end before it begins."""
    validity = given or find_validity(text, said_at=now)
    begins = validity.begins or now
    refuse_early_end(begins, validity.ends)
    return {"valid_from": begins, "valid_until": validity.ends}


def state_dates(old: UserFact, dates: dict[str, Any]) -> Validity:
    """Return when a statement holds that replaces `old`: not before that fact, unless that one was put off."""
    return Validity(max(dates["valid_from"], min(old.valid_from, old.created_at)), dates["valid_until"])


def begin_learned(text: str, *, said_at: datetime, now: datetime) -> dict[str, datetime | None]:
    """Return the dates of a fact that was said at `said_at` and is learned `now`; it may have ended since."""
    said = find_validity(text, said_at=min(said_at, now))
    has_ended = said.ends is not None and said.ends <= now
    begins = (
        said.begins if said.begins and (said.begins > now or has_ended) else min(said_at, now) if has_ended else now
    )
    return {"valid_from": begins, "valid_until": said.ends}


def change_dates(old: UserFact, text: str, given: Validity | None, *, now: datetime) -> dict[str, Any]:
    """Return the dates that a correction changes, given or in the words of `text`. Raises FactRefused."""
    if given is not None:
        begins = given.begins or max(now, old.valid_from)
        if given.ends is not None and given.ends <= begins:
            begins = given.begins or old.valid_from  # it has ended; so it was true until then
        refuse_early_end(begins, given.ends)
        if given.begins in (None, old.valid_from) and given.ends == old.valid_until:
            return {}
        return {"valid_from": begins, "valid_until": given.ends}
    if text == old.content:
        return {}
    said = find_validity(text, said_at=now)
    if said.is_bounded:
        return {"valid_until": said.ends} | ({"valid_from": said.begins} if said.begins else {})
    had_dates = find_validity(old.content, said_at=old.created_at).is_bounded
    return {"valid_until": None} if had_dates and old.valid_until is not None else {}


def repeat_dates(known: UserFact, text: str, given: Validity | None, *, now: datetime) -> dict[str, Any]:
    """Return the dates that a repetition of a known fact changes; an ended fact holds again."""
    said = given or find_validity(text, said_at=now)
    moment = max(now, known.created_at)
    is_over = known.valid_until is not None and known.valid_until <= moment
    holds = not is_over and known.valid_from <= moment
    begins = said.begins or (known.valid_from if holds else now)
    ends = said.ends if said.is_bounded or is_over else known.valid_until
    dates = {"valid_from": begins, "valid_until": ends}
    return {name: value for name, value in dates.items() if value != getattr(known, name)}


def is_same_but_dates(one: str, other: str) -> bool:
    """Tell whether two texts say the same except when it holds."""
    return strip_dates(one).casefold() == strip_dates(other).casefold()


def refuse_early_end(begins: datetime, ends: datetime | None) -> None:
    """Raise FactRefused for an end before the beginning."""
    if ends is not None and ends <= begins:
        raise FactRefused(ENDS_TOO_EARLY)
