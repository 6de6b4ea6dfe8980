"""Answers about agents, trades, markets and events, from tool results only.

An agent's reasons are quoted as the agent's: the coach never speaks in its voice.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from config.lib.figures import format_count, format_pct, format_signed_pct, format_signed_usd, format_usd
from config.offline.figures import (
    Row,
    block,
    count,
    exact,
    fill,
    fill_rows,
    listing,
    moment,
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
LEAST_EVENTS: Final = 3  # past ones, below which no median is given
_STALE: Final = timedelta(hours=26)  # of the last decision; a daily schedule ticks within it
_LOSS: Final = Decimal("0.02")  # of a position's size, from which an open loss is worth a word

LABEL: Final = "{skill_name}| v{version}| ({broker_kind}|, {status})"
_NAME: Final = "{skill_name}| v{version}"
_POSITION: Final = (
    "{symbol} {side} {size_usd} since {entry_at} at {entry_price}|, unrealised {unrealised_pnl_usd}| at a mark of"
    " {mark_price}"
)
_TRADE: Final = (
    "{exit_at} {symbol} {side} {size_usd}: {net_pnl_usd}| ({net_pnl_pct})|, {entry_price} → {exit_price}|, held"
    " {holding_minutes}|, exit by {exit_kind}"
)
_REFUSAL: Final = "{tick_at} {code}: “{text}”"
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
_PAST: Final = (
    "the median move around {similar_events_back} past events of this kind was {median_abs_move_pct}|, about"
    " {typical_usd} either way| (about 90 % between {median_90pct_interval})|; the usual move of {quiet_hours_back}"
    " quiet hours was {quiet_median_abs_move_pct}|; the worst was {worst_move_pct}|, {bad_usd}| {way} you"
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


def _sum(found: Iterable[Row], key: str) -> Decimal:
    return sum((value for row in found if (value := number(row, key)) is not None), Decimal(0))


# --- Agents and trades ---


def format_deployments(deployments: Sequence[Row]) -> str:
    """Say how deployments do."""
    if not deployments:
        return NO_DEPLOYMENTS
    running = sum(exact(one, "status") == "running" for one in deployments)
    closed = int(_sum(deployments, "closed_trades"))
    held = [row for _, row in list_positions(deployments)]
    unrealised = f", unrealised {format_signed_usd(_sum(held, 'unrealised_pnl_usd'))}" if held else ""
    net = format_signed_usd(_sum(deployments, "net_pnl_usd"))
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
    told += [fill(_POSITION, held) for held in rows(one, "positions")] or ["no open position"]
    if refused:
        told.append(f"{format_count(len(refused), 'recent rejection')}, the newest {fill(_REFUSAL, refused[0])}")
    if count(one, "newest_version") > count(one, "version"):
        told.append(fill("runs version {version}; version {newest_version} is newer", one))
    return f"**{fill(LABEL, one)}**\n\n{listing(told)}"


def format_rejections(deployments: Sequence[Row]) -> str:
    """Say what risk or a broker has refused lately."""
    if not deployments:
        return NO_DEPLOYMENTS
    parts = [
        f"{format_count(len(refused), 'order')} of {name_of(one)} {'was' if len(refused) == 1 else 'were'} refused:\n\n"
        f"{fill_rows(_REFUSAL, refused)}"
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
        f"Open now:\n\n{fill_rows(_POSITION, [row for _, row in held])}" if held else "There is no open position now.",
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
    total = format_signed_usd(_sum(shown, "net_pnl_usd"))
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
    return f"Scheduled in the next {hours} hours:\n\n{listing([_format_event(one) for one in events])}"


def _format_event(event: Row) -> str:
    return fill(_EVENT, {**event, "kind": exact(event, "kind").upper()})


def format_effect(result: Row, what: str, hours: int) -> str:
    """Describe how past events of each kind moved open positions."""
    events = rows(result, "events")
    if not events:
        return f"I see no {what or 'event'} in the next {hours} hours, so nothing to reckon with until then."
    parts = [
        f"{_format_event(event)}\n\n"
        + (listing(_list_effects(result, event)) or "No open position of yours is exposed to it.")
        for event in events
    ]
    return paragraphs(
        *parts, "Past moves in either direction, not a forecast." if rows(result, "your_exposure") else ""
    )


def _list_effects(result: Row, event: Row) -> list[str]:
    met = (row for row in rows(result, "your_exposure") if exact(row, "event_id") == exact(event, "event_id"))
    return [_format_exposure(row) for row in met]


def list_ahead(events: Sequence[Row]) -> list[str]:
    """Return each event of several results with its effect on each exposed position."""
    told = [
        f"{_format_event(event)}. {effect}"
        for result in events
        for event in rows(result, "events")
        for effect in _list_effects(result, event)
    ]
    return list(dict.fromkeys(told))


def _format_exposure(row: Row) -> str:
    """Describe a past event's effect on one position, in % and USD."""
    held = fill("Your {symbol} {position_side} of {notional_usd}", row)
    notional, median, worst = (number(row, key) for key in ("notional_usd", "median_abs_move_pct", "worst_move_pct"))
    back = count(row, "similar_events_back")
    if median is None:
        past = "no past event" if back == 0 else f"only {format_count(back, 'past event')}"
        return f"{held}: {past} of this kind on record, fewer than {LEAST_EVENTS}, so I give no typical move."
    more: dict[str, object] = {}
    if notional is not None:
        more["typical_usd"] = float(notional * median)
    if notional is not None and worst is not None:
        is_against = (worst < 0) == (exact(row, "position_side") == "long")
        more |= {"bad_usd": float(abs(notional * worst)), "way": "against" if is_against else "for"}
    return f"{held}: {fill(_PAST, {**row, **more})}."


# --- Risk ---


def format_worries(deployments: Sequence[Row], events: Sequence[Row], now: datetime | None) -> str:
    """Name what stands out; when nothing does, say what was looked at."""
    if found := list(dict.fromkeys([line for one in deployments for line in _worries(one, now)] + list_ahead(events))):
        return f"This stands out:\n\n{listing(found)}"
    if not deployments:
        return f"{NO_DEPLOYMENTS} So there is nothing of yours at risk."
    return (
        f"Nothing stands out. I looked at {format_count(len(deployments), 'deployment')}, "
        f"{format_count(len(list_positions(deployments)), 'open position')}, recent rejections and the events of the"
        " next 24 hours."
    )


def _worries(one: Row, now: datetime | None) -> Iterable[str]:
    name, held, refused = name_of(one), rows(one, "positions"), rows(one, "recent_rejections")
    for row in held:
        loss, size = number(row, "unrealised_pnl_usd"), number(row, "size_usd")
        if loss is not None and size and loss < -_LOSS * size:
            yield f"{name}: {fill(_POSITION, row)}, {format_signed_pct(loss / size)} of its size"
    if refused:
        yield f"{name}: {format_count(len(refused), 'recent rejection')}, the newest {fill(_REFUSAL, refused[0])}"
    decided = moment(one.get("last_decision_at"))
    if exact(one, "status") == "running" and now and decided and now - decided > _STALE:
        yield f"{name}: it runs, but its last decision was {spell(one, 'last_decision_at')}"
    if exact(one, "status") == "paused" and held:
        yield f"{name}: paused with {format_count(len(held), 'open position')}; nobody manages it"


def format_risk(deployments: Sequence[Row], events: Sequence[Row]) -> str:
    """Name the largest position and the events ahead."""
    if not deployments:
        return f"{NO_DEPLOYMENTS} So you carry no risk here."
    held = list_positions(deployments)
    if not held:
        return (
            f"No position is open in {format_count(len(deployments), 'deployment')}, so no market risk right now."
            " What could be opened is bounded by each skill's risk caps."
        )
    deployment, largest = max(held, key=lambda pair: number(pair[1], "size_usd") or 0)
    total, size = _sum((row for _, row in held), "size_usd"), number(largest, "size_usd")
    of_all = f", {format_pct(size / total)} of {format_usd(total)} open in all" if size and total else ""
    net = format_signed_usd(_sum((row for _, row in held), "unrealised_pnl_usd"))
    ahead = list_ahead(events)
    return paragraphs(
        f"Your largest position: {fill(_POSITION, largest)}, held by {name_of(deployment)}{of_all}.",
        f"{format_count(len(held), 'open position')} in all, unrealised {net}.",
        f"Events ahead:\n\n{listing(ahead)}" if ahead else "No event ahead that I can measure.",
    )
