"""Results of the coach's tools as text: one rendering of lists, by a table of views.

A view names the tool, the list in its result and the templates (`figures.fill`) of a row and of what stands around it.
Lists inside a row are told by the views of their names. What an agent noted is quoted as the agent's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from chat.tools.base import Tool
from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.market import GET_MARKET_OVERVIEW, GET_RECENT_NEWS, GET_UPCOMING_EVENTS
from chat.tools.questions import QUERY_TRADES
from chat.tools.skills import LIST_MY_SKILLS
from config.offline.figures import Row, block, escape, exact, fill, fill_rows, listing, paragraphs, rows

NO_DEPLOYMENTS: Final = (
    "Nothing is deployed: I see no deployment of yours. A skill that is saved can be deployed from its page, or say"
    " “deploy it” and I prepare a card."
)
LABEL: Final = "{skill_name}| v{version}| ({broker_kind}|, {status})"
_CHECK: Final = (
    "A {symbol} {side} of {size_usd}| at {price}| with the stop at {stop_price}| ({stop_distance_pct} away)| would lose"
    " {risk_usd} there|, {risk_pct} of {equity_usd}|. Leverage {leverage}|. The price is {is_simulated}"
    "|\n\nVerdict: **{verdict}**."
)
_SIMILAR: Final = (
    "|Similar trades of yours: n={n}, a trade makes {expectancy_usd}| (about 90 % between {interval_90pct_usd})|,"
    " win rate {win_rate_pct}"
)
_MOST: Final = 10  # rows of a list
_HELD: Final = (
    "{size_usd} since {entry_at} at {entry_price}|, unrealised {unrealised_pnl_usd}| at a mark of {mark_price}"
)
_POSITION: Final = f"{{symbol}} {{side}} {_HELD}"
_DEPLOYMENT: Final = (
    f"**{LABEL}**: net {{net_pnl_usd}}|, n={{closed_trades}}|; last decision {{last_decision_at}}|; newest version"
    " {newest_version}|; [its rules](/skills/{skill_id}/)"
)
_TEST: Final = (
    "|, last backtest {starts_at} to {ends_at}: net {net_pnl_usd}|, max drawdown {max_drawdown_pct}|, win rate"
    " {win_rate_pct}|, Sharpe {sharpe}|, n={closed_trades}|!starts_at , never backtested"
)


@dataclass(frozen=True, slots=True)
class View:
    """How a list of a tool's result is told."""

    row: str
    empty: str = ""
    head: str = ""  # of the result
    note: str = ""
    tool: Tool[Any] = GET_MY_DEPLOYMENTS
    key: str = "deployments"  # of the list
    detail: str = ""  # argument of the tool


VIEWS: Final = {
    "status": View(
        _DEPLOYMENT,
        NO_DEPLOYMENTS,
        "|In all: net {net_pnl_usd}|, n={closed_trades}|, {open_positions} open|, realised so far {open_so_far_usd}"
        "|, unrealised {unrealised_pnl_usd}",
    ),
    "paper": View(LABEL, NO_DEPLOYMENTS, "No real money: all agents trade on paper, with simulated fills and money."),
    "live": View(LABEL, "", "Real money is at work where it reads “live”; “paper” is simulated:"),
    "closing": View(
        f"{_POSITION}; [its rules](/skills/{{skill_id}}/)",
        "No position is open. What closes one is the exit in the rules of its skill.",
        "What closes a position is the exit in the rules of its skill:",
        "I do not guess what the agent will decide; “flatten” prepares a card to close it yourself.",
        key="positions",
    ),
    "risk": View(
        f"{_POSITION}|, held by {{skill_name}}",
        "No position is open, so you carry no market risk right now.",
        "Your open positions, the largest first:",
        key="positions",
    ),
    "positions": View(_POSITION),
    "recent_rejections": View(
        "refused {tick_at} {code}: “{text}”|, of {skill_name}", "I see no recent refusal.", key="recent_rejections"
    ),
    "trades": View(
        "{exit_at} {symbol} {side} {size_usd}: {net_pnl_usd}| ({net_pnl_pct})|, {entry_price} → {exit_price}|, held"
        " {holding_minutes}|, exit by {exit_kind}",
        "No closed trade yet.",
        "Your last closed trades:",
        key="trades",
        detail="trades",
    ),
    "why": View(
        f"**{{symbol}} {{side}}** {_HELD}|. Your agent noted: “{{entry_reason}}”|\n\n  Closed on {{exit_at}} at"
        " {exit_price}: {net_pnl_usd}| ({net_pnl_pct})|, by {exit_kind}|. Your agent noted: “{exit_reason}”",
        "I see no such trade or position, so nothing to explain. “Show my last trades” tells what was closed.",
        note="I am Keel, not your agent: these are its own notes, not my judgement.",
        key="trades",
        detail="trades",
    ),
    "lessons": View(
        "{window_start} to {window_end}, n={trades_considered}|, written {generated_at}|:\n\n{lessons_text}",
        "There are no lessons yet: they are distilled after some closed trades.",
        key="lessons",
        detail="lessons",
    ),
    "news": View(
        "{published_at} “{headline}” ({source})|; sentiment {sentiment}",
        "No news in the last {lookback_hours} hours.",
        "News of the last {lookback_hours} hours, quoted as their sources have them:",
        tool=GET_RECENT_NEWS,
        key="news",
    ),
    "events": View(
        "{scheduled_at} “{title}” ({kind})|, importance {importance} of 1",
        "I see no event of weight {window}.| {beyond} The [calendar](/calendar/) shows the rest.|!beyond  The"
        " [calendar](/calendar/) looks further ahead.",
        "|{beyond} The [calendar](/calendar/) shows the rest.\n\n|Scheduled {window}:",
        tool=GET_UPCOMING_EVENTS,
        key="events",
    ),
    "your_exposure": View(
        "Your {symbol} {position_side} of {notional_usd}: {similar_events_back} past events of its kind|, the median"
        " move was {median_abs_move_pct}, about {median_abs_move_usd} either way| (about 90 % between"
        " {median_90pct_interval})|; the usual move of {quiet_hours_back} quiet hours was {quiet_median_abs_move_pct}|;"
        " the worst was {worst_move_pct}, {worst_move_usd} for you. Past moves in either direction, not a forecast"
        "|!median_abs_move_pct : fewer than 3, so I give no typical move"
    ),
    "markets": View(
        "**{symbol}**|: last price {last_price}|, 24 h {change_24h_pct}|, funding {funding_rate_pct}|, basis"
        " {basis_pct}|, realised volatility {realised_vol_pct}|, regime {regime}| (price of {last_price_at})|,"
        " {is_simulated}|!last_price : no data",
        "I see no market: there are no bars for what you asked.",
        "|As of {as_of}:",
        tool=GET_MARKET_OVERVIEW,
        key="markets",
    ),
    "skills": View(
        f"**{{name}}**| v{{latest_version}}|, {{trading_style}}{_TEST}",
        "You have no skill yet. Say “help me build a strategy”, or open [a new one](/skills/new/).",
        "Of your skills, the one with the newest backtest first:",
        tool=LIST_MY_SKILLS,
        key="skills",
    ),
    "untested": View(
        f"**{{name}}**| v{{latest_version}}{_TEST}",
        "You have no skill yet.",
        "The first one needs a backtest most: never tested, or longest ago.",
        "Say “backtest it” with its name, and I prepare a card.",
        tool=LIST_MY_SKILLS,
        key="skills",
    ),
    "help": View(""),
    "open_drafts": View("“{name}”, changed {updated_at}", "", "Open drafts:", tool=LIST_MY_SKILLS, key="open_drafts"),
    "record": View("{group}: {told} (n={n})", tool=QUERY_TRADES, key="groups"),
}
_INSIDE: Final = ("positions", "recent_rejections", "your_exposure")  # lists inside a row


def tell(name: str, found: Row, listed: Sequence[Row] | None = None, most: int = _MOST) -> str:
    """Return a list of a result by its view, or the rows that were picked of it."""
    view = VIEWS[name]
    listed = rows(found, view.key) if listed is None else listed
    lines = []
    for one in listed[:most]:
        inside = [fill(VIEWS[key].row, row) for key in _INSIDE for row in rows(one, key)]
        lines.append("\n  - ".join([fill(view.row, {**one, **block(one, "last_simulation")}), *inside]))
    left = f"{len(listed) - len(lines)} more not shown." if len(listed) > len(lines) else ""
    head = fill(view.head if lines else view.empty, {**found, **block(found, "all")})
    return paragraphs(head, listing(lines), left, view.note if lines else "")


def list_inside(found: Row, key: str) -> list[Row]:
    """Return the rows of a list inside the deployments, each with whose it is."""
    return [
        {**row, **{name: exact(one, name) for name in ("deployment_id", "skill_id", "skill_name")}}
        for one in rows(found, "deployments")
        for row in rows(one, key)
    ]


def tell_check(plan: Row) -> str:
    """Return the check of a planned trade: size, verdict, why, rules and similar trades."""
    why = [escape(one) for one in plan.get("why") or () if isinstance(one, str)]
    return paragraphs(
        fill(_CHECK, plan),
        listing(why),
        fill_rows("{rule}: {verdict}", rows(plan, "rules")),
        fill(_SIMILAR, block(plan, "similar")),
        "I commit nothing: this is arithmetic on what you told me and your record.",
    )
