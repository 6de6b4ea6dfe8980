"""The advisor's tools for preferences (seed 001)."""

from typing import Any, Final, Literal

from pydantic import Field, field_validator

from chat.tools.base import Args, Result, ToolContext, tool
from chat.tools.gate import admit_confirmation, admit_link, admit_update, hold_for_review, read_typed
from chat.tools.saving import ADVISOR, forget_fact, memory_event, save_fact
from memory.facts.queries import list_current
from memory.facts.services import confirm_fact, link_facts, resolve_fact, supersede_fact
from memory.models import FactSource, UserFact
from memory.recall.search import recall_facts
from memory.wording import MAX_CONTENT

LISTED: Final = 100  # facts; more are reached by recall

Category = Literal["profile", "finance_context", "response_style", "fact"]


def check_line(value: object) -> object:
    """Refuse a line that is too long, naming the field for the rest."""
    if isinstance(value, str) and len(value) > MAX_CONTENT:
        raise ValueError(f"A fact is one line of at most {MAX_CONTENT} characters. Put the rest into `detail`.")
    return value


class SavePreferenceArgs(Args):
    category: Category
    content: str = Field(min_length=4, max_length=500, description="One short line, in the user's words.")
    detail: str = Field("", max_length=4_000, description="Longer; only recall finds it.")

    _check_line = field_validator("content", mode="before")(check_line)


class FactArgs(Args):
    id_or_substring: str = Field(min_length=1, max_length=500, description="Id, or words in it alone.")


class UpdatePreferenceArgs(FactArgs):
    new_content: str = Field(min_length=4, max_length=500, description="One short line, in the user's words.")
    detail: str | None = Field(None, max_length=4_000, description="Replaces the old one.")

    _check_line = field_validator("new_content", mode="before")(check_line)


class LinkPreferencesArgs(Args):
    from_id: str = Field(min_length=1, max_length=500)
    to_id: str = Field(min_length=1, max_length=500)
    relation: str = Field(min_length=1, max_length=40, description="Such as relates_to, contradicts.")


class ListPreferencesArgs(Args):
    category: Category | None = None


class RecallPreferencesArgs(Args):
    query: str = Field(min_length=1, max_length=500, description="Any of the words counts.")
    limit: int = Field(10, ge=1, le=50)


@tool(
    "Save a fact",
    "Save a new durable fact: active at once, visible and deletable to the user. First list or recall: update a "
    "known fact rather than add a twin. So: I buy funds only.",
    acts={"remember"},
)
def save_preference(context: ToolContext, args: SavePreferenceArgs) -> Result:
    return save_fact(context, ADVISOR, content=args.content, category=args.category, detail=args.detail)


@tool(
    "Update a fact",
    "Replace a fact by what holds now (“actually, change that to 55”). If words fit several, nothing changes and "
    "you get candidates to ask about; so with the next three tools.",
    acts={"update"},
    id_name="id",
)
def update_preference(context: ToolContext, args: UpdatePreferenceArgs) -> Result:
    fact, typed = resolve_fact(args.id_or_substring, context.now), read_typed(context)
    admitted = admit_update(context, typed, fact, args.new_content, args.detail or "")
    if admitted is None:
        tags: dict[str, Any] = {"topic": fact.topic, "category": fact.category, "detail": args.detail or ""}
        return hold_for_review(context, typed, args.new_content, target_id=fact.pk, **tags)
    given: dict[str, Any] = {"content": admitted.content, "detail": args.detail, "source": FactSource.CHAT}
    written = supersede_fact(fact_id=fact.pk, **given, origin=admitted.origin, now=context.now)
    return ADVISOR.describe("update", written)


@tool("Forget a fact", "End a fact: it is never loaded again, and kept for audit.", acts={"forget"}, id_name="id")
def forget_preference(context: ToolContext, args: FactArgs) -> Result:
    return forget_fact(context, ADVISOR, args.id_or_substring)


@tool(
    "Confirm a fact",
    "Note that the user affirmed a fact (“yes, still funds only”), so that it stays current.",
    acts={"confirm"},
    id_name="id",
)
def confirm_preference(context: ToolContext, args: FactArgs) -> Result:
    fact = resolve_fact(args.id_or_substring, context.now)
    origin = admit_confirmation(context, fact)
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
        origin=admit_link(context, ends, args.relation),
        now=context.now,
    )
    if event is None:
        return {"message": "They are linked so already; nothing changed."}
    return {"message": "Linked.", "memoryEvent": memory_event(event)}


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


def _fact_row(fact: UserFact) -> Result:
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
