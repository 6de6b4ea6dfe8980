"""The messages of a conversation as its prompt has them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from chat.conversations.standing import bind_value
from chat.models import Role
from chat.parts import Json, as_said, said_tokens
from chat.prompt.focus import find_focus, list_fact_ids
from config.lib.owned import owner_id

HISTORY_LIMIT = 400  # messages read for a prompt; the token budget ends it long before

# Before the first token, this takes a tenth of the time of the ORM.
_SELECT: Final = """
SELECT id, role, content, parts, is_untrusted, reply_to_id, preamble FROM agent_messages
WHERE user_id = %(user)s AND conversation_id = %(conversation)s AND id > %(after)s AND id < %(before)s
    AND replaced_at IS NULL
ORDER BY id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class History:
    """The messages before a reply that fit into a prompt."""

    messages: list[Json]  # for a model, oldest first
    is_untrusted: bool  # text of others is in a message, or was in view of a reply
    ids: tuple[int, ...] = ()  # of their rows, oldest first
    tokens: int = 0  # estimated
    is_cut: bool = False  # older messages did not fit
    focus: str = ""  # the newest in a preamble
    fact_ids: frozenset[UUID] = frozenset()  # in preambles


def read_history(conversation_id: UUID, *, before: int, budget_tokens: int, after: int = 0) -> History:
    """Return the newest messages within the budget, after the id `after`, beginning with one of the user.

    A summary replaces those. An answer means nothing without its question.
    """
    values = {
        "user": owner_id(),
        "conversation": bind_value("conversation", conversation_id),
        "after": after,
        "before": before,
        "limit": HISTORY_LIMIT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, values)
        return _select_fitting(cursor, budget_tokens)


@dataclass(frozen=True, slots=True)
class _SaidMessage:
    pk: int
    role: str
    messages: list[Json]
    is_untrusted: bool
    tokens: int


def _select_fitting(
    newest_first: Iterable[tuple[int, str, str, str, bool, int | None, str]], budget_tokens: int
) -> History:
    chosen: list[_SaidMessage] = []
    preambles: dict[int, list[Json]] = {}
    spent, is_cut, focus = 0, False, ""
    fact_ids: set[UUID] = set()
    for pk, role, content, parts, is_untrusted, reply_to, stored in newest_first:
        if reply_to is not None:
            # The last one wins: it belongs to the first reply, and later ones go on where that one broke off.
            preambles[reply_to] = json.loads(stored)
        preamble = preambles.get(pk, [])
        # Without the ORM, both engines return a JSON column as text.
        messages = as_said(is_user=role == Role.USER, content=content, parts=json.loads(parts), preamble=preamble)
        tokens = said_tokens(messages)
        # The newest message is the subject of the turn: include it at any cost.
        if spent + tokens > budget_tokens and chosen:
            is_cut = True
            break
        spent += tokens
        focus = focus or find_focus(preamble)
        fact_ids.update(list_fact_ids(preamble))
        chosen.append(_SaidMessage(pk, role, messages, bool(is_untrusted), tokens))
    while chosen and chosen[-1].role != Role.USER:
        spent -= chosen.pop().tokens
    chosen.reverse()
    return History(
        [message for entry in chosen for message in entry.messages],
        any(entry.is_untrusted for entry in chosen),
        tuple(entry.pk for entry in chosen),
        spent,
        is_cut,
        focus,
        frozenset(fact_ids),
    )
