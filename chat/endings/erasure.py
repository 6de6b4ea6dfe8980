"""Erase facts, chats and users for good.

What is erased is erased wherever it was written down. Memory has its own rows; here are the prompts that carried a
fact, the replies whose tools named it, the summaries of such chats and, if the user wishes, the messages it came from
with the replies to them, also where the journal keeps such a reply.
"""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.apps import apps
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.sessions.models import Session

from chat.conversations.lifecycle import list_owners_of_old_trash, purge_conversations
from chat.models import Bookmark, Conversation, ConversationSummary, MemorySnapshot, Message, Role
from chat.parts import Json, Part
from config.lib.owned import OwnedModel, owned_tx, system_tx
from config.lib.work.models import Invitation
from config.lib.work.runs import forget_user
from memory.facts import trash
from memory.facts.trash import Erasure, drop_quotes, purge_facts
from trading.rules.services import delete_rules

logger = logging.getLogger(__name__)

ERASED: Final = "Deleted for good."


@dataclass(frozen=True, slots=True)
class Purged:
    users: int
    conversations: int
    facts: int


def erase_fact(*, fact_id: UUID, with_messages: bool = False) -> Erasure:
    """Erase a trashed fact and its traces, inside `owned_tx(user)`. Raises FactNotFound, FactChanged.

    With `with_messages`, its source messages go too, with the replies to them and what the journal keeps of them.
    """
    erased = trash.erase_fact(fact_id=fact_id)
    scrub_chats(erased, with_messages=with_messages)
    return erased


def list_source_messages(*, fact_id: UUID) -> list[Message]:
    """Return the source messages of a fact, oldest first. Raises FactNotFound."""
    rows = Message.objects.filter(pk__in=trash.list_sources(fact_id=fact_id), role=Role.USER)
    return list(rows.order_by("pk"))


def purge_trash(*, now: datetime) -> Purged:
    """Erase all users' trash after 30 days, each in its own transaction; log a failure and go on."""
    with system_tx("whose trash is to be emptied"):
        users = list_owners_of_old_trash(now=now) | trash.list_owners_of_old_trash(now=now)
    conversations = facts = 0
    for user_id in sorted(users):
        try:
            with owned_tx(user_id):
                gone = purge_conversations(now=now)
                erased = purge_facts(now=now)
                scrub_chats(erased)
        except Exception:
            logger.exception("The trash of user %s was not emptied", user_id)
        else:
            conversations += gone
            facts += len(erased.fact_ids)
    return Purged(len(users), conversations, facts)


def scrub_chats(erased: Erasure, *, with_messages: bool = False) -> None:
    """Remove the erased text from the owner's chats and rules."""
    if not erased.fact_ids:
        return
    delete_rules(erased.fact_ids)
    names = frozenset(map(str, erased.fact_ids | erased.event_ids))
    touched = _scrub_snapshots(names) | _scrub_replies(names) | _conversations_of(erased.message_ids)
    if with_messages:
        _delete_messages(erased.message_ids)
    _drop_provider_state(touched)
    # The words of a summary are the extractor's own, so none can be attributed to the fact.
    Conversation.objects.filter(pk__in=touched).exclude(summary="").update(summary="")
    ConversationSummary.objects.filter(conversation__in=touched).delete()  # a chat that goes on gets a new one
    for conversation in Conversation.objects.exclude(opening_context={"mode": "ops"}):
        kept = {key: value for key, value in conversation.opening_context.items() if value not in names}
        if kept != conversation.opening_context:
            Conversation.objects.filter(pk=conversation.pk).update(opening_context=kept)


def _scrub_snapshots(names: frozenset[str]) -> set[UUID]:
    """Empty memory blocks with an erased fact, but keep their digests."""
    held = [
        snapshot.pk
        for snapshot in MemorySnapshot.objects.exclude(text="").only("pk", "user_id", "fact_ids")
        if not names.isdisjoint(snapshot.fact_ids)
    ]
    snapshots = MemorySnapshot.objects.filter(pk__in=held)
    snapshots.update(text="")
    Conversation.objects.filter(snapshot__in=held).update(snapshot=None)
    return set(snapshots.values_list("conversation_id", flat=True))


def _scrub_replies(names: frozenset[str]) -> set[UUID]:
    touched = set()
    replies = Message.objects.filter(role=Role.ASSISTANT)
    columns = ("pk", "user_id", "conversation_id", "parts", "preamble")
    for reply in replies.only(*columns).iterator(chunk_size=500):
        parts = [_scrub_part(part, names) for part in reply.parts]
        preamble = [_scrub_facts(part, names) for part in reply.preamble]
        if (parts, preamble) != (reply.parts, reply.preamble):
            Message.objects.filter(pk=reply.pk).update(parts=parts, preamble=preamble)
            touched.add(reply.conversation_id)
    return touched


def _scrub_facts(part: Json, names: frozenset[str]) -> Json:
    if "facts" not in part:
        return part
    facts = [{**fact, "text": f"- {ERASED}"} if fact["id"] in names else fact for fact in part["facts"]]
    return {**part, "facts": facts}


def _scrub_part(part: Part, names: frozenset[str]) -> Part:
    written = json.dumps(part)
    if part["kind"] == "text" or not any(name in written for name in names):
        return part
    if part["kind"] == "memory":
        return {**part, "text": ERASED}
    return {**part, "arguments": "{}", "result": {"note": ERASED}}


def _drop_provider_state(conversation_ids: Collection[UUID]) -> None:
    """Remove the reasoning that models want back: it may repeat the fact."""
    replies = Message.objects.filter(conversation__in=conversation_ids, role=Role.ASSISTANT)
    for reply in replies.only("pk", "user_id", "parts").iterator(chunk_size=500):
        parts = [{key: value for key, value in part.items() if key != "provider"} for part in reply.parts]
        if parts != reply.parts:
            Message.objects.filter(pk=reply.pk).update(parts=parts)


def _conversations_of(message_ids: Collection[int]) -> set[UUID]:
    rows = Message.objects.filter(pk__in=message_ids)
    return set(rows.values_list("conversation_id", flat=True))


def _delete_messages(message_ids: Collection[int]) -> None:
    for conversation_id in _conversations_of(message_ids):
        # A title is made of the first words of a chat.
        first = Message.objects.filter(conversation_id=conversation_id, role=Role.USER).order_by("pk").first()
        if first is not None and first.pk in message_ids:
            Conversation.objects.filter(pk=conversation_id).update(title="")
    drop_quotes(message_ids=message_ids)
    # The journal keeps copies, which outlive a chat, but not this.
    answers = Message.objects.filter(reply_to__in=message_ids).values_list("pk", flat=True)
    Bookmark.objects.filter(message__in=[*message_ids, *answers]).delete()
    Message.objects.filter(pk__in=message_ids).delete()


def erase_user(*, user_id: int) -> dict[str, int]:
    """Delete a user with all rows, in its own scope; running turns and sockets end with them."""
    with system_tx("erasure of a user"):
        user = get_user_model()._default_manager.get(pk=user_id)
        stored = Session.objects.only("session_key", "session_data").iterator(chunk_size=500)
        sessions = [session.pk for session in stored if session.get_decoded().get(SESSION_KEY) == str(user_id)]
        _, rows = user.delete()
        Invitation.objects.filter(address=user.email).delete()
        Session.objects.filter(pk__in=sessions).delete()
        forget_user(user_id)
    logger.info("User %s erased", user_id)
    return {**rows, "sessions.Session": len(sessions)}


def count_rows(*, user_id: int) -> list[tuple[str, int]]:
    """Return the kinds of a user's rows with their number, inside `system_tx`; kinds without rows are left out."""
    models = [model for model in apps.get_models() if issubclass(model, OwnedModel)]
    counts = [(model._meta, model.objects.filter(user=user_id).count()) for model in models]
    return [(str(meta.verbose_name if n == 1 else meta.verbose_name_plural), n) for meta, n in counts if n]
