from collections.abc import Callable
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from chat.tools.base import Tool, ToolContext
from chat.tools.gate import admit, admit_change, hold_for_review
from chat.tools.memory_lines import ambiguous, memory_event
from memory.facts.queries import list_current
from memory.facts.services import confirm_fact, forget_fact, link_facts, remember_fact, resolve_fact, supersede_fact
from memory.facts.versions import FactAmbiguous, FactWrite
from memory.models import Confidence, FactCategory, FactSource, UserFact
from memory.recall.search import recall_facts

LISTED: Final = 100  # facts; more are reached by recall
NEXT_CHAT: Final = (
    "It is in force at once and stands in your list of preferences from the next chat on; "
    "for the rest of this chat, what you just did counts, not the list above."
)

Category = Literal["profile", "finance_context", "response_style", "fact"]


class _Args(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SavePreferenceArgs(_Args):
    """Arguments of `save_preference`."""

    category: Category = Field(
        description="profile: stable facts about the person. finance_context: accounts, taxes, constraints. "
        "response_style: how to talk to them. fact: any other durable one-off."
    )
    content: str = Field(min_length=4, max_length=500, description="The fact, as one short line.")
    detail: str = Field("", max_length=4_000, description="Longer detail: found by recall, never in your instructions.")


class UpdatePreferenceArgs(_Args):
    """Arguments of `update_preference`."""

    id_or_substring: str = Field(min_length=1, max_length=500, description="Its id, or words that stand in it alone.")
    new_content: str = Field(min_length=4, max_length=500, description="What holds from now on, as one short line.")
    detail: str | None = Field(None, max_length=4_000, description="Longer detail for recall; replaces the old one.")


class ForgetPreferenceArgs(_Args):
    """Arguments of `forget_preference`."""

    id_or_substring: str = Field(min_length=1, max_length=500, description="Its id, or words that stand in it alone.")


class ConfirmPreferenceArgs(_Args):
    """Arguments of `confirm_preference`."""

    id_or_substring: str = Field(min_length=1, max_length=500, description="Its id, or words that stand in it alone.")


class LinkPreferencesArgs(_Args):
    """Arguments of `link_preferences`."""

    from_id: str = Field(min_length=1, max_length=500, description="Id of the one, or words that stand in it alone.")
    to_id: str = Field(min_length=1, max_length=500, description="Id of the other, or words that stand in it alone.")
    relation: str = Field(
        min_length=1, max_length=40, description="How the first relates to the second: relates_to, contradicts, ..."
    )


class ListPreferencesArgs(_Args):
    """Arguments of `list_preferences`."""

    category: Category | None = Field(None, description="Only this category; all without it.")


class RecallPreferencesArgs(_Args):
    """Arguments of `recall_preferences`."""

    query: str = Field(min_length=1, max_length=500, description="Words to look for; any of them counts.")
    limit: int = Field(10, ge=1, le=50, description="At most so many.")


def save_preference_tool(context: ToolContext) -> Tool[SavePreferenceArgs]:
    """Make the `save_preference` tool for one turn."""

    def run(args: SavePreferenceArgs) -> dict[str, Any]:
        origin = admit(context, args.content)
        if origin is None:
            return hold_for_review(context, content=args.content, category=args.category)
        written = remember_fact(
            content=args.content,
            category=FactCategory(args.category),
            confidence=Confidence.ASSERTED,
            source=FactSource.CHAT,
            detail=args.detail,
            origin=origin,
            now=context.now,
        )
        return _told(written, "Saved.")

    return Tool(
        name="save_preference",
        description=(
            "Save a new durable fact about the user: active at once, visible and deletable to them. Look first with "
            "list_preferences or recall_preferences whether it is known, and update that instead of adding a twin."
        ),
        args=SavePreferenceArgs,
        run=run,
        context=context,
    )


def update_preference_tool(context: ToolContext) -> Tool[UpdatePreferenceArgs]:
    """Make the `update_preference` tool for one turn."""

    def change(fact: UserFact, args: UpdatePreferenceArgs) -> dict[str, Any]:
        origin = admit(context, args.new_content)
        if origin is None:
            return hold_for_review(
                context, content=args.new_content, topic=fact.topic, category=fact.category, target_id=fact.pk
            )
        written = supersede_fact(
            fact_id=fact.pk,
            content=args.new_content,
            detail=args.detail,
            source=FactSource.CHAT,
            origin=origin,
            now=context.now,
        )
        return _told(written, "Updated; the earlier version is kept as history.")

    return Tool(
        name="update_preference",
        description=(
            "Replace a fact by what holds now. Name it by its id, or by words that stand in it alone; if several fit, "
            "nothing changes and you get the candidates to ask about."
        ),
        args=UpdatePreferenceArgs,
        run=_on_one(context, lambda args: args.id_or_substring, change),
        context=context,
    )


def forget_preference_tool(context: ToolContext) -> Tool[ForgetPreferenceArgs]:
    """Make the `forget_preference` tool for one turn."""

    def end(fact: UserFact, args: ForgetPreferenceArgs) -> dict[str, Any]:
        origin = admit_change(context, fact.content)
        return _told(forget_fact(id_or_substring=str(fact.pk), origin=origin, now=context.now), "Forgotten.")

    return Tool(
        name="forget_preference",
        description=(
            "End a fact: it is never loaded again, and kept for audit. Name it by its id, or by words that stand in it "
            "alone; if several fit, nothing changes and you get the candidates to ask about."
        ),
        args=ForgetPreferenceArgs,
        run=_on_one(context, lambda args: args.id_or_substring, end),
        context=context,
    )


def confirm_preference_tool(context: ToolContext) -> Tool[ConfirmPreferenceArgs]:
    """Make the `confirm_preference` tool for one turn."""

    def affirm(fact: UserFact, args: ConfirmPreferenceArgs) -> dict[str, Any]:
        origin = admit_change(context, fact.content)
        return _told(confirm_fact(fact_id=fact.pk, origin=origin, now=context.now), "Confirmed.")

    return Tool(
        name="confirm_preference",
        description=(
            "Note that the user affirmed a fact again (“yes, still funds only”), so that it stays current. Only for an "
            "affirmation by the user, not because you used the fact."
        ),
        args=ConfirmPreferenceArgs,
        run=_on_one(context, lambda args: args.id_or_substring, affirm),
        context=context,
    )


def link_preferences_tool(context: ToolContext) -> Tool[LinkPreferencesArgs]:
    """Make the `link_preferences` tool for one turn."""

    def run(args: LinkPreferencesArgs) -> dict[str, Any]:
        try:
            ends = [resolve_fact(reference, context.now) for reference in (args.from_id, args.to_id)]
        except FactAmbiguous as error:
            return ambiguous(error, "id")
        event = link_facts(
            from_id=str(ends[0].pk),
            to_id=str(ends[1].pk),
            relation=args.relation,
            origin=admit_change(context, *(end.content for end in ends)),
            now=context.now,
        )
        if event is None:
            return {"message": "They are linked so already; nothing changed."}
        return {"message": "Linked.", "memoryEvent": memory_event(event)}

    return Tool(
        name="link_preferences",
        description="Record how one fact relates to another, such as a constraint and the correction that set it.",
        args=LinkPreferencesArgs,
        run=run,
        context=context,
    )


def list_preferences_tool(context: ToolContext) -> Tool[ListPreferencesArgs]:
    """Make the `list_preferences` tool for one turn."""

    def run(args: ListPreferencesArgs) -> dict[str, Any]:
        facts, total = list_current(context.now, category=args.category, limit=LISTED)
        return {"preferences": [_listed(fact) for fact in facts], "total": total, "truncated": total > len(facts)}

    return Tool(
        name="list_preferences",
        description="List the user's facts as they stand now, including what was saved in this chat, with their ids.",
        args=ListPreferencesArgs,
        run=run,
        context=context,
    )


def recall_preferences_tool(context: ToolContext) -> Tool[RecallPreferencesArgs]:
    """Make the `recall_preferences` tool for one turn."""

    def run(args: RecallPreferencesArgs) -> dict[str, Any]:
        found = recall_facts(query=args.query, limit=args.limit, now=context.now)
        rows = [{**_listed(row.fact), "detail": row.fact.body, "origin": row.origin} for row in found.rows]
        return {"preferences": rows, "total": found.total, "truncated": found.truncated}

    return Tool(
        name="recall_preferences",
        description=(
            "Search all of the user's facts, also those that your instructions leave out for space or for low "
            "confidence; best first. origin says whether the user stated it or Keel inferred it, and score how sure."
        ),
        args=RecallPreferencesArgs,
        run=run,
        context=context,
    )


def _on_one(
    context: ToolContext, reference: Callable[[Any], str], act: Callable[[UserFact, Any], dict[str, Any]]
) -> Callable[[Any], dict[str, Any]]:
    """Make a tool's run that acts on the one fact its arguments name; several: it gives the candidates."""

    def run(args: Any) -> dict[str, Any]:
        try:
            fact = resolve_fact(reference(args), context.now)
        except FactAmbiguous as error:
            return ambiguous(error, "id")
        return act(fact, args)

    return run


def _told(written: FactWrite, message: str) -> dict[str, Any]:
    result = {"id": str(written.fact.pk), "content": written.fact.content}
    if written.event is None:
        return {**result, "message": "It was so already; nothing changed."}
    return {**result, "message": f"{message} {NEXT_CHAT}", "memoryEvent": memory_event(written.event)}


def _listed(fact: UserFact) -> dict[str, Any]:
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
