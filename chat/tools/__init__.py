"""The catalogue: which tools each assistant has."""

from collections.abc import Callable
from typing import Any, Final

from chat.tools.base import Tool, ToolContext
from chat.tools.document import manage_user_memory_tool
from chat.tools.facts import forget_tool, remember_tool
from chat.tools.preferences import (
    confirm_preference_tool,
    forget_preference_tool,
    link_preferences_tool,
    list_preferences_tool,
    recall_preferences_tool,
    save_preference_tool,
    update_preference_tool,
)

MAX_TOOLS: Final = 17  # seed 003: a discipline, relaxed one tool at a time

ToolFactory = Callable[[ToolContext], Tool[Any]]

FACTORIES: Final[dict[str, tuple[ToolFactory, ...]]] = {
    "coach": (remember_tool, forget_tool),
    "advisor": (
        save_preference_tool,
        update_preference_tool,
        forget_preference_tool,
        confirm_preference_tool,
        link_preferences_tool,
        list_preferences_tool,
        recall_preferences_tool,
    ),
    "companion": (manage_user_memory_tool,),
}


def build_tools(assistant: str, context: ToolContext) -> dict[str, Tool[Any]]:
    """Return the assistant's tools for one turn, by name, in the order of the catalogue."""
    tools = [factory(context) for factory in FACTORIES[assistant]]
    return {tool.name: tool for tool in tools}
