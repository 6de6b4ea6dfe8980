"""A planned trade, and its size from risk, stop, leverage and equity. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from config.lib.figures import format_price
from trading.asking.query import QueryRefused, parse_choice, parse_id, parse_symbol
from trading.models import TradeSide

NUMBERS: Final[Mapping[str, str]] = {
    "stop": "Stop price",
    "size_usd": "Size in USD",
    "quantity": "Size in coins",
    "risk_usd": "Risk in USD",
    "risk_pct": "Risk in % of equity",
    "price": "Entry price",
    "leverage": "Leverage, at most",
    "equity_usd": "Equity in USD",
}
PLAN: Final = ("symbol", "side", *NUMBERS, "deployment")  # the words of a plan
_SIZES: Final = {"size_usd", "quantity", "risk_usd", "risk_pct"}
_MOST: Final = Decimal("1e12")
_SIDES: Final = {"buy": "long", "sell": "short"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned trade; `numbers` by their names in NUMBERS."""

    symbol: str
    side: str
    numbers: Mapping[str, Decimal]
    deployment: str = ""  # the id of its account; empty: the own accounts, else all

    @property
    def words(self) -> dict[str, str]:
        """The plan as `parse_plan` reads it, and as an address holds it."""
        words = {
            "symbol": self.symbol,
            "side": self.side,
            **{name: f"{n.normalize():f}" for name, n in self.numbers.items()},
        }
        return words | ({"deployment": self.deployment} if self.deployment else {})


@dataclass(frozen=True, slots=True)
class Sizing:
    """The size of a plan and what it risks; None: not known."""

    size_usd: Decimal | None = None
    quantity: Decimal | None = None
    stop_fraction: Decimal | None = None  # from the price to the stop
    risk_usd: Decimal | None = None  # lost at the stop, without fees and slippage
    risk_fraction: Decimal | None = None  # of the equity
    leverage: Decimal | None = None  # size over equity
    is_capped: bool = False  # by the leverage


def parse_plan(words: Mapping[str, str]) -> Plan:
    """Return the plan that words give. Raises QueryRefused."""
    given = {name: text.strip() for name, text in words.items() if text.strip()}
    if unknown := given.keys() - set(PLAN):
        raise QueryRefused(f'A check takes no "{min(unknown)[:60]}"; it takes {", ".join(PLAN)}.')
    if missing := {"symbol", "side"} - given.keys():
        raise QueryRefused(f"Give the {' and the '.join(sorted(missing))} of the planned trade.")
    if len(_SIZES & given.keys()) > 1:
        raise QueryRefused("Give one of size_usd, quantity, risk_usd and risk_pct; the others follow from it.")
    return Plan(
        parse_symbol(given["symbol"]),
        parse_choice(_SIDES.get(given["side"].lower(), given["side"]), tuple(TradeSide.values), "side"),
        {name: _parse_number(given[name], label) for name, label in NUMBERS.items() if name in given},
        parse_id(given["deployment"]) if "deployment" in given else "",
    )


def _parse_number(text: str, label: str) -> Decimal:
    try:
        number = Decimal(text.removeprefix("$").removesuffix("%").replace(",", ""))
    except InvalidOperation:
        number = Decimal("NaN")
    if not (number.is_finite() and 0 < number <= _MOST) or number.adjusted() < -12:
        raise QueryRefused(f"{label}: {text[:40]!r} is not a number above zero.")
    return number


def size_plan(plan: Plan, *, price: Decimal | None, equity_usd: Decimal | None, limit_usd: Decimal | None) -> Sizing:
    """Return the size of a plan: given, or what loses the risk or `limit_usd` at the stop. Raises QueryRefused."""
    numbers, equity = plan.numbers, equity_usd if equity_usd and equity_usd > 0 else None
    distance = _measure_stop(plan, price)
    risk = numbers.get("risk_usd", limit_usd)
    if "risk_pct" in numbers:
        risk = equity * numbers["risk_pct"] / 100 if equity else None
    size = numbers.get("size_usd") or (risk / distance if risk and distance else None)
    if "quantity" in numbers:
        size = numbers["quantity"] * price if price else None
    most = equity * numbers["leverage"] if equity and "leverage" in numbers else None
    is_capped = size is not None and most is not None and size > most
    size = most if is_capped else size
    risk_usd = size * distance if size is not None and distance else None
    return Sizing(
        size_usd=size,
        quantity=size / price if size is not None and price else None,
        stop_fraction=distance,
        risk_usd=risk_usd,
        risk_fraction=risk_usd / equity if risk_usd is not None and equity else None,
        leverage=size / equity if size is not None and equity else None,
        is_capped=is_capped,
    )


def _measure_stop(plan: Plan, price: Decimal | None) -> Decimal | None:
    """Return the share of the price that is lost at the stop. Raises QueryRefused."""
    stop = plan.numbers.get("stop")
    if stop is None or not price:
        return None
    distance = (price - stop if plan.side == TradeSide.LONG else stop - price) / price
    if distance <= 0:
        place = "below" if plan.side == TradeSide.LONG else "above"
        raise QueryRefused(f"The stop of a {plan.side} must be {place} its price, {format_price(price)}.")
    return distance
