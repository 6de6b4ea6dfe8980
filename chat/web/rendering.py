"""Messages as values for templates and as HTML."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from chat.cards import CardView, view_card
from chat.conversations.queries import count_replaced
from chat.grounding.checks import list_figures
from chat.models import ActionCard, Message, MessageStatus, Role
from chat.parts import Part
from chat.tools.calls import PartRows, ToolPart, is_hidden, read_part_rows, view_call
from chat.turns.replies import can_continue
from chat.web.figures import render_text
from chat.web.markdown import render_markdown
from memory.models import WriteKind

_NOTHING: Final = PartRows()


@dataclass(frozen=True, slots=True)
class TextPart:
    html: SafeString
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class MemoryPart:
    event_id: UUID
    kind_label: str
    text: str
    fact_id: str | None
    undone: bool
    kind: str = "memory"


@dataclass(frozen=True, slots=True)
class CardPart:
    card: CardView | None  # None: it is gone
    kind: str = "card"


ShownPart = TextPart | ToolPart | MemoryPart | CardPart


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages that the page leaves out until the reader wants them."""

    after: int  # id of the message before them; 0: the chat begins with them
    before: int  # id of the message after them


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as `templates/chat/_message.html` takes it."""

    row: Message
    can_retry: bool
    can_continue: bool  # it broke off, and is the newest
    can_edit: bool
    can_keep: bool
    is_kept: bool  # in the journal
    answers: int  # this one and those that its retries replaced
    has_receipt: bool  # a turn wrote it, so that one can see what it knew
    ends_summary: bool  # the model gets a summary in place of this message and those before it
    unknown_figures: int  # that nothing known to the turn states
    parts: list[ShownPart]


def view_messages(
    messages: Sequence[Message],
    *,
    kept: Collection[int] = (),
    summarised_through: int = 0,
    followed_by: int | None = None,
) -> list[MessageView]:
    """Return messages as values, with at most four queries.

    Args:
        messages: in their order.
        kept: ids of those that the journal keeps.
        summarised_through: id of the last message that a summary stands for.
        followed_by: id of the message after the last one; None: that is the conversation's newest.
    """
    known = read_part_rows([part for message in messages for part in message.parts])
    last = messages[-1].pk if messages and followed_by is None else None
    # A reply that has just begun is shown outside of the owner's scope.
    ended = (row for row in messages if row.role == Role.ASSISTANT and row.status != MessageStatus.STREAMING)
    replaced = count_replaced(ended)
    older = [message for message in messages if message.pk <= summarised_through] if summarised_through else []
    is_followed = len(older) < len(messages) or (followed_by is not None and followed_by > summarised_through)
    end_of_summary = older[-1] if older and is_followed else None
    return [
        _view_message(
            message,
            known,
            is_last=message.pk == last,
            is_kept=message.pk in kept,
            answers=1 + replaced[message.pk],
            ends_summary=message is end_of_summary,
        )
        for message in messages
    ]


def _view_message(
    message: Message, known: PartRows, *, is_last: bool, is_kept: bool, answers: int, ends_summary: bool
) -> MessageView:
    has_ended = message.status != MessageStatus.STREAMING
    is_reply = message.role == Role.ASSISTANT and has_ended
    says_something = bool(message.content.strip())
    has_turn = message.reply_to_id is not None
    return MessageView(
        row=message,
        can_retry=has_turn and is_last and has_ended,
        can_continue=has_turn and is_last and can_continue(message),
        can_edit=message.role == Role.USER,
        can_keep=is_reply and says_something,
        is_kept=is_kept,
        answers=answers,
        has_receipt=is_reply and has_turn,
        ends_summary=ends_summary,
        unknown_figures=sum(figure["source"] is None for figure in list_figures(message.parts)),
        parts=[
            view_part(part, known, reply_id=message.pk)
            for place, part in enumerate(message.parts)
            if not is_hidden(part) and not _became_update(part, message.parts[place:], known)
        ],
    )


def _became_update(part: Part, rest: Sequence[Part], known: PartRows) -> bool:
    """Tell if a forget is one change with the save after it, which marks the forget as undone."""
    return (
        part.get("event_kind") == WriteKind.FORGET
        and UUID(part["event_id"]) in known.undone
        and any(later.get("event_kind") == WriteKind.UPDATE for later in rest)
    )


def view_part(part: Part, known: PartRows = _NOTHING, *, reply_id: int | None = None) -> ShownPart:
    """Return one part of a reply for its template; `reply_id` of a stored reply, whose figures are marked."""
    if part["kind"] == "text" and reply_id is not None:
        receipt = reverse("chat:receipt", args=[reply_id])
        return TextPart(render_text(part["text"], part.get("figures", ()), receipt))
    if part["kind"] == "text":
        return TextPart(render_markdown(part["text"]))
    if part["kind"] == "tool":
        return view_call(part)
    if part["kind"] == "card":
        card = known.cards.get(UUID(part["card_id"]))
        return CardPart(None if card is None else view_card(card))
    event_id = UUID(part["event_id"])
    return MemoryPart(
        event_id=event_id,
        kind_label=WriteKind(part["event_kind"]).label,
        text=part["text"],
        fact_id=part["fact_id"],
        undone=event_id in known.undone,
    )


def message_html(view: MessageView) -> str:
    """Return the article of one message."""
    return render_to_string("chat/_message.html", {"message": view})


def part_html(part: Part) -> str:
    """Return the HTML of any part of a reply."""
    if part["kind"] == "text":
        return render_markdown(part["text"])
    if part["kind"] == "card":  # from its current row
        card = ActionCard.objects.filter(pk=part["card_id"]).first()
        return render_to_string("chat/_card.html", {"card": view_card(card)}) if card else ""
    template = "chat/_memory_line.html" if part["kind"] == "memory" else "chat/_tool.html"
    return "" if is_hidden(part) else render_to_string(template, {"part": view_part(part)})
