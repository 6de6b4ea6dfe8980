"""The catalogue: which tools each assistant has."""

from collections.abc import Callable
from typing import Any, Final

from chat.tools.base import Tool, ToolContext
from chat.tools.facts import forget_tool, remember_tool

MAX_TOOLS: Final = 17  # seed 003: a discipline, relaxed one tool at a time

ToolFactory = Callable[[ToolContext], Tool[Any]]

FACTORIES: Final[dict[str, tuple[ToolFactory, ...]]] = {
    "coach": (remember_tool, forget_tool),
}


def build_tools(assistant: str, context: ToolContext) -> dict[str, Tool[Any]]:
    """Return the assistant's tools for one turn, by name, in the order of the catalogue."""
    tools = [factory(context) for factory in FACTORIES[assistant]]
    return {tool.name: tool for tool in tools}
