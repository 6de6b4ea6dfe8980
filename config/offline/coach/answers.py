"""Tell results of tools about agents, trades, markets and events; an agent's reasons are quoted as the agent's."""

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
LEAST_EVENTS: Final = 3  # past ones, below which no median is given
_FEW_TRADES: Final = 5  # below it a record is chance
_STALE: Final = timedelta(hours=26)  # of the last decision; a daily schedule ticks within it
_LOSS: Final = Decimal("0.02")  # of a position's size, from which an open loss is worth a word

NAME: Final = "{skill_name}| v{version}"
LABEL: Final = f"{NAME}| ({{broker_kind}}|, {{status}})"
EVENT: Final = "{scheduled_at} {event_kind}: “{title}”|, importance {importance} of 1"
_POSITION: Final = (
    "{symbol} {side} {size_usd} since {entry_at} at {entry_price}|, unrealised {unrealised_pnl_usd}| at a mark of"
    " {mark_price}"
)
_TRADE: Final = (
    "{exit_at} {symbol} {side} {size_usd}: {net_pnl_usd}| ({net_pnl_pct})|, {entry_price} → {exit_price}|, held"
    " {holding_minutes}|, exit by {exit_kind}"
)
_NOTED: Final = (
    "**{symbol} {side}**, {size_usd}, opened on {entry_at} at {entry_price}|, unrealised {unrealised_pnl_usd}| at a"
    " mark of {mark_price}|. Your agent noted: “{entry_reason}”|\n\nClosed on {exit_at} at {exit_price}: {net_pnl_usd}"
    "| ({net_pnl_pct})|, by {exit_kind}|. Your agent noted: “{exit_reason}”"
)
_REFUSAL: Final = "{tick_at} {code}: “{text}”"
# How a row of each list of a result is told, and the lists inside it.
_VIEWS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "deployments": (
        f"**{LABEL}**: net {{net_pnl_usd}}| over {{closed_trades}} closed trades|; last decision {{last_decision_at}}"
        "|; newest version {newest_version}",
        ("positions", "recent_rejections"),
    ),
    "positions": (_POSITION, ()),
    "recent_rejections": (f"refused {_REFUSAL}", ()),
    "trades": (_TRADE, ()),
    "news": ("{published_at} “{headline}” ({source})|; sentiment {sentiment}", ()),
    "open_drafts": ("“{name}”, changed {updated_at}", ()),
}
_MARKET: Final = {
    "last_price": "last price {last_price}",
    "change_24h_pct": "24 h {change_24h_pct}",
    "funding_rate_pct": "funding {funding_rate_pct}",
    "basis_pct": "basis {basis_pct}",
    "realised_vol_pct": "realised volatility {realised_vol_pct}",
    "regime": "regime {regime}",
}
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
    return " (too few to say anything)" if 0 < trades < _FEW_TRADES else ""


def name_of(deployment: Row) -> str:
    """Return how a deployment is called: skill and version."""
    return fill(NAME, deployment) if exact(deployment, "skill_name") else "a deployment"


def list_positions(deployments: Sequence[Row], symbols: Sequence[str] = ()) -> list[tuple[Row, Row]]:
    """Return the open positions in some symbols, each after its deployment."""
    held = ((one, row) for one in deployments for row in rows(one, "positions"))
    return [(one, row) for one, row in held if is_market(exact(row, "symbol"), symbols)]


def _sum(found: Iterable[Row], key: str) -> Decimal:
    return sum((value for row in found if (value := number(row, key)) is not None), Decimal(0))


# --- Agents and trades ---


def tell_rows(key: str, found: Sequence[Row], empty: str = "") -> str:
    """Return the rows of a list by its view, with the lists inside them."""
    template, inside = _VIEWS[key]
    lines = []
    for row in found:
        nested = [fill(_VIEWS[name][0], one) for name in inside for one in rows(row, name)]
        lines.append("\n  - ".join([f"- {fill(template, row)}", *nested]))
    return "\n".join(lines) or empty


def format_deployments(deployments: Sequence[Row]) -> str:
    """Say how deployments do."""
    running = sum(exact(one, "status") == "running" for one in deployments)
    closed = int(_sum(deployments, "closed_trades"))
    held = [row for _, row in list_positions(deployments)]
    unrealised = f", unrealised {format_signed_usd(_sum(held, 'unrealised_pnl_usd'))}" if held else ""
    total = (
        f"{running} of {format_count(len(deployments), 'deployment')} running,"
        f" {format_count(len(held), 'open position')}{unrealised},"
        f" net {format_signed_usd(_sum(deployments, 'net_pnl_usd'))} over {format_count(closed, 'closed trade')}"
        f"{few(closed)}."
    )
    return paragraphs(total, tell_rows("deployments", deployments)) if deployments else NO_DEPLOYMENTS


def format_rejections(deployments: Sequence[Row]) -> str:
    """Say what risk or a broker has refused lately."""
    refused = [one for one in deployments if rows(one, "recent_rejections")]
    told = [f"Refused for {name_of(one)}:\n\n{fill_rows(_REFUSAL, rows(one, 'recent_rejections'))}" for one in refused]
    none = f"No. I see no recent rejection in {format_count(len(deployments), 'deployment')}."
    return paragraphs(*told) or (none if deployments else NO_DEPLOYMENTS)


def format_why(found: Sequence[Row], deployments: Sequence[Row]) -> str:
    """Quote what the agent noted of trades, open or closed."""
    told = [fill(_NOTED, row) + ("" if row.get("exit_at") else "\n\nIt is still open.") for row in found]
    none = "I see no such trade or position, so nothing to explain. “Show my last trades” tells what was closed."
    if told:
        return paragraphs("I am Keel, not your agent: these are its own notes, not my judgement.", *told)
    return none if deployments else NO_DEPLOYMENTS


def format_what_closes(deployments: Sequence[Row], trades: Sequence[Row], symbols: Sequence[str]) -> str:
    """Say what is on record about exits; the rule itself stands in the skill."""
    held = list_positions(deployments, symbols)
    skills = sorted({(name_of(one), exact(one, "skill_id")) for one, _ in held})
    where = " and ".join(f"[{name}](/skills/{skill_id}/)" if skill_id else name for name, skill_id in skills)
    kinds = Counter(spell(trade, "exit_kind") or "unknown" for trade in trades)
    record = ", ".join(f"{amount} by {kind}" for kind, amount in sorted(kinds.items()))
    told = paragraphs(
        tell_rows("positions", [row for _, row in held], "There is no open position now."),
        f"What closes it is the exit of the skill: {where}." if held else "",
        f"How the last {format_count(len(trades), 'closed trade')} ended: {record}." if trades else "",
        "I do not guess what the agent will decide; “flatten” prepares a card to close it yourself.",
    )
    return told if deployments else NO_DEPLOYMENTS


def format_trades(trades: Sequence[Row], most: int) -> str:
    """Say what the last closed trades were."""
    if not trades:
        return "No closed trade yet."
    shown = trades[:most]
    won = sum((number(trade, "net_pnl_usd") or 0) > 0 for trade in shown)
    total = format_signed_usd(_sum(shown, "net_pnl_usd"))
    more = f"{format_count(len(trades) - len(shown), 'older one')} not shown." if len(trades) > len(shown) else ""
    many = f"{len(shown)} closed trades" if len(shown) > 1 else "closed trade"
    return paragraphs(f"The last {many}: net {total}, {won} won{few(len(shown))}.", tell_rows("trades", shown), more)


def format_lessons(lessons: Sequence[Row]) -> str:
    """Quote what was distilled from trades, with what it was made of."""
    told = []
    for note in lessons[:3]:
        text = [line.removeprefix("- ") for line in exact(note, "lessons_text").splitlines() if line.strip()]
        trades, start, end = count(note, "trades_considered"), spell(note, "window_start"), spell(note, "window_end")
        head = f"From {format_count(trades, 'trade')}, {start[:10] or '?'} to {end[:10] or '?'}, written "
        quoted = "\n>\n".join(f"> {plain({'line': line}, 'line')}" for line in text)
        told.append(f"{head}{spell(note, 'generated_at') or '?'}{few(trades)}:\n\n{quoted}")
    more = f"{len(lessons) - 3} more not shown." if len(lessons) > 3 else ""
    return paragraphs(*told, more) or "There are no lessons yet: they are distilled after some closed trades."


def format_performance(result: Row) -> str:
    """Say what a skill's record comes to, by where it ran."""
    title, told = fill("**{name}**|, newest version {latest_version}", result), []
    for kind in ("live", "paper", "backtest"):
        if numbers := block(block(result, "summary"), kind):
            sample = count(numbers, "sample_size")
            none = ", no Sharpe ratio yet (too few days)" if number(numbers, "sharpe") is None else ""
            told.append(f"{kind.capitalize()}: {fill(_RECORD, numbers)}{none}; n={sample}{few(sample)}")
    return f"{title}:\n\n{listing(told)}" if told else f"{title}: no record yet, neither backtest nor paper nor live."


def format_skills(result: Row) -> str:
    """List skills and open drafts."""
    drafts = rows(result, "open_drafts")
    lines = [f"{fill('**{name}** v{latest_version}|, {trading_style}', one)}, {format_test(one)}" for one in
             rows(result, "skills")]  # fmt: skip
    told = paragraphs(listing(lines), f"Open drafts:\n\n{tell_rows('open_drafts', drafts)}" if drafts else "")
    return told or "You have no skill yet. Say “help me build a strategy”, or open [a new one](/skills/new/)."


def format_test(skill: Row) -> str:
    """Say how a skill's last backtest went."""
    test = block(skill, "last_simulation")
    closed = count(test, "closed_trades")
    return f"{fill(_TEST, test)}, {format_count(closed, 'closed trade')}{few(closed)}" if test else "never backtested"


def format_markets(result: Row, field: str = "") -> str:
    """Say how markets stand; `field` alone when one was asked for."""
    lines = []
    for one in rows(result, "markets"):
        known = [fill(words, one) for key, words in _MARKET.items() if field in ("", key) and spell(one, key)]
        at = "| (price of {last_price_at})" if known else ""
        lines.append(fill(f"**{{symbol}}**: {', '.join(known) or 'no data'}{at}", one))
    if not lines:
        return "I see no market: there are no bars for what you asked."
    simulated = any(one.get("is_simulated") is True for one in rows(result, "markets"))
    seen = fill("As of {seen_at}:", {"seen_at": result.get("as_of")})
    return paragraphs(seen, listing(lines), "These prices are simulated." if simulated else "")


# --- Events and risk ---


def format_event(event: Row) -> str:
    """Return a scheduled event as one line."""
    return fill(EVENT, {**event, "event_kind": exact(event, "kind").upper()})


def format_effect(result: Row, what: str, hours: int) -> str:
    """Describe how past events of each kind moved open positions."""
    parts = [
        f"{format_event(event)}\n\n"
        + (listing(_list_effects(result, event)) or "No open position of yours is exposed to it.")
        for event in rows(result, "events")
    ]
    none = f"I see no {what or 'event'} in the next {hours} hours, so nothing to reckon with until then."
    hedge = "Past moves in either direction, not a forecast." if rows(result, "your_exposure") else ""
    return paragraphs(*parts, hedge) if parts else none


def _list_effects(result: Row, event: Row) -> list[str]:
    """Describe a past event's effect on each exposed position, in % and USD."""
    told = []
    for row in (one for one in rows(result, "your_exposure") if one.get("event_id") == event.get("event_id")):
        held = fill("Your {symbol} {position_side} of {notional_usd}", row)
        notional, median, worst = (
            number(row, key) for key in ("notional_usd", "median_abs_move_pct", "worst_move_pct")
        )
        back = count(row, "similar_events_back")
        if median is None:
            past = "no past event" if back == 0 else f"only {format_count(back, 'past event')}"
            none = f"{past} of this kind on record, fewer than {LEAST_EVENTS}, so I give no typical move"
            told.append(f"{held}: {none}.")
            continue
        more: dict[str, object] = {"typical_usd": float(notional * median)} if notional is not None else {}
        if notional is not None and worst is not None:
            is_against = (worst < 0) == (exact(row, "position_side") == "long")
            more |= {"bad_usd": float(abs(notional * worst)), "way": "against" if is_against else "for"}
        told.append(f"{held}: {fill(_PAST, {**row, **more})}.")
    return told


def _list_ahead(events: Sequence[Row]) -> list[str]:
    """Return each event of several results with its effect on each exposed position."""
    pairs = ((result, event) for result in events for event in rows(result, "events"))
    told = (f"{format_event(event)}. {effect}" for result, event in pairs for effect in _list_effects(result, event))
    return list(dict.fromkeys(told))


def format_worries(deployments: Sequence[Row], events: Sequence[Row], now: datetime | None) -> str:
    """Name what stands out; when nothing does, say what was looked at."""
    if not deployments:
        return f"{NO_DEPLOYMENTS} So there is nothing of yours at risk."
    found = [line for one in deployments for line in _iter_worries(one, now)] + _list_ahead(events)
    if found:
        return f"This stands out:\n\n{listing(list(dict.fromkeys(found)))}"
    return (
        f"Nothing stands out. I looked at {format_count(len(deployments), 'deployment')}, "
        f"{format_count(len(list_positions(deployments)), 'open position')}, recent rejections and the events of the"
        " next 24 hours."
    )


def _iter_worries(one: Row, now: datetime | None) -> Iterable[str]:
    name, held = name_of(one), rows(one, "positions")
    for row in held:
        loss, size = number(row, "unrealised_pnl_usd"), number(row, "size_usd")
        if loss is not None and size and loss < -_LOSS * size:
            yield f"{name}: {fill(_POSITION, row)}, {format_signed_pct(loss / size)} of its size"
    if refused := rows(one, "recent_rejections"):
        yield f"{name}: {format_count(len(refused), 'recent rejection')}, the newest {fill(_REFUSAL, refused[0])}"
    decided = moment(one.get("last_decision_at"))
    if exact(one, "status") == "running" and now and decided and now - decided > _STALE:
        yield f"{name}: it runs, but its last decision was {spell(one, 'last_decision_at')}"
    if exact(one, "status") == "paused" and held:
        yield f"{name}: paused with {format_count(len(held), 'open position')}; nobody manages it"


def format_risk(deployments: Sequence[Row], events: Sequence[Row]) -> str:
    """Name the largest position and the events ahead."""
    held = list_positions(deployments)
    if not held:
        none = f"No position is open in {format_count(len(deployments), 'deployment')}, so no market risk right now."
        return none if deployments else f"{NO_DEPLOYMENTS} So you carry no risk here."
    deployment, largest = max(held, key=lambda pair: number(pair[1], "size_usd") or 0)
    total, size = _sum((row for _, row in held), "size_usd"), number(largest, "size_usd")
    of_all = f", {format_pct(size / total)} of {format_usd(total)} open in all" if size and total else ""
    net = format_signed_usd(_sum((row for _, row in held), "unrealised_pnl_usd"))
    ahead = _list_ahead(events)
    return paragraphs(
        f"Your largest position: {fill(_POSITION, largest)}, held by {name_of(deployment)}{of_all}.",
        f"{format_count(len(held), 'open position')} in all, unrealised {net}.",
        f"Events ahead:\n\n{listing(ahead)}" if ahead else "No event ahead that I can measure.",
    )
