"""The columns of a list of trades."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from config.lib.figures import (
    format_duration,
    format_price,
    format_ratio,
    format_signed_pct,
    format_signed_usd,
    format_usd,
    format_whole_usd,
)
from trading.models import Trade
from trading.record.trade_values import TradeValues

V = TypeVar("V")
USUAL_COLUMNS: Final = ("skill", "size", "entry", "exit", "held", "by")


@dataclass(frozen=True, slots=True)
class ListedTrade(TradeValues):
    """A trade as a row of a list."""

    columns: "Sequence[Column]" = ()
    tags: Sequence[str] = ()

    @property
    def cells(self) -> "list[tuple[Column, str]]":
        """The chosen columns with their texts."""
        return [(column, column.write(self)) for column in self.columns]


class Column(NamedTuple):
    """A column that can be chosen; an empty text is not known."""

    label: str
    write: Callable[[ListedTrade], str]
    is_figure: bool = True


def _write_skill(one: ListedTrade) -> str:
    is_backtest = getattr(one.trade, "is_backtest", False)  # of `trade_queries.name_owners`
    return f"{one.trade.skill.name}, v{one.trade.skill_version}{', backtest' if is_backtest else ''}"


def _write(amount: V | None, write: Callable[[V], str], *, unknown: str = "") -> str:
    return unknown if amount is None else write(amount)


COLUMNS: Final[Mapping[str, Column]] = {
    "skill": Column("Skill", _write_skill, is_figure=False),
    "size": Column("Size", lambda one: format_whole_usd(one.trade.entry_size_usd)),
    "entry": Column("Entry", lambda one: format_price(one.trade.entry_price)),
    "exit": Column("Exit", lambda one: _write(one.trade.exit_price, format_price)),
    "held": Column("Held", lambda one: _write(one.held, format_duration, unknown="Open")),
    "by": Column("Closed by", lambda one: one.trade.get_exit_kind_display() or "Still held", is_figure=False),
    "share": Column("Of its size", lambda one: _write(one.net_fraction, format_signed_pct)),
    "regime": Column("Regime", lambda one: one.trade.get_entry_regime_tag_display()),
    "mfe": Column("MFE", lambda one: _write(one.mfe_usd, format_signed_usd)),
    "mae": Column("MAE", lambda one: _write(one.mae_usd, format_signed_usd)),
    "r": Column("R", lambda one: _write(one.multiple, format_ratio)),
    "fees": Column("Fees", lambda one: format_usd(one.trade.fees_usd)),
    "funding": Column("Funding", lambda one: format_signed_usd(one.trade.funding_usd)),
    "tags": Column("Tags", lambda one: ", ".join(one.tags), is_figure=False),
}


def build_rows(
    trades: Sequence[Trade],
    columns: Collection[str] = USUAL_COLUMNS,
    *,
    prices: Mapping[UUID, Decimal] | None = None,
    stops: Mapping[Any, Decimal] | None = None,
    tags: Mapping[UUID, Sequence[str]] | None = None,
) -> list[ListedTrade]:
    """Return trades as rows with the chosen columns; prices and tags are by trade, stops by the decision to enter."""
    chosen = [column for name, column in COLUMNS.items() if name in columns]
    prices, stops, tags = prices or {}, stops or {}, tags or {}
    return [
        ListedTrade(one, prices.get(one.pk), stops.get(one.entry_snapshot_id), chosen, tags.get(one.pk, ()))
        for one in trades
    ]
