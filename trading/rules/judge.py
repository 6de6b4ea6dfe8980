"""Judge round trips by the rules that were valid when they opened. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from config.lib.words.rules import Rule
from trading.rules.books import Background, EquityAt, EventCalendar, LocalDays, RoundTrip, ScheduledEvent, TripBook
from trading.rules.kinds import KINDS, LABELS, Finding, RuleKind, Verdict


@dataclass(frozen=True, slots=True)
class ValidRule:
    """A rule and when it holds; the end is exclusive."""

    id: UUID
    rule: Rule
    valid_from: datetime
    valid_until: datetime | None

    def holds_at(self, at: datetime) -> bool:
        """Tell whether it is valid at an instant."""
        return self.valid_from <= at and (self.valid_until is None or at < self.valid_until)

    @property
    def kind(self) -> RuleKind:
        return KINDS[type(self.rule)]


class Judgement(NamedTuple):
    rule: ValidRule
    trade_id: Any  # of its trip
    verdict: Verdict
    why: str

    @property
    def rule_id(self) -> UUID:
        return self.rule.id

    @property
    def reading(self) -> str:
        return self.rule.rule.describe()

    @property
    def label(self) -> str:
        return LABELS[self.verdict]


def judge_trips(
    trips: Sequence[RoundTrip],
    rules: Sequence[ValidRule],
    *,
    events: Iterable[ScheduledEvent] = (),
    equity_at: EquityAt,
    wanted: Sequence[RoundTrip] | None = None,
) -> list[list[Finding | None]]:
    """Return what each rule says of each trip, or the wanted ones, of whole books; None: it was not valid then."""
    books: dict[str, TripBook] = defaultdict(TripBook)
    for trip in trips:
        books[trip.book].trips.append(trip)
    calendar = EventCalendar(sorted(events, key=lambda event: event.at))
    asked = trips if wanted is None else wanted
    return [
        _judge_each(one, Background(books, LocalDays(getattr(one.rule, "zone", "UTC")), calendar, equity_at), asked)
        for one in rules
    ]


def _judge_each(one: ValidRule, seen: Background, trips: Sequence[RoundTrip]) -> list[Finding | None]:
    holds = [one.valid_from <= trip.opened_at for trip in trips]
    if one.valid_until is not None:
        holds = [has_begun and trip.opened_at < one.valid_until for has_begun, trip in zip(holds, trips, strict=True)]
    rule, judge, alike = one.rule, one.kind.judge, one.kind.alike
    if alike is None:
        return [judge(rule, trip, seen) if is_valid else None for trip, is_valid in zip(trips, holds, strict=True)]
    keys = list(map(alike, trips))
    known = {name: judge(rule, trip, seen) for name, trip in dict(zip(keys, trips, strict=True)).items()}
    return [known[name] if is_valid else None for name, is_valid in zip(keys, holds, strict=True)]
