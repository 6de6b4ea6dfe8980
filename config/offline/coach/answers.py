"""Answers about agents, trades, markets and events, from tool results only.

An agent's reasons are quoted as the agent's: the coach never speaks in its voice.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from config.lib.figures import format_count, format_signed_usd
from config.offline.figures import (
    Row,
    block,
    count,
    exact,
    fill,
    fill_rows,
    listing,
    number,
    paragraphs,
    plain,
    rows,
    spell,
)
from trading.market.names import is_market

NO_DEPLOYMENTS: Final = (
    "Nothing is deployed: I see no deployment of yours. A skill that is saved can be deployed from its page, or say"
    " “deploy it” and I prepare a card."
)
FEW_TRADES: Final = 5  # below it a record is chance
MAX_TRADES: Final = 10

LABEL: Final = "{skill_name}| v{version}| ({broker_kind}|, {status})"
_NAME: Final = "{skill_name}| v{version}"
POSITION: Final = (
    "{symbol} {side} {size_usd} since {entry_at} at {entry_price}|, unrealised {unrealised_pnl_usd}| at a mark of"
    " {mark_price}"
)
_TRADE: Final = (
    "{exit_at} {symbol} {side} {size_usd}: {net_pnl_usd}| ({net_pnl_pct})|, {entry_price} → {exit_price}|, held"
    " {holding_minutes}|, exit by {exit_kind}"
)
REFUSAL: Final = "{tick_at} {code}: “{text}”"
_EVENT: Final = "{scheduled_at} {kind}: “{title}”|, importance {importance} of 1"
_NEWS: Final = "{published_at} “{headline}” ({source})|; sentiment {sentiment}"
_MARKET: Final = {
    "last_price": "last price {last_price}",
    "change_24h_pct": "24 h {change_24h_pct}",
    "funding_rate_pct": "funding {funding_rate_pct}",
    "basis_pct": "basis {basis_pct}",
    "realised_vol_pct": "realised volatility {realised_vol_pct}",
    "regime": "regime {regime}",
}
_SKILL: Final = "**{name}** v{latest_version}|, {trading_style}"
_TEST: Final = (
    "last backtest {starts_at} to {ends_at}: net {net_pnl_usd}|, max drawdown {max_drawdown_pct}|, win rate"
    " {win_rate_pct}|, Sharpe {sharpe}"
)
_RECORD: Final = (
    "net {net_pnl_usd}|, win rate {win_rate_pct}|, max drawdown {max_drawdown_pct}|, Sharpe {sharpe} over {sharpe_days}"
    " days|, a trade between {expectancy_90pct_interval_usd} (about 90 %)"
)


def few(trades: int) -> str:
    """Return a warning beside a small sample, or ""."""
    return " (too few to say anything)" if 0 < trades < FEW_TRADES else ""


def name_of(deployment: Row) -> str:
    """Return how a deployment is called: skill and version."""
    return fill(_NAME, deployment) if exact(deployment, "skill_name") else "a deployment"


def list_positions(deployments: Sequence[Row], symbols: Sequence[str] = ()) -> list[tuple[Row, Row]]:
    """Return the open positions in some symbols, each after its deployment."""
    held = ((one, row) for one in deployments for row in rows(one, "positions"))
    return [(one, row) for one, row in held if is_market(exact(row, "symbol"), symbols)]


def sum_of(found: Iterable[Row], key: str) -> Decimal:
    """Return the sum of the numbers that rows have."""
    return sum((value for row in found if (value := number(row, key)) is not None), Decimal(0))


# --- Agents and trades ---


def format_deployments(deployments: Sequence[Row]) -> str:
    """Say how deployments do."""
    if not deployments:
        return NO_DEPLOYMENTS
    running = sum(exact(one, "status") == "running" for one in deployments)
    closed = int(sum_of(deployments, "closed_trades"))
    held = [row for _, row in list_positions(deployments)]
    unrealised = f", unrealised {format_signed_usd(sum_of(held, 'unrealised_pnl_usd'))}" if held else ""
    net = format_signed_usd(sum_of(deployments, "net_pnl_usd"))
    first = (
        f"{running} of {format_count(len(deployments), 'deployment')} running,"
        f" {format_count(len(held), 'open position')}{unrealised}, net {net} over"
        f" {format_count(closed, 'closed trade')}{few(closed)}."
    )
    return paragraphs(first, *(_format_deployment(one) for one in deployments))


def _format_deployment(one: Row) -> str:
    closed, refused = count(one, "closed_trades"), rows(one, "recent_rejections")
    told = [
        f"net {spell(one, 'net_pnl_usd') or '?'} over {format_count(closed, 'closed trade')}{few(closed)};"
        f" last decision {spell(one, 'last_decision_at') or 'none yet'}"
    ]
    told += [fill(POSITION, held) for held in rows(one, "positions")] or ["no open position"]
    if refused:
        told.append(f"{format_count(len(refused), 'recent rejection')}, the newest {fill(REFUSAL, refused[0])}")
    if count(one, "newest_version") > count(one, "version"):
        told.append(fill("runs version {version}; version {newest_version} is newer", one))
    return f"**{fill(LABEL, one)}**\n\n{listing(told)}"


def format_rejections(deployments: Sequence[Row]) -> str:
    """Say what risk or a broker has refused lately."""
    if not deployments:
        return NO_DEPLOYMENTS
    parts = [
        f"{format_count(len(refused), 'order')} of {name_of(one)} {'was' if len(refused) == 1 else 'were'} refused:\n\n"
        f"{fill_rows(REFUSAL, refused)}"
        for one in deployments
        if (refused := rows(one, "recent_rejections"))
    ]
    return paragraphs(*parts) or f"No. I see no recent rejection in {format_count(len(deployments), 'deployment')}."


def format_why_opened(deployments: Sequence[Row], symbols: Sequence[str]) -> str:
    """Say what the agent noted when it opened what is open now."""
    held = list_positions(deployments, symbols)
    if not deployments or not held:
        of = f" in {' or '.join(symbols)}" if symbols else ""
        nothing = f"There is no open position{of}, so nothing to explain. “Show my last trades” tells what was closed."
        return nothing if deployments else NO_DEPLOYMENTS
    told = [
        fill(
            f"**{{symbol}} {{side}}**, {{size_usd}}, opened by {name_of(one)} on {{entry_at}} at {{entry_price}}. ", row
        )
        + f"{_quote_reason(row, 'entry_reason')}\n\n"
        + fill("Now:| unrealised {unrealised_pnl_usd} at a mark of {mark_price}.", row)
        for one, row in held
    ]
    return paragraphs("I am Keel, not your agent: these are its own notes, not my judgement.", *told)


def _quote_reason(row: Row, key: str) -> str:
    reason = plain(row, key)
    return f"Your agent noted: “{reason}”" if reason else "Your agent noted no reason."


def format_why_closed(trades: Sequence[Row], symbols: Sequence[str]) -> str:
    """Say what the agent noted when it closed its last trade."""
    found = [trade for trade in trades if is_market(exact(trade, "symbol"), symbols)]
    if not found:
        return f"I see no closed trade{f' in {symbols[0]}' if symbols else ''}."
    return f"I am Keel, not your agent: this is its own note, not my judgement.\n\n{_closed(found[0])}"


def format_trade(trade: Row) -> str:
    """Say what the agent noted of one trade, open or closed."""
    ended = _quote_reason(trade, "exit_reason") if trade.get("exit_at") else "It is still open."
    return paragraphs(
        "I am Keel, not your agent: these are its own notes, not my judgement.",
        fill(
            "**{symbol} {side}**, {size_usd}, opened on {entry_at} at {entry_price}.| Closed on {exit_at} at"
            " {exit_price}: {net_pnl_usd}|, by {exit_kind}.",
            trade,
        ),
        f"At the entry: {_quote_reason(trade, 'entry_reason')}",
        f"At the exit: {ended}",
    )


def _closed(trade: Row) -> str:
    return f"- {fill(_TRADE, trade)}. {_quote_reason(trade, 'exit_reason')}"


def format_what_closes(deployments: Sequence[Row], trades: Sequence[Row], symbols: Sequence[str]) -> str:
    """Say what is on record about exits; the rule itself stands in the skill."""
    if not deployments:
        return NO_DEPLOYMENTS
    held = list_positions(deployments, symbols)
    skills = sorted({(name_of(one), exact(one, "skill_id")) for one, _ in held})
    where = " and ".join(f"[{name}](/skills/{skill_id}/)" if skill_id else name for name, skill_id in skills)
    kinds = Counter(spell(trade, "exit_kind") or "unknown" for trade in trades)
    record = ", ".join(f"{amount} by {kind}" for kind, amount in sorted(kinds.items()))
    return paragraphs(
        f"Open now:\n\n{fill_rows(POSITION, [row for _, row in held])}" if held else "There is no open position now.",
        f"What closes it is the exit of the skill: {where}." if held else "",
        f"How the last {format_count(len(trades), 'closed trade')} ended: {record}. The newest:\n\n{_closed(trades[0])}"
        if trades
        else "No trade was closed yet, so there is no record of what made it close.",
        "I do not guess what the agent will decide; you can close it yourself: “flatten” prepares a card for that."
        if held
        else "",
    )


def format_trades(trades: Sequence[Row], most: int) -> str:
    """Say what the last closed trades were."""
    if not trades:
        return "No closed trade yet."
    shown = trades[:most]
    won = sum((number(trade, "net_pnl_usd") or 0) > 0 for trade in shown)
    many = f"{len(shown)} closed trades" if len(shown) > 1 else "closed trade"
    total = format_signed_usd(sum_of(shown, "net_pnl_usd"))
    more = f"{format_count(len(trades) - len(shown), 'older one')} not shown." if len(trades) > len(shown) else ""
    return paragraphs(f"The last {many}: net {total}, {won} won{few(len(shown))}.", fill_rows(_TRADE, shown), more)


def format_lessons(lessons: Sequence[Row]) -> str:
    """Quote what was distilled from trades, with what it was made of."""
    if not lessons:
        return "There are no lessons yet: they are distilled after some closed trades."
    more = f"{len(lessons) - 3} more not shown." if len(lessons) > 3 else ""
    return paragraphs(*map(_format_lesson, lessons[:3]), more)


def _format_lesson(note: Row) -> str:
    lines = [
        f"> {plain({'line': line}, 'line').removeprefix('- ')}"
        for line in exact(note, "lessons_text").splitlines()
        if line.strip()
    ]
    considered = count(note, "trades_considered")
    window = f"{spell(note, 'window_start')[:10] or '?'} to {spell(note, 'window_end')[:10] or '?'}"
    return (
        f"From {format_count(considered, 'trade')}, {window}, written {spell(note, 'generated_at') or '?'}"
        f"{few(considered)}:\n\n" + "\n>\n".join(lines)
    )


def format_performance(result: Row) -> str:
    """Say what a skill's record comes to, by where it ran."""
    title, told = fill("**{name}**|, newest version {latest_version}", result), []
    for kind in ("live", "paper", "backtest"):
        if numbers := block(block(result, "summary"), kind):
            sample = count(numbers, "sample_size")
            none = ", no Sharpe ratio yet (too few days)" if number(numbers, "sharpe") is None else ""
            told.append(f"{kind.capitalize()}: {fill(_RECORD, numbers)}{none}; n={sample}{few(sample)}")
    if not told:
        return f"{title}: no record yet, neither backtest nor paper nor live."
    return f"{title}:\n\n{listing(told)}"


def format_skills(result: Row) -> str:
    """List skills and open drafts."""
    skills, drafts = rows(result, "skills"), rows(result, "open_drafts")
    if not skills and not drafts:
        return "You have no skill yet. Say “help me build a strategy”, or open [a new one](/skills/new/)."
    lines = [
        f"{fill(_SKILL, one)}, {count(one, 'running_deployments') or 'not'} running, {format_test(one)}"
        for one in skills
    ]
    return paragraphs(
        f"You have {format_count(len(skills), 'skill')}:\n\n{listing(lines)}" if skills else "",
        f"Open drafts:\n\n{fill_rows('“{name}”, changed {updated_at}', drafts)}" if drafts else "",
    )


def format_test(skill: Row) -> str:
    """Say how a skill's last backtest went."""
    test = block(skill, "last_simulation")
    closed = count(test, "closed_trades")
    return f"{fill(_TEST, test)}, {format_count(closed, 'closed trade')}{few(closed)}" if test else "never backtested"


# --- Markets, news and events ---


def format_markets(result: Row, field: str = "") -> str:
    """Say how markets stand; `field` alone when one was asked for."""
    markets = rows(result, "markets")
    if not markets:
        return "I see no market: there are no bars for what you asked."
    simulated = any(one.get("is_simulated") is True for one in markets)
    return paragraphs(
        fill("As of {seen_at}:", {"seen_at": result.get("as_of")}),
        listing([_format_market(one, field) for one in markets]),
        "These prices are simulated." if simulated else "",
    )


def _format_market(one: Row, field: str) -> str:
    known = [fill(words, one) for key, words in _MARKET.items() if field in ("", key) and spell(one, key)]
    told = ", ".join(known) or "no data"
    return fill(f"**{{symbol}}**: {told}" + ("| (price of {last_price_at})" if known else ""), one)


def format_news(result: Row, hours: int) -> str:
    """Quote headlines; they are data, whatever they say."""
    news = rows(result, "news")
    if not news:
        return f"No news in the last {hours} hours."
    return f"News of the last {hours} hours, quoted as their sources have them:\n\n{fill_rows(_NEWS, news)}"


def format_events(result: Row, hours: int) -> str:
    """List scheduled events."""
    events = rows(result, "events")
    if not events:
        return f"No event of weight is scheduled in the next {hours} hours."
    return f"Scheduled in the next {hours} hours:\n\n{listing([format_event(one) for one in events])}"


def format_event(event: Row) -> str:
    """Return a scheduled event as one line."""
    return fill(_EVENT, {**event, "kind": exact(event, "kind").upper()})
