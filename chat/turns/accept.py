"""Accept a message, retry, edit or continuation and begin its turn."""

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from chat.conversations.services import MessageRefused
from chat.models import ConversationSummary, Message, Role
from chat.prompt.by_rules import title_from
from chat.turns.replies import can_continue
from chat.turns.start import Exchange, begin_turn, check_standing, lock_standing
from config.lib.text import clean_text, one_line
from memory.claims.statements import has_foreign_words

MAX_MESSAGE_BYTES: Final = 16 * 1024


def accept_message(*, conversation_id: UUID, client_id: UUID, text: str, now: datetime) -> Exchange:
    """Store a message and its new reply in one transaction.

    The same `client_id` again returns what was stored and starts nothing.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: empty, too long, a turn is running here.
        TooMuchAsked: too many turns or messages, or the day's tokens are used up.
    """
    content = clean_text(text).strip()
    standing = lock_standing(conversation_id, client_id=client_id, now=now)
    if standing.repeat_id is not None:
        message = Message.objects.get(pk=standing.repeat_id)
        reply = Message.objects.shown().filter(reply_to=message).order_by("-pk").first()
        return Exchange(message, reply, None, None)
    _check_text(content)
    check_standing(standing)
    message = _store_message(conversation_id, content, client_id=client_id, now=now)
    title = None if standing.has_title else title_from(content)
    return begin_turn(standing, message, title=title, now=now)


def retry_reply(*, conversation_id: UUID, now: datetime) -> Exchange:
    """Hide the newest reply and begin its turn again.

    Raises ConversationNotFound; MessageRefused: there is no reply, or a turn is running, or too many are.
    """
    standing = lock_standing(conversation_id, now=now)
    check_standing(standing)
    old = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk").first()
    if old is None or old.role != Role.ASSISTANT or old.reply_to is None:
        raise MessageRefused("There is no reply to try again.")
    old.replaced_at = now
    old.save(update_fields=["replaced_at"])
    accepted = begin_turn(standing, old.reply_to, is_continuation=old.is_continuation, now=now)
    return replace(accepted, replaces=old.pk)


def edit_message(*, conversation_id: UUID, message_id: int, text: str, now: datetime) -> Exchange:
    """Replace an earlier message and begin its turn.

    The message, and all that was said after it, is kept out of sight. A summary that reached behind it is dropped.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: it is no message of theirs that is still shown, the text is none, or no turn can begin.
    """
    content = clean_text(text).strip()
    standing = lock_standing(conversation_id, now=now)
    _check_text(content)
    check_standing(standing)
    shown = Message.objects.shown().filter(conversation_id=conversation_id)
    if not shown.filter(pk=message_id, role=Role.USER).exists():
        raise MessageRefused("This message was changed already. Reload to see the chat as it is now.")
    replaced = list(shown.filter(pk__gte=message_id).order_by("pk").values_list("pk", flat=True))
    Message.objects.filter(pk__in=replaced).update(replaced_at=now)
    summaries = ConversationSummary.objects.filter(conversation_id=conversation_id, replaced_at=None)
    if summaries.filter(through__gte=message_id).update(replaced_at=now):
        standing = lock_standing(conversation_id, now=now)
    accepted = begin_turn(standing, _store_message(conversation_id, content, now=now), now=now)
    return replace(accepted, removes=tuple(replaced))


def continue_reply(*, conversation_id: UUID, now: datetime) -> Exchange:
    """Continue the newest reply, in a reply of its own.

    Raises ConversationNotFound; MessageRefused: the newest reply is whole, or says nothing, or no turn can begin.
    """
    standing = lock_standing(conversation_id, now=now)
    check_standing(standing)
    last = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk").first()
    if last is None or last.reply_to is None or not can_continue(last):
        raise MessageRefused("This chat has no interrupted reply to continue.")
    return begin_turn(standing, last.reply_to, is_continuation=True, now=now)


def _store_message(conversation_id: UUID, content: str, *, client_id: UUID | None = None, now: datetime) -> Message:
    message = Message(
        conversation_id=conversation_id,
        role=Role.USER,
        content=content,
        client_id=client_id,
        is_untrusted=has_foreign_words(content),
        created_at=now,
        finished_at=now,
    )
    message.insert()
    return message


def _check_text(content: str) -> None:
    if not one_line(content):  # what shows nothing says nothing
        raise MessageRefused("There is nothing to send.")
    size = len(content.encode())
    if size > MAX_MESSAGE_BYTES:
        raise MessageRefused(
            f"This message is too long: {size // 1024 + 1} KiB, and {MAX_MESSAGE_BYTES // 1024} KiB is the most. "
            "Send it in parts."
        )
