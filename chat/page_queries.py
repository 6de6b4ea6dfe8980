"""What the pages of the chat show beside the messages: every function answers for the owner in scope."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from chat.models import Conversation, ConversationStatus, ConversationSummary
from chat.queries import ThreadGroup, list_threads
from config.lib.paging import place_of
from memory.models import TRASH_KEPT
from trading.deployment_queries import find_open_draft

TRASH_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class Threads:
    """The list of conversations beside a chat."""

    groups: list[ThreadGroup]  # by recency
    archived: list[Conversation]  # newest first
    trashed: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to list."""
        return not self.groups and not self.archived


@dataclass(frozen=True, slots=True)
class Trashed:
    """A conversation in the trash."""

    conversation: Conversation
    kept_until: datetime


@dataclass(frozen=True, slots=True)
class TrashPage:
    """One page of the trash, last deleted first."""

    rows: list[Trashed]
    total: int
    number: int  # from 1
    pages: int


def get_threads(now: datetime) -> Threads:
    """Return the newest conversations by age, the archived ones apart, and how many lie in the trash.

    Days are those of the zone that `now` is in.
    """
    groups = list_threads(now)
    archived = groups.pop().threads if groups and _is_archived(groups[-1].threads) else []
    return Threads(groups, archived, Conversation.objects.filter(trashed_at__isnull=False).count())


def _is_archived(threads: Iterable[Conversation]) -> bool:
    return all(thread.status == ConversationStatus.ARCHIVED for thread in threads)


def page_of_trash(number: int = 1) -> TrashPage:
    """Return one page of the conversations in the trash; a number beyond the last page gives the last."""
    rows = Conversation.objects.filter(trashed_at__isnull=False).order_by("-trashed_at", "pk")
    total = rows.count()
    place = place_of(number, total=total, size=TRASH_PAGE)
    trashed = [Trashed(row, row.trashed_at + TRASH_KEPT) for row in rows[place.rows] if row.trashed_at is not None]
    return TrashPage(trashed, total, place.number, place.pages)


def find_conversation(conversation_id: UUID) -> Conversation | None:
    """Return a conversation, also one of the trash."""
    found: Conversation | None = Conversation.objects.filter(pk=conversation_id).first()
    return found


def find_panel_chat(*, opening: Mapping[str, str] | None, wanted: UUID | None) -> Conversation | None:
    """Return the chat that the panel shows on a page; None for an empty one.

    That is the one that was `wanted`, if it is there; but where a skill is written, the chat that wrote the open draft,
    or one that was opened there and has not ended.
    """
    if opening is None or opening["mode"] != "authoring":
        return _living(wanted)
    skill_id = opening.get("skill_id")
    draft = find_open_draft(UUID(skill_id) if skill_id else None)
    if draft is not None and (own := _living(draft.conversation_id)) is not None:
        return own
    shown = _living(wanted)
    if shown is None or shown.status != ConversationStatus.ACTIVE:
        return None
    told = shown.opening_context
    return shown if (told.get("mode"), told.get("skill_id")) == ("authoring", skill_id) else None


def _living(conversation_id: UUID | None) -> Conversation | None:
    if conversation_id is None:
        return None
    found: Conversation | None = Conversation.objects.filter(pk=conversation_id, trashed_at=None).first()
    return found


def summarised_through(conversation_id: UUID) -> int:
    """Return the id of the last message that a summary stands for in the prompt; 0 if there is none."""
    rows = ConversationSummary.objects.filter(conversation=conversation_id, replaced_at=None).order_by("-through")
    return rows.values_list("through", flat=True).first() or 0
