"""The catalogue: which tools each assistant has."""

from collections.abc import Callable
from typing import Any, Final

from chat.tools.actions import prepare_action_tool
from chat.tools.base import Tool, ToolContext
from chat.tools.deployments import get_my_deployments_tool
from chat.tools.document import manage_user_memory_tool
from chat.tools.drafts import (
    critique_draft_tool,
    set_basics_tool,
    set_context_tool,
    set_risk_tool,
    set_schedule_tool,
    set_strategy_tool,
    set_tools_tool,
)
from chat.tools.facts import forget_tool, remember_tool
from chat.tools.market import get_market_overview_tool, get_recent_news_tool, get_upcoming_events_tool
from chat.tools.preferences import (
    confirm_preference_tool,
    forget_preference_tool,
    link_preferences_tool,
    list_preferences_tool,
    recall_preferences_tool,
    save_preference_tool,
    update_preference_tool,
)
from chat.tools.skills import get_skill_performance_tool, list_my_skills_tool

MAX_TOOLS: Final = 17  # seed 003: a discipline, relaxed one tool at a time

ToolFactory = Callable[[ToolContext], Tool[Any]]

_READS: Final[tuple[ToolFactory, ...]] = (  # of the record and the market
    list_my_skills_tool,
    get_skill_performance_tool,
    get_my_deployments_tool,
    get_market_overview_tool,
    get_recent_news_tool,
    get_upcoming_events_tool,
)

FACTORIES: Final[dict[str, tuple[ToolFactory, ...]]] = {
    "coach": (
        set_basics_tool,
        set_strategy_tool,
        set_context_tool,
        set_risk_tool,
        set_schedule_tool,
        set_tools_tool,
        critique_draft_tool,
        *_READS,
        remember_tool,
        forget_tool,
        prepare_action_tool,
    ),
    "advisor": (
        save_preference_tool,
        update_preference_tool,
        forget_preference_tool,
        confirm_preference_tool,
        link_preferences_tool,
        list_preferences_tool,
        recall_preferences_tool,
        *_READS,
    ),
    "companion": (manage_user_memory_tool,),
}


def build_tools(assistant: str, context: ToolContext) -> dict[str, Tool[Any]]:
    """Return the assistant's tools for one turn, by name, in the order of the catalogue."""
    tools = [factory(context) for factory in FACTORIES[assistant]]
    return {tool.name: tool for tool in tools}
