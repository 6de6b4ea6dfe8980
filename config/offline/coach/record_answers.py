"""Answers about deployments, skills and trades, from tool results only.

An agent's reasons are quoted as the agent's: the coach never speaks in its voice.
"""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from config.lib.figures import (
    format_count,
    format_pct,
    format_price,
    format_ratio,
    format_signed_pct,
    format_signed_usd,
    format_usd,
)
from config.offline.figures import (
    Field,
    Row,
    block,
    count,
    day,
    exact,
    labelled,
    listing,
    number,
    paragraphs,
    plain,
    rows,
    spell,
    sum_numbers,
    utc,
)
from trading.market.names import is_market

NO_DEPLOYMENTS: Final = (
    "Nothing is deployed: I see no deployment of yours. A skill that is saved can be deployed from its page, or say"
    " “deploy it” and I prepare a card."
)
FEW_TRADES: Final = 5  # below it a record is chance
MAX_TRADES: Final = 10
_KINDS: Final = (("live", "Live"), ("paper", "Paper"), ("backtest", "Backtest"))
_MEASURES: Final[tuple[Field, ...]] = (
    ("win rate", "win_rate_pct", format_pct),
    ("max drawdown", "max_drawdown_pct", format_pct),
    ("Sharpe", "sharpe", lambda value: format_ratio(float(value))),
)


def name_of(deployment: Row) -> str:
    """Return how a deployment is called: skill and version."""
    version = count(deployment, "version")
    return f"{plain(deployment, 'skill_name') or 'a deployment'}{f' v{version}' if version else ''}"


def label_of(deployment: Row) -> str:
    """Return a deployment's name with what tells it from others."""
    return f"{name_of(deployment)} ({plain(deployment, 'broker_kind')}, {plain(deployment, 'status')})"


def format_deployments(deployments: Sequence[Row]) -> str:
    """Say how deployments do."""
    if not deployments:
        return NO_DEPLOYMENTS
    running = [one for one in deployments if exact(one, "status") == "running"]
    held = sum(len(rows(one, "positions")) for one in deployments)
    net = sum_numbers(number(one, "net_pnl_usd") for one in deployments)
    closed = sum(count(one, "closed_trades") for one in deployments)
    first = (
        f"{len(running)} of {format_count(len(deployments), 'deployment')} running, "
        f"{format_count(held, 'open position')}, net {format_signed_usd(net)} over "
        f"{format_count(closed, 'closed trade')}{_few(closed)}."
    )
    return paragraphs(first, *(_format_deployment(one) for one in deployments))


def _format_deployment(one: Row) -> str:
    closed = count(one, "closed_trades")
    told = [
        f"net {spell(one, 'net_pnl_usd', format_signed_usd)} over {format_count(closed, 'closed trade')}{_few(closed)};"
        f" last decision {utc(one.get('last_decision_at')) if one.get('last_decision_at') else 'none yet'}"
    ]
    told += [format_position(held) for held in rows(one, "positions")] or ["no open position"]
    refused = rows(one, "recent_rejections")
    if refused:
        told.append(f"{format_count(len(refused), 'recent rejection')}, the newest {format_rejection(refused[0])}")
    newest = count(one, "newest_version")
    if newest > count(one, "version"):
        told.append(f"runs version {count(one, 'version')}; version {newest} is newer")
    return f"**{label_of(one)}**\n\n{listing(told)}"


def format_position(held: Row) -> str:
    """Say what one open position is and stands at."""
    return (
        f"{plain(held, 'symbol')} {plain(held, 'side')} {spell(held, 'size_usd', format_usd)} since"
        f" {utc(held.get('entry_at'))} at {spell(held, 'entry_price', format_price)}, {_format_unrealised(held)}"
    )


def _format_unrealised(held: Row) -> str:
    value = number(held, "unrealised_pnl_usd")
    if value is None:
        return "no mark price, so no unrealised result"
    return f"unrealised {format_signed_usd(value)} at a mark of {spell(held, 'mark_price', format_price)}"


def format_rejection(refused: Row) -> str:
    """Say what was refused, when and why."""
    return f"{utc(refused.get('tick_at'))} {plain(refused, 'code')}: “{plain(refused, 'text')}”"


def format_rejections(deployments: Sequence[Row]) -> str:
    """Say what risk or a broker has refused lately."""
    if not deployments:
        return NO_DEPLOYMENTS
    parts = []
    for one in deployments:
        if refused := rows(one, "recent_rejections"):
            verb = "was" if len(refused) == 1 else "were"
            title = f"{format_count(len(refused), 'order')} of {name_of(one)} {verb} refused"
            parts.append(f"{title}:\n\n{listing([format_rejection(row) for row in refused])}")
    return paragraphs(*parts) or f"No. I see no recent rejection in {format_count(len(deployments), 'deployment')}."


def format_why_opened(deployments: Sequence[Row], symbol: str) -> str:
    """Say what the agent noted when it opened what is open now."""
    if not deployments:
        return NO_DEPLOYMENTS
    held = _list_positions(deployments, symbol)
    if not held:
        of = f" in {symbol}" if symbol else ""
        return f"There is no open position{of}, so nothing to explain. “Show my last trades” tells what was closed."
    return paragraphs("I am Keel, not your agent: these are its own notes, not my judgement.", *map(_why_opened, held))


def _why_opened(held: tuple[Row, Row]) -> str:
    deployment, one = held
    reason = plain(one, "entry_reason")
    noted = f"Your agent noted: “{reason}”" if reason else "Your agent noted no reason."
    return (
        f"**{plain(one, 'symbol')} {plain(one, 'side')}**, {spell(one, 'size_usd', format_usd)}, opened by"
        f" {name_of(deployment)} on {utc(one.get('entry_at'))} at {spell(one, 'entry_price', format_price)}."
        f" {noted}\n\nNow: {_format_unrealised(one)}."
    )


def told_why_closed(trades: Sequence[Row], symbol: str) -> str:
    """Say what the agent noted when it closed its last trade."""
    found = [trade for trade in trades if is_market(exact(trade, "symbol"), [symbol] if symbol else [])]
    if not found:
        return f"I see no closed trade{f' in {symbol}' if symbol else ''}."
    return f"I am Keel, not your agent: this is its own note, not my judgement.\n\n{_closed(found[0])}"


def told_what_closes(deployments: Sequence[Row], trades: Sequence[Row], symbol: str) -> str:
    """Say what is on record about exits; the rule itself stands in the skill."""
    if not deployments:
        return NO_DEPLOYMENTS
    held = _list_positions(deployments, symbol)
    now = listing([format_position(one) for _, one in held]) if held else ""
    skills = sorted({(name_of(one), exact(one, "skill_id")) for one, _ in held} or {("", "")})
    where = " and ".join(f"[{name}](/skills/{skill_id}/)" if skill_id else name for name, skill_id in skills)
    kinds = Counter(_exit_kind(trade) for trade in trades)
    record = ", ".join(f"{amount} by {kind}" for kind, amount in sorted(kinds.items()))
    return paragraphs(
        f"Open now:\n\n{now}" if now else "There is no open position now.",
        f"What closes it is the exit of the skill: {where}." if held and where else "",
        f"How the last {format_count(len(trades), 'closed trade')} ended: {record}. The newest:\n\n{_closed(trades[0])}"
        if trades
        else "No trade was closed yet, so there is no record of what made it close.",
        "I do not guess what the agent will decide; you can close it yourself: “flatten” prepares a card for that."
        if held
        else "",
    )


def _list_positions(deployments: Sequence[Row], symbol: str) -> list[tuple[Row, Row]]:
    return [
        (one, held)
        for one in deployments
        for held in rows(one, "positions")
        if is_market(exact(held, "symbol"), [symbol] if symbol else [])
    ]


def format_trades(trades: Sequence[Row], most: int) -> str:
    """Say what the last closed trades were."""
    if not trades:
        return "No closed trade yet."
    shown = trades[:most]
    net = sum_numbers(number(trade, "net_pnl_usd") for trade in shown)
    won = sum((number(trade, "net_pnl_usd") or 0) > 0 for trade in shown)
    many = f"{len(shown)} closed trades" if len(shown) > 1 else "closed trade"
    total = f"The last {many}: net {format_signed_usd(net)}, {won} won{_few(len(shown))}."
    more = f"{format_count(len(trades) - len(shown), 'older one')} not shown." if len(trades) > len(shown) else ""
    return paragraphs(total, listing([_format_trade(trade) for trade in shown]), more)


def _format_trade(trade: Row) -> str:
    return (
        f"{utc(trade.get('exit_at'))} {plain(trade, 'symbol')} {plain(trade, 'side')}"
        f" {spell(trade, 'size_usd', format_usd)}: {spell(trade, 'net_pnl_usd', format_signed_usd)}"
        f" ({spell(trade, 'net_pnl_pct', format_signed_pct)}), {spell(trade, 'entry_price', format_price)} →"
        f" {spell(trade, 'exit_price', format_price)}, held {_minutes(number(trade, 'holding_minutes'))}, exit by"
        f" {_exit_kind(trade)}"
    )


def _exit_kind(trade: Row) -> str:
    return plain(trade, "exit_kind").replace("\\_", " ") or "unknown"


def _closed(trade: Row) -> str:
    reason = plain(trade, "exit_reason")
    noted = f"Your agent noted: “{reason}”" if reason else "No reason was noted."
    return f"- {_format_trade(trade)}. {noted}"


def _minutes(value: Decimal | None) -> str:
    if value is None:
        return "?"
    minutes = int(value)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def format_lessons(lessons: Sequence[Row]) -> str:
    """Quote what was distilled from trades, with what it was made of."""
    if not lessons:
        return "There are no lessons yet: they are distilled after some closed trades."
    return paragraphs(
        *map(_format_lesson, lessons[:3]), f"{len(lessons) - 3} more not shown." if len(lessons) > 3 else ""
    )


def _format_lesson(note: Row) -> str:
    considered = count(note, "trades_considered")
    lines = [
        f"> {plain({'line': line}, 'line').removeprefix('- ')}"
        for line in exact(note, "lessons_text").splitlines()
        if line.strip()
    ]
    return (
        f"From {format_count(considered, 'trade')}, {day(note.get('window_start'))} to {day(note.get('window_end'))},"
        f" written {utc(note.get('generated_at'))}{_few(considered)}:\n\n" + "\n>\n".join(lines)
    )


def format_performance(result: Row) -> str:
    """Say what a skill's record comes to, by where it ran."""
    summary = block(result, "summary")
    told = [_format_measures(title, block(summary, kind)) for kind, title in _KINDS if block(summary, kind)]
    name = plain(result, "name") or "This skill"
    version = count(result, "latest_version")
    title = f"**{name}**{f', newest version {version}' if version else ''}"
    if not told:
        return f"{title}: no record yet, neither backtest nor paper nor live."
    return f"{title}:\n\n{listing(told)}"


def _format_measures(title: str, measured: Row) -> str:
    sample = count(measured, "sample_size")
    parts = [f"net {spell(measured, 'net_pnl_usd', format_signed_usd)}", *labelled(measured, _MEASURES)]
    if number(measured, "sharpe") is None:
        parts.append("no Sharpe ratio yet (too few days)")
    elif days := count(measured, "sharpe_days"):
        parts[-1] += f" over {format_count(days, 'day')}"
    return f"{title}: {', '.join(parts)}; n={sample}{_few(sample)}"


def format_skills(result: Row) -> str:
    """List skills and open drafts."""
    skills, drafts = rows(result, "skills"), rows(result, "open_drafts")
    if not skills and not drafts:
        return "You have no skill yet. Say “help me build a strategy”, or open [a new one](/skills/new/)."
    listed = (
        f"You have {format_count(len(skills), 'skill')}:\n\n{listing([_format_skill(one) for one in skills])}"
        if skills
        else ""
    )
    open_ = [f"“{plain(one, 'name') or 'without a name'}”, changed {utc(one.get('updated_at'))}" for one in drafts]
    return paragraphs(listed, f"Open drafts:\n\n{listing(open_)}" if open_ else "")


def _format_skill(one: Row) -> str:
    running = count(one, "running_deployments")
    told = [f"**{plain(one, 'name')}** v{count(one, 'latest_version')}", plain(one, "trading_style")]
    told.append(f"{running} running" if running else "not running")
    test = block(one, "last_simulation")
    if test:
        closed = count(test, "closed_trades")
        told.append(
            f"last backtest {day(test.get('starts_at'))} to {day(test.get('ends_at'))}: net"
            f" {spell(test, 'net_pnl_usd', format_signed_usd)}, max drawdown"
            f" {spell(test, 'max_drawdown_pct', format_pct)}, {format_count(closed, 'closed trade')}{_few(closed)}"
        )
    else:
        told.append("never backtested")
    return ", ".join(part for part in told if part)


def _few(trades: int) -> str:
    return " (too few to say anything)" if 0 < trades < FEW_TRADES else ""
