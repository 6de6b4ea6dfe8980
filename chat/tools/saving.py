"""Save a fact from a chat: at once, for review, or after one question."""

import re
from typing import Any, Final
from uuid import UUID

from chat.conversations.queries import list_typed
from chat.parts import Json
from chat.tools.base import ToolContext
from chat.tools.gate import admit_topic, admit_write, describe_kept, hold_for_review, is_change, origin_of
from memory.claims.topics import guess_topic
from memory.claims.wishes import states_change
from memory.facts.conflicts import FactDisputed, find_conflict
from memory.facts.review import dismiss_proposal, find_waiting, hold_fact
from memory.facts.services import WhenUnsure, remember_fact
from memory.facts.versions import FactWrite, Origin
from memory.models import FactSource, ProposalKind, UserFact
from memory.wording import stored_line

_REPLACES: Final = re.compile(
    r"\b(?:replaces?|yes|yep|yeah|new one|instead|latter|change it|update it|overwrite|the new|no longer)\b",
    re.IGNORECASE,
)
_BOTH: Final = re.compile(
    r"\b(?:both|keep (?:them|the old)|as well|also|side by side|neither replaces)\b", re.IGNORECASE
)


def save_fact(
    context: ToolContext,
    *,
    content: str,
    confidence: str,
    topic: str = "",
    category: str | None = None,
    detail: str = "",
) -> FactWrite | Json:
    """Save a fact; return the write, or why it waits for the user."""
    origin = admit_write(context, content, detail)
    conflict = find_conflict(stored_line(content), now=context.now)
    target = conflict.fact if conflict is not None and conflict.verdict != "same" else None
    if conflict is None and not topic:  # a fact that is known keeps its own
        topic = guess_topic(content)
    if origin is None or (target is not None and not _may_replace(context, origin)):
        target_id: UUID | None = target.pk if origin is not None and target is not None else None
        return hold_for_review(
            context, content=content, detail=detail, topic=topic, category=category, target_id=target_id
        )
    try:
        written = remember_fact(
            content=content,
            topic=admit_topic(context, topic, content),
            category=category,
            confidence=confidence,
            source=FactSource.CHAT,
            detail=detail,
            when_unsure=_find_answer(context, content, target) if target is not None else "ask",
            origin=origin,
            now=context.now,
        )
    except FactDisputed as dispute:
        return _ask(context, content, dispute, topic=topic, category=category, detail=detail)
    if target is not None and (asked := find_waiting(content, target)) is not None:
        dismiss_proposal(proposal_id=asked.pk, now=context.now)  # the user has answered in the chat
    return written


def describe_replaced(written: FactWrite) -> dict[str, Any]:
    """Return the words that a save replaced, for the tool's result."""
    before = written.event.before if written.event is not None else None
    is_replaced = before is not None and before.content != written.fact.content
    return {"replaced": before.content} if is_replaced and before is not None else {}


def _may_replace(context: ToolContext, origin: Origin) -> bool:
    """Tell whether this write may end a fact: older words of the user may be outdated by what came since."""
    if not context.window.is_untrusted:
        return True
    newest = [pk for pk, _ in list_typed(context.conversation_id, last=1)] if context.conversation_id else []
    return any(quote["message_id"] in newest for quote in origin.quotes)


def _find_answer(context: ToolContext, content: str, known: UserFact) -> WhenUnsure:
    """Return what the user's newest message says of a statement that may contradict a known fact."""
    typed = list_typed(context.conversation_id, last=1) if context.conversation_id else []
    text = typed[-1][1] if typed else ""
    if states_change(text, known.content):
        return "replace"
    if find_waiting(content, known) is None or context.window.is_untrusted:
        return "ask"
    return "keep" if _BOTH.search(text) else "replace" if _REPLACES.search(text) else "ask"


def _ask(context: ToolContext, content: str, dispute: FactDisputed, **words: Any) -> Json:
    kept = hold_fact(
        kind=ProposalKind.CONFLICT,
        content=content,
        target_id=dispute.fact.pk,
        is_change=is_change(context),
        why="You said something that may contradict this.",
        origin=origin_of(context),
        now=context.now,
        **words,
    )
    return {
        "held_for_review": content,
        **describe_kept(kept),
        "conflicts_with": {"fact_id": str(dispute.fact.pk), "fact": dispute.fact.content},
        "note": f"Not saved yet. {dispute}",
    }
