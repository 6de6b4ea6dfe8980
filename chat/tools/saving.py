"""Save and forget facts from a chat; what the tools of each assistant say of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from chat.conversations.queries import list_typed
from chat.parts import Json
from chat.tools.base import ToolContext
from chat.tools.gate import admit_fact, admit_topic, describe_kept, end_fact, hold_for_review, is_change, origin_of
from chat.tools.memory_lines import OVERRIDES, memory_event
from memory.claims.topics import guess_topic
from memory.claims.wishes import states_change
from memory.facts.conflicts import FactDisputed, compare_statement
from memory.facts.periods import read_statement
from memory.facts.review import dismiss_proposal, find_proposal, hold_fact
from memory.facts.services import WhenUnsure, remember_fact, resolve_fact
from memory.facts.versions import FactWrite, Origin
from memory.models import ArchivedReason, Confidence, FactSource, ProposalKind, UserFact

_REPLACES: Final = re.compile(
    r"\b(?:replaces?|yes|yep|yeah|new one|instead|latter|change it|update it|overwrite|the new|no longer)\b",
    re.IGNORECASE,
)
_BOTH: Final = re.compile(
    r"\b(?:both|keep (?:them|the old)|as well|also|side by side|neither replaces)\b", re.IGNORECASE
)


NEXT_CHAT: Final = (
    "It is in force at once and stands in your list of preferences from the next chat on; "
    "for the rest of this chat, what you just did counts, not the list above."
)
LEFT_DOCUMENT: Final = (
    "The memory document is full, so these facts left it. They are kept, on the user's page of facts and for the other "
    "assistants, and return when there is room."
)


@dataclass(frozen=True, slots=True)
class Wording:
    """How the tools of one assistant name a fact, and what they say of a write."""

    id: str  # the names of a fact's id and of the sentence in a result
    sentence: str
    overrides: str  # what counts from now on
    known: str  # nothing changed
    acts: Mapping[str, tuple[str, str]]  # of each act the name of the fact's words in a result, and its sentence
    has_document: bool = False

    def describe(self, act: str, written: FactWrite | Json) -> Json:
        """Return the tool's result of a write, or what the gate answered instead."""
        if not isinstance(written, FactWrite):
            return written
        words, sentence = self.acts[act]
        result: Json = {self.id: str(written.fact.pk), words: written.fact.content}
        if (event := written.event) is None:
            return {**result, self.sentence: self.known}
        if event.before is not None and event.before.content != written.fact.content:
            result["replaced"] = event.before.content
        if self.has_document and written.left_document:
            result["left_document"] = [fact.content for fact in written.left_document]
            result["left_document_note"] = LEFT_DOCUMENT
        return {**result, self.sentence: f"{sentence} {self.overrides}".strip(), "memoryEvent": memory_event(event)}


_KNOWN: Final = "This was known already; nothing changed."
COACH: Final = Wording("fact_id", "note", OVERRIDES, _KNOWN, {"save": ("saved", ""), "forget": ("forgotten", "")})
ADVISOR: Final = Wording(
    "id",
    "message",
    NEXT_CHAT,
    "It was so already; nothing changed.",
    {
        "save": ("content", "Saved."),
        "update": ("content", "Updated; the earlier version is kept as history."),
        "forget": ("content", "Forgotten."),
        "confirm": ("content", "Confirmed."),
    },
)
COMPANION: Final = Wording(
    *("fact_id", "message", OVERRIDES, _KNOWN),
    {"save": ("content", "Saved."), "forget": ("content", "Deactivated.")},
    has_document=True,
)


def save_fact(
    context: ToolContext,
    wording: Wording,
    *,
    content: str,
    confidence: str = Confidence.ASSERTED,
    topic: str = "",
    category: str | None = None,
    detail: str = "",
) -> Json:
    """Save a fact; return the tool's result, which says why if it waits for the user."""
    admitted = admit_fact(context, content, detail)
    origin, content = (admitted.origin, admitted.content) if admitted is not None else (None, content)
    found = compare_statement(read_statement(content, said_at=context.now), now=context.now)
    target = None if found.verdict == "same" else found.fact
    doubted = target if found.verdict == "unsure" else None
    if found.fact is None and not topic:  # a fact that is known keeps its own
        topic = guess_topic(content)
    words: dict[str, Any] = {"topic": topic, "category": category, "detail": detail}
    if origin is None or (target is not None and not _may_replace(context, origin)):
        target_id = target.pk if origin is not None and target is not None else None
        return hold_for_review(context, content=content, target_id=target_id, **words)
    try:
        written = remember_fact(
            content=found,
            **{**words, "topic": admit_topic(context, topic, content)},
            confidence=confidence,
            source=FactSource.CHAT,
            when_unsure="ask" if doubted is None else _find_answer(context, content, doubted),
            origin=origin,
            now=context.now,
        )
    except FactDisputed as dispute:
        return _ask(context, content, dispute, **words)
    if doubted is not None and (asked := find_proposal(ProposalKind.CONFLICT, content, doubted)) is not None:
        dismiss_proposal(proposal_id=asked.pk, now=context.now)  # the user has answered in the chat
    return wording.describe("save", written)


def forget_fact(
    context: ToolContext, wording: Wording, reference: str, reason: ArchivedReason = ArchivedReason.AGENT_FORGET
) -> Json:
    """Forget the fact of an id or words; return the tool's result. Raises FactNotFound, FactAmbiguous."""
    return wording.describe("forget", end_fact(context, resolve_fact(reference, context.now), reason))


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
    if find_proposal(ProposalKind.CONFLICT, content, known) is None or context.window.is_untrusted:
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
