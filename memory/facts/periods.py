"""A line that is to be stored, and when it holds: by the dates given, or else by its words in the owner's zone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model

from config.lib.fields import content_key
from config.lib.owned import owner_id
from config.lib.web import find_time_zone
from memory.claims.subjects import read_subject
from memory.claims.validity import ALWAYS, Validity, may_have_dates, read_validity, strip_dates
from memory.models import UserFact
from memory.wording import FactRefused, parse_content

ENDS_TOO_EARLY: Final = "A fact has to end after it begins: choose a later end or an earlier beginning."


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact's text with all that a write has to know of it."""

    text: str  # one line, as it is stored
    key: str  # of its normal form: equal lines have equal keys
    subject: str  # finds the facts that it may exclude
    said: Validity  # when it holds: as given, else by its words


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time (aware UTC; the end is exclusive, None: no end)."""

    begins: datetime
    ends: datetime | None

    @classmethod
    def of(cls, fact: UserFact) -> Self:
        """Return when a fact holds."""
        return cls(fact.valid_from, fact.valid_until)

    @property
    def columns(self) -> dict[str, Any]:
        return {"valid_from": self.begins, "valid_until": self.ends}

    def overlaps(self, other: "Period") -> bool:
        """Tell whether some moment is in both periods."""
        return (self.ends is None or other.begins < self.ends) and (other.ends is None or self.begins < other.ends)

    def cut(self, other: "Period") -> "Period | None":
        """Return what is left of this period without another one (SQL:2011, "for portion of").

        A text holds once (settled 5), so of the parts before and after the other period only the first is left.
        """
        if self.begins < other.begins:
            return Period(self.begins, min(other.begins, self.ends or other.begins))
        if other.ends is None or (self.ends is not None and self.ends <= other.ends):
            return None
        return Period(max(self.begins, other.ends), self.ends)


def read_statement(content: str, *, given: Validity | None = None, said_at: datetime) -> Statement:
    """Read a line that was said at `said_at`; dates `given` prevail. Raises FactRefused (length, secret)."""
    text = parse_content(content)
    return Statement(text, content_key(text), read_subject(text).key, given or find_validity(text, said_at=said_at))


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


def begin_fact(statement: Statement, *, said_at: datetime, now: datetime) -> Period:
    """Return the period of a new fact, which may have ended since it was said. Raises FactRefused (no end before)."""
    said = statement.said
    has_ended = said.ends is not None and said.ends <= now
    begins = said.begins or (min(said_at, now) if has_ended else now)
    refuse_early_end(begins, said.ends)
    return Period(begins, said.ends)


def change_dates(old: UserFact, statement: Statement, given: Validity | None, *, now: datetime) -> dict[str, Any]:
    """Return the dates that a correction changes, given or in its words. Raises FactRefused."""
    if given is not None:
        begins = given.begins or max(now, old.valid_from)
        if given.ends is not None and given.ends <= begins:
            begins = given.begins or old.valid_from  # it has ended; so it was true until then
        refuse_early_end(begins, given.ends)
        if given.begins in (None, old.valid_from) and given.ends == old.valid_until:
            return {}
        return Period(begins, given.ends).columns
    if statement.text == old.content:
        return {}
    if statement.said.is_bounded:
        starts = {"valid_from": statement.said.begins} if statement.said.begins else {}
        return {"valid_until": statement.said.ends, **starts}
    had_dates = find_validity(old.content, said_at=old.created_at).is_bounded
    return {"valid_until": None} if had_dates and old.valid_until is not None else {}


def repeat_dates(known: UserFact, said: Validity, *, now: datetime) -> dict[str, Any]:
    """Return the dates that a repetition of a known fact changes; an ended fact holds again."""
    is_over = known.is_over(now)
    begins = said.begins or (known.valid_from if known.is_valid_at(now) else now)
    dates = Period(begins, said.ends if said.is_bounded or is_over else known.valid_until).columns
    return {name: value for name, value in dates.items() if value != getattr(known, name)}


def is_same_but_dates(one: str, other: str) -> bool:
    """Tell whether two texts say the same except when it holds."""
    return strip_dates(one).casefold() == strip_dates(other).casefold()


def refuse_early_end(begins: datetime, ends: datetime | None) -> None:
    """Raise FactRefused for an end before the beginning."""
    if ends is not None and ends <= begins:
        raise FactRefused(ENDS_TOO_EARLY)
