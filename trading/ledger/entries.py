"""What a source brings to the record, and what cannot be taken."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from config.lib.errors import DomainError
from trading.ledger.executions import CLOCK_SKEW, EARLIEST, MAX_AMOUNT, QUANTITY_GRAIN, Execution
from trading.ledger.positions import Check, Funding
from trading.ledger.services import EntryConflict


class EntriesRefused(DomainError):
    """Some entries cannot be taken; nothing was imported."""

    def __init__(self, problems: "Sequence[EntryProblem]") -> None:
        self.problems = problems
        more = f" There are {len(problems) - 1} more problems." if len(problems) > 1 else ""
        super().__init__(f"{problems[0].label}: {problems[0].text}.{more}")


@dataclass(frozen=True, slots=True)
class Entries:
    """What one source brings. A problem names the place of an entry in its list, from 0."""

    fills: Sequence[Execution] = ()
    funding: Sequence[Funding] = ()
    openings: Sequence[Check] = ()  # positions entered by hand, with `is_opening`; zero: there was none


@dataclass(frozen=True, slots=True)
class EntryProblem:
    kind: str  # fill, funding or opening
    place: int
    text: str

    @property
    def label(self) -> str:
        return f"{self.kind} {self.place + 1}"


@dataclass(frozen=True, slots=True)
class SymbolStart:
    """How a symbol's trades would begin, and how their profits compare with those that the venue states."""

    symbol: str
    stated_usd: Decimal  # before fees
    found_usd: Decimal  # of the same fills
    agrees: bool | None  # each with each; None: none is stated
    is_in_doubt: bool  # it is the first of the symbol, and nothing proves what was held before
    opening: Check | None  # what was held before at the least, or nothing where nothing tells of it


@dataclass(frozen=True, slots=True)
class IntakePreview:
    problems: Sequence[EntryProblem]
    conflicts: Sequence[EntryConflict]
    new_fills: int
    known_fills: int
    new_funding: int
    known_funding: int
    starts: Sequence[SymbolStart] = ()


@dataclass(frozen=True, slots=True)
class IntakeRecord:
    batch_id: UUID | None  # None: nothing was new and nothing in conflict
    new_fills: int
    known_fills: int
    new_funding: int
    known_funding: int
    openings: int
    unpriced_fees: int  # new fills whose fee has no price in dollars
    opened: int  # trades
    closed: int
    gaps: int  # of the trades that were built again, those with a part of their history missing
    conflicts: Sequence[EntryConflict] = field(default_factory=list)


def find_problems(entries: Entries, *, now: datetime) -> list[EntryProblem]:
    """Return what cannot be taken: future instants, quantities below the precision, numbers out of range."""
    found = []
    lists: dict[str, Sequence[Execution | Funding | Check]] = {
        "fill": entries.fills,
        "funding": entries.funding,
        "opening": entries.openings,
    }
    for kind, rows in lists.items():
        for place, one in enumerate(rows):
            if text := _find_problem(one, now):
                found.append(EntryProblem(kind, place, text))
    return found


def _find_problem(one: Execution | Funding | Check, now: datetime) -> str:
    if one.at.tzinfo is None or one.at < EARLIEST:
        return f"its time, {one.at:%Y-%m-%d %H:%M}, is before 2009 or has no time zone"
    if one.at > now + CLOCK_SKEW:
        return f"its time, {one.at:%Y-%m-%d %H:%M} UTC, lies in the future"
    if isinstance(one, Funding):
        return "" if _fits(one.amount_usd) else "its amount is out of range"
    if not QUANTITY_GRAIN <= one.price < MAX_AMOUNT:
        return "its price must be above zero and in range"
    if not _fits(one.quantity):
        return "its quantity is out of range"
    if not _fits(one.quantity * one.price):
        return "its quantity times its price is out of range"
    if isinstance(one, Check):
        return ""
    if abs(one.quantity) < QUANTITY_GRAIN:
        return f"its quantity, {one.quantity.normalize()}, is below the precision of {QUANTITY_GRAIN:f}"
    if not 0 < len(one.fill_id) <= 120 or one.fill_id.startswith(("gap:", "estimate:", "opening:")):
        return "its id is empty, longer than 120 characters or a name that Keel uses"
    fee = one.fee_in_coin if one.fee_coin else one.fee_usd
    return "" if fee is not None and _fits(fee) else "its fee is missing or out of range"


def _fits(amount: Decimal) -> bool:
    return amount.is_finite() and abs(amount) < MAX_AMOUNT
