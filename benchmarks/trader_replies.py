# ruff: noqa: E501  each sentence stays on its line
"""More sentences about the results of each tool, with sums over the rows that they list; every figure is true.

Those of NARRATED were looked at while the checks were tuned, those of NOTED were not.
"""

from collections.abc import Iterator

from benchmarks.tool_replies import Row, Write, clock, day, list_positions, total
from tests.chat.grounding.replies import pct, price, signed, span, usd, whole


def _list_judged(result: Row) -> list[Row]:
    return [row for row in result["news"] if row["sentiment"] is not None]


# --- Looked at while tuning ---


def narrate_deployments(result: Row) -> Iterator[str]:
    rows, held = result["deployments"], list_positions(result)
    for row in rows:
        yield f"{row['skill_name']} (v{row['version']}) has {row['closed_trades']} closed trades behind it and sits at {signed(row['net_pnl_usd'])}."
    if len(rows) > 1:
        best = max(rows, key=lambda row: float(row["net_pnl_usd"]))
        yield f"Of your {len(rows)} agents {best['skill_name']} does better, with {signed(best['net_pnl_usd'])}."
    for row in held:
        yield f"Your {row['side']} in {row['symbol']} was opened at {clock(row['entry_at'])} UTC on {day(row['entry_at'])} for {price(row['entry_price'])}; at {price(row['mark_price'])} it shows {signed(row['unrealised_pnl_usd'])}."


def narrate_trades(result: Row) -> Iterator[str]:
    rows = result.get("trades", [])
    for count in (3, 4):
        if len(rows) >= count:
            listed = "\n".join(
                f"- {row['symbol']} {row['side']}, out on {day(row['exit_at'])}: {signed(row['net_pnl_usd'])}"
                for row in rows[:count]
            )
            yield f"The last {count} trades:\n\n{listed}\n\nTogether: {signed(total(rows[:count], 'net_pnl_usd'))}."
    for row in rows[3:6]:
        yield f"You went {row['side']} on {row['symbol']} at {price(row['entry_price'])} with {usd(row['size_usd'])}; it ran {pct(row['mfe_pct'], 2)} in your favour and {pct(row['mae_pct'], 2)} against you before it closed at {price(row['exit_price'])} for {signed(row['net_pnl_usd'])}."
    if len(rows) > 4:
        lost = [row for row in rows[:5] if row["net_pnl_usd"] < 0]
        yield f"{len(lost)} of the last 5 lost money."


def narrate_answer(result: Row) -> Iterator[str]:
    if result.get("unit") != "usd" or result.get("value") is None:
        return
    groups = [row for row in result.get("groups", []) if "group" in row]
    if len(groups) > 2:
        listed = ", ".join(f"{row['group']} {signed(row['value'])}" for row in groups[:3])
        yield f"{listed}: that makes {signed(total(groups[:3], 'value'))} in total."
    for row in groups:
        if row.get("mean") is not None:
            yield f"**{row['group']}** did {row['n']} trades at {signed(row['mean'])} each, {signed(row['value'])} overall."
    yield f"All {result['n']} trades count, and the figure is {signed(result['value'])}."


def narrate_check(result: Row) -> Iterator[str]:
    if "check" in result:
        row = result["check"]
        yield f"Going {row['side']} {row['symbol']} at {price(row['price'])} with the stop {pct(row['stop_distance_pct'])} off risks {usd(row['risk_usd'])}, which is {pct(row['risk_pct'])} of {usd(row['equity_usd'])}."
        yield f"Size: {usd(row['size_usd'])}, or {row['quantity']:g} {row['symbol']}, at {row['leverage']:g}x."


def narrate_events(result: Row) -> Iterator[str]:
    for row in result["events"]:
        yield f"On {day(row['scheduled_at'])}, {clock(row['scheduled_at'])} UTC, comes {row['title']} (weight {row['importance']:.2f})."
    yield f"I looked {result['lookahead_hours']} hours ahead and found {len(result['events'])} events."


def narrate_markets(result: Row) -> Iterator[str]:
    for row in result["markets"]:
        yield f"{row['symbol']} trades at {price(row['last_price'])}; over 24 hours it moved {row['change_24h_pct']:+.1f}%, the basis is {row['basis_pct']:.3f}% and realised volatility {row['realised_vol_pct']:.1f}%."


def narrate_news(result: Row) -> Iterator[str]:
    for row in _list_judged(result):
        yield f"“{row['headline']}” came out at {clock(row['published_at'])} UTC on {day(row['published_at'])}; its sentiment is {row['sentiment']:.1f}."


def narrate_skills(result: Row) -> Iterator[str]:
    for row in result["skills"]:
        if run := row["last_simulation"]:
            yield f"The backtest of {row['name']} covers {day(run['starts_at'])} to {day(run['ends_at'])}, {run['closed_trades']} trades, {signed(run['net_pnl_usd'])} net."


def narrate_record(result: Row) -> Iterator[str]:
    for mode, row in result.get("summary", {}).items():
        if row and row["sample_size"]:
            yield f"{mode.capitalize()}: {row['sample_size']} trades, {row['wins']} wins ({pct(row['win_rate_pct'])}), profit factor {row['profit_factor']:.2f}, deepest drawdown {pct(row['max_drawdown_pct'], 2)}."
            yield f"Before costs it made {signed(row['gross_pnl_usd'])}; {usd(row['fees_usd'])} went to fees, funding was {signed(row['funding_usd'])}, so {signed(row['net_pnl_usd'])} is left."


# --- Not looked at ---


def note_deployments(result: Row) -> Iterator[str]:
    rows, held = result["deployments"], list_positions(result)
    yield f"I see {sum(row['open_positions'] for row in rows)} open positions in {len(rows)} deployments."
    for row in rows:
        told = f"- {row['skill_name']}: {signed(row['net_pnl_usd'])}"
        if at := row["last_decision_at"]:
            told += f" after {row['closed_trades']} trades, last decision at {clock(at)} UTC"
        yield told
    for row in held:
        yield f"{row['symbol']} {row['side']} | {whole(row['size_usd'])} | {price(row['entry_price'])} → {price(row['mark_price'])} | {signed(row['unrealised_pnl_usd'])}"


def note_trades(result: Row) -> Iterator[str]:
    rows = result.get("trades", [])
    if len(rows) >= 5:
        listed = "\n".join(
            f"{place}. {row['symbol']} {row['side']} {signed(row['net_pnl_usd'])} ({pct(row['net_pnl_pct'], 2)})"
            for place, row in enumerate(rows[:5], start=1)
        )
        yield f"{listed}\n\nIn total {signed(total(rows[:5], 'net_pnl_usd'))} over these 5 trades."
    if len(rows) >= 3:
        values = [signed(row["net_pnl_usd"]) for row in rows[:3]]
        yield f"Your most recent results were {values[0]}, {values[1]} and {values[2]}, altogether {signed(total(rows[:3], 'net_pnl_usd'))}."
    for row in rows[5:8]:
        yield f"{day(row['exit_at'])}: {row['symbol']} {row['side']} closed after {span(row['holding_minutes'])} with {signed(row['net_pnl_usd'])}, {pct(row['net_pnl_pct'], 2)} of its size of {usd(row['size_usd'])}."


def note_answer(result: Row) -> Iterator[str]:
    if result.get("unit") != "usd" or result.get("value") is None:
        return
    groups = [row for row in result.get("groups", []) if "group" in row]
    if len(groups) > 2:
        listed = "\n".join(f"| {row['group']} | {row['n']} | {signed(row['value'])} |" for row in groups)
        yield f"{listed}\n| Sum of the {len(groups)} groups | {sum(row['n'] for row in groups)} | {signed(total(groups, 'value'))} |"
    if worst := result.get("worst"):
        yield f"Without the {worst['symbol']} {worst['side']} of {day(worst['entry_at'])}, which cost {usd(abs(worst['value']))}, it would look better."
    if result.get("mean") is not None:
        yield f"Spread over {result['n']} trades, {signed(result['value'])} comes to {signed(result['mean'])} each."


def note_check(result: Row) -> Iterator[str]:
    if "check" in result:
        row = result["check"]
        yield f"Verdict: {row['verdict']}. You would put {usd(row['size_usd'])} into {row['symbol']} and could lose {usd(row['risk_usd'])} ({pct(row['risk_pct'])})."
        yield f"Exposure goes from {usd(row['exposure_usd'])} to {usd(row['exposure_after_usd'])}, with equity at {usd(row['equity_usd'])}."


def note_events(result: Row) -> Iterator[str]:
    for row in result["events"]:
        yield f"{row['title']}: {day(row['scheduled_at'])}, {clock(row['scheduled_at'])} UTC."


def note_markets(result: Row) -> Iterator[str]:
    for row in result["markets"]:
        yield f"| {row['symbol']} | {price(row['last_price'])} | {row['change_24h_pct']:+.1f}% | {row['funding_rate_pct']:+.4f}% | {row['realised_vol_pct']:.0f}% |"


def note_news(result: Row) -> Iterator[str]:
    yield f"{len(result['news'])} items since {result['lookback_hours']} hours ago."
    for row in _list_judged(result):
        yield f"- {clock(row['published_at'])}: {row['headline']} ({row['sentiment']:+.1f})"


def note_skills(result: Row) -> Iterator[str]:
    rows = result["skills"]
    yield f"{sum(row['running_deployments'] for row in rows)} of your {len(rows)} skills are live on paper."
    for row in rows:
        if run := row["last_simulation"]:
            yield f"{row['name']} in simulation: {run['closed_trades']} trades for {signed(run['net_pnl_usd'])} between {run['starts_at'][:10]} and {run['ends_at'][:10]}."


def note_record(result: Row) -> Iterator[str]:
    for row in filter(None, result.get("summary", {}).values()):
        if row["win_rate_90pct_interval_pct"]:
            low, high = row["win_rate_90pct_interval_pct"]
            yield f"You win {pct(row['win_rate_pct'])} of the time ({row['wins']} of {row['sample_size']}); the truth is between {pct(low)} and {pct(high)} nine times in ten."
            yield f"Fees ate {usd(row['fees_usd'])}; what remains is {signed(row['net_pnl_usd'])}, or {signed(row['expectancy_usd'])} a trade, held {span(row['mean_holding_minutes'])} on average."


NARRATED: dict[str, tuple[Write, ...]] = {
    "get_my_deployments": (narrate_deployments, narrate_trades),
    "query_trades": (narrate_answer, narrate_check),
    "get_upcoming_events": (narrate_events,),
    "get_market_overview": (narrate_markets,),
    "get_recent_news": (narrate_news,),
    "list_my_skills": (narrate_skills,),
    "get_skill_performance": (narrate_record, narrate_trades),
}
NOTED: dict[str, tuple[Write, ...]] = {
    "get_my_deployments": (note_deployments, note_trades),
    "query_trades": (note_answer, note_check),
    "get_upcoming_events": (note_events,),
    "get_market_overview": (note_markets,),
    "get_recent_news": (note_news,),
    "list_my_skills": (note_skills,),
    "get_skill_performance": (note_record, note_trades),
}
