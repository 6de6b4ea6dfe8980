"""Save and forget facts from a chat; what the tools of each assistant say of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from chat.parts import Json
from chat.tools.base import ToolContext
from chat.tools.gate import admit_fact, admit_topic, end_fact, hold_for_review, quotes_newest, read_typed
from config.lib.words.lexer import has_phrase, read_tokens
from memory.claims.support import TypedMessage
from memory.claims.topics import guess_topic
from memory.claims.wishes import states_change
from memory.facts.conflicts import FactDisputed, compare_statement
from memory.facts.periods import format_period, read_statement
from memory.facts.queries import find_version
from memory.facts.review import dismiss_proposal, find_proposal
from memory.facts.services import WhenUnsure, remember_fact, resolve_fact
from memory.facts.versions import FactWrite
from memory.models import ArchivedReason, Confidence, EventKind, FactSource, MemoryEvent, Place, ProposalKind, UserFact

OVERRIDES: Final = "This overrides the list of facts in your instructions for the rest of this chat."
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
    typed = read_typed(context)
    admitted = admit_fact(context, typed, content, detail)
    origin, content = (admitted.origin, admitted.content) if admitted is not None else (None, content)
    found = compare_statement(read_statement(content, said_at=context.now), now=context.now)
    target = None if found.verdict == "same" else found.fact
    doubted = target if found.verdict == "unsure" else None
    if found.fact is None and not topic:  # a fact that is known keeps its own
        topic = guess_topic(content)
    words: dict[str, Any] = {"topic": topic, "category": category, "detail": detail}
    if origin is None:
        return hold_for_review(context, typed, content, **words)
    if target is not None and context.window.is_untrusted and not quotes_newest(typed, origin):
        return hold_for_review(context, typed, content, target_id=target.pk, **words)
    try:
        written = remember_fact(
            content=found,
            **{**words, "topic": admit_topic(context, topic, content)},
            confidence=confidence,
            source=FactSource.CHAT,
            when_unsure="ask" if doubted is None else _find_answer(context, typed, content, doubted),
            origin=origin,
            now=context.now,
        )
    except FactDisputed as dispute:
        return hold_for_review(context, typed, content, dispute=dispute, **words)
    if doubted is not None and (asked := find_proposal(ProposalKind.CONFLICT, content, doubted)) is not None:
        dismiss_proposal(proposal_id=asked.pk, now=context.now)  # the user has answered in the chat
    return wording.describe("save", written)


def forget_fact(
    context: ToolContext, wording: Wording, reference: str, reason: ArchivedReason = ArchivedReason.AGENT_FORGET
) -> Json:
    """Forget the fact of an id or words; return the tool's result. Raises FactNotFound, FactAmbiguous."""
    return wording.describe("forget", end_fact(context, resolve_fact(reference, context.now), reason))


def _find_answer(context: ToolContext, typed: Sequence[TypedMessage], content: str, known: UserFact) -> WhenUnsure:
    """Return what the user's newest message says of a statement that may contradict a known fact."""
    text = typed[-1].text if typed else ""
    if states_change(text, known.content):
        return "replace"
    if find_proposal(ProposalKind.CONFLICT, content, known) is None or context.window.is_untrusted:
        return "ask"
    answer = read_tokens(text)
    return "keep" if has_phrase(answer, "HOLDSBESIDE") else "replace" if has_phrase(answer, "TAKESOVER") else "ask"


def memory_event(event: MemoryEvent) -> Json:
    """Return `{id, kind, before, after}` for a memory line, of a fact or a place."""
    before, after = event.before, event.after
    if before is not None and after is not None and "later" in event.detail and after.content == before.content:
        after = find_version(UUID(event.detail["later"]))  # what changes is said by the fact that begins then
    shown = _place_line(event.place) if event.place is not None else _fact_line(after)
    if event.kind == EventKind.LINK:
        shown["text"] = f"{after} ({event.detail['relation']})"
    if shown and "document_pct" in event.detail:
        full = f"The memory document is {event.detail['document_pct']} % full."
        shown["text"] = f"{shown.get('text', shown['fact'])} · {full}"
    return {"id": str(event.pk), "kind": event.kind, "before": _fact_line(before) or None, "after": shown or None}


def _fact_line(fact: UserFact | None) -> Json:
    if fact is None:
        return {}
    line = {"fact_id": str(fact.pk), "fact": fact.content, "topic": fact.topic, "confidence": fact.confidence}
    period = format_period(fact, now=fact.created_at)
    return {**line, "text": f"{fact.content} ({period})", "holds": period} if period else line


def _place_line(place: Place) -> Json:
    text = f"{place.name}: {place.notes}" if place.notes else place.name
    return {"place_id": place.place_id, "place": place.name, "notes": place.notes, "text": text}
