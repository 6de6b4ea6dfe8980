"""The columns of a list of trades."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final, NamedTuple
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
from trading.asking.table import measure_multiple
from trading.models import Trade

USUAL_COLUMNS: Final = ("skill", "size", "entry", "exit", "held", "by")


@dataclass(frozen=True, slots=True)
class ListedTrade:
    """A trade as a row of a list."""

    trade: Trade
    columns: "Sequence[Column]"
    multiple: float | None = None  # R; None: no stop is known, or not asked for
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


def get_net_fraction(trade: Trade) -> Decimal | None:
    """Return the net as a share of `entry_size_usd`, unlevered (settled 29)."""
    return trade.realized_pnl_usd / trade.entry_size_usd if trade.entry_size_usd else None


def get_holding_time(trade: Trade) -> timedelta | None:
    """Return how long a trade was held, None while it is open."""
    return None if trade.holding_minutes is None else timedelta(minutes=float(trade.holding_minutes))


def _write_skill(one: ListedTrade) -> str:
    is_backtest = getattr(one.trade, "is_backtest", False)  # of `trade_queries.name_owners`
    return f"{one.trade.skill.name}, v{one.trade.skill_version}{', backtest' if is_backtest else ''}"


def _write_share(one: ListedTrade) -> str:
    share = get_net_fraction(one.trade)
    return "" if share is None else format_signed_pct(share)


def _write_held(one: ListedTrade) -> str:
    held = get_holding_time(one.trade)
    return "Open" if held is None else format_duration(held)


COLUMNS: Final[Mapping[str, Column]] = {
    "skill": Column("Skill", _write_skill, is_figure=False),
    "size": Column("Size", lambda one: format_whole_usd(one.trade.entry_size_usd)),
    "entry": Column("Entry", lambda one: format_price(one.trade.entry_price)),
    "exit": Column("Exit", lambda one: "" if one.trade.exit_price is None else format_price(one.trade.exit_price)),
    "held": Column("Held", _write_held),
    "by": Column("Closed by", lambda one: one.trade.get_exit_kind_display() or "Still held", is_figure=False),
    "share": Column("Of its size", _write_share),
    "regime": Column("Regime", lambda one: one.trade.get_entry_regime_tag_display()),
    "mfe": Column("MFE", lambda one: format_signed_usd(one.trade.mfe_usd) if one.trade.knows_path else ""),
    "mae": Column("MAE", lambda one: format_signed_usd(one.trade.mae_usd) if one.trade.knows_path else ""),
    "r": Column("R", lambda one: "" if one.multiple is None else format_ratio(one.multiple)),
    "fees": Column("Fees", lambda one: format_usd(one.trade.fees_usd)),
    "funding": Column("Funding", lambda one: format_signed_usd(one.trade.funding_usd)),
    "tags": Column("Tags", lambda one: ", ".join(one.tags), is_figure=False),
}


def build_rows(
    trades: Sequence[Trade],
    columns: Collection[str] = USUAL_COLUMNS,
    *,
    stops: Mapping[UUID, Decimal] | None = None,
    tags: Mapping[UUID, Sequence[str]] | None = None,
) -> list[ListedTrade]:
    """Return trades as rows with the chosen columns."""
    chosen = [column for name, column in COLUMNS.items() if name in columns]
    return [
        ListedTrade(trade, chosen, get_multiple(trade, stops or {}), (tags or {}).get(trade.pk, ())) for trade in trades
    ]


def get_multiple(trade: Trade, stops: Mapping[UUID, Decimal]) -> float | None:
    """Return a closed trade's R multiple, None without a stop."""
    stop = stops.get(trade.entry_snapshot_id) if trade.entry_snapshot_id and trade.exit_at else None
    net, size, price = float(trade.realized_pnl_usd), float(trade.entry_size_usd), float(trade.entry_price)
    return measure_multiple(net, size, price, trade.side, None if stop is None else float(stop))
