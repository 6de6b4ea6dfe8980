"""The state of a conversation and its user, read before each turn."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, cast
from uuid import UUID

from django.db import connection, models

from chat.conversations.queries import ConversationNotFound
from chat.models import Message, UsageDay
from chat.parts import Json
from config.lib.owned import owner_id

# One round trip before the first token instead of five; each condition names the owner.
_STANDING: Final = """
SELECT c.opening_context, c.is_temporary, c.trashed_at IS NOT NULL, c.title <> '',
    COALESCE(w.learns, TRUE), COALESCE(w.uses_facts, TRUE),
    c.assistant, c.status, c.snapshot_id, COALESCE(s.text, ''), COALESCE(s.fact_ids, '[]'),
    u.experience_tier, u.time_zone, u.daily_token_budget,
    (SELECT COUNT(*) FROM agent_messages WHERE user_id = %(user)s AND status = 'streaming'),
    (SELECT COUNT(*) FROM agent_messages
      WHERE user_id = %(user)s AND status = 'streaming' AND conversation_id = %(conversation)s),
    (SELECT COUNT(*) FROM agent_messages
      WHERE user_id = %(user)s AND status = 'streaming' AND heartbeat_at < %(dead_before)s),
    (SELECT COUNT(*) FROM agent_messages
      WHERE user_id = %(user)s AND role = 'assistant' AND created_at > %(recent_since)s),
    (SELECT id FROM agent_messages
      WHERE user_id = %(user)s AND conversation_id = %(conversation)s AND client_id = %(client)s),
    COALESCE((SELECT prompt_tokens + completion_tokens + reserved_tokens FROM usage_days
      WHERE user_id = %(user)s AND day = %(today)s), 0),
    x.id, COALESCE(x.text, ''), COALESCE(x.through, 0), COALESCE(x.is_untrusted, FALSE)
FROM agent_conversations c
JOIN traders u ON u.id = c.user_id
LEFT JOIN memory_switches w ON w.user_id = c.user_id
LEFT JOIN memory_snapshots s ON s.id = c.snapshot_id AND s.user_id = c.user_id
LEFT JOIN conversation_summaries x ON x.user_id = c.user_id AND x.id = (
    SELECT id FROM conversation_summaries
    WHERE user_id = %(user)s AND conversation_id = %(conversation)s AND replaced_at IS NULL
    ORDER BY through DESC LIMIT 1)
WHERE c.user_id = %(user)s AND c.id = %(conversation)s
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a conversation and its user before a turn."""

    conversation_id: UUID
    opening: Json  # Conversation.opening_context
    is_temporary: bool
    is_trashed: bool
    has_title: bool
    is_learning: bool  # Keel may learn from chats
    uses_facts: bool  # prompts may carry facts
    assistant: str
    status: str
    snapshot_id: int | None  # the frozen memory block; None before the first turn
    memory_block: str
    known_facts: Collection[UUID]  # in the block
    tier: str | None
    time_zone: str
    token_budget: int | None  # of the user per day; None: the setting's
    running: int  # replies of the user that are streaming
    running_here: int  # in this one
    dead: int  # of the running ones, those without a heartbeat
    recent: int  # replies asked for since `recent_since`, by a message or by a retry
    repeat_id: int | None  # the message that already has this client id
    spent: int  # tokens of the day, with those reserved
    summary_id: int | None  # of the older messages, which it replaces in prompts
    summary: str
    summary_through: int  # id of the last message that it covers; 0 without one
    is_summary_untrusted: bool

    @property
    def about_fact_id(self) -> UUID | None:
        """The fact that the chat was opened to change."""
        return UUID(self.opening["fact_id"]) if "fact_id" in self.opening else None


def get_standing(
    conversation_id: UUID, *, client_id: UUID | None, dead_before: datetime, recent_since: datetime, today: date
) -> Standing:
    """Return the state that decides whether a turn may begin. Raises ConversationNotFound."""
    parameters = {
        "user": owner_id(),
        "conversation": bind_value("conversation", conversation_id),
        "client": bind_value("client_id", client_id),
        "dead_before": bind_value("heartbeat_at", dead_before),
        "recent_since": bind_value("created_at", recent_since),
        "today": bind_value("day", today, of=UsageDay),
    }
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, parameters)
        row = cursor.fetchone()
    if row is None:
        raise ConversationNotFound("This chat does not exist.")
    # Without the ORM, the engines return JSON as text, and SQLite returns booleans as numbers.
    *switches, is_summary_untrusted = map(bool, (*row[1:6], row[-1]))
    known = list(map(UUID, json.loads(row[10])))
    values = (conversation_id, json.loads(row[0]), *switches, *row[6:10], known, *row[11:-1], is_summary_untrusted)
    return Standing(*values)


def bind_value(column: str, value: object, *, of: type[models.Model] = Message) -> Any:
    """Convert a value for a column; engines differ in UUIDs and times."""
    field = cast("models.Field[object, object]", of._meta.get_field(column))
    return field.get_db_prep_value(value, connection)
