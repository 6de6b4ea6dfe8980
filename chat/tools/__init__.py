"""The catalogue: the tools of each assistant."""

from typing import Any, Final

from chat.tools import actions, deployments, drafts, facts, market, questions, skills
from chat.tools.base import Tool

MAX_TOOLS: Final = 17  # an assistant's

_READS: Final[tuple[Tool[Any], ...]] = (  # of the record and the market
    skills.list_my_skills,
    skills.get_skill_performance,
    deployments.get_my_deployments,
    market.get_market_overview,
    market.get_recent_news,
    market.get_upcoming_events,
)

# In the order in which a model is sent them.
TOOLS: Final[dict[str, tuple[Tool[Any], ...]]] = {
    "coach": (
        drafts.SET_BASICS,
        drafts.SET_STRATEGY,
        drafts.SET_CONTEXT,
        drafts.SET_RISK,
        drafts.SET_SCHEDULE,
        drafts.SET_TOOLS,
        drafts.critique_draft,
        *_READS,
        facts.remember,
        facts.forget,
        actions.prepare_action,
        questions.query_trades,
    ),
    "advisor": (
        facts.save_preference,
        facts.update_preference,
        facts.forget_preference,
        facts.confirm_preference,
        facts.link_preferences,
        facts.list_preferences,
        facts.recall_preferences,
        *_READS,
        questions.query_trades,
    ),
    "companion": (facts.manage_user_memory,),
}


def find_tool(name: str) -> Tool[Any] | None:
    """Return a tool of any assistant by name."""
    return next((tool for tools in TOOLS.values() for tool in tools if tool.name == name), None)


def tools_by_name(assistant: str) -> dict[str, Tool[Any]]:
    """Return an assistant's tools by name, in catalogue order."""
    return {tool.name: tool for tool in TOOLS[assistant]}
