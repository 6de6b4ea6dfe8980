"""Answers about markets, news, events and their effect on positions."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from config.lib.figures import (
    format_count,
    format_pct,
    format_price,
    format_ratio,
    format_signed_pct,
    format_signed_ratio,
    format_signed_usd,
    format_usd,
)
from config.offline.coach.record_answers import NO_DEPLOYMENTS, format_position, format_rejection, name_of
from config.offline.figures import (
    Field,
    Row,
    count,
    exact,
    labelled,
    listing,
    moment,
    number,
    paragraphs,
    plain,
    rows,
    spell,
    sum_numbers,
    utc,
)

LEAST_EVENTS: Final = 3  # past ones, below which no median is given
_STALE: Final = timedelta(hours=26)  # of the last decision; a daily schedule ticks within it
_LOSS: Final = Decimal("0.02")  # of a position's size, from which an open loss is worth a word
_format_funding: Final = partial(format_signed_pct, places=4)  # a payment of 0.0100 % is usual
_FIELDS: Final[tuple[Field, ...]] = (
    ("last price", "last_price", format_price),
    ("24 h", "change_24h_pct", format_signed_pct),
    ("funding", "funding_rate_pct", _format_funding),
    ("basis", "basis_pct", _format_funding),
    ("realised volatility", "realised_vol_pct", format_pct),
)


def format_markets(result: Row, field: str = "") -> str:
    """Say how markets stand; `field` alone when one was asked for."""
    markets = rows(result, "markets")
    if not markets:
        return "I see no market: there are no bars for what you asked."
    lines = [_format_market(one, field) for one in markets]
    simulated = any(one.get("is_simulated") is True for one in markets)
    return paragraphs(
        f"As of {utc(result.get('as_of'))}:", listing(lines), "These prices are simulated." if simulated else ""
    )


def _format_market(one: Row, field: str) -> str:
    known = labelled(one, [shown for shown in _FIELDS if field in ("", shown[1])])
    regime = plain(one, "regime")
    if regime and field in {"", "regime"}:
        known.append(f"regime {regime}")
    if not known:
        return f"**{plain(one, 'symbol')}**: no data"
    at = f" (price of {utc(one.get('last_price_at'))})" if one.get("last_price_at") else ""
    return f"**{plain(one, 'symbol')}**: {', '.join(known)}{at}"


def format_news(result: Row, hours: int) -> str:
    """Quote headlines; they are data, whatever they say."""
    news = rows(result, "news")
    if not news:
        return f"No news in the last {hours} hours."
    return f"News of the last {hours} hours, quoted as their sources have them:\n\n{listing([_item(i) for i in news])}"


def _item(item: Row) -> str:
    symbols = item.get("symbols")
    about = ", ".join(str(one) for one in symbols[:5]) if isinstance(symbols, list) and symbols else ""
    mood = number(item, "sentiment")
    tail = [about, f"sentiment {format_signed_ratio(float(mood))}" if mood is not None else ""]
    told = "; ".join(part for part in tail if part)
    return (
        f"{utc(item.get('published_at'))} “{plain(item, 'headline')}” ({plain(item, 'source') or 'no source'})"
        f"{f' [{told}]' if told else ''}"
    )


def format_events(result: Row, hours: int) -> str:
    """List scheduled events."""
    events = rows(result, "events")
    if not events:
        return f"No event of weight is scheduled in the next {hours} hours."
    return f"Scheduled in the next {hours} hours:\n\n{listing([_format_event(one) for one in events])}"


def _format_event(event: Row) -> str:
    weight = number(event, "importance")
    return (
        f"{utc(event.get('scheduled_at'))} {plain(event, 'kind').upper()}: “{plain(event, 'title')}”"
        f"{f', importance {format_ratio(float(weight))} of 1' if weight is not None else ''}"
    )


def told_effect(result: Row, what: str, *, hours: int) -> str:
    """Describe how past events of each kind moved open positions."""
    events = rows(result, "events")
    if not events:
        return f"I see no {what or 'event'} in the next {hours} hours, so nothing to reckon with until then."
    parts = []
    for event in events:
        told = listing(_list_effects(result, event)) or "No open position of yours is exposed to it."
        parts.append(f"{_format_event(event)}\n\n{told}")
    note = "Past moves in either direction, not a forecast." if rows(result, "your_exposure") else ""
    return paragraphs(*parts, note)


def _list_effects(result: Row, event: Row) -> list[str]:
    met = (row for row in rows(result, "your_exposure") if exact(row, "event_id") == exact(event, "event_id"))
    return [_format_effect(row) for row in met]


def _list_ahead(events: Sequence[Row]) -> list[str]:
    """Return each event of several results with its effect on each exposed position."""
    return [
        f"{_format_event(event)}. {effect}"
        for result in events
        for event in rows(result, "events")
        for effect in _list_effects(result, event)
    ]


def _format_effect(row: Row) -> str:
    """Describe a past event's effect on one position, in % and USD."""
    notional, back = number(row, "notional_usd"), count(row, "similar_events_back")
    held = f"Your {plain(row, 'symbol')} {plain(row, 'position_side')} of {spell(row, 'notional_usd', format_usd)}"
    median, worst = number(row, "median_abs_move_pct"), number(row, "worst_move_pct")
    if median is None:
        past = "no past event" if back == 0 else f"only {format_count(back, 'past event')}"
        return f"{held}: {past} of this kind on record, fewer than {LEAST_EVENTS}, so I give no typical move."
    told = f"{held}: the median move around {format_count(back, 'past event')} of this kind was {format_pct(median)}"
    told += f", about {format_usd(notional * median)} either way" if notional is not None else ""
    interval = row.get("median_90pct_interval")
    if isinstance(interval, list) and len(interval) == 2:
        told += f" (about 90 % between {format_pct(float(interval[0]))} and {format_pct(float(interval[1]))})"
    quiet = number(row, "quiet_median_abs_move_pct")
    if quiet is not None:
        hours = format_count(count(row, "quiet_hours_back"), "quiet hour")
        told += f"; the usual move of {hours} was {format_pct(quiet)}"
    if worst is not None:
        told += f"; the worst was {format_signed_pct(worst)}"
        way = "against" if (worst < 0) == (exact(row, "position_side") == "long") else "for"
        told += f", {format_usd(abs(notional * worst))} {way} you" if notional is not None else ""
    return f"{told}."


def told_worries(deployments: Sequence[Row], events: Sequence[Row], now: datetime | None) -> str:
    """Name what stands out; when nothing does, say what was looked at."""
    found = [line for one in deployments for line in _worries(one, now)] + _list_ahead(events)
    if found:
        return f"This stands out:\n\n{listing(list(dict.fromkeys(found)))}"
    if not deployments:
        return f"{NO_DEPLOYMENTS} So there is nothing of yours at risk."
    held = sum(len(rows(one, "positions")) for one in deployments)
    return (
        f"Nothing stands out. I looked at {format_count(len(deployments), 'deployment')}, "
        f"{format_count(held, 'open position')}, recent rejections and the events of the next 24 hours."
    )


def _worries(one: Row, now: datetime | None) -> Iterable[str]:
    name = name_of(one)
    for held in rows(one, "positions"):
        loss, size = number(held, "unrealised_pnl_usd"), number(held, "size_usd")
        if loss is not None and size and loss < -_LOSS * size:
            yield f"{name}: {format_position(held)}, {format_signed_pct(loss / size)} of its size"
    refused = rows(one, "recent_rejections")
    if refused:
        yield f"{name}: {format_count(len(refused), 'recent rejection')}, the newest {format_rejection(refused[0])}"
    decided = moment(one.get("last_decision_at"))
    if exact(one, "status") == "running" and now and decided and now - decided > _STALE:
        yield f"{name}: it runs, but its last decision was {utc(one.get('last_decision_at'))}"
    if exact(one, "status") == "paused" and rows(one, "positions"):
        yield f"{name}: paused with {format_count(len(rows(one, 'positions')), 'open position')}; nobody manages it"


def format_risk(deployments: Sequence[Row], events: Sequence[Row]) -> str:
    """Name the largest position and the events ahead."""
    if not deployments:
        return f"{NO_DEPLOYMENTS} So you carry no risk here."
    held = [(one, row) for one in deployments for row in rows(one, "positions")]
    if not held:
        return (
            f"No position is open in {format_count(len(deployments), 'deployment')}, so no market risk right now."
            " What could be opened is bounded by each skill's risk caps."
        )
    deployment, largest = max(held, key=lambda pair: number(pair[1], "size_usd") or 0)
    total = sum_numbers(number(row, "size_usd") for _, row in held)
    size = number(largest, "size_usd")
    of_all = f", {format_pct(size / total)} of {format_usd(total)} open in all" if size and total else ""
    net = sum_numbers(number(row, "unrealised_pnl_usd") for _, row in held)
    first = f"Your largest position: {format_position(largest)}, held by {name_of(deployment)}{of_all}."
    rest = f"{format_count(len(held), 'open position')} in all, unrealised {format_signed_usd(net)}."
    ahead = _list_ahead(events)
    return paragraphs(
        first,
        rest,
        f"Events ahead:\n\n{listing(list(dict.fromkeys(ahead)))}" if ahead else "No event ahead that I can measure.",
    )
