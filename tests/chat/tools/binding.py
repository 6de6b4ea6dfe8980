"""Tools with the context of one turn, so that a test can call them by their arguments alone."""

from dataclasses import dataclass
from typing import Any

from chat.tools import TOOLS
from chat.tools.base import Tool, ToolContext


@dataclass(frozen=True)
class BoundTool:
    """A tool and the turn that calls it."""

    tool: Tool[Any]
    context: ToolContext

    def call(self, arguments: str) -> dict[str, Any]:
        """Call the tool as the turn does."""
        return self.tool.call(self.context, arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tool, name)


def bind_tools(assistant: str, context: ToolContext) -> dict[str, BoundTool]:
    """Return an assistant's tools by name, for one turn."""
    return {tool.name: BoundTool(tool, context) for tool in TOOLS[assistant]}
