"""What the engine refuses, whatever the agent says. Pure.

An order that only reduces a position is never refused for a cap: less risk is always allowed. Like a venue, it refuses
a stop on the wrong side of the price, margin above the equity, and a reduction below the smallest order that leaves
something held.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final

from config.lib.figures import format_pct, format_usd
from trading.skills.schemas import ProposedOrder, RiskCaps

MIN_SIZE_USD: Final = Decimal(10)
ZERO: Final = Decimal(0)


class RiskCode(StrEnum):
    """Why an order is refused; the agent sees it next tick."""

    HALTED = "R1_HALTED"
    SYMBOL = "R2_SYMBOL"
    POSITION_CAP = "R3_POSITION_CAP"
    TOTAL_EXPOSURE = "R4_TOTAL_EXPOSURE"
    LEVERAGE = "R5_LEVERAGE"
    DAILY_LOSS_HALT = "R6_DAILY_LOSS_HALT"
    MAX_ORDERS = "R7_MAX_ORDERS"
    MIN_SIZE = "R8_MIN_SIZE"
    STOP_SIDE = "R9_STOP_SIDE"


@dataclass(frozen=True, slots=True)
class RiskAccount:
    equity_usd: Decimal
    day_start_equity_usd: Decimal  # at 00:00 UTC, or when it began
    positions: Mapping[str, Decimal] = field(default_factory=dict)  # signed quantities
    marks: Mapping[str, Decimal] = field(default_factory=dict)
    leverages: Mapping[str, Decimal] = field(default_factory=dict)  # of positions; 1 if it is not given
    orders_today: int = 0  # accepted since 00:00 UTC
    is_halted: bool = False

    def notional_usd(self, symbol: str) -> Decimal:
        """Return a position's signed notional at its mark."""
        quantity = self.positions.get(symbol, ZERO)
        return quantity * self.marks[symbol] if quantity else ZERO

    def margin_usd(self, symbol: str) -> Decimal:
        """Return what a position takes of the equity."""
        return abs(self.notional_usd(symbol)) / self.leverages.get(symbol, 1)


@dataclass(frozen=True, slots=True)
class RiskVerdict:
    """The result of the risk check; no code: accepted."""

    code: RiskCode | None = None
    text: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.code is None


ACCEPTED: Final = RiskVerdict()


def check_order(order: ProposedOrder, *, account: RiskAccount, caps: RiskCaps, symbols: Collection[str]) -> RiskVerdict:
    """Return the first rule that an order breaks, or ACCEPTED."""
    if order.symbol not in symbols and not account.positions.get(order.symbol):
        return RiskVerdict(RiskCode.SYMBOL, f"{order.symbol} is not among this skill's symbols: {', '.join(symbols)}")
    if not account.marks.get(order.symbol):
        return RiskVerdict(RiskCode.SYMBOL, f"{order.symbol} has no price now")
    held = account.notional_usd(order.symbol)
    size = order.size_usd or ZERO
    if order.side == "close":
        if not held:
            return RiskVerdict(RiskCode.MIN_SIZE, f"there is no {order.symbol} position to close")
        return _check_reduction(size, ZERO if order.size_usd is None or size >= abs(held) else held)
    after = held + (size if order.side == "long" else -size)
    if refusal := _refusal_of_stop(order, after, account.marks[order.symbol]):
        return refusal
    if abs(after) <= abs(held) and after * held >= 0:
        return _check_reduction(size, after)
    refusal = _refusal_of_risk(order, after, account, caps, symbols)
    return refusal or _refusal_of_margin(order, after, account) or ACCEPTED


def _check_reduction(size: Decimal, after: Decimal) -> RiskVerdict:
    """Check the size of a reduction; closing all is always possible."""
    if not after or size >= MIN_SIZE_USD:
        return ACCEPTED
    text = f"{format_usd(size)} is below the smallest order, {format_usd(MIN_SIZE_USD)}; close all of it instead"
    return RiskVerdict(RiskCode.MIN_SIZE, text)


def _refusal_of_stop(order: ProposedOrder, after: Decimal, mark: Decimal) -> RiskVerdict | None:
    """Return why a stop is refused; `after`: the symbol's signed notional once filled."""
    stop = order.stop_price
    if stop is None or not after or (stop < mark if after > 0 else stop > mark):
        return None
    side = "below" if after > 0 else "above"
    return RiskVerdict(RiskCode.STOP_SIDE, f"a stop at {stop:f} must be {side} the price, {mark:f}")


def _refusal_of_margin(order: ProposedOrder, after: Decimal, account: RiskAccount) -> RiskVerdict | None:
    """Return why an order's leverage is refused; `after` as above."""
    held = account.notional_usd(order.symbol)
    kept, margin = (abs(held), account.margin_usd(order.symbol)) if held * after > 0 else (ZERO, ZERO)
    others = (account.margin_usd(symbol) for symbol in account.positions if symbol != order.symbol)
    margin += sum(others, (abs(after) - kept) / order.leverage)
    if margin <= account.equity_usd:
        return None
    told = f"all margin would be {format_usd(margin)}, above the equity, {format_usd(account.equity_usd)}"
    return RiskVerdict(RiskCode.LEVERAGE, f"at leverage {order.leverage:f} {told}")


def _refusal_of_risk(
    order: ProposedOrder, after: Decimal, account: RiskAccount, caps: RiskCaps, symbols: Collection[str]
) -> RiskVerdict | None:
    """Return a refusal's reason; `after`: the notional once filled."""
    equity = account.equity_usd
    others = sum((abs(account.notional_usd(symbol)) for symbol in account.positions if symbol != order.symbol), ZERO)
    rules = (
        (account.is_halted, RiskCode.HALTED, "this deployment is halted; positions may only be reduced"),
        (order.symbol not in symbols, RiskCode.SYMBOL, f"{order.symbol} is held, but no longer one of the symbols"),
        (
            abs(after) > equity * caps.max_position_pct / 100,
            RiskCode.POSITION_CAP,
            f"{order.symbol} would be {format_usd(abs(after))}, above {_format_limit(caps.max_position_pct, equity)}",
        ),
        (
            abs(after) + others > equity * caps.max_total_exposure_pct / 100,
            RiskCode.TOTAL_EXPOSURE,
            f"all positions would be {format_usd(abs(after) + others)},"
            f" above {_format_limit(caps.max_total_exposure_pct, equity)}",
        ),
        (
            order.leverage > caps.max_leverage,
            RiskCode.LEVERAGE,
            f"leverage {order.leverage:f} is above the limit of {caps.max_leverage:f}",
        ),
        (
            account.day_start_equity_usd - equity >= account.day_start_equity_usd * caps.daily_loss_halt_pct / 100,
            RiskCode.DAILY_LOSS_HALT,
            f"the account lost {format_usd(account.day_start_equity_usd - equity)} since 00:00 UTC; the limit is"
            f" {_format_limit(caps.daily_loss_halt_pct, account.day_start_equity_usd)}",
        ),
        (
            account.orders_today >= caps.max_orders_per_day,
            RiskCode.MAX_ORDERS,
            f"{account.orders_today} orders today; the limit is {caps.max_orders_per_day}",
        ),
        (
            (order.size_usd or ZERO) < MIN_SIZE_USD,
            RiskCode.MIN_SIZE,
            f"{format_usd(order.size_usd or ZERO)} is below the smallest order, {format_usd(MIN_SIZE_USD)}",
        ),
    )
    return next((RiskVerdict(code, text) for is_broken, code, text in rules if is_broken), None)


def _format_limit(share_pct: Decimal, equity: Decimal) -> str:
    return f"{format_pct(share_pct / 100)} of equity, {format_usd(equity * share_pct / 100)}"
