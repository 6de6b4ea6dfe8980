"""Show a stored tool call: its label, its summary, and whether it is hidden."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chat.parts import Part

# Keel looks things up in sight, and remembers silently.
_MEMORY_TOOLS: Final[Mapping[str, str]] = {
    "remember": "Remember",
    "forget": "Forget",
    "save_preference": "Save a fact",
    "update_preference": "Update a fact",
    "forget_preference": "Forget a fact",
    "confirm_preference": "Confirm a fact",
    "link_preferences": "Link two facts",
    "manage_user_memory": "Memory",
}


MAX_DETAIL: Final = 4_000


@dataclass(frozen=True, slots=True)
class ToolPart:
    """A tool call, as a one-line card with details."""

    call_id: str
    name: str
    label: str
    status: str  # running | done | error
    summary: str
    detail: str
    kind: str = "tool"


def is_quiet(part: Part) -> bool:
    """Tell whether a part is not shown: Keel remembers silently, and the memory line says all there is to say."""
    if part["kind"] != "tool" or part["name"] not in _MEMORY_TOOLS or part["status"] == "error":
        return False
    # What was held back shows in no memory line.
    return "held_for_review" not in (part["result"] or {})
