"""User intentions on conversations; call each inside `owned_tx(user)`."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from uuid import UUID

from chat.conversations.lifecycle import HERE_LEASE
from chat.conversations.queries import get_conversation
from chat.models import MAX_TITLE, AssistantName, Conversation, Message, Role
from chat.prompt.assistants import default_assistant
from chat.prompt.focus import can_refocus, check_opening
from chat.prompt.texts import ASK_WHAT_CHANGES
from config.lib.errors import StateConflict
from config.lib.text import one_line
from memory.facts.versions import FactNotFound, get_last_version


def start_conversation(
    *, assistant: str | None = None, is_temporary: bool = False, opening: Mapping[str, str] | None = None, now: datetime
) -> Conversation:
    """Create an empty conversation, with the default assistant unless one is named.

    `opening` is its mode and subject (`chat.prompt.focus`). Raises a DomainError for a subject that is not there.
    """
    check_opening(opening or {})
    return Conversation.objects.create(
        assistant=assistant or default_assistant().name,
        opening_context=dict(opening) if opening else {"mode": "ops"},
        is_temporary=is_temporary,
        created_at=now,
        last_message_at=now,
        left_at=now + HERE_LEASE,
    )


def refocus_conversation(*, conversation_id: UUID, opening: Mapping[str, str]) -> None:
    """Turn a chat to what its user looks at now; its mode stays. Raises ConversationNotFound, DomainError."""
    check_opening(opening)
    conversation = get_conversation(conversation_id)
    current = conversation.opening_context
    if can_refocus(current, opening):
        conversation.opening_context = {**opening, "mode": current.get("mode", "ops")}
        conversation.save(update_fields=["opening_context"])


def ask_about_fact(*, fact_id: UUID, now: datetime) -> Conversation:
    """Create an advisor chat that asks what to change in a fact, which the model gets unseen. Raises FactNotFound."""
    fact = get_last_version(fact_id)
    if fact.is_archived:
        raise FactNotFound("There is no such fact.")
    conversation = start_conversation(assistant=AssistantName.ADVISOR, now=now)
    conversation.opening_context = {"mode": "ops", "fact_id": str(fact.pk)}
    conversation.save(update_fields=["opening_context"])
    Message.objects.create(
        conversation=conversation,
        role=Role.ASSISTANT,
        content=ASK_WHAT_CHANGES,
        parts=[{"kind": "text", "step": 0, "text": ASK_WHAT_CHANGES}],
        created_at=now,
        finished_at=now,
    )
    return conversation


def rename_conversation(*, conversation_id: UUID, title: str) -> Conversation:
    """Rename a conversation. Raises ConversationNotFound, MessageRefused (empty or too long)."""
    line = one_line(title)
    if not 0 < len(line) <= MAX_TITLE:
        raise MessageRefused(f"A title needs 1 to {MAX_TITLE} characters.")
    conversation = get_conversation(conversation_id)
    conversation.title, conversation.is_title_chosen = line, True
    conversation.save(update_fields=["title", "is_title_chosen"])
    return conversation


class MessageRefused(StateConflict):
    """The message is refused; the user keeps the text."""


class TooMuchAsked(MessageRefused):
    """A limit is reached; the user can try later."""

    http_status = HTTPStatus.TOO_MANY_REQUESTS
