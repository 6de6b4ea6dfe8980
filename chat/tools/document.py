"""The companion's tool `manage_user_memory` (seed 004)."""

from typing import Final, Literal

from pydantic import Field

from chat.parts import Json
from chat.tools.base import Args, Result, Run, ToolContext, tool
from chat.tools.gate import WriteRefused, admit_write, hold_for_review, read_typed
from chat.tools.saving import COMPANION, forget_fact, memory_event, save_fact
from memory.facts.document import build_document
from memory.facts.places import add_place

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


class ManageUserMemoryArgs(Args):
    operation: Literal["add_fact", "deactivate_fact", "add_poi", "get_memory"]
    content: str | None = Field(None, description="For add_fact: the fact to remember")
    fact_id: str | None = Field(None, description="For deactivate_fact: the UUID of fact to deactivate")
    place_id: str | None = Field(None, description="For add_poi: unique identifier for place")
    place_name: str | None = Field(None, description="For add_poi: human-readable name")
    notes: str | None = Field(None, description="For add_poi: additional context")


def _add_fact(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    return save_fact(context, COMPANION, content=_require_text(args.content, "content", "add_fact"))


def _deactivate_fact(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    return forget_fact(context, COMPANION, _require_text(args.fact_id, "fact_id", "deactivate_fact"))


def _add_poi(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    place_id = _require_text(args.place_id, "place_id", "add_poi")
    name = _require_text(args.place_name, "place_name", "add_poi")
    notes, words, typed = args.notes or "", place_id.replace("-", " ").replace("_", " "), read_typed(context)
    origin = admit_write(context, typed, name, notes, "" if words.casefold() in name.casefold() else words)
    if origin is None:
        return hold_for_review(context, typed, f"Place: {name}: {notes}" if notes else f"Place: {name}")
    written = add_place(place_id=place_id, name=name, notes=args.notes, origin=origin, now=context.now)
    result: Json = {"place_id": written.place.place_id, "message": "Saved."}
    return result if written.event is None else {**result, "memoryEvent": memory_event(written.event)}


_OPERATIONS: Final[dict[str, Run[ManageUserMemoryArgs]]] = {
    "add_fact": _add_fact,
    "deactivate_fact": _deactivate_fact,
    "add_poi": _add_poi,
    "get_memory": lambda context, args: build_document(now=context.now).model_dump(mode="json"),
}


@tool("Memory", DESCRIPTION, acts={"remember", "forget"}, id_name="fact_id")
def manage_user_memory(context: ToolContext, args: ManageUserMemoryArgs) -> Result:
    return _OPERATIONS[args.operation](context, args)


def _require_text(value: str | None, name: str, operation: str) -> str:
    if value is None or not value.strip():
        raise WriteRefused(f"{operation} needs {name}.")
    return value
