"""What the lines of a strategy mean: terms that closed bars, funding and events make true or false.

Sides are `long` and `short`; an empty side means both. Funding and changes are in percent. Pure.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Literal

from trading.models.choices import WEEKDAYS

Side = Literal["", "long", "short"]
Quantity = Literal[
    "number", "close", "high", "low", "highest close", "lowest close", "mean", "EMA", "band", "range", "RSI", "ADX",
    "volume", "mean volume", "funding", "annual funding", "annual funding size", "change",
]  # fmt: skip
Sign = Literal["above", "below", "crosses above", "crosses below"]


@dataclass(frozen=True, slots=True)
class QuantityKind:
    """What a quantity is: how it is written, what it counts in, and what it becomes with up and down exchanged."""

    words: str  # with {chart}, {bars} and {amount}
    unit: Literal["", "%", "points", "volume"] = ""  # empty: a price
    mirror: Quantity | None = None  # None: itself
    is_numbered: bool = False  # compared with a number, and with nothing else
    turns: bool = False  # as the left side, it is above in one direction and below in the other


QUANTITIES: Final[dict[Quantity, QuantityKind]] = {
    "number": QuantityKind("{amount:g}"),
    "close": QuantityKind("{chart}close", turns=True),
    "high": QuantityKind("{chart}{bars}-bar high", mirror="low"),
    "low": QuantityKind("{chart}{bars}-bar low", mirror="high"),
    "highest close": QuantityKind("{chart}{bars}-bar highest close", mirror="lowest close"),
    "lowest close": QuantityKind("{chart}{bars}-bar lowest close", mirror="highest close"),
    "mean": QuantityKind("{chart}{bars}-bar mean", turns=True),
    "EMA": QuantityKind("{chart}{bars}-bar EMA", turns=True),
    "band": QuantityKind("{chart}{bars}-bar mean {sign} {size:g} deviations"),
    "range": QuantityKind("{share:g}% point of the {chart}{bars}-bar range"),
    "RSI": QuantityKind("{chart}RSI({bars})", "points", is_numbered=True, turns=True),
    "ADX": QuantityKind("{chart}ADX({bars})", "points", is_numbered=True),
    "volume": QuantityKind("{chart}volume", "volume"),
    "mean volume": QuantityKind("{amount:g} x {chart}{bars}-bar mean volume", "volume"),
    "funding": QuantityKind("funding", "%", is_numbered=True, turns=True),
    "annual funding": QuantityKind("annual funding", "%", is_numbered=True, turns=True),
    "annual funding size": QuantityKind("annual funding size", "%"),
    "change": QuantityKind("{chart}{bars}-bar change", "%", turns=True),
}
EXTREMES: Final = frozenset(name for name, kind in QUANTITIES.items() if kind.mirror)  # of bars
_OPPOSITE: Final[dict[Sign, Sign]] = {"above": "below", "crosses above": "crosses below"}
_OPPOSITE.update({below: above for above, below in list(_OPPOSITE.items())})


@dataclass(frozen=True, slots=True)
class Operand:
    """A value at a tick, such as the 55-bar high."""

    what: Quantity
    bars: int = 0
    amount: float = 0.0  # the number; of a band its deviations, of a range its share, of volume how many times
    interval: str = ""  # of the bars; empty: the skill's own

    @property
    def kind(self) -> QuantityKind:
        return QUANTITIES[self.what]

    def __str__(self) -> str:
        amount, sign = self.amount, "+" if self.amount > 0 else "-"
        values = {"amount": amount, "share": 100 * amount, "size": abs(amount), "sign": sign, "bars": self.bars}
        return self.kind.words.format(chart=f"{self.interval} " if self.interval else "", **values)

    def mirrored(self) -> "Operand":
        """Return the operand with up and down exchanged."""
        amount = -self.amount if self.what == "band" else 1 - self.amount if self.what == "range" else self.amount
        return replace(self, what=self.kind.mirror or self.what, amount=amount)


@dataclass(frozen=True, slots=True)
class Compare:
    """One value above or below another, for a number of bars or payments."""

    left: Operand
    sign: Sign
    right: Operand
    times: int = 1
    is_not: bool = False

    def format_right(self) -> str:
        """Return the right side, a number with its unit."""
        return f"{self.right}%" if self.left.kind.unit == "%" else str(self.right)

    def __str__(self) -> str:
        unit = "payments" if "funding" in self.left.what else "bars"
        lasting = f" for {self.times} {unit}" if self.times > 1 else ""
        return f"{self.left} {'not ' if self.is_not else ''}{self.sign} {self.format_right()}{lasting}"

    def mirrored(self) -> "Compare":
        """Return the comparison with up and down exchanged."""
        if not self.left.kind.turns:
            return self
        right = self.right.mirrored()
        if self.left.kind.unit:
            right = replace(right, amount=100 - right.amount if self.left.what == "RSI" else -right.amount)
        return replace(self, left=self.left.mirrored(), sign=_OPPOSITE[self.sign], right=right)


@dataclass(frozen=True, slots=True)
class RegimeIs:
    """The market's regime is one of some, or none of them."""

    names: tuple[str, ...]
    is_not: bool = False

    def __str__(self) -> str:
        return f"regime is {'not ' if self.is_not else ''}{' or '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class InHours:
    """The time of day in UTC, in minutes; the end may be on the next day."""

    start: int
    end: int

    def __str__(self) -> str:
        first, last = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (self.start, self.end))
        return f"time {first}-{last} UTC"


@dataclass(frozen=True, slots=True)
class OnDays:
    """The weekday in UTC; Monday is 0."""

    days: tuple[int, ...]

    def __str__(self) -> str:
        return f"on {' or '.join(WEEKDAYS[day].title() for day in self.days)}"


@dataclass(frozen=True, slots=True)
class NearEvent:
    """A scheduled event is near; no window: on its day in UTC."""

    kinds: tuple[str, ...]  # empty: all
    before: timedelta = timedelta(0)
    after: timedelta = timedelta(0)
    min_importance: float = 0.0

    def __str__(self) -> str:
        names = [kind.upper() if len(kind) < 5 else kind.replace("_", " ") for kind in self.kinds]
        what = " or ".join(names) or ("any important event" if self.min_importance else "any event")
        if not (longest := max(self.before, self.after)):
            return f"on the day of {what}"
        relation = "of" if self.before == self.after else "before" if self.before else "after"
        return f"within {format_span(longest)} {relation} {what}"


Condition = Compare | RegimeIs | InHours | OnDays | NearEvent


def mirror_condition(condition: Condition) -> Condition:
    """Return a condition with up and down exchanged; most have no direction."""
    return condition.mirrored() if isinstance(condition, Compare) else condition


def find_direction(condition: Condition) -> int:
    """Return 1 for up, -1 for down, 0 for a condition without a direction."""
    if not isinstance(condition, Compare) or condition.mirrored() == condition:
        return 0
    return 1 if condition.sign.endswith("above") != condition.is_not else -1


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions that together open, close or forbid a position of a side."""

    act: Literal["entry", "exit", "avoid"]
    side: Side
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        words = {"entry": "", "exit": "exit ", "avoid": "no "}[self.act] + self.side
        head = words.strip() if self.side or self.act != "avoid" else "no entry"
        return f"{head}: {' and '.join(map(str, self.conditions))}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A stop order, or a profit that is taken at a close beyond it."""

    kind: Literal["stop", "target"]
    amount: float  # percent of the entry's price, or average true ranges
    atr_bars: int = 0  # 0: percent

    def __str__(self) -> str:
        unit = f" ATR({self.atr_bars})" if self.atr_bars else "%"
        return f"{self.kind} {self.amount:g}{unit}"


@dataclass(frozen=True, slots=True)
class HeldFor:
    length: timedelta = timedelta(0)
    bars: int = 0

    def __str__(self) -> str:
        bars = f"{self.bars} bar{'' if self.bars == 1 else 's'}"
        return f"exit after {bars if self.bars else format_span(self.length)}"


@dataclass(frozen=True, slots=True)
class Plain:
    """A line without numbers; its words are its meaning."""

    words: Literal["never", "always kept", "exit at the end of the UTC day", "exit on the opposite entry"]

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class RiskPct:
    """What a position may lose at its stop, in percent of equity."""

    amount: float

    def __str__(self) -> str:
        return f"risk {self.amount:g}% of equity to the stop"


Term = Rule | Bound | HeldFor | Plain | RiskPct

NEVER: Final = Plain("never")
KEPT: Final = Plain("always kept")
DAY_END: Final = Plain("exit at the end of the UTC day")
OPPOSITE_ENTRY: Final = Plain("exit on the opposite entry")


def format_span(length: timedelta) -> str:
    """Return a span in whole hours, or in minutes."""
    minutes = length // timedelta(minutes=1)
    return f"{minutes} min" if minutes % 60 else f"{minutes // 60} h"
