"""Confirm cards: the only way from chat to an action.

A card says what rows say and never what a model wrote; what was seen is what runs; one click of its owner runs
it, once, within a quarter of an hour, and only while the state that it was drawn for still stands.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from chat.conversations.queries import get_conversation
from chat.models import ActionCard, CardStatus
from config.lib.errors import NotFound, StateConflict
from config.lib.proofs import Proof
from trading.models.deployments import ActionType
from trading.record.actions import BACKTEST_FIRST, NOTE, Action, Line, draw_action, lock_state, run_action

LIFETIME: Final = timedelta(minutes=15)
_TARGET: Final = ("skill_id", "deployment_id")  # of a payload: what its action is for

TITLES: Final[dict[str, str]] = {
    ActionType.DEPLOY: "Deploy on paper",
    ActionType.REDEPLOY: "Move to the newest version",
    ActionType.STOP: "Stop for good",
    ActionType.PAUSE: "Pause",
    ActionType.RESUME: "Resume",
    ActionType.FLATTEN: "Close all positions",
    ActionType.START_BACKTEST: "Start a backtest",
}
_DONE: Final[dict[str, str]] = {
    ActionType.DEPLOY: "Confirmed. It is deployed, and decides by its schedule from now on.",
    ActionType.START_BACKTEST: "Confirmed. The backtest waits for its runner.",
}
_ASKED: Final = "Confirmed. The runner does it at its next round."
_CANCELLED: Final = "Cancelled. Nothing was done."
_REPLACED: Final = "Replaced by a newer one. Nothing was done."
_OUT_OF_DATE: Final = "Out of date"
_EXPIRED: Final = "Expired. Nothing was done. Ask Keel to prepare it again."


class CardNotFound(NotFound):
    """The owner has no such card."""


class CardDecided(StateConflict):
    """The card was already confirmed or cancelled."""


class CardExpired(StateConflict):
    """The card's time is over."""


class CardOutdated(StateConflict):
    """The card or its state changed since it was seen."""


@dataclass(frozen=True, slots=True)
class CardView:
    """A card as `templates/chat/_card.html` takes it."""

    row: ActionCard
    title: str
    lines: list[Line]
    notes: list[str]
    status: str  # a CardStatus
    status_label: str
    is_open: bool  # it can be confirmed and cancelled
    is_grave: bool  # it ends something
    said: str  # the outcome; empty while the card is open
    refusal: str  # why the last click did nothing
    backtest_skill_id: str  # the skill that is better backtested first; empty: nothing is offered


def draw_card(*, conversation_id: UUID, action: Action, now: datetime) -> ActionCard:
    """Draw a card inside `owned_tx(user)`; cancel an older card for the same action.

    Raises NotFound for the chat and its subject; ActionImpossible, SkillArchived, BacktestRefused: the click could
    only be refused.
    """
    get_conversation(conversation_id)
    drawing = draw_action(action, now)
    card = ActionCard(
        conversation_id=conversation_id,
        type=action.type,
        payload=drawing.payload,
        lines=[list(line) for line in drawing.lines],
        fingerprint=_hash_json(drawing.state),
        created_at=now,
        expires_at=now + LIFETIME,
    )
    card.digest = digest_of(card)
    card.save(force_insert=True)
    waiting = ActionCard.objects.filter(conversation=conversation_id, type=card.type, status=CardStatus.PENDING)
    named = [card.payload.get(name) for name in _TARGET]
    older = [one.pk for one in waiting.exclude(pk=card.pk) if [one.payload.get(name) for name in _TARGET] == named]
    # Conditional, since a click on the older one may come in between.
    waiting.filter(pk__in=older).update(
        status=CardStatus.CANCELLED, decided_at=now, outcome={"replaced_by": str(card.pk)}
    )
    return card


def digest_of(card: ActionCard) -> str:
    """Return the digest of a card's contents."""
    said = {"type": str(card.type), "payload": card.payload, "lines": card.lines, "fingerprint": card.fingerprint}
    return _hash_json(said)


def _hash_json(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def confirm_card(*, card_id: UUID, digest: str, proof: Proof, now: datetime) -> ActionCard:
    """Run the action of a card, once, inside `owned_tx(user)`; `digest` is of what the user saw.

    Nothing is kept of a refused attempt. Raises CardNotFound, CardDecided, CardExpired, CardOutdated (it is not
    what was seen, or not the state that it was drawn for), or what trading raises.
    """
    with transaction.atomic():  # for a caller that catches the refusal and goes on
        _decide_card(card_id, CardStatus.CONFIRMED, now)
        card = get_card(card_id)
        if not (_is_equal(digest, card.digest) and _is_equal(digest_of(card), card.digest)):
            raise CardOutdated("This card is not the one you saw. Nothing was done. Ask Keel to prepare it again.")
        if not _is_equal(_hash_json(lock_state(card.type, card.payload)), card.fingerprint):
            raise CardOutdated(
                "Things have changed since this card was drawn. Nothing was done. Ask Keel to prepare it again."
            )
        card.outcome = run_action(card.type, card.payload, proof=proof, now=now)
        card.save(update_fields=["outcome"])
    return card


def cancel_card(*, card_id: UUID, now: datetime) -> ActionCard:
    """Cancel a card. Call it inside `owned_tx(user)`. Raises CardNotFound, CardDecided, CardExpired."""
    _decide_card(card_id, CardStatus.CANCELLED, now)
    return get_card(card_id)


def expire_cards(*, now: datetime) -> int:
    """Expire overdue cards; return the count. In `system_tx`, of all users."""
    rows = ActionCard.objects.filter(status=CardStatus.PENDING, expires_at__lte=now)
    return rows.update(status=CardStatus.EXPIRED, decided_at=now)


def _decide_card(card_id: UUID, status: CardStatus, now: datetime) -> None:
    waiting = ActionCard.objects.filter(pk=card_id, status=CardStatus.PENDING, expires_at__gt=now)
    if waiting.update(status=status, decided_at=now):
        return
    card = get_card(card_id)
    if card.status in (CardStatus.PENDING, CardStatus.EXPIRED):
        raise CardExpired("This card expired before the click.")
    was = "confirmed" if card.status == CardStatus.CONFIRMED else "cancelled"
    raise CardDecided(f"This card was {was} before the click, which did nothing.")


def _is_equal(one: str, other: str) -> bool:
    return compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def get_card(card_id: UUID) -> ActionCard:
    """Return a card. Raises CardNotFound."""
    return ActionCard.objects.filter(pk=card_id).first_or(CardNotFound("There is no such card."))


def view_card(
    card: ActionCard, *, at: datetime | None = None, refusal: str = "", can_be_tried: bool = True
) -> CardView:
    """Return a card as its template takes it; `can_be_tried`: another click might do more.

    A card whose time is over at `at` reads as expired, also if no sweep came by yet. `refusal`: why a click did
    nothing.
    """
    is_over = at is not None and card.status == CardStatus.PENDING and at >= card.expires_at
    status = CardStatus.EXPIRED if is_over else CardStatus(card.status)
    lines = [(label, text) for label, text in card.lines]
    notes = [text for label, text in lines if label == NOTE]
    is_open = status == CardStatus.PENDING and can_be_tried
    return CardView(
        row=card,
        title=TITLES[card.type],
        lines=[line for line in lines if line[0] != NOTE],
        notes=notes,
        status=status,
        status_label=status.label if can_be_tried or status != CardStatus.PENDING else _OUT_OF_DATE,
        is_open=is_open,
        is_grave=card.type in (ActionType.STOP, ActionType.FLATTEN),
        said=_describe_outcome(card, status),
        refusal=refusal,
        backtest_skill_id=card.payload["skill_id"] if is_open and BACKTEST_FIRST in notes else "",
    )


def _describe_outcome(card: ActionCard, status: CardStatus) -> str:
    match status:
        case CardStatus.CONFIRMED:
            return _DONE.get(card.type, _ASKED)
        case CardStatus.CANCELLED:
            return _REPLACED if "replaced_by" in card.outcome else _CANCELLED
        case CardStatus.EXPIRED:
            return _EXPIRED
    return ""
