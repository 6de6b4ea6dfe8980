# ruff: noqa: E501  each sentence stays on its line
"""Sentences that a language model may write about the results of each tool, every figure of them true.

Those of TUNED were looked at while the checks were tuned, those of UNSEEN were not.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.chat.grounding.replies import at, pct, price, signed, span, usd, whole

Row = dict[str, Any]
Write = Callable[[Row], Iterator[str]]


def day(instant: str) -> str:
    found = at(instant)
    return f"{found.day} {found:%B}"


def clock(instant: str) -> str:
    return f"{at(instant):%H:%M}"


def list_positions(result: Row) -> list[Row]:
    return [row for one in result["deployments"] for row in one["positions"]]


def total(rows: list[Row], key: str) -> float:
    return round(sum(row[key] for row in rows), 2)


# --- Looked at while tuning ---


def tell_deployments(result: Row) -> Iterator[str]:
    rows, held = result["deployments"], list_positions(result)
    running = sum(row["status"] == "running" for row in rows)
    yield f"You have {len(rows)} deployments, {running} of them running."
    for row in rows:
        yield f"{row['skill_name']} version {row['version']}: {row['closed_trades']} closed trades, {signed(row['net_pnl_usd'])}."
    for row in held:
        yield f"- {row['symbol']} {row['side']}: {whole(row['size_usd'])} from {price(row['entry_price'])}, now {price(row['mark_price'])}, {signed(row['unrealised_pnl_usd'])}."
    if held:
        yield f"Together your {len(held)} positions stand at {signed(total(held, 'unrealised_pnl_usd'))}."


def tell_trades(result: Row) -> Iterator[str]:
    rows = result.get("trades", [])[:3]
    if rows:
        listed = "\n".join(
            f"- {row['symbol']} {row['side']}: {signed(row['net_pnl_usd'])} ({pct(row['net_pnl_pct'])}), held {span(row['holding_minutes'])}"
            for row in rows
        )
        yield f"Your last {len(rows)} trades:\n\n{listed}"


def tell_answer(result: Row) -> Iterator[str]:
    if result.get("unit") != "usd" or result.get("value") is None:
        return
    yield f"{signed(result['value'])} over {result['n']} trades, {result['scope']}."
    if result.get("mean") is not None and result["interval_90pct"]:
        low, high = result["interval_90pct"]
        yield f"That is {usd(result['mean'])} a trade, and the 90 % interval of it goes from {usd(low)} to {usd(high)}."
    for row in result.get("groups", []):
        if "group" in row:
            yield f"{row['group']}: {signed(row['value'])} (n = {row['n']})."


def tell_check(result: Row) -> Iterator[str]:
    if "check" not in result:
        return
    row = result["check"]
    yield f"With a stop at {price(row['stop_price'])}, {pct(row['stop_distance_pct'])} away, a risk of {usd(row['risk_usd'])} is {usd(row['size_usd'])} of {row['symbol']}."
    yield f"That is {row['leverage']:g}x of your equity of {usd(row['equity_usd'])}, and {pct(row['risk_pct'])} at risk."


def tell_events(result: Row) -> Iterator[str]:
    rows = result["events"]
    yield f"There are {len(rows)} events in the next {result['lookahead_hours']} hours."
    for row in rows:
        yield f"**{row['title']}** on {day(row['scheduled_at'])} at {clock(row['scheduled_at'])} UTC, importance {row['importance']}."
    for row in result.get("your_exposure", []):
        if row["median_abs_move_pct"] is not None:
            yield f"Your {row['symbol']} {row['position_side']} of {usd(row['notional_usd'])}: {row['symbol']} typically moved {pct(row['median_abs_move_pct'])} in the hour after {row['similar_events_back']} such events, about {usd(row['median_abs_move_usd'])}."


def tell_markets(result: Row) -> Iterator[str]:
    for row in result["markets"]:
        yield f"{row['symbol']} is at {price(row['last_price'])}, {row['change_24h_pct']:+.2f}% in 24 h, funding {row['funding_rate_pct']:.4f}% every {row['funding_hours']} h."


def tell_news(result: Row) -> Iterator[str]:
    rows = result["news"]
    yield f"{len(rows)} headlines in the last {result['lookback_hours']} hours."
    for row in rows[:2]:
        yield f"At {clock(row['published_at'])} UTC: “{row['headline']}”, sentiment {row['sentiment']:+.2f}."


def tell_skills(result: Row) -> Iterator[str]:
    rows = result["skills"]
    yield f"You have {len(rows)} skills."
    for row in rows:
        run = row["last_simulation"]
        if run:
            yield f"{row['name']} is at version {row['latest_version']}; its simulation from {run['starts_at'][:10]} to {run['ends_at'][:10]} made {signed(run['net_pnl_usd'])} in {run['closed_trades']} trades."


def tell_record(result: Row) -> Iterator[str]:
    for mode, row in result.get("summary", {}).items():
        if row and row["sample_size"]:
            yield f"On {mode}, {result['name']} made {signed(row['net_pnl_usd'])} in {row['sample_size']} trades: {row['wins']} won, fees {usd(row['fees_usd'])}, a win rate of {pct(row['win_rate_pct'])}."


# --- Not looked at ---


def sum_up_deployments(result: Row) -> Iterator[str]:
    rows, held = result["deployments"], list_positions(result)
    agents = [row for row in rows if row["broker_kind"] == "paper"]
    yield f"Your {len(agents)} agents run on paper and made {signed(total(rows, 'net_pnl_usd'))} in total over {sum(row['closed_trades'] for row in rows)} trades."
    for row in rows:
        if row["last_decision_at"]:
            yield f"{row['skill_name']} decided last on {day(row['last_decision_at'])} at {clock(row['last_decision_at'])}; it holds {row['open_positions']} now."
    for row in held:
        move = "up" if row["unrealised_pnl_usd"] > 0 else "down"
        yield f"The {row['symbol']} {row['side']} from {day(row['entry_at'])} is {move} {usd(abs(row['unrealised_pnl_usd']))}; you got in at {price(row['entry_price'])}."
    if held:
        yield f"Open positions: {signed(total(held, 'unrealised_pnl_usd'))} in total on {whole(total(held, 'size_usd'))}."


def sum_up_trades(result: Row) -> Iterator[str]:
    rows = result.get("trades", [])[:12]
    for symbol in dict.fromkeys(row["symbol"] for row in rows):
        own = [row for row in rows if row["symbol"] == symbol][:2]
        listed = "\n".join(
            f"{place}. {day(row['entry_at'])}, {row['side']}: in at {price(row['entry_price'])}, out at {price(row['exit_price'])}, {signed(row['net_pnl_usd'])}"
            for place, row in enumerate(own, start=1)
        )
        yield f"{symbol}, {len(own)} {'trade' if len(own) == 1 else 'trades'}:\n{listed}"


def sum_up_answer(result: Row) -> Iterator[str]:
    if result.get("unit") != "usd" or result.get("value") is None:
        return
    yield f"You closed {result['n']} trades and {'made' if result['value'] > 0 else 'lost'} {usd(abs(result['value']))}."
    for name in ("best", "worst"):
        if row := result.get(name):
            yield f"The {name} was a {row['symbol']} {row['side']} closed on {day(row['exit_at'])}: {signed(row['value'])}."
    groups = [row for row in result.get("groups", []) if "group" in row]
    if len(groups) > 1:
        one, other = groups[:2]
        yield f"{one['group']} is ahead of {other['group']} by {usd(abs(round(one['value'] - other['value'], 2)))}: {signed(one['value'])} against {signed(other['value'])}."


def sum_up_check(result: Row) -> Iterator[str]:
    if "check" not in result:
        return
    row = result["check"]
    yield f"You hold {len(row['positions'])} positions worth {usd(row['exposure_usd'])}; with this {row['symbol']} {row['side']} it would be {usd(row['exposure_after_usd'])}."
    similar = row["similar"]
    if similar["expectancy_usd"] is not None:
        yield f"Your {similar['n']} trades of this kind made {signed(similar['expectancy_usd'])} each; {pct(similar['win_rate_pct'])} of them won."
    yield f"At {price(row['price'])} that is {row['quantity']:g} {row['symbol']}, and {usd(row['risk_usd'])} lost at the stop."


def sum_up_events(result: Row) -> Iterator[str]:
    for row in result["events"]:
        yield f"{clock(row['scheduled_at'])} UTC on {day(row['scheduled_at'])}: {row['title']} ({row['importance']})."
    for row in result.get("your_exposure", []):
        if row["worst_move_pct"] is not None:
            yield f"The worst hour for a {row['symbol']} {row['position_side']} was {row['worst_move_pct']:+.1f}%, {usd(abs(row['worst_move_usd']))} on {usd(row['notional_usd'])}."


def sum_up_markets(result: Row) -> Iterator[str]:
    for row in result["markets"]:
        yield f"{row['symbol']}: {price(row['last_price'])} ({row['change_24h_pct']:+.1f}% over the last 24 hours), volatility {row['realised_vol_pct']:.0f}% a year, regime {row['regime']}."


def sum_up_news(result: Row) -> Iterator[str]:
    for row in result["news"][:2]:
        yield f"“{row['headline']}” ({row['source']}, {day(row['published_at'])}, sentiment {row['sentiment']})."


def sum_up_skills(result: Row) -> Iterator[str]:
    for row in result["skills"]:
        yield f"{row['name']}: version {row['latest_version']}, {row['running_deployments']} running."
        run = row["last_simulation"]
        if run and run["win_rate_pct"] is not None:
            yield f"Last simulated {day(run['starts_at'])} to {day(run['ends_at'])}: {pct(run['win_rate_pct'])} of {run['closed_trades']} trades won, max drawdown {pct(run['max_drawdown_pct'], 2)}."


def sum_up_record(result: Row) -> Iterator[str]:
    for row in filter(None, result.get("summary", {}).values()):
        if row["expectancy_90pct_interval_usd"]:
            low, high = row["expectancy_90pct_interval_usd"]
            yield f"{result['name']}: {usd(row['expectancy_usd'])} per trade (90 % interval {usd(low)} to {usd(high)}), funding {signed(row['funding_usd'])}, held {span(row['mean_holding_minutes'])} on average."


TUNED: dict[str, tuple[Write, ...]] = {
    "get_my_deployments": (tell_deployments, tell_trades),
    "query_trades": (tell_answer, tell_check),
    "get_upcoming_events": (tell_events,),
    "get_market_overview": (tell_markets,),
    "get_recent_news": (tell_news,),
    "list_my_skills": (tell_skills,),
    "get_skill_performance": (tell_record, tell_trades),
}
UNSEEN: dict[str, tuple[Write, ...]] = {
    "get_my_deployments": (sum_up_deployments, sum_up_trades),
    "query_trades": (sum_up_answer, sum_up_check),
    "get_upcoming_events": (sum_up_events,),
    "get_market_overview": (sum_up_markets,),
    "get_recent_news": (sum_up_news,),
    "list_my_skills": (sum_up_skills,),
    "get_skill_performance": (sum_up_record, sum_up_trades),
}


def write_sentences(kind: dict[str, tuple[Write, ...]], tool: str, result: Row) -> list[str]:
    """Return the true sentences of a set about a tool's result."""
    return [text for write in kind[tool] for text in write(result)]
