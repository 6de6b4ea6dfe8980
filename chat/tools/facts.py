"""The three faces of saving: how the coach, the advisor and the companion keep facts (seeds 000, 001 and 004).

A `Face` has the names that an assistant's tools use and what they say of a write; what is done is the same for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, GetPydanticSchema
from pydantic_core.core_schema import literal_schema

from chat.parts import Json
from chat.tools import gate
from chat.tools.base import Args, Result, ToolContext, tool
from memory.claims.topics import guess_topic
from memory.facts.conflicts import FactDisputed, compare_statement
from memory.facts.document import build_document
from memory.facts.periods import format_period, read_statement
from memory.facts.places import add_place
from memory.facts.queries import find_version, list_current
from memory.facts.review import dismiss_proposal, find_proposal
from memory.facts.services import confirm_fact, link_facts, remember_fact, resolve_fact, supersede_fact
from memory.facts.versions import FactWrite
from memory.models import ArchivedReason, Confidence, FactSource, MemoryEvent, ProposalKind, UserFact, WriteKind
from memory.recall.search import recall_facts
from memory.wording import MAX_CONTENT, FactCategory

LISTED: Final = 100  # facts; more are reached by recall
OVERRIDES: Final = "This overrides the list of facts in your instructions for the rest of this chat."
NEXT_CHAT: Final = (
    "It is in force at once and stands in your list of preferences from the next chat on; "
    "for the rest of this chat, what you just did counts, not the list above."
)
LEFT_DOCUMENT: Final = (
    "The memory document is full, so these facts left it. They are kept, on the user's page of facts and for the other "
    "assistants, and return when there is room."
)
_KNOWN: Final = "This was known already; nothing changed."


@dataclass(frozen=True, slots=True)
class Face:
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
        return {**result, self.sentence: f"{sentence} {self.overrides}".strip(), "memoryEvent": _memory_event(event)}


COACH: Final = Face("fact_id", "note", OVERRIDES, _KNOWN, {"save": ("saved", ""), "forget": ("forgotten", "")})
ADVISOR: Final = Face(
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
COMPANION: Final = Face(
    *("fact_id", "message", OVERRIDES, _KNOWN),
    {"save": ("content", "Saved."), "forget": ("content", "Deactivated.")},
    has_document=True,
)


def _check_length(value: object) -> object:
    """Refuse a line that is too long, naming the field for the rest."""
    if isinstance(value, str) and len(value) > MAX_CONTENT:
        raise ValueError(f"A fact is one line of at most {MAX_CONTENT} characters. Put the rest into `detail`.")
    return value


Line = Annotated[str, Field(min_length=4, max_length=500, description="One short line, in the user's words.")]
LineBesideDetail = Annotated[Line, BeforeValidator(_check_length)]
Reference = Annotated[str, Field(min_length=1, max_length=500)]  # an id, or words of a fact
Category = Annotated[str, GetPydanticSchema(lambda *_: literal_schema(FactCategory.values))]  # a Literal of them


class RememberArgs(Args):
    fact: Line
    topic: str = Field("", max_length=32, description="A tag: risk, symbols, session, goal.")
    confidence: Literal["asserted", "inferred"] = Field(
        "inferred", description="asserted: said outright. inferred: your interpretation."
    )


class ForgetArgs(Args):
    fact_id: Reference = Field(description="Its id, or words of it.")
    reason: Literal["agent_forget", "user_corrected"] = Field(
        "agent_forget", description="user_corrected: it was never true."
    )


class SavePreferenceArgs(Args):
    category: Category
    content: LineBesideDetail
    detail: str = Field("", max_length=4_000, description="Longer; only recall finds it.")


class FactArgs(Args):
    id_or_substring: Reference = Field(description="Id, or words in it alone.")


class UpdatePreferenceArgs(FactArgs):
    new_content: LineBesideDetail
    detail: str | None = Field(None, max_length=4_000, description="Replaces the old one.")


class LinkPreferencesArgs(Args):
    from_id: Reference
    to_id: Reference
    relation: str = Field(min_length=1, max_length=40, description="Such as relates_to, contradicts.")


class ListPreferencesArgs(Args):
    category: Category | None = None


class RecallPreferencesArgs(Args):
    query: str = Field(min_length=1, max_length=500, description="Any of the words counts.")
    limit: int = Field(10, ge=1, le=50)


class ManageUserMemoryArgs(Args):
    operation: Literal["add_fact", "deactivate_fact", "add_poi", "get_memory"]
    content: str | None = Field(None, description="For add_fact: the fact to remember")
    fact_id: str | None = Field(None, description="For deactivate_fact: the UUID of fact to deactivate")
    place_id: str | None = Field(None, description="For add_poi: unique identifier for place")
    place_name: str | None = Field(None, description="For add_poi: human-readable name")
    notes: str | None = Field(None, description="For add_poi: additional context")

    def require(self, name: str) -> str:
        """Return an argument that the operation needs. Raises WriteRefused without it."""
        value: str | None = getattr(self, name)
        if value is None or not value.strip():
            raise gate.WriteRefused(f"{self.operation} needs {name}.")
        return value


@tool(
    "Remember",
    "Save a durable fact that will plausibly matter in future sessions: a preference, limit, goal, recurring "
    "constraint. Not for ephemeral state (today's positions, this week's PnL). Saved silently. Such as fact: I "
    "never go above 3x, topic: risk, asserted.",
    acts={"remember"},
)
def remember(context: ToolContext, args: RememberArgs) -> Result:
    return _save_fact(context, COACH, content=args.fact, topic=args.topic, confidence=args.confidence)


@tool(
    "Forget",
    "End a fact when they contradict it, correct it or ask. Give its id, or words in it alone; if several fit, "
    "nothing changes and you get candidates to ask about.",
    acts={"forget"},
    id_name="fact_id",
)
def forget(context: ToolContext, args: ForgetArgs) -> Result:
    return COACH.describe("forget", gate.end_fact(context, args.fact_id, ArchivedReason(args.reason)))


@tool(
    "Save a fact",
    "Save a new durable fact: active at once, visible and deletable to the user. First list or recall: update a "
    "known fact rather than add a twin. So: I buy funds only.",
    acts={"remember"},
)
def save_preference(context: ToolContext, args: SavePreferenceArgs) -> Result:
    return _save_fact(context, ADVISOR, content=args.content, category=args.category, detail=args.detail)


@tool(
    "Update a fact",
    "Replace a fact by what holds now (“actually, change that to 55”). If words fit several, nothing changes and "
    "you get candidates to ask about; so with the next three tools.",
    acts={"update"},
    id_name="id",
)
def update_preference(context: ToolContext, args: UpdatePreferenceArgs) -> Result:
    fact, typed = resolve_fact(args.id_or_substring, context.now), gate.read_typed(context)
    admitted = gate.admit_update(context, typed, fact, args.new_content, args.detail or "")
    if admitted is None:
        tags: dict[str, Any] = {"topic": fact.topic, "category": fact.category, "detail": args.detail or ""}
        return gate.hold_for_review(context, typed, args.new_content, target_id=fact.pk, **tags)
    written = supersede_fact(
        fact_id=fact.pk,
        content=admitted.content,
        detail=args.detail,
        source=FactSource.CHAT,
        origin=admitted.origin,
        now=context.now,
    )
    return ADVISOR.describe("update", written)


@tool("Forget a fact", "End a fact: it is never loaded again, and kept for audit.", acts={"forget"}, id_name="id")
def forget_preference(context: ToolContext, args: FactArgs) -> Result:
    return ADVISOR.describe("forget", gate.end_fact(context, args.id_or_substring))


@tool(
    "Confirm a fact",
    "Note that the user affirmed a fact (“yes, still funds only”), so that it stays current.",
    acts={"confirm"},
    id_name="id",
)
def confirm_preference(context: ToolContext, args: FactArgs) -> Result:
    fact = resolve_fact(args.id_or_substring, context.now)
    origin = gate.admit_confirmation(context, fact)
    return ADVISOR.describe("confirm", confirm_fact(fact_id=fact.pk, origin=origin, now=context.now))


@tool(
    "Link two facts",
    "Record how two facts (ids or words) relate, such as a limit and the loss behind it.",
    acts={"link"},
    id_name="id",
)
def link_preferences(context: ToolContext, args: LinkPreferencesArgs) -> Result:
    ends = [resolve_fact(reference, context.now) for reference in (args.from_id, args.to_id)]
    event = link_facts(
        from_id=str(ends[0].pk),
        to_id=str(ends[1].pk),
        relation=args.relation,
        origin=gate.admit_link(context, ends, args.relation),
        now=context.now,
    )
    if event is None:
        return {"message": "They are linked so already; nothing changed."}
    return {"message": "Linked.", "memoryEvent": _memory_event(event)}


@tool("Look through what Keel knows", "List the user's facts as they stand now, this chat's included, with their ids.")
def list_preferences(context: ToolContext, args: ListPreferencesArgs) -> Result:
    facts, total = list_current(context.now, category=args.category, limit=LISTED)
    return {"preferences": [_fact_row(fact) for fact in facts], "total": total, "truncated": total > len(facts)}


@tool(
    "Search what Keel knows",
    "Search all the user's facts, also those left out above for space or low confidence; best first. origin: "
    "stated or inferred; score: how sure.",
)
def recall_preferences(context: ToolContext, args: RecallPreferencesArgs) -> Result:
    recalled = recall_facts(query=args.query, limit=args.limit, now=context.now)
    rows = [{**_fact_row(row.fact), "detail": row.fact.body, "origin": row.origin} for row in recalled.rows]
    return {"preferences": rows, "total": recalled.total, "truncated": recalled.truncated}


# seed 004, its own words.
@tool(
    "Memory",
    """\
Use this tool to store and retrieve persistent facts about the user that should be remembered across all conversations.

WHEN TO USE:
- User shares personal information (name, preferences, interests, location)
- User mentions places they care about (home, work, favorite spots)
- User explicitly asks you to remember something
- User corrects previous information (deactivate old fact, add new one)

WHAT TO STORE:
- Personal details: "User's name is Alex", "User prefers morning workouts"
- Preferences: "User likes Italian food", "User is vegetarian"
- Context: "User lives in Seattle", "User works in tech industry"
- Places: User's home address, workplace, frequently mentioned locations

DO NOT STORE:
- Sensitive data (passwords, SSN, financial info)
- Temporary information (today's weather, one-time events)
- Information user hasn't shared or confirmed""",
    acts={"remember", "forget"},
    id_name="fact_id",
)
def manage_user_memory(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    match args.operation:
        case "add_fact":
            return _save_fact(context, COMPANION, content=args.require("content"))
        case "deactivate_fact":
            return COMPANION.describe("forget", gate.end_fact(context, args.require("fact_id")))
        case "add_poi":
            return _add_place(context, args.require("place_id"), args.require("place_name"), args.notes)
    return build_document(now=context.now).model_dump(mode="json")


def _add_place(context: ToolContext, place_id: str, name: str, notes: str | None) -> Result:
    words, typed = place_id.replace("-", " ").replace("_", " "), gate.read_typed(context)
    origin = gate.admit_write(context, typed, name, notes or "", "" if words.casefold() in name.casefold() else words)
    if origin is None:
        return gate.hold_for_review(context, typed, f"Place: {name}: {notes}" if notes else f"Place: {name}")
    written = add_place(place_id=place_id, name=name, notes=notes, origin=origin, now=context.now)
    result: Json = {"place_id": written.place.place_id, "message": "Saved."}
    return result if written.event is None else {**result, "memoryEvent": _memory_event(written.event)}


def _save_fact(
    context: ToolContext,
    face: Face,
    *,
    content: str,
    confidence: str = Confidence.ASSERTED,
    topic: str = "",
    category: str | None = None,
    detail: str = "",
) -> Json:
    """Save a fact; return the tool's result, which says why if it waits for the user."""
    typed = gate.read_typed(context)
    admitted = gate.admit_fact(context, typed, content, detail)
    content = content if admitted is None else admitted.content
    found = compare_statement(read_statement(content, said_at=context.now), now=context.now)
    target = None if found.verdict == "same" else found.fact
    doubted = target if found.verdict == "unsure" else None
    if found.fact is None and not topic:  # a fact that is known keeps its own
        topic = guess_topic(content)
    words: dict[str, Any] = {"topic": topic, "category": category, "detail": detail}
    if admitted is None:
        return gate.hold_for_review(context, typed, content, **words)
    if target is not None and context.window.is_untrusted and not gate.quotes_newest(typed, admitted.origin):
        return gate.hold_for_review(context, typed, content, target_id=target.pk, **words)
    try:
        written = remember_fact(
            content=found,
            **{**words, "topic": gate.admit_topic(context, topic, content)},
            confidence=confidence,
            source=FactSource.CHAT,
            when_unsure="ask" if doubted is None else gate.find_answer(context, typed, content, doubted),
            origin=admitted.origin,
            now=context.now,
        )
    except FactDisputed as dispute:
        return gate.hold_for_review(context, typed, content, dispute=dispute, **words)
    if doubted is not None and (asked := find_proposal(ProposalKind.CONFLICT, content, doubted)) is not None:
        dismiss_proposal(proposal_id=asked.pk, now=context.now)  # the user has answered in the chat
    return face.describe("save", written)


def _memory_event(event: MemoryEvent) -> Json:
    """Return `{id, kind, before, after}` for a memory line, of a fact or a place."""
    before, after, place = event.before, event.after, event.place
    if before is not None and after is not None and "later" in event.detail and after.content == before.content:
        after = find_version(UUID(event.detail["later"]))  # what changes is said by the fact that begins then
    shown = _fact_line(after)
    if place is not None:
        shown = {"place_id": place.place_id, "place": place.name, "notes": place.notes}
        shown["text"] = f"{place.name}: {place.notes}" if place.notes else place.name
    if event.kind == WriteKind.LINK:
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


def _fact_row(fact: UserFact) -> Json:
    return {
        "id": str(fact.pk),
        "category": fact.category,
        "content": fact.content,
        "confidence": fact.confidence,
        "score": fact.score,
        "valid_from": fact.valid_from.isoformat(),
        "valid_until": fact.valid_until.isoformat() if fact.valid_until else None,
        "last_confirmed_at": fact.last_confirmed_at.isoformat() if fact.last_confirmed_at else None,
    }
