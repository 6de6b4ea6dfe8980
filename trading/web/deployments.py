"""Reads of the page of one deployment: its live part, charts and lessons."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from config.lib.charts.svg import Row, Step, draw_intervals, draw_strip
from config.lib.charts.values import Chart, ChartTable, Level, PriceMark, Span, draw_equity, draw_price
from config.lib.figures import (
    format_count,
    format_duration,
    format_pct,
    format_price,
    format_quantity,
    format_signed_usd,
)
from trading.market.candles import read_candles
from trading.market.tape import choose_tape
from trading.models import DecisionSnapshot, Deployment, Order, OrderState, ReflectionNote, Trade, TradeStatus, Verdict
from trading.record.deployment_queries import list_commands, mark_positions
from trading.record.performance import ClosedTrade, measure_mean
from trading.record.trade_queries import AccountRecord

TRADES_SHOWN: Final = 10
TRADES_DRAWN: Final = 100  # of one symbol, the newest
NOTES_DRAWN: Final = 6
_WEEK: Final = timedelta(days=7)
_WAYS: Final[Mapping[str, Literal["kept", "blocked", "failed", "none"]]] = {
    Verdict.ACCEPTED: "kept",
    Verdict.REFUSED: "blocked",
    Verdict.FAILED: "failed",
}


def list_newest(deployment: Deployment) -> tuple[list[Trade], list[Trade]]:
    """Return the open trades, and the newest of all."""
    newest = Trade.objects.filter(deployment=deployment).newest_first()
    rows = Trade.objects.filter(deployment=deployment).filter(
        Q(status=TradeStatus.OPEN) | Q(pk__in=newest.values("pk")[:TRADES_SHOWN])
    )
    found = list(rows.newest_first())
    return [trade for trade in found if trade.status == TradeStatus.OPEN], found[:TRADES_SHOWN]


def read_live(deployment: Deployment, held: Sequence[Trade], now: datetime) -> dict[str, object]:
    """Return positions and commands, and a digest of all that the live part shows."""
    marked, commands = mark_positions([(deployment, held)], now), list_commands(deployment.pk)
    positions = marked.positions[deployment.pk]
    state = deployment.status, deployment.version_id, deployment.skill.latest_version, deployment.last_tick
    halt = deployment.is_halted_at(now), deployment.halted_until, deployment.halt_code
    asked = [(one.pk, one.status, one.outcome) for one in commands]
    shown = [(one.trade.pk, one.trade.quantity, one.mark_price, one.stop_price, one.excursion_usd) for one in positions]
    digest = sha256(repr((state, halt, asked, shown)).encode()).hexdigest()[:16]
    return {"positions": positions, "simulated": marked.simulated, "commands": commands, "digest": digest}


def draw_account(deployment: Deployment, record: AccountRecord, *, is_simulated: bool) -> Chart:
    """Return the equity of a deployment, with its drawdown."""
    return draw_equity(
        [(point.at, point.equity_usd) for point in record.curve],
        start=deployment.starting_equity_usd,
        empty="No equity is on record yet. A point comes with each decision.",
        simulated=is_simulated,
        note=f"{format_count(record.numbers.equity_days, 'day')}, open positions at their mark",
    )


def draw_prices(deployment: Deployment, symbol: str, now: datetime) -> Chart:
    """Return the candles of a symbol, with the entries, exits and stops of its newest trades."""
    trades = list(Trade.objects.filter(deployment=deployment, symbol=symbol).newest_first()[:TRADES_DRAWN])
    until = max((trade.exit_at or now for trade in trades), default=now)
    since = min((trade.entry_at for trade in trades), default=until - _WEEK)
    beside = max((until - since) / 20, timedelta(hours=6))
    candles = read_candles(symbol, since - beside, min(until + beside, now), tape=choose_tape(deployment))
    orders = Order.objects.filter(deployment=deployment, symbol=symbol, stop_price__isnull=False)
    orders = orders.filter(proposed_at__gte=since - _WEEK).exclude(state__in=[OrderState.REFUSED, OrderState.REJECTED])
    stops = list(orders.order_by("proposed_at", "id"))
    trades_drawn = format_count(len(trades), "trade")
    return draw_price(
        candles.bars,
        title=f"{symbol} with entries, exits and stops",
        marks=[mark for trade in trades for mark in list_marks(trade)],
        levels=[level for trade in trades for level in list_levels(trade, stops)],
        spans=[draw_span(trade) for trade in trades],
        empty=f"No bars of {symbol} are stored for this time.",
        simulated=candles.is_simulated,
        note=f"candles of {format_duration(candles.length)}, the newest {trades_drawn}" if candles.bars else "",
    )


def list_marks(trade: Trade) -> list[PriceMark]:
    """Return the entry and the exit of a trade, with their reasons."""
    link, size = reverse("trading:trade", args=[trade.pk]), format_quantity(trade.peak_quantity)
    why = f": {trade.entry_reason}" if trade.entry_reason else ""
    text = f"{trade.get_side_display()} {size} at {format_price(trade.entry_price)}{why}"
    marks = [PriceMark(trade.entry_at, trade.entry_price, "entry", text, trade.side, link)]
    if trade.exit_at and trade.exit_price:
        why = f": {trade.exit_reason}" if trade.exit_reason else ""
        net = format_signed_usd(trade.realized_pnl_usd)
        text = f"Closed by {trade.get_exit_kind_display().lower()} at {format_price(trade.exit_price)}, net {net}{why}"
        marks.append(PriceMark(trade.exit_at, trade.exit_price, "exit", text, trade.side, link))
    return marks


def list_levels(trade: Trade, stops: Iterable[Order]) -> list[Level]:
    """Return the stops of a trade, each until the next or the exit."""
    since = trade.entry_decided_at or trade.entry_at
    own = [one for one in stops if since <= one.proposed_at and (not trade.exit_at or one.proposed_at < trade.exit_at)]
    ends = [*(one.proposed_at for one in own[1:]), trade.exit_at]
    return [
        Level(one.stop_price, max(one.proposed_at, trade.entry_at), end, f"Stop at {format_price(one.stop_price)}")
        for one, end in zip(own, ends, strict=False)
        if one.stop_price is not None
    ]


def draw_span(trade: Trade) -> Span:
    """Return the time in which a trade was held."""
    if trade.exit_at is None:
        return Span(trade.entry_at, None, "open", "still held")
    return Span(trade.entry_at, trade.exit_at, "gain" if trade.realized_pnl_usd > 0 else "loss")


def draw_lessons(deployment: Deployment, notes: Sequence[ReflectionNote], closed: Sequence[ClosedTrade]) -> Chart:
    """Return what a trade came to before and after each lesson, newest first.

    Before: entered in the window that the lesson was drawn from. After: entered while the lesson was in the prompt.
    """
    here, rows = reverse("trading:trades"), []
    for note in sorted(notes, key=lambda one: one.generated_at, reverse=True)[:NOTES_DRAWN]:
        day = f"{timezone.localtime(note.generated_at):%m-%d}"
        later = f"{here}?deployment={deployment.pk}&since={note.generated_at:%Y-%m-%d}"
        for name, link, since, until in (
            ("before", f"{here}?note={note.pk}", note.window_start, note.generated_at),
            ("after", later, note.generated_at, note.superseded_at),
        ):
            nets = [one.net_usd for one in closed if since <= one.opened_at and (not until or one.opened_at < until)]
            mean = measure_mean(nets)
            low, high = mean.interval or (None, None)
            rows.append(Row(f"{day} {name}", mean.value, low, high, mean.trades, link))
    return draw_intervals(
        rows,
        title="Net of a trade before and after each lesson",
        empty="No trade was closed before or after a lesson yet.",
    )


def draw_verdicts(deployment: Deployment, newest: Sequence[DecisionSnapshot]) -> Chart:
    """Return the verdicts on the newest decisions, oldest first."""
    counts = Counter(one.verdict for one in newest)
    steps = [
        Step(
            _WAYS.get(one.verdict, "none"),
            f"Decision {one.tick}: {one.get_verdict_display().lower()} {one.verdict_code}".rstrip(),
            reverse("trading:decision", args=[deployment.pk, one.tick]),
        )
        for one in reversed(newest)
    ]
    rows = [
        [label, format_count(counts[kind]), format_pct(counts[kind] / len(newest))]
        for kind, label in Verdict.choices
        if counts[kind]
    ]
    note = (
        f"Of the newest {len(newest)}: {counts[Verdict.ACCEPTED]} accepted (filled), {counts[Verdict.REFUSED]} refused"
        f" by risk (crosses), {counts[Verdict.FAILED]} failed (triangles), {counts[Verdict.NONE]} without an order."
    )
    return draw_strip(steps, title="Verdicts", table=ChartTable(("Verdict", "Decisions", "Share"), rows), note=note)
