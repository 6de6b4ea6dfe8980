"""The columns of a list of trades."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from config.lib.figures import (
    format_duration,
    format_price,
    format_ratio,
    format_signed_usd,
    format_usd,
    format_whole_usd,
)
from trading.models import Trade

USUAL_COLUMNS: Final = ("skill", "size", "entry", "exit", "held", "by")


@dataclass(frozen=True, slots=True)
class ListedTrade:
    """A trade with what a list says of it."""

    trade: Trade
    skill_name: str
    is_backtest: bool
    net_fraction: Decimal | None  # of `entry_size_usd`, unlevered (settled 29)
    held: timedelta | None  # None: still open
    multiple: Decimal | None = None  # R; None: no stop is known, or not asked for
    tags: Sequence[str] = ()


class Column(NamedTuple):
    """A column that can be chosen; an empty text is not known."""

    label: str
    write: Callable[[ListedTrade], str]
    is_figure: bool = True


def _write_skill(one: ListedTrade) -> str:
    return f"{one.skill_name}, v{one.trade.skill_version}{', backtest' if one.is_backtest else ''}"


COLUMNS: Final[Mapping[str, Column]] = {
    "skill": Column("Skill", _write_skill, is_figure=False),
    "size": Column("Size", lambda one: format_whole_usd(one.trade.entry_size_usd)),
    "entry": Column("Entry", lambda one: format_price(one.trade.entry_price)),
    "exit": Column("Exit", lambda one: "" if one.trade.exit_price is None else format_price(one.trade.exit_price)),
    "held": Column("Held", lambda one: "Open" if one.held is None else format_duration(one.held)),
    "by": Column("Closed by", lambda one: one.trade.get_exit_kind_display() or "Still held", is_figure=False),
    "regime": Column("Regime", lambda one: one.trade.get_entry_regime_tag_display()),
    "mfe": Column("MFE", lambda one: format_signed_usd(one.trade.mfe_usd) if one.trade.knows_path else ""),
    "mae": Column("MAE", lambda one: format_signed_usd(one.trade.mae_usd) if one.trade.knows_path else ""),
    "r": Column("R", lambda one: "" if one.multiple is None else format_ratio(float(one.multiple))),
    "fees": Column("Fees", lambda one: format_usd(one.trade.fees_usd)),
    "funding": Column("Funding", lambda one: format_signed_usd(one.trade.funding_usd)),
    "tags": Column("Tags", lambda one: ", ".join(one.tags), is_figure=False),
}


class TradeRow(NamedTuple):
    """A row of the list."""

    trade: Trade
    cells: list[tuple[Column, str]]
    net_fraction: Decimal | None


def build_rows(listed: Sequence[ListedTrade], columns: Collection[str] = USUAL_COLUMNS) -> list[TradeRow]:
    """Return trades as rows with the chosen columns."""
    chosen = [column for name, column in COLUMNS.items() if name in columns]
    return [TradeRow(one.trade, [(column, column.write(one)) for column in chosen], one.net_fraction) for one in listed]
