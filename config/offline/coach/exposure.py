"""Answers about risk: deployments, then the events ahead of their positions."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from config.offline.adapters import Call
from config.offline.coach.lookups import AHEAD_HOURS, DEPLOYMENTS, EVENTS, SOON_HOURS, own, refusal
from config.offline.coach.market_answers import format_events, format_risk, told_effect, told_worries
from config.offline.coach.record_answers import name_of
from config.offline.figures import Row, exact, number, paragraphs, rows
from config.offline.talk import Steps, Talk
from trading.market.names import events_in, is_market, symbols_in

_MOST_EXPOSED: Final = 3  # deployments whose exposure is looked up for one answer


def _exposed(deployments: Sequence[Row], symbols: Sequence[str] = (), side: str = "") -> list[Row]:
    """Return deployments with matching positions, the largest first."""
    sizes = {
        id(one): sum(
            number(held, "size_usd") or 0
            for held in rows(one, "positions")
            if is_market(exact(held, "symbol"), symbols) and (not side or exact(held, "side") == side)
        )
        for one in deployments
    }
    return sorted((one for one in deployments if sizes[id(one)] > 0), key=lambda one: -sizes[id(one)])


def _ahead_for(deployments: Sequence[Row], hours: int, **more: object) -> tuple[Call, ...]:
    return tuple(
        Call(EVENTS, {"lookaheadHours": hours, "deploymentId": exact(one, "deployment_id"), **more})
        for one in deployments[:_MOST_EXPOSED]
    )


def _find_exposure(talk: Talk, hours: int, tell: Callable[[Sequence[Row], Sequence[Row]], str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, own(talk)),)
    deployments = found.entries("deployments")
    events = yield _ahead_for(_exposed(deployments), hours)
    told = tell(deployments, [one.as_row for one in events])
    return refusal(talk, [found]) or paragraphs(told, refusal(talk, events))


def worries(talk: Talk, match: re.Match[str]) -> Steps:
    """Name what stands out in deployments and the next events."""
    now = talk.scene.now
    return _find_exposure(talk, SOON_HOURS, lambda held, ahead: told_worries(held, ahead, now))


def answer_risk(talk: Talk, match: re.Match[str]) -> Steps:
    """Name the largest position and the events ahead."""
    return _find_exposure(talk, AHEAD_HOURS, format_risk)


def answer_effect(talk: Talk, match: re.Match[str]) -> Steps:
    """Answer an event's effect on positions of the focus or question."""
    kinds, symbols = events_in(match[0]), symbols_in(match[0])
    side = next(iter(re.findall(r"\b(long|short)\b", match[0].lower())), "")
    what = " or ".join(kind.replace("_", " ") if "_" in kind else kind.upper() for kind in kinds)
    if talk.scene.deployment_id:
        meant: list[Row] = [{"deployment_id": talk.scene.deployment_id, "skill_name": talk.scene.focus.get("skill")}]
    else:
        [found] = yield (Call(DEPLOYMENTS, {}),)
        if found.error:
            return refusal(talk, [found])
        meant = _exposed(found.entries("deployments"), symbols, side)
    if not meant:
        [calendar] = yield (Call(EVENTS, {"lookaheadHours": AHEAD_HOURS, "types": kinds}),)
        held = f"{' or '.join(symbols)} {side}".strip()
        told = format_events(calendar.as_row, AHEAD_HOURS)
        return refusal(talk, [calendar]) or f"You hold no open {f'{held} ' if held else ''}position now. {told}"
    events = yield _ahead_for(meant, AHEAD_HOURS, types=kinds)
    told_of = [
        paragraphs(
            f"**{name_of(one)}**" if len(meant) > 1 else "",
            refusal(talk, [outcome]) or told_effect(_narrowed(outcome.as_row, symbols), what, hours=AHEAD_HOURS),
        )
        for one, outcome in zip(meant, events, strict=False)
    ]
    return paragraphs(*told_of)


def _narrowed(result: Row, symbols: Sequence[str]) -> Row:
    """Return events with the exposure of the symbols asked for, or all."""
    exposed = rows(result, "your_exposure")
    met = [row for row in exposed if is_market(exact(row, "symbol"), symbols)]
    return {**result, "your_exposure": met or exposed}
