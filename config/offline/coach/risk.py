"""Risk: the largest position, what stands out, and what events ahead did to positions like it."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.market import GET_UPCOMING_EVENTS
from config.lib.figures import format_count, format_pct, format_signed_pct, format_signed_usd, format_usd
from config.offline.coach.answers import (
    NO_DEPLOYMENTS,
    POSITION,
    REFUSAL,
    format_event,
    format_events,
    list_positions,
    name_of,
    sum_of,
)
from config.offline.coach.words import Words
from config.offline.facts import Call, Outcome
from config.offline.figures import Row, count, exact, fill, listing, moment, number, paragraphs, rows, spell
from config.offline.memory.report import failure
from config.offline.talk import Steps, Talk
from trading.market.names import is_market
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

DEPLOYMENTS: Final = GET_MY_DEPLOYMENTS.name
EVENTS: Final = GET_UPCOMING_EVENTS.name
AHEAD_HOURS: Final = MAX_EVENT_LOOKAHEAD_HOURS
SOON_HOURS: Final = 24
LEAST_EVENTS: Final = 3  # past ones, below which no median is given
_STALE: Final = timedelta(hours=26)  # of the last decision; a daily schedule ticks within it
_LOSS: Final = Decimal("0.02")  # of a position's size, from which an open loss is worth a word
_MOST_EXPOSED: Final = 3  # deployments whose exposure is looked up for one answer
_PAST: Final = (
    "the median move around {similar_events_back} past events of this kind was {median_abs_move_pct}|, about"
    " {typical_usd} either way| (about 90 % between {median_90pct_interval})|; the usual move of {quiet_hours_back}"
    " quiet hours was {quiet_median_abs_move_pct}|; the worst was {worst_move_pct}|, {bad_usd}| {way} you"
)


def refusal(talk: Talk, outcomes: list[Outcome]) -> str:
    """Say which lookups failed, "" when none did."""
    return paragraphs(*(failure(outcome, talk.names) for outcome in outcomes if outcome.error))


def own(talk: Talk) -> dict[str, str]:
    """Return the lookup argument of the deployment in focus."""
    return {"deployment_id": talk.scene.deployment_id} if talk.scene.deployment_id else {}


def _exposed(deployments: list[Row], words: Words | None = None) -> list[Row]:
    """Return deployments with positions that the words can mean, the largest first."""
    side = words.given.get("side", "") if words else ""
    symbols = words.symbols if words else []
    sizes = {
        id(one): sum(
            number(held, "size_usd") or 0
            for _, held in list_positions([one], symbols)
            if not side or exact(held, "side") in side
        )
        for one in deployments
    }
    return sorted((one for one in deployments if sizes[id(one)] > 0), key=lambda one: -sizes[id(one)])


def _ahead_for(deployments: list[Row], hours: int, **more: object) -> tuple[Call, ...]:
    return tuple(
        Call(EVENTS, {"lookaheadHours": hours, "deploymentId": exact(one, "deployment_id"), **more})
        for one in deployments[:_MOST_EXPOSED]
    )


def answer_risk(talk: Talk, words: Words) -> Steps:
    """Name the largest position, or what stands out, and the events ahead."""
    is_worry = "worry" in words.tags
    [found] = yield (Call(DEPLOYMENTS, own(talk)),)
    deployments = found.entries("deployments")
    events = yield _ahead_for(_exposed(deployments), SOON_HOURS if is_worry else AHEAD_HOURS)
    ahead = [one.as_row for one in events]
    told = format_worries(deployments, ahead, talk.scene.now) if is_worry else format_risk(deployments, ahead)
    return refusal(talk, [found]) or paragraphs(told, refusal(talk, events))


def answer_effect(talk: Talk, words: Words) -> Steps:
    """Answer an event's effect on positions of the focus or question."""
    kinds, symbols = words.kinds, words.symbols
    what = " or ".join(kind.replace("_", " ") if "_" in kind else kind.upper() for kind in kinds)
    types = {"types": kinds} if kinds else {}
    if talk.scene.deployment_id:
        meant: list[Row] = [{"deployment_id": talk.scene.deployment_id, "skill_name": talk.scene.focus.get("skill")}]
    else:
        [found] = yield (Call(DEPLOYMENTS, {}),)
        if found.error:
            return refusal(talk, [found])
        meant = _exposed(found.entries("deployments"), words)
    if not meant:
        [calendar] = yield (Call(EVENTS, {"lookaheadHours": AHEAD_HOURS, **types}),)
        held = f"{' or '.join(symbols)} {words.given.get('side', '')}".strip()
        told = format_events(calendar.as_row, AHEAD_HOURS)
        return refusal(talk, [calendar]) or f"You hold no open {f'{held} ' if held else ''}position now. {told}"
    events = yield _ahead_for(meant, AHEAD_HOURS, **types)
    told_of = [
        paragraphs(
            f"**{name_of(one)}**" if len(meant) > 1 else "",
            refusal(talk, [outcome]) or format_effect(_narrowed(outcome.as_row, symbols), what, AHEAD_HOURS),
        )
        for one, outcome in zip(meant, events, strict=False)
    ]
    return paragraphs(*told_of)


def _narrowed(result: Row, symbols: list[str]) -> Row:
    """Return events with the exposure of the symbols asked for, or all."""
    exposed = rows(result, "your_exposure")
    met = [row for row in exposed if is_market(exact(row, "symbol"), symbols)]
    return {**result, "your_exposure": met or exposed}


def format_effect(result: Row, what: str, hours: int) -> str:
    """Describe how past events of each kind moved open positions."""
    events = rows(result, "events")
    if not events:
        return f"I see no {what or 'event'} in the next {hours} hours, so nothing to reckon with until then."
    parts = [
        f"{format_event(event)}\n\n"
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
        f"{format_event(event)}. {effect}"
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
            yield f"{name}: {fill(POSITION, row)}, {format_signed_pct(loss / size)} of its size"
    if refused:
        yield f"{name}: {format_count(len(refused), 'recent rejection')}, the newest {fill(REFUSAL, refused[0])}"
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
    total, size = sum_of((row for _, row in held), "size_usd"), number(largest, "size_usd")
    of_all = f", {format_pct(size / total)} of {format_usd(total)} open in all" if size and total else ""
    net = format_signed_usd(sum_of((row for _, row in held), "unrealised_pnl_usd"))
    ahead = list_ahead(events)
    return paragraphs(
        f"Your largest position: {fill(POSITION, largest)}, held by {name_of(deployment)}{of_all}.",
        f"{format_count(len(held), 'open position')} in all, unrealised {net}.",
        f"Events ahead:\n\n{listing(ahead)}" if ahead else "No event ahead that I can measure.",
    )
