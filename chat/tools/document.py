"""The companion's tool `manage_user_memory` (seed 004)."""

from typing import Final, Literal

from pydantic import Field

from chat.parts import Json
from chat.tools.base import Args, Result, Run, ToolContext, make_tool
from chat.tools.gate import WriteRefused, admit_write, end_fact, hold_for_review
from chat.tools.memory_lines import OVERRIDES, memory_event, or_candidates
from chat.tools.saving import describe_replaced, save_fact
from memory.facts.document import build_document
from memory.facts.places import add_place
from memory.facts.services import resolve_fact
from memory.facts.versions import FactWrite
from memory.models import Confidence

# seed 004, its own words.
DESCRIPTION = """\
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
- Information user hasn't shared or confirmed"""


LEFT_DOCUMENT: Final = (
    "The memory document is full, so these facts left it. They are kept, on the user's page of facts and for the other "
    "assistants, and return when there is room."
)


class ManageUserMemoryArgs(Args):
    operation: Literal["add_fact", "deactivate_fact", "add_poi", "get_memory"]
    content: str | None = Field(None, description="For add_fact: the fact to remember")
    fact_id: str | None = Field(None, description="For deactivate_fact: the UUID of fact to deactivate")
    place_id: str | None = Field(None, description="For add_poi: unique identifier for place")
    place_name: str | None = Field(None, description="For add_poi: human-readable name")
    notes: str | None = Field(None, description="For add_poi: additional context")


def _add_fact(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    content = _require_text(args.content, "content", "add_fact")
    written = save_fact(context, content=content, confidence=Confidence.ASSERTED)
    if not isinstance(written, FactWrite):
        return written
    result: Json = {"fact_id": str(written.fact.pk), "content": written.fact.content, **describe_replaced(written)}
    if written.event is None:
        return {**result, "message": "This was known already; nothing changed."}
    if written.left_document:
        result["left_document"] = [fact.content for fact in written.left_document]
        result["left_document_note"] = LEFT_DOCUMENT
    return {**result, "message": f"Saved. {OVERRIDES}", "memoryEvent": memory_event(written.event)}


@or_candidates("fact_id")
def _deactivate_fact(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    fact = resolve_fact(_require_text(args.fact_id, "fact_id", "deactivate_fact"), context.now)
    written = end_fact(context, fact)
    if not isinstance(written, FactWrite):
        return written
    assert written.event is not None, "a forget always changes something"
    return {
        "fact_id": str(written.fact.pk),
        "message": f"Deactivated. {OVERRIDES}",
        "memoryEvent": memory_event(written.event),
    }


def _add_poi(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    place_id = _require_text(args.place_id, "place_id", "add_poi")
    name = _require_text(args.place_name, "place_name", "add_poi")
    notes, words = args.notes or "", place_id.replace("-", " ").replace("_", " ")
    origin = admit_write(context, name, notes, "" if words.casefold() in name.casefold() else words)
    if origin is None:
        return hold_for_review(context, content=f"Place: {name}: {notes}" if notes else f"Place: {name}")
    written = add_place(place_id=place_id, name=name, notes=args.notes, origin=origin, now=context.now)
    result: Json = {"place_id": written.place.place_id, "message": "Saved."}
    return result if written.event is None else {**result, "memoryEvent": memory_event(written.event)}


_OPERATIONS: Final[dict[str, Run[ManageUserMemoryArgs]]] = {
    "add_fact": _add_fact,
    "deactivate_fact": _deactivate_fact,
    "add_poi": _add_poi,
    "get_memory": lambda context, args: build_document(now=context.now).model_dump(mode="json"),
}


def _manage_user_memory(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    return _OPERATIONS[args.operation](context, args)


MANAGE_USER_MEMORY = make_tool(_manage_user_memory, "Memory", DESCRIPTION, acts=frozenset({"remember", "forget"}))


def _require_text(value: str | None, name: str, operation: str) -> str:
    if value is None or not value.strip():
        raise WriteRefused(f"{operation} needs {name}.")
    return value
