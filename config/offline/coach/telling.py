"""Results of the coach's tools as text: one rendering of lists by views.

A view names the tool, the list in its result and the templates (`figures.fill`) of a row and of what stands around it.
What an agent noted is quoted as the agent's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.market import GET_MARKET_OVERVIEW, GET_RECENT_NEWS, GET_UPCOMING_EVENTS
from chat.tools.skills import GET_SKILL_PERFORMANCE, LIST_MY_SKILLS
from config.lib.figures import format_count, format_pct, format_signed_pct, format_usd
from config.offline.coach.words import Words
from config.offline.figures import Row, block, count, exact, fill, listing, moment, number, paragraphs, rows, spell
from trading.market.names import is_market
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

DEPLOYMENTS: Final = GET_MY_DEPLOYMENTS.name
EVENTS: Final = GET_UPCOMING_EVENTS.name
SKILLS: Final = LIST_MY_SKILLS.name
PERFORMANCE: Final = GET_SKILL_PERFORMANCE.name
MARKETS: Final = GET_MARKET_OVERVIEW.name
NEWS: Final = GET_RECENT_NEWS.name
NO_DEPLOYMENTS: Final = (
    "Nothing is deployed: I see no deployment of yours. A skill that is saved can be deployed from its page, or say"
    " “deploy it” and I prepare a card."
)
AHEAD_HOURS: Final = MAX_EVENT_LOOKAHEAD_HOURS
_FEW_TRADES: Final = 5  # below it a record is chance
_STALE: Final = timedelta(hours=26)  # of the last decision; a daily schedule ticks within it
_LOSS: Final = Decimal("0.02")  # of a position's size, from which an open loss is worth a word
_NOT_MINE: Final = "I am Keel, not your agent: these are its own notes, not my judgement."
_PAPER: Final = "Paper means simulated fills and no real money; only a deployment marked live trades money."
_UNREALISED: Final = "|, unrealised {unrealised_pnl_usd}| at a mark of {mark_price}"
NAME: Final = "{skill_name}| v{version}"
LABEL: Final = f"{NAME}| ({{broker_kind}}|, {{status}})"


@dataclass(frozen=True, slots=True)
class View:
    """How a list of a tool's result is told."""

    row: str
    empty: str = ""
    head: str = ""  # of the result and the sums of the rows
    foot: str = ""
    tool: str = DEPLOYMENTS
    key: str = "deployments"  # of the list
    inside: tuple[str, ...] = ()  # views of the lists inside a row
    needs: str = ""  # a list that a row must have
    detail: str = ""  # argument of the tool
    most: int = 30


_TEST: Final = (
    "last backtest {starts_at} to {ends_at}: net {net_pnl_usd}|, max drawdown {max_drawdown_pct}|, win rate"
    " {win_rate_pct}|, Sharpe {sharpe}|, {closed_trades} closed trades| {few}|, {untested}"
)
VIEWS: Final = {
    "status": View(
        f"**{LABEL}**: net {{net_pnl_usd}}| over {{closed_trades}} closed trades|; last decision {{last_decision_at}}"
        "|; newest version {newest_version}",
        "",
        "{running} of {deployed} running, {held}|, unrealised {unrealised_pnl_usd}|, net {net_pnl_usd} over {closed}"
        "| {few}|.",
        inside=("positions", "rejections"),
    ),
    "refused": View(
        f"{NAME}:", "No. I see no recent rejection.", "Refused:", inside=("rejections",), needs="recent_rejections"
    ),
    "closing": View(
        f"What closes it is the exit of [{NAME}](/skills/{{skill_id}}/)",
        "There is no open position now.",
        foot="I do not guess what the agent will decide; “flatten” prepares a card to close it yourself.",
        inside=("positions",),
        needs="positions",
    ),
    "paper": View("**{skill_name}**: {broker_kind}", foot=_PAPER),
    "positions": View(
        f"{{symbol}} {{side}} {{size_usd}} since {{entry_at}} at {{entry_price}}{_UNREALISED}", key="positions"
    ),
    "rejections": View("refused {tick_at} {code}: “{text}”", key="recent_rejections"),
    "trades": View(
        "{exit_at} {symbol} {side} {size_usd}: {net_pnl_usd}| ({net_pnl_pct})|, {entry_price} → {exit_price}|, held"
        " {holding_minutes}|, exit by {exit_kind}",
        "No closed trade yet.",
        "Your last closed trades: net {net_pnl_usd}, {won} of {n} won| {few}|.",
        key="trades",
        detail="trades",
        most=10,
    ),
    "why": View(
        f"**{{symbol}} {{side}}**, {{size_usd}}, opened on {{entry_at}} at {{entry_price}}{_UNREALISED}|. Your agent"
        " noted: “{entry_reason}”|\n\nClosed on {exit_at} at {exit_price}: {net_pnl_usd}| ({net_pnl_pct})|, by"
        " {exit_kind}|. Your agent noted: “{exit_reason}”",
        "I see no such trade or position, so nothing to explain. “Show my last trades” tells what was closed.",
        _NOT_MINE,
        key="trades",
    ),
    "lessons": View(
        "From {trades_considered} trades| {few}|, {window_start} to {window_end}|, written {generated_at}|:\n\n"
        "{lessons_text}",
        "There are no lessons yet: they are distilled after some closed trades.",
        key="lessons",
        detail="lessons",
        most=3,
    ),
    "news": View(
        "{published_at} “{headline}” ({source})|; sentiment {sentiment}",
        "No news in the last {hours} hours.",
        "News of the last {hours} hours, quoted as their sources have them:",
        tool=NEWS,
        key="news",
    ),
    "events": View(
        "{scheduled_at} {event_kind}: “{title}”|, importance {importance} of 1",
        "I see no event of weight in the next {hours} hours.",
        "Scheduled in the next {hours} hours:",
        "The calendar page looks further ahead.",
        tool=EVENTS,
        key="events",
        inside=("exposed",),
    ),
    "exposed": View(
        "Your {symbol} {position_side} of {notional_usd}: |the median move around {similar_events_back} past events of"
        " this kind was {median_abs_move_pct}|, about {median_abs_move_usd} either way| (about 90 % between"
        " {median_90pct_interval})|; the usual move of {quiet_hours_back} quiet hours was {quiet_median_abs_move_pct}|;"
        " the worst was {worst_move_pct}|, {bad_usd}| {way} you. Past moves in either direction, not a forecast"
        "|{similar_events_back} past events of its kind are on record, {unknown}, so I give no typical move",
        key="exposed",
    ),
    "markets": View(
        "**{symbol}**|: last price {last_price}|, 24 h {change_24h_pct}|, funding {funding_rate_pct}|, basis"
        " {basis_pct}|, realised volatility {realised_vol_pct}|, regime {regime}| (price of {last_price_at})"
        "|: {no_data}",
        "I see no market: there are no bars for what you asked.",
        "|As of {seen_at}:",
        "|{simulated}",
        tool=MARKETS,
        key="markets",
    ),
    "skills": View(
        f"**{{name}}**| v{{latest_version}}|, {{trading_style}}|, {_TEST}",
        "You have no skill yet. Say “help me build a strategy”, or open [a new one](/skills/new/).",
        tool=SKILLS,
        key="skills",
    ),
    "drafts": View("“{name}”, changed {updated_at}", "", "Open drafts:", tool=SKILLS, key="open_drafts"),
    "records": View(
        "{mode}: net {net_pnl_usd}|, win rate {win_rate_pct}|, max drawdown {max_drawdown_pct}|, Sharpe {sharpe} over"
        " {sharpe_days} days|, {no_sharpe}|, a trade between {expectancy_90pct_interval_usd} (about 90 %)"
        "|; n={sample_size}| {few}",
        "It has no record yet, neither backtest nor paper nor live.",
        "**{name}**|, newest version {latest_version}|:",
        tool=PERFORMANCE,
        key="records",
    ),
}
_ONE_FIGURE: Final = {  # of a market, by the word that asks for it alone
    "funding": "funding {funding_rate_pct}",
    "basis": "basis {basis_pct}",
    "vol": "realised volatility {realised_vol_pct}",
    "regime": "regime {regime}",
    "price": "last price {last_price}",
}


_SAMPLES: Final = ("closed_trades", "sample_size", "trades_considered")  # keys that say how large a row's sample is


def tell(name: str, found: Row, words: Words | None = None) -> str:
    """Return a list of a result by its view, with the lists inside its rows."""
    view, symbols = VIEWS[name], words.symbols if words and name == "trades" else []
    listed = [one for one in rows(found, view.key) if is_market(exact(one, "symbol"), symbols)]
    listed = [one for one in listed if not view.needs or rows(one, view.needs)]
    shown = listed[: (words and name == "trades" and words.amount) or view.most]
    figure = next((part for tag, part in _ONE_FIGURE.items() if words and tag in words.tags), "")
    row = f"**{{symbol}}**|: {figure}| (price of {{last_price_at}})" if name == "markets" and figure else view.row
    lines = []
    for one in shown:
        inside = [fill_row(part, it) for part in view.inside for it in rows(one, VIEWS[part].key)]
        lines.append("\n  - ".join([fill(row, _complete(one)), *inside]))
    hours = (words.hours_back if name == "news" else words.hours_ahead) if words else AHEAD_HOURS
    around = {**found, **_sum_rows(shown), "hours": hours, "seen_at": found.get("as_of")}
    older = f"{format_count(len(listed) - len(shown), 'older one')} not shown." if len(listed) > len(shown) else ""
    empty = view.empty if view.key != "deployments" or rows(found, view.key) else NO_DEPLOYMENTS
    return paragraphs(fill(view.head if shown else empty, around), listing(lines), older, fill(view.foot, around))


def fill_row(name: str, row: Row) -> str:
    """Return a row by a view."""
    return fill(VIEWS[name].row, _complete(row))


def _complete(row: Row) -> Row:
    """Return a row with what is told of it beside its own keys."""
    test = block(row, "last_simulation")
    trades = next((count(one, key) for one in (test, row) for key in _SAMPLES if key in one), 0)
    notional, median, worst = (number(row, key) for key in ("notional_usd", "median_abs_move_pct", "worst_move_usd"))
    more: dict[str, object] = {"few": few(trades), "event_kind": exact(row, "kind").upper()}
    more |= {"untested": "never backtested"} if "latest_version" in row and not test else {}
    more |= {"no_data": "no data"} if "last_price" in row and number(row, "last_price") is None else {}
    more |= {"unknown": "fewer than 3"} if notional is not None and median is None else {}
    more |= {"no_sharpe": "no Sharpe ratio yet"} if "sample_size" in row and number(row, "sharpe") is None else {}
    more |= {"bad_usd": float(abs(worst)), "way": "against" if worst < 0 else "for"} if worst is not None else {}
    return {**row, **test, **more}


def _sum_rows(shown: Sequence[Row]) -> Row:
    held, closed = [row for _, row in list_positions(shown)], int(_sum(shown, "closed_trades"))
    is_simulated = any(one.get("is_simulated") is True for one in shown)
    return {
        "n": len(shown),
        "won": sum((number(one, "net_pnl_usd") or 0) > 0 for one in shown),
        "running": sum(exact(one, "status") == "running" for one in shown),
        "deployed": format_count(len(shown), "deployment"),
        "held": format_count(len(held), "open position"),
        "closed": format_count(closed, "closed trade"),
        "few": few(closed or len(shown)),
        "net_pnl_usd": float(_sum(shown, "net_pnl_usd")),
        **({"unrealised_pnl_usd": float(_sum(held, "unrealised_pnl_usd"))} if held else {}),
        **({"simulated": "These prices are simulated."} if is_simulated else {}),
    }


def _sum(found: Iterable[Row], key: str) -> Decimal:
    return sum((value for row in found if (value := number(row, key)) is not None), Decimal(0))


def few(trades: int) -> str:
    """Return a warning beside a small sample, or ""."""
    return "(too few to say anything)" if 0 < trades < _FEW_TRADES else ""


def list_positions(deployments: Sequence[Row], symbols: Sequence[str] = ()) -> list[tuple[Row, Row]]:
    """Return the open positions in some symbols, each after its deployment."""
    held = ((one, row) for one in deployments for row in rows(one, "positions"))
    return [(one, row) for one, row in held if is_market(exact(row, "symbol"), symbols)]


def join_exposure(found: Row, symbols: Sequence[str] = ()) -> list[Row]:
    """Return events, each with its past effect on the positions that are exposed to it."""
    exposed = rows(found, "your_exposure")
    met = [row for row in exposed if is_market(exact(row, "symbol"), symbols)] or exposed
    return [
        {**event, "exposed": [row for row in met if row.get("event_id") == event.get("event_id")]}
        for event in rows(found, "events")
    ]


def tell_risk(deployments: Sequence[Row], events: Sequence[Row], now: datetime | None) -> str:
    """Name the largest position, what stands out and the events ahead."""
    pairs = list_positions(deployments)
    if not deployments:
        return f"{NO_DEPLOYMENTS} So you carry no risk here."
    found = [line for one in deployments for line in _iter_worries(one, now)]
    largest = ""
    if pairs:
        deployment, row = max(pairs, key=lambda pair: number(pair[1], "size_usd") or 0)
        total, size = _sum((held for _, held in pairs), "size_usd"), number(row, "size_usd")
        of_all = f", {format_pct(size / total)} of {format_usd(total)} open in all" if size and total else ""
        largest = f"Your largest position: {fill_row('positions', row)}, held by {fill(NAME, deployment)}{of_all}."
    return paragraphs(
        largest or "No position is open, so you carry no market risk right now.",
        fill("{held} in {deployed}|, unrealised {unrealised_pnl_usd}|.", _sum_rows(deployments)),
        f"This stands out:\n\n{listing(found)}" if found else "Nothing stands out.",
        tell("events", {"events": [event for one in events for event in join_exposure(one) if event["exposed"]]}),
    )


def _iter_worries(one: Row, now: datetime | None) -> Iterable[str]:
    name, held, status = fill(NAME, one), rows(one, "positions"), exact(one, "status")
    for row in held:
        loss, size = number(row, "unrealised_pnl_usd"), number(row, "size_usd")
        if loss is not None and size and loss < -_LOSS * size:
            yield f"{name}: {fill_row('positions', row)}, {format_signed_pct(loss / size)} of its size"
    yield from (f"{name}: {fill_row('rejections', row)}" for row in rows(one, "recent_rejections")[:1])
    decided = moment(one.get("last_decision_at"))
    if status == "running" and now and decided and now - decided > _STALE:
        yield f"{name}: it runs, but its last decision was {spell(one, 'last_decision_at')}"
    if status == "paused" and held:
        yield f"{name}: paused with {format_count(len(held), 'open position')}; nobody manages it"
