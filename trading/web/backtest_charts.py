"""The charts of a backtest, and two of them side by side."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final
from uuid import UUID

from config.lib.charts.svg import draw_histogram
from config.lib.charts.values import ChartTable, Curve, draw_equity
from config.lib.figures import (
    format_count,
    format_pct,
    format_quantity,
    format_ratio,
    format_signed_pct,
    format_signed_usd,
    format_usd,
)
from config.lib.intervals import median_interval
from trading.market.queries import trace_holding
from trading.record.backtests import BacktestNotFound, ShownBacktest, show_backtests
from trading.record.performance import EquityAt, Performance, compare_days, daily_returns, monthly_returns
from trading.skills.schemas import parse_payload

FEW_TRADES: Final = 30  # below, intervals are wide enough to hide most differences
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def picture_run(shown: ShownBacktest) -> dict[str, object]:
    """Return what the page of a finished backtest draws."""
    run, context = shown.run, parse_payload(shown.run.deployment.version.payload).context
    start = _start(shown)
    held = trace_holding(context.symbols, context.bars_interval, run.starts_at, run.ends_at)
    lines = [Curve("Buy and hold", [(at, start * worth) for at, worth in held.points])] if held.points else []
    nets = [trade.net_usd for trade in shown.record.closed] if shown.record else []
    note = f"Buy and hold of {', '.join(context.symbols)} in equal parts, before costs." if lines else ""
    points = [(point.at, point.equity_usd) for point in shown.curve]
    return {
        "equity": draw_equity(points, compare=lines, start=start, simulated=run.is_simulated, note=note),
        "results": draw_histogram(
            nets, title="Net of its trades", interval=median_interval(nets), empty="No trade of it has closed."
        ),
        "months": _tabulate_months(shown.curve, start),
        "return_fraction": (shown.equity_usd or start) / start - 1,
        # Of buy and hold over the same bars, before costs.
        "held_fraction": held.points[-1][1] - 1 if held.points else None,
        "sources": held.sources,
        "is_small": len(nets) < FEW_TRADES,
    }


def _tabulate_months(points: Iterable[EquityAt], start: Decimal) -> ChartTable:
    returns = monthly_returns(points, start)
    rows = []
    for year in sorted({year for year, _ in returns}, reverse=True):
        own = [returns.get((year, month)) for month in range(1, 13)]
        whole = 1.0
        for value in own:
            whole *= 1 + (value or 0.0)
        rows.append(
            [f"{year}", *("" if one is None else format_signed_pct(one) for one in own), format_signed_pct(whole - 1)]
        )
    return ChartTable(("Year", *MONTHS, "Year’s return"), rows)


def compare_runs(first_id: UUID, second_id: UUID) -> dict[str, object]:
    """Return two backtests side by side. Raises BacktestNotFound."""
    both = show_backtests([first_id, second_id])
    if not all(one.numbers for one in both):
        raise BacktestNotFound("A backtest can be compared once it is over.")
    first, second = ([(point.at, point.equity_usd / _start(shown) * 100) for point in shown.curve] for shown in both)
    names = [f"{one.skill.name} v{one.version.version}" for one in (shown.run.deployment for shown in both)]
    chart = draw_equity(
        first,
        title="Equity, 100 points at the start",
        name=f"First: {names[0]}",
        unit="points",
        compare=[Curve(f"Second: {names[1]}", second)],
        drawdown=False,
        simulated=any(one.run.is_simulated for one in both),
    )
    paired = compare_days(*(daily_returns(one.curve, _start(one)) for one in both))
    low, high = paired.interval or (0.0, 0.0)
    figures, bars = [_describe_figures(one) for one in both], [_describe_bars(one) for one in both]
    return {
        "heads": [(one.run, name) for one, name in zip(both, names, strict=True)],
        "chart": chart,
        "figures": [(name, value, figures[1][name]) for name, value in figures[0].items()],
        "unlike": [name for name, value in bars[0].items() if value != bars[1][name]],
        # Of the mean daily return, the second's less the first's; empty: too few days.
        "days": paired.trades,
        "difference": format_signed_pct(paired.value, 3) if paired.interval and paired.value is not None else "",
        "bounds": f"{format_signed_pct(low, 3)} and {format_signed_pct(high or 0.0, 3)}",
        "is_open": low <= 0 <= (high or 0.0),
    }


def _start(shown: ShownBacktest) -> Decimal:
    start: Decimal = shown.run.deployment.starting_equity_usd
    return start


def _describe_bars(shown: ShownBacktest) -> Mapping[str, object]:
    run, payload = shown.run, parse_payload(shown.run.deployment.version.payload)
    return {
        "days": (run.starts_at, run.ends_at),
        "symbols": sorted(payload.context.symbols),
        "length of the bars": payload.context.bars_interval,
        "market": run.is_simulated,
        "fee": run.fee_bps,
        "slippage": run.slippage_bps,
        "volume limit": run.volume_pct,
        "reflection": run.reflects,
    }


def _describe_figures(shown: ShownBacktest) -> dict[str, str]:
    numbers, run, start = shown.numbers, shown.run, _start(shown)
    unknown, equity = "–", shown.equity_usd or start
    few = "too few to say"
    if numbers is None:
        return {}
    return {
        "Return": format_signed_pct(equity / start - 1),
        "Net of closed trades": format_signed_usd(numbers.net_usd),
        "Closed trades": format_count(numbers.trades),
        "Win rate": few if numbers.win_rate_fraction is None else format_pct(numbers.win_rate_fraction),
        "A trade, about 90%": _span(numbers),
        "Profit factor": unknown if numbers.profit_factor is None else format_ratio(numbers.profit_factor),
        "Sharpe ratio": few if numbers.sharpe is None else format_ratio(numbers.sharpe),
        "Deepest drawdown": unknown if numbers.max_drawdown is None else format_pct(numbers.max_drawdown.fraction),
        "In the market": format_pct(shown.share_held),
        "Fees": format_usd(numbers.fees_usd),
        "Fee and slippage": f"{format_quantity(run.fee_bps)} and {format_quantity(run.slippage_bps)} bps",
        "Decided by": shown.model or unknown,
    }


def _span(numbers: Performance) -> str:
    interval = numbers.expectancy_interval_usd
    if interval is None or interval[1] is None:
        return "too few to say"
    return " to ".join(format_signed_usd(Decimal(str(bound))) for bound in interval)
